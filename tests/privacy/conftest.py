"""A curve that is known exactly and is not symmetric, to test what every curve inherits."""

from dataclasses import dataclass

import numpy as np
import pytest

from skdp.privacy import PrivacyCurve


@dataclass(frozen=True)
class DiscreteCurve(PrivacyCurve):
    """The curve of two distributions on finitely many points: δ(ε) = Σ max(0, p − e^ε·q)."""

    p: tuple
    q: tuple

    def _delta(self, epsilon):
        odds = np.exp(np.minimum(epsilon, 700.0))[..., None]
        return np.maximum(0.0, np.array(self.p) - odds * np.array(self.q)).sum(axis=-1)


@pytest.fixture(scope="session")
def discrete_curve():
    return DiscreteCurve
