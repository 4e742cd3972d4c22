"""No step of a sequence moves farther than it was priced for, given what was released before."""

import numpy as np
import pytest
from steps_asked import answers

from skdp import DPPCA, DPKMeans

LOW, HIGH = np.array([-1.0, 0.0, -1e3, 5.0, 0.0, -1e-3]), np.array([1.0, 9.0, 1e3, 6.0, 1e6, 2e-3])
BOUNDS = list(zip(LOW.tolist(), HIGH.tolist(), strict=True))
MODELS = [
    DPKMeans(epsilon=2.0, n_clusters=1, bounds=BOUNDS),
    DPKMeans(epsilon=20.0, n_clusters=4, max_iter=4, bounds=BOUNDS),
    DPPCA(epsilon=2.0, n_components=3, bounds=BOUNDS),
    DPPCA(epsilon=2.0, n_components=3, data_norm=500.0, bounds=BOUNDS),
]


def extreme_row(rng):
    kind = rng.integers(5)
    corner = np.where(rng.random(LOW.size) < 0.5, LOW, HIGH)
    if kind == 0:
        return corner
    if kind == 1:
        return np.where(rng.random(LOW.size) < 0.5, np.nan, corner)
    if kind == 2:
        return np.where(rng.random(LOW.size) < 0.5, np.inf, corner)
    if kind == 3:
        return 1e290 * rng.standard_normal(LOW.size)
    return rng.uniform(LOW, HIGH)


@pytest.mark.slow
@pytest.mark.parametrize("neighboring", ["replace_one", "add_remove_one"])
@pytest.mark.parametrize("model", MODELS, ids=["one", "four", "sphere", "norm"])
def test_no_step_moves_farther_than_its_price(model, neighboring, monkeypatch):
    rng, farthest = np.random.default_rng(7), 0.0
    for seed in range(8):
        n = [1, 40][seed % 2]
        rows = np.array([extreme_row(rng) for _ in range(n)])
        if neighboring == "replace_one":
            others = rows.copy()
            others[rng.integers(n)] = extreme_row(rng)
        else:
            others = np.array([*rows, extreme_row(rng)])
        model.set_params(neighboring=neighboring, random_state=seed)
        asked, given, prices = answers(model, rows, None, monkeypatch)
        there, _, _ = answers(model, others, None, monkeypatch, given)
        for name, values in asked.items():
            distance = np.linalg.norm(values - there[name])
            assert distance <= prices[name], name
            farthest = max(farthest, distance / prices[name])
    assert farthest > 0.9
