"""Samples for research: repeatable, independent, of the right distribution."""

import math

import numpy as np
import one_dimension
import pytest
from problems import target_with
from scipy import sparse, stats

from skdp.design import ClippedDesign
from skdp.losses import CompetitorLoss, LogisticLoss
from skdp.research import draw_samples
from skdp.samplers.proximal import ExactSampler

FALSE_ALARM = 1e-6
PLANE = [(1, 0.2), (-0.5, 0.6), (0.3, -0.9), (0.1, 0.7), (-0.8, -0.3), (0.4, 0.4)]


def draw(n_draws, loss="logistic", random_state=0, **rest):
    X, y = one_dimension.RECORDS[:, None], np.ones(5)
    facts = {"temperature": 0.8, "prior_precision": 0.5, **rest}
    return draw_samples(X, y, loss=loss, n_draws=n_draws, random_state=random_state, **facts)


def test_the_samples_have_the_distribution_of_the_density():
    sample = draw(1000)[:, 0]
    masses = one_dimension.normalized(
        -one_dimension.potential(one_dimension.target(LogisticLoss()))
    )
    assert stats.kstest(sample, one_dimension.distribution(masses)).pvalue > FALSE_ALARM


@pytest.mark.parametrize(
    ("loss", "mean", "variances"),
    [
        ("logistic", (0.226777, 0.332496), (1.174216, 1.208936)),
        pytest.param("hinge", (0.343169, 0.631414), (1.056561, 1.105208), marks=pytest.mark.slow),
    ],
)
def test_two_dimensions_have_the_printed_means(loss, mean, variances):
    """Six standard errors a mean: it alarms falsely less than 1e-8 of the time."""
    sample = draw_samples(
        PLANE,
        np.ones(6),
        loss=loss,
        temperature=0.8,
        prior_precision=0.5,
        n_draws=1000,
        random_state=1,
    )
    for j in range(2):
        error = 6.0 * math.sqrt(variances[j] / 1000)
        assert sample[:, j].mean() == pytest.approx(mean[j], abs=error)


def test_an_integer_repeats_the_samples_whatever_the_number_of_jobs():
    once, again = draw(4, n_jobs=1), draw(4, n_jobs=2)
    np.testing.assert_array_equal(once, again)
    np.testing.assert_array_equal(once[:2], draw(2))
    assert np.unique(once).size == 4
    assert not np.isin(draw(4, random_state=1), once).any()
    assert not np.isin(draw(4, random_state=None), draw(4, random_state=None)).any()


def test_one_generator_goes_on():
    rng = np.random.default_rng(3)
    assert not np.isin(draw(3, random_state=rng), draw(3, random_state=rng)).any()


def test_rows_are_taken_as_they_are():
    X, y = 6.0 * one_dimension.RECORDS[:, None], np.ones(5)
    target = target_with(ClippedDesign(X, np.ones(5), targets=y), LogisticLoss(), 6.0, 0.8, 0.5)
    sample = draw_samples(X, y, temperature=0.8, prior_precision=0.5, n_draws=200, random_state=0)
    masses = one_dimension.normalized(-one_dimension.potential(target))
    assert stats.kstest(sample[:, 0], one_dimension.distribution(masses)).pvalue > FALSE_ALARM


def test_rows_may_be_sparse():
    dense = draw(2)
    rows = sparse.csr_matrix(one_dimension.RECORDS[:, None])
    thin = draw_samples(
        rows, np.ones(5), temperature=0.8, prior_precision=0.5, n_draws=2, random_state=0
    )
    np.testing.assert_allclose(thin, dense)


def test_a_loss_or_a_sampler_may_be_an_instance():
    np.testing.assert_array_equal(draw(2), draw(2, LogisticLoss(), sampler=ExactSampler()))
    X = one_dimension.RECORDS[:, None]
    y = np.array([0, 1, 2, 0, 1])
    assert draw_samples(X, y, loss=CompetitorLoss(LogisticLoss(), 3), n_draws=2).shape == (2, 1, 3)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"loss": "multinomial"}, "loss must be one of 'logistic'"),
        ({"sampler": "best"}, "sampler must be one of 'cheapest', 'proximal'"),
        ({"temperature": 0.0}, "temperature"),
        ({"prior_precision": -1.0}, "prior_precision"),
        ({"n_draws": 0}, "n_draws"),
    ],
)
def test_refusals(change, message):
    with pytest.raises(ValueError, match=message):
        draw(**{"n_draws": 1, **change})


def test_labels_of_two_classes_are_signs():
    with pytest.raises(ValueError, match="−1 or \\+1"):
        draw_samples([[1.0], [2.0]], [0, 1])
