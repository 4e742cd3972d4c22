"""The privacy curve of Gaussian noise to eighty digits."""

from mpmath import mp


def exact_delta(epsilon, mu):
    """Return Φ(−ε/μ + μ/2) − e^ε·Φ(−ε/μ − μ/2), for either sign of ε."""
    with mp.workdps(80):
        epsilon, mu = mp.mpf(epsilon), mp.mpf(mu)
        return _phi(mu / 2 - epsilon / mu) - mp.exp(epsilon) * _phi(-mu / 2 - epsilon / mu)


def _phi(x):
    return mp.erfc(-x / mp.sqrt(2)) / 2
