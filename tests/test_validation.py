"""Public numbers that come from NumPy are taken for what they are worth, in Python's arithmetic."""

import numpy as np
import pytest
from problems import problem_with

from skdp.losses import HuberLoss, QuantileLoss, SmoothedHingeLoss
from skdp.privacy import Neighboring
from skdp.research.samplers.langevin import LangevinSampler
from skdp.research.solvers.coordinate_descent import CoordinateDescent
from skdp.samplers.base import Ball


@pytest.mark.parametrize(
    ("value", "name", "number"),
    [
        (Ball(np.float16(300.0)), "radius", 300.0),
        (Ball(np.int8(12)), "radius", 12),
        (HuberLoss(np.float16(1.5)), "threshold", 1.5),
        (SmoothedHingeLoss(np.float32(0.25)), "width", 0.25),
        (QuantileLoss((np.float16(0.25), 0.5)), "levels", (0.25, 0.5)),
        (LangevinSampler(max_curvature=np.float16(2.0)), "max_curvature", 2.0),
        (CoordinateDescent(l1_ratio=np.float32(0.5)), "l1_ratio", 0.5),
        (problem_with(HuberLoss(), 9, Neighboring.REPLACE_ONE, C=np.float16(300.0)), "C", 300.0),
    ],
    ids=repr,
)
def test_narrow_numbers_neither_overflow_nor_round(value, name, number):
    found = getattr(value, name)
    assert found == number
    assert type(found) is type(number)
