"""Where a fit's noise comes from."""

import numpy as np
import pytest
from joblib import Parallel, delayed
from linear_models import FITS, LEAST_SQUARES, every_fit, every_model

X = np.linspace(-1, 1, 60).reshape(20, 3)
y = np.arange(20) % 2
sampled_fits = [(Model, name) for Model, name in FITS if Model is not LEAST_SQUARES]
every_sampled_fit = pytest.mark.parametrize(("Model", "solver"), sampled_fits)


def coefficients(model):
    return model.fit(X, y).coef_.ravel().tolist()


@every_fit
def test_a_seed_repeats_the_fit(Model, solver):
    one, same, other = (coefficients(Model(solver=solver, random_state=seed)) for seed in (3, 3, 4))
    assert one == same
    assert one != other


@every_model
def test_without_a_seed_each_fit_is_fresh_whatever_numpys_global_seed(Model):
    seen = []
    for _ in range(2):
        np.random.seed(0)  # noqa: NPY002
        model = Model()
        seen += [coefficients(model), coefficients(model)]
    assert len({tuple(c) for c in seen}) == 4


@pytest.mark.slow
@every_model
@pytest.mark.parametrize("backend", ["threading", "loky"])
def test_parallel_workers_draw_different_noise(Model, backend):
    np.random.seed(0)  # noqa: NPY002
    seen = Parallel(n_jobs=2, backend=backend)(delayed(coefficients)(Model()) for _ in range(4))
    assert len({tuple(c) for c in seen}) == 4


@every_model
def test_a_fit_leaves_numpys_global_state_alone(Model):
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    coefficients(Model())
    np.testing.assert_array_equal(before, np.random.get_state()[1])  # noqa: NPY002


@every_sampled_fit
def test_coefficients_lie_on_a_public_grid(Model, solver):
    """A multiple of a power of two has few bits after the grid's: 2^-40 would hold any of them."""
    c = np.asarray(coefficients(Model(solver=solver)))
    assert (c * 2.0**40 == np.round(c * 2.0**40)).all()
    noisy = c + 2.0**-45
    assert (noisy * 2.0**40 != np.round(noisy * 2.0**40)).all()
