"""Searches in one variable: what is returned was tried, and is next to the edge."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skdp.support.safe_numbers import (
    arithmetic,
    bisect,
    first_to_hold,
    geometric,
    halvings,
    log_ratio,
    minimize_from_grid,
    next_to_root,
    whole,
)

edges = st.floats(1e-6, 1e6)


class Recorded:
    """A condition that remembers where it was found to hold."""

    def __init__(self, holds):
        self.holds, self.seen = holds, []

    def __call__(self, x):
        if self.holds(x):
            self.seen.append(x)
        return self.holds(x)


@given(edge=edges, upwards=st.booleans())
def test_bisect_returns_a_point_that_was_tried_next_to_the_edge(edge, upwards):
    condition = Recorded((lambda x: x >= edge) if upwards else (lambda x: x <= edge))
    inside, outside = (1e7, 0.0) if upwards else (0.0, 1e7)
    found = bisect(condition, inside, outside, arithmetic(1e-9))
    assert found in condition.seen
    assert found == pytest.approx(edge, rel=1e-8)


@given(edge=edges)
def test_bisect_without_a_precision_finds_the_very_float(edge):
    found = bisect(lambda x: x >= edge, 1e7, 0.0, arithmetic())
    assert found == edge


@given(edge=edges)
def test_bisect_by_geometric_means_is_as_close_for_small_numbers(edge):
    found = bisect(lambda x: x <= edge, 1e-7, 1e7, geometric(1e-11))
    assert edge * (1.0 - 1.1e-11) <= found <= edge


@given(edge=st.integers(2, 10**9))
def test_bisect_over_whole_numbers_is_exact(edge):
    found = bisect(lambda x: x >= edge, 10**9, 1, whole)
    assert found == edge
    assert isinstance(found, int)


SHAPES = {
    "power": lambda x: x**3.0,
    "logarithm": lambda x: math.log1p(x),
    "bent": lambda x: x if x < 1.0 else 50.0 * x,
    "jump": lambda x: x if x < 3.0 else x + 1e9,
    "infinite": lambda x: x if x < 700.0 else math.inf,
    "flat": lambda x: min(max(x, 2.0), 5.0),
}


@given(edge=st.floats(1e-3, 600.0), shape=st.sampled_from([*SHAPES]), falls=st.booleans())
def test_next_to_root_returns_a_point_that_was_tried_next_to_the_edge(edge, shape, falls):
    """Where the function of x, or of 1/x, is at most what it is at `edge`."""
    value = SHAPES[shape]
    target, ends = value(edge), (1e-4, 1e4)
    tried = {}

    def excess(x):
        tried[x] = log_ratio(value(1.0 / x if falls else x), target)
        return tried[x]

    found = next_to_root(excess, *(reversed(ends) if falls else ends), 1e-9)
    assert tried[found] <= 0.0
    beyond = found * (1.0 - 1.01e-9 if falls else 1.0 + 1.01e-9)
    assert log_ratio(value(1.0 / beyond if falls else beyond), target) > 0.0 or found in ends


@given(edge=edges)
def test_next_to_root_takes_few_steps_on_a_smooth_excess(edge):
    tried = []

    def excess(x):
        tried.append(x)
        return log_ratio(x + x**1.5, edge + edge**1.5)

    next_to_root(excess, 1e-7, 1e7, 1e-11)
    assert len(tried) <= 20


@given(points=st.lists(st.floats(0.5, 1.0), min_size=1))
def test_next_to_root_of_an_excess_with_holes_still_returns_a_point_that_holds(points):
    condition = Recorded(lambda x: all(abs(x - hole) > 1e-3 for hole in points))
    found = next_to_root(lambda x: -1.0 if condition(x) else math.inf, 2.0, points[0], 1e-6)
    assert found in condition.seen


def test_next_to_root_may_find_that_both_ends_hold():
    assert next_to_root(lambda x: -1.0, 1.0, 2.0, 1e-6) == 2.0


@given(value=st.floats(1e-300, 1e300), steps=st.integers(-3, 3))
def test_log_ratio_has_the_sign_of_the_difference(value, steps):
    other = value
    for _ in range(abs(steps)):
        other = math.nextafter(other, math.inf if steps > 0 else 0.0)
    assert np.sign(log_ratio(other, value)) == np.sign(steps)
    assert log_ratio(0.0, value) < 0.0 < log_ratio(math.inf, value)


def test_bisect_halves_as_often_as_it_is_told():
    assert bisect(lambda x: x <= 0.7, 0.0, 1.0, halvings(3)) == 0.625
    assert bisect(lambda x: x <= 0.7, 0.0, 1.0, halvings(0)) == 0.0


def test_bisect_returns_the_inside_where_nothing_between_holds():
    assert bisect(lambda x: False, 1.0, 0.0, arithmetic()) == 1.0


@given(points=st.lists(st.floats(0.0, 1.0), min_size=1))
def test_bisect_of_a_condition_with_holes_still_returns_a_point_that_holds(points):
    condition = Recorded(lambda x: all(abs(x - hole) > 1e-3 for hole in points))
    found = bisect(condition, 2.0, points[0], arithmetic(1e-6))
    assert found == 2.0 or found in condition.seen


@given(edge=st.floats(1.5, 1e5))
def test_first_to_hold_brackets_the_edge(edge):
    inside, outside = first_to_hold(lambda x: x >= edge, 0.5, 1.0, lambda x: 2.0 * x)
    assert outside < edge <= inside == 2.0 * outside


def test_first_to_hold_may_be_the_start_or_nothing_and_goes_both_ways():
    assert first_to_hold(lambda x: True, 2.0, 3.0, lambda x: x + 1.0) == (3.0, 2.0)
    nowhere = first_to_hold(lambda x: False, 0.5, 1.0, lambda x: 2.0 * x, last=60.0)
    assert nowhere == (math.inf, 32.0)
    assert first_to_hold(lambda x: x < -4.5, 1.0, 0.0, lambda x: x - 1.0) == (-5.0, -4.0)


@given(at=st.floats(-3.0, 3.0))
def test_minimize_from_grid_finds_the_bottom_between_grid_points(at):
    grid = np.linspace(-3.0, 3.0, 25)
    x, value = minimize_from_grid(lambda x: (x - at) ** 2, grid, (grid - at) ** 2, 1e-9)
    assert value == (x - at) ** 2
    assert x == pytest.approx(at, abs=1e-6)


@given(values=st.lists(st.floats(-9.0, 9.0), min_size=2, max_size=9))
def test_minimize_from_grid_is_never_worse_than_the_grid(values):
    grid = np.arange(float(len(values)))
    _, value = minimize_from_grid(lambda x: math.cos(9.0 * x) + 20.0, grid, np.array(values))
    assert value == min(values)
