"""A guarantee answers in every language, and says the same in each."""

import math
import pickle
from dataclasses import replace

import pytest

from skdp.privacy import (
    GaussianCurve,
    GaussianEvent,
    GDPEvent,
    Neighboring,
    NonPrivateEvent,
    PoissonSampledEvent,
    PrivacyGuarantee,
    PureDPEvent,
)
from skdp.privacy.gaussian import DiscreteGaussianEvent

GUARANTEE = PrivacyGuarantee(GDPEvent(0.5), "replace_one", "Theorem A'")


def test_it_speaks_for_its_event():
    assert GUARANTEE.gdp_mu == 0.5
    assert GUARANTEE.delta(1.0) == GaussianCurve(0.5).delta(1.0)
    assert GUARANTEE.epsilon(1e-5) == GaussianCurve(0.5).epsilon(1e-5)
    assert GUARANTEE.tradeoff(0.05) == GaussianCurve(0.5).tradeoff()(0.05)


def test_the_relation_may_be_a_name():
    assert GUARANTEE.neighboring is Neighboring.REPLACE_ONE
    assert PrivacyGuarantee(GDPEvent(0.5), Neighboring.REPLACE_ONE, "Theorem A'") == GUARANTEE


def test_the_relation_is_part_of_the_guarantee():
    assert PrivacyGuarantee(GDPEvent(0.5), "add_remove_one", "Theorem A'") != GUARANTEE


def test_an_unknown_relation_is_refused():
    with pytest.raises(ValueError, match="swap_two"):
        PrivacyGuarantee(GDPEvent(0.5), "swap_two", "Theorem A'")


def test_it_prints_what_is_claimed_under_which_relation_and_why():
    assert str(GUARANTEE) == "0.5-Gaussian DP under replace_one (Theorem A')"


def test_what_was_asked_comes_first_and_is_not_said_twice():
    event, asked = PoissonSampledEvent(0.1, GaussianEvent(1.0)), (2.0, 1e-5)
    exact = PrivacyGuarantee(event, "replace_one", "").epsilon(1e-5)
    met = PrivacyGuarantee(event, "replace_one", "a sample", asked=(exact, 1e-5))
    shown = float(str(met)[1:].split(",")[0])
    assert exact <= shown < exact + 1e-5
    assert str(met) == f"({shown:g}, 1e-05)-DP under replace_one (a sample)"
    better = str(PrivacyGuarantee(event, "replace_one", "a sample", asked=asked))
    assert better.startswith(f"(2, 1e-05)-DP: ({shown:g}, 1e-05)-DP under replace_one")
    assert str(replace(GUARANTEE, asked=asked)).startswith("(2, 1e-05)-DP: 0.5-Gaussian DP")


def test_a_notebook_shows_three_risks_and_whether_the_noise_is_known():
    html = replace(GUARANTEE, theorem="<b>&")._repr_html_()
    assert html.count("<td>") == 6
    assert "19.75%" in html  # advantage
    assert "&lt;b&gt;&amp;" in html
    assert "VOID" not in html
    assert (
        "<strong>VOID for anyone who knows random_state"
        in replace(GUARANTEE, seeded=True)._repr_html_()
    )


def test_it_survives_pickling():
    assert pickle.loads(pickle.dumps(GUARANTEE)) == GUARANTEE


def test_no_privacy_is_said_plainly():
    guarantee = PrivacyGuarantee(NonPrivateEvent(), "replace_one", "none")
    assert guarantee.epsilon(0.5) == guarantee.gdp_mu == math.inf
    assert guarantee.delta(100.0) == 1.0


@pytest.mark.parametrize(
    "event",
    [GDPEvent(0.01), PoissonSampledEvent(0.1, GaussianEvent(10.0)), DiscreteGaussianEvent(5.0)],
)
def test_a_curve_that_underflows_is_not_pure(event):
    guarantee = PrivacyGuarantee(event, "replace_one", "test")
    assert guarantee.delta(100.0) == 0.0
    assert guarantee.epsilon(0.0) == math.inf
    assert PrivacyGuarantee(PureDPEvent(2.0), "replace_one", "test").epsilon(0.0) == 2.0
