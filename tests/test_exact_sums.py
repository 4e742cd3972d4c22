"""Sums in steps of 2^−31, whatever their parts: compared with sums of Python's integers."""

from fractions import Fraction

import numpy as np
import pytest

from skdp.data.exact_sums import sums_in_steps
from skdp.data.records import Records


def total(numbers):
    records = Records.of_rows(np.zeros((len(numbers), 1)))
    return sums_in_steps({"x": 1}, lambda _: [{"x": numbers}], None, records)["x"].tolist()


def test_a_block_beyond_two_to_the_22_rows_is_added_exactly():
    """Its sum has 54 bits, one more than a float."""
    numbers = np.ones((2**22 + 5, 1))
    numbers[7] = 2.0**-31
    assert total(numbers) == [(2**22 + 4) * 2**31 + 1]


def test_booleans_are_added_as_numbers_are():
    present = np.arange(1000)[:, None] % 3 > 0
    assert total(present) == total(present.astype(float)) == [666 * 2**31]


def test_numbers_are_rounded_to_the_nearest_step():
    numbers = np.array([[0.4, -0.6, 1.5, -1.0, 2.0**31, -0.0]]).T * 2.0**-31
    assert total(numbers) == [0 - 1 + 2 - 1 + 2**31]


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_numbers_of_low_precision_are_added_as_their_floats_are(dtype):
    """A sum in single precision has 24 bits, and 2^31 is beyond half precision."""
    numbers = np.random.default_rng(0).uniform(-1.0, 1.0, (2**18 + 5, 1)).astype(dtype)
    steps = [round(Fraction(number) * 2**31) for number in numbers[:, 0].tolist()]
    assert total(numbers) == total(numbers.astype(float)) == [sum(steps)]
