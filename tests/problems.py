"""Public facts of fits, for tests of solvers."""

from skdp.samplers import Target
from skdp.solvers import Problem


def problem_with(loss, n_samples, neighboring, *, norm=1.0, intercept=0.0, **more):
    """Return the facts of rows of norm 1, without an intercept unless one is asked for."""
    given = {"data_norm": norm, "intercept_scaling": intercept} | more
    return Problem(loss=loss, n_samples=n_samples, neighboring=neighboring, **given)


def target_with(design, loss, norm, temperature, prior_precision):
    """Return the density of a sampler, of rows that are no longer than a norm."""
    given = {"temperature": temperature, "prior_precision": prior_precision}
    return Target(design=design, loss=loss, row_norm=norm, **given)
