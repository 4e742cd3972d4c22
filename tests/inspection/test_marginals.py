"""Columns of a private density beside intervals for those of the records."""

import numpy as np
import pandas as pd
import pytest

from skdp import DPTreeDensity, DPTreeNB
from skdp.inspection import MarginalsDisplay

mpl = pytest.importorskip("matplotlib")


@pytest.fixture(scope="module")
def density():
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {"amount": rng.exponential(20, 2000), "kind": rng.choice(["a", "b"], 2000)}
    )
    known = {"bounds": {"amount": (0, 1000)}, "categories": {"kind": ["a", "b"]}}
    return DPTreeDensity(**known, transformation={"amount": "log"}, random_state=0).fit(table)


@pytest.fixture(autouse=True)
def figures():
    with mpl.rc_context({"backend": "agg"}):
        yield
    mpl.pyplot.close("all")


def test_every_column_has_a_panel_with_bars_and_intervals(density):
    display = MarginalsDisplay.from_estimator(density)
    amount, kind = display.axes_
    assert [ax.get_title() for ax in display.axes_] == ["amount", "kind"]
    assert amount.get_xscale() == "asinh"
    assert amount.get_xlabel().startswith("missing: ")
    assert [text.get_text() for text in kind.get_yticklabels()] == ["a", "b", "missing"]
    widths = [bar.get_width() for bar in kind.patches]
    assert widths == pytest.approx(display.tables[1].expected)
    (lines,) = kind.containers[1].lines[2]
    ends = [segment[:, 0] for segment in lines.get_segments()]
    assert ends == pytest.approx(np.c_[display.tables[1].low, display.tables[1].high])


def test_columns_and_axes_can_be_chosen(density):
    figure, axes = mpl.pyplot.subplots(1, 2)
    display = MarginalsDisplay.from_estimator(density, columns=["kind"], ax=axes)
    assert display.figure_ is figure
    assert [table.name for table in display.tables] == ["kind"]
    with pytest.raises(ValueError, match="2 axes, one per column"):
        MarginalsDisplay.from_estimator(density, ax=axes[0])
    with pytest.raises(ValueError, match="Unknown column"):
        MarginalsDisplay.from_estimator(density, columns=["no such column"])


def test_the_classifier_has_one_too():
    x = np.random.default_rng(0).uniform(size=(1000, 2))
    model = DPTreeNB(bounds=(0, 1), missing="error").fit(x, x[:, 0] > 0.5)
    assert len(MarginalsDisplay.from_estimator(model, max_levels=4).tables[1].levels) == 4
