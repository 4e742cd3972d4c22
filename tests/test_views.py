"""Estimators in terminals and notebooks: no seed is shown, and nothing that was not released."""

import json
import pickle
import re
import traceback
from html.parser import HTMLParser

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skdp import (
    DPPCA,
    DPGaussianNB,
    DPKMeans,
    DPLinearRegression,
    DPLogisticRegression,
)
from skdp.auditing import CheckResults
from skdp.auditing.check_private import CheckResult
from skdp.calibration import DPCalibratedClassifier
from skdp.metrics import confusion_report, score_report
from skdp.model_selection import DPGridSearchCV
from skdp.pipeline import check_pipeline
from skdp.preprocessing import DPStandardScaler
from skdp.statistics import marginals, mean

SEED = 918273645
ESTIMATORS = [
    DPLogisticRegression(random_state=SEED),
    DPLogisticRegression(random_state=np.int64(SEED)),
    DPLogisticRegression(random_state=[1, SEED]),
    DPLogisticRegression(random_state=np.array([SEED])),
    DPLogisticRegression(random_state=np.random.SeedSequence(SEED)),
    DPLinearRegression(target_bounds=(0, 1), random_state=SEED),
    DPGaussianNB(bounds=(-1, 1), random_state=SEED),
    DPStandardScaler(bounds=(-1, 1), random_state=SEED),
    DPPCA(n_components=1, bounds=(-1, 1), random_state=SEED),
    DPKMeans(n_clusters=2, bounds=(-1, 1), random_state=SEED),
    DPGridSearchCV(DPLogisticRegression(), {"C": [1.0, 2.0]}, random_state=SEED),
]


@pytest.fixture
def rows():
    X = np.random.default_rng().uniform(-1.0, 1.0, (300, 2))
    return X, (X[:, 0] > 0.0).astype(int)


def views_of(estimator):
    """Return what is shown of it, without styles and scripts."""
    shown = repr(estimator) + str(estimator) + str(estimator.get_params())
    return shown + re.sub("<style>.*?</style>", "", estimator._repr_html_(), flags=re.DOTALL)


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda x: type(x).__name__)
def test_no_view_shows_the_seed_before_or_after_a_fit(estimator, rows):
    for model in (estimator, clone(estimator).fit(*rows)):
        assert str(SEED) not in views_of(model)
        assert "random_state=<hidden>" in repr(model)


def test_nor_does_one_that_is_given_a_fitted_one():
    assert str(SEED) not in views_of(DPCalibratedClassifier(DPGaussianNB(), random_state=SEED))


@pytest.mark.parametrize(
    "wrap",
    [make_pipeline, lambda x: GridSearchCV(x, {"C": [1.0]}), lambda x: [x], clone],
    ids=["pipeline", "search", "list", "clone"],
)
def test_nor_does_a_view_of_what_it_is_inside_of(wrap):
    outer = wrap(DPLogisticRegression(random_state=SEED))
    assert str(SEED) not in (repr(outer) if isinstance(outer, list) else views_of(outer))


def test_a_hidden_seed_is_the_seed():
    model = DPLogisticRegression(random_state=SEED)
    shown = model.get_params()["random_state"]
    assert shown == SEED
    assert hash(shown) == hash(SEED)
    assert json.dumps(shown) == str(SEED)
    assert pickle.loads(pickle.dumps(shown)) == SEED
    assert clone(clone(model)).random_state == model.random_state == SEED


@pytest.mark.parametrize("seed", [SEED, [1, SEED], np.random.SeedSequence(SEED)])
def test_a_fit_repeats_with_a_hidden_seed(rows, seed):
    model = DPLogisticRegression(random_state=seed).fit(*rows)
    np.testing.assert_array_equal(clone(model).fit(*rows).coef_, model.coef_)


@pytest.mark.parametrize("seed", [float(SEED), -SEED, f"{SEED}", [-SEED]])
def test_a_seed_that_is_none_is_refused_without_a_word_about_it(rows, seed):
    model = clone(DPLogisticRegression(random_state=seed))
    assert str(SEED) not in views_of(model)
    with pytest.raises(ValueError, match="random_state must be") as refused:
        model.fit(*rows)
    assert str(SEED) not in "".join(traceback.format_exception(refused.value))


def test_views_of_results_and_guarantees_show_no_seed():
    found = mean([0.1, 0.2], epsilon=1.0, bounds=(0, 1), random_state=SEED)
    assert str(SEED) not in f"{found}{found!r}{found.privacy}{found.privacy._repr_html_()}"


def test_a_guarantee_is_shown_by_what_it_states():
    privacy = mean([0.1, 0.2], epsilon=1.0, bounds=(0, 1)).privacy
    assert repr(privacy) == str(privacy)
    assert repr(privacy).startswith("(1, 1e-05)-DP")


def test_tables_of_counts_are_a_table_with_their_categories():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"a": ["<x", "y"] * 20, "b": ["u", "v"] * 20})
    categories = {"a": ["<x", "y"], "b": ["u", "v"]}
    shown = marginals(frame, epsilon=1.0, categories=categories, n_ways=2)._repr_html_()
    assert "<td>a, b</td><td>&lt;x, u</td>" in shown
    assert shown.count("<tr>") == 5


def tables():
    """Return results that a notebook shows as tables."""
    labels, found = np.repeat(["<no>", "yes"], 50), mean([0.1, 0.2], epsilon=1.0, bounds=(0, 1))
    return [
        found,
        found.privacy,
        found.privacy.risk(),
        confusion_report(labels, labels, epsilon=1.0, classes=["<no>", "yes"]),
        score_report(labels, np.linspace(0, 1, 100), epsilon=1.0, classes=["<no>", "yes"]),
        check_pipeline(make_pipeline(StandardScaler(), DPLogisticRegression())),
        CheckResults([CheckResult(check="<no>", status="failed", message="why")]),
    ]


class Shape(HTMLParser):
    """How many cells each row of each table has, and what text is in heads."""

    def __init__(self, html):
        super().__init__()
        self.rows, self.kinds = [], []
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        if tag == "table":
            self.kinds.append(dict(attrs)["class"])
        if tag == "tr":
            self.rows.append([])
        elif tag in ("th", "td"):
            self.rows[-1].append(tag)
        assert tag not in ("no", "script")


def test_all_tables_have_heads_and_one_look_and_no_text_is_markup():
    for result in tables():
        shape = Shape(result._repr_html_())
        assert {*shape.kinds} == {"dataframe skdp-table"}
        assert {*shape.rows[0]} == {"th"}
        assert len(shape.rows) > len(shape.kinds)
        assert "td" in shape.rows[-1]


def test_advice_stands_below_its_finding_and_long_paths_may_break():
    pipeline = make_pipeline(make_pipeline(StandardScaler()), DPLogisticRegression())
    shown = check_pipeline(pipeline)._repr_html_()
    assert "<td>pipeline__<wbr>standardscaler: StandardScaler(with_mean=...)<br>means" in shown
