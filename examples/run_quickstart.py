"""Accuracy of a private classifier, and the cost of a search.

The data are breast-cancer biopsies: 569 records with 30 measurements each. Every fit spends from
one privacy budget. The search uses exact scores: if your data are not public, keep the scores and
the choice secret.
"""

import warnings
from collections import Counter

from sklearn.datasets import load_breast_cancer
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, KFold, train_test_split
from sklearn.pipeline import make_pipeline

from skdp import DPLogisticRegression, PrivacyBudget
from skdp.exceptions import FewRowsWarning
from skdp.preprocessing import BoundsScaler

# Upper bounds in round numbers: radius, texture, perimeter, area, smoothness, compactness,
# concavity, concave points, symmetry, fractal dimension. Bounds come from public knowledge about
# the features. Bounds computed from private data would leak.
MEANS = [30, 40, 200, 2500, 0.2, 0.4, 0.5, 0.2, 0.4, 0.1]
ERRORS = [3, 5, 20, 500, 0.03, 0.15, 0.4, 0.05, 0.1, 0.03]
WORST = [40, 50, 250, 4000, 0.25, 1, 1.2, 0.3, 0.7, 0.2]
BOUNDS = (0.0, MEANS + ERRORS + WORST)


def main() -> None:
    """Search over epsilon, then print the account and the scores."""
    X, y = load_breast_cancer(return_X_y=True)
    X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)

    # 341 records are few for the smaller epsilons, so each fit gives a FewRowsWarning.
    warnings.simplefilter("ignore", FewRowsWarning)
    budget = PrivacyBudget(epsilon=3.0, delta=1e-4)
    private = make_pipeline(
        BoundsScaler(bounds=BOUNDS),
        DPLogisticRegression(delta=1e-4, classes=(0, 1), budget=budget),
    )
    # No stratified folds: one label could move other records to another fold.
    folds = KFold(5, shuffle=True, random_state=0)
    grid = {"dplogisticregression__epsilon": [0.1, 0.3, 1.0]}
    search = GridSearchCV(private, grid, cv=folds).fit(X_train, y_train)

    print("Every fit of the search, and the last one on all training rows, is on the ledger:")
    for epsilon, fits in Counter(round(row["epsilon"], 3) for row in budget.history()).items():
        print(f"  {fits} fits at epsilon={epsilon:g}")
    print(budget)

    chosen = search.best_estimator_[-1]
    print(f"\nThe model kept: {chosen.privacy_}")
    print(f"That is epsilon={chosen.privacy_.epsilon(1e-4):.3g} at delta=1e-4.\n")

    # For comparison only: these two models are not private.
    open_model = make_pipeline(BoundsScaler(bounds=BOUNDS), LogisticRegression()).fit(
        X_train, y_train
    )
    majority = DummyClassifier().fit(X_train, y_train)
    print("Accuracy on unseen records")
    print(f"  private         {search.score(X_test, y_test):.3f}")
    print(f"  not private     {open_model.score(X_test, y_test):.3f}")
    print(f"  majority class  {majority.score(X_test, y_test):.3f}")


if __name__ == "__main__":
    main()
