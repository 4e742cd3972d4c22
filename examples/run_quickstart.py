"""How accurate is a private classifier, and what does looking for the best one cost?

Breast-cancer biopsies: 569 people, 30 measurements each. Everything learnt from them is paid for
from one privacy budget.
"""

from sklearn.datasets import load_breast_cancer
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, KFold, train_test_split
from sklearn.pipeline import make_pipeline

from skdp import DPLogisticRegression, PrivacyBudget
from skdp.preprocessing import BoundsScaler

# What each measurement can be, from the data set's public documentation (rounded up). Bounds that
# are measured on the private data would leak.
MEANS = [29, 40, 190, 2600, 0.17, 0.35, 0.43, 0.21, 0.31, 0.1]
ERRORS = [2.9, 4.9, 22, 550, 0.032, 0.14, 0.4, 0.053, 0.079, 0.03]
WORST = [37, 50, 260, 4300, 0.23, 1.1, 1.3, 0.3, 0.67, 0.21]
BOUNDS = (0.0, MEANS + ERRORS + WORST)


def main() -> None:
    """Search over epsilon, then print the account and the scores."""
    X, y = load_breast_cancer(return_X_y=True)
    X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)

    budget = PrivacyBudget(epsilon=3.0, delta=1e-4)
    private = make_pipeline(
        BoundsScaler(BOUNDS),
        DPLogisticRegression(delta=1e-4, classes=(0, 1), budget=budget),
    )
    # Folds that do not look at labels: stratified ones would let one label move other people.
    folds = KFold(5, shuffle=True, random_state=0)
    grid = {"dplogisticregression__epsilon": [0.1, 0.3, 1.0]}
    search = GridSearchCV(private, grid, cv=folds).fit(X_train, y_train)

    print("Each fit of the search, and the last one on all training rows, is on the ledger:")
    for row in budget.history()[::5]:
        print(f"  {row['label']}  epsilon={row['epsilon']:.2f}  {row['gdp_mu']:.4f}-Gaussian DP")
    print(budget)

    chosen = search.best_estimator_[-1]
    print(f"\nThe model kept: {chosen.privacy_}")
    print(f"That is epsilon={chosen.privacy_.epsilon(1e-4):.3g} at delta=1e-4.\n")

    # For comparison only: these two models pay nothing and promise nothing.
    open_model = make_pipeline(BoundsScaler(BOUNDS), LogisticRegression()).fit(X_train, y_train)
    majority = DummyClassifier().fit(X_train, y_train)
    print("Accuracy on unseen people")
    print(f"  private         {search.score(X_test, y_test):.3f}")
    print(f"  not private     {open_model.score(X_test, y_test):.3f}")
    print(f"  majority class  {majority.score(X_test, y_test):.3f}")


if __name__ == "__main__":
    main()
