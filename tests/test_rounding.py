"""Rounding outwards: the margins cover what they say, and no other file has margins of its own."""

import ast
import math
from pathlib import Path

import mpmath as mp
import numpy as np
import pytest
from scipy.special import erfcx, log_ndtr, logsumexp

import skdp
from skdp.support.safe_numbers import (
    CURVE,
    FORMULA,
    ROOT,
    SERIES,
    SUM,
    THERE_AND_BACK,
    down,
    margin,
    up,
)

ROOT_FOLDER = Path(skdp.__file__).parent
TABLE = [SUM, FORMULA, SERIES, CURVE, THERE_AND_BACK, ROOT]


@pytest.mark.parametrize("n_operations", TABLE)
def test_a_margin_covers_so_many_roundings_and_the_one_of_its_own_product(n_operations):
    assert margin(n_operations) > n_operations * 2.0**-53
    for x in (1.0, 1.0 / 3.0, 1e-300, np.nextafter(2.0, 0.0)):
        with mp.workdps(50):
            assert mp.mpf(up(x, n_operations)) >= mp.mpf(x) * (1 + mp.mpf(n_operations - 1) / 2**53)
            assert mp.mpf(down(x, n_operations)) <= mp.mpf(x) * (
                1 - mp.mpf(n_operations - 1) / 2**53
            )


def test_arrays_are_rounded_entry_by_entry():
    assert np.array_equal(up(np.array([1.0, 2.0]), SUM), [up(1.0, SUM), up(2.0, SUM)])


@pytest.mark.parametrize("x", [-700.0, -38.0, -5.0, -1.0, -1e-3, 0.0, 0.7, 5.0, 8.0])
def test_the_functions_of_scipy_are_within_the_margin_of_a_series(x):
    with mp.workdps(50):
        exact = mp.log(mp.erfc(-mp.mpf(x) / mp.sqrt(2)) / 2)
        assert abs(float(log_ndtr(x)) - exact) <= margin(SERIES) * abs(exact)
        if x >= 0.0:
            scaled = mp.exp(mp.mpf(x) ** 2) * mp.erfc(mp.mpf(x))
            assert abs(float(erfcx(x)) - scaled) <= margin(SERIES) * scaled
        logs = np.linspace(x, x + 3.0, 300)
        summed = mp.log(mp.fsum(mp.exp(mp.mpf(float(one))) for one in logs))
        assert abs(float(logsumexp(logs)) - summed) <= margin(SERIES) * abs(summed)


def literals_near_one(path):
    """Yield the lines of 1 + c and 1 - c with a tiny number c."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub):
            sides = [getattr(side, "value", None) for side in (node.left, node.right)]
            if all(isinstance(v, int | float) for v in sides) and sides[0] == 1.0:
                small = math.fabs(sides[1])
                if 0.0 < small <= 1e-9:
                    yield node.lineno


def test_no_file_has_a_margin_of_its_own_near_one():
    found = {
        (str(path.relative_to(ROOT_FOLDER)), line)
        for path in ROOT_FOLDER.rglob("*.py")
        for line in literals_near_one(path)
    }
    assert not found
