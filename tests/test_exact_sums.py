"""Sums in steps of 2^−31, whatever their parts: compared with sums of Python's integers."""

import numpy as np

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
