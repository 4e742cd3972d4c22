"""The two relations and the factor between their sensitivities."""

import json

import numpy as np
import pytest

from skdp.privacy import Neighboring


def test_there_are_two_relations():
    assert [str(relation) for relation in Neighboring] == ["replace_one", "add_remove_one"]


@pytest.mark.parametrize(("name", "changed"), [("replace_one", 2), ("add_remove_one", 1)])
def test_a_bounded_sum_moves_by_at_most_n_changed_radii(name, changed):
    radius, rows = 3.0, np.array([3.0, -1.0, 2.0])
    neighbor = np.append(rows[1:], -radius) if name == "replace_one" else rows[1:]
    assert Neighboring(name).n_changed == changed
    assert abs(rows.sum() - neighbor.sum()) == changed * radius


def test_the_count_is_public_only_if_neighbors_have_the_same_number_of_rows():
    assert Neighboring.REPLACE_ONE.count_is_public
    assert not Neighboring.ADD_REMOVE_ONE.count_is_public


def test_a_relation_is_its_name():
    assert Neighboring("replace_one") == "replace_one"
    assert json.dumps(Neighboring.ADD_REMOVE_ONE) == '"add_remove_one"'


@pytest.mark.parametrize("name", ["replace-one", "", None])
def test_another_relation_is_refused(name):
    with pytest.raises(ValueError, match=r"one of.*replace_one.*add_remove_one"):
        Neighboring(name)
