"""Registries: names without imports, classes when they are asked for."""

import dataclasses
import pickle
from collections import OrderedDict
from fractions import Fraction

import pytest
from sklearn.base import clone

from skdp import DPLogisticRegression
from skdp.privacy.events import EVENTS
from skdp.samplers import REFERENCE_SAMPLERS, SAMPLERS
from skdp.solvers import SOLVERS
from skdp.support.lazy_names import Registry

MIXED = Registry({"own": Fraction, "path": "collections:OrderedDict", "gone": "not_there:Thing"})


def test_a_registry_is_a_mapping_of_names_to_classes():
    assert list(MIXED) == ["own", "path", "gone"]
    assert (len(MIXED), "gone" in MIXED, "other" in MIXED) == (3, True, False)
    assert (MIXED["own"], MIXED["path"]) == (Fraction, OrderedDict)
    with pytest.raises(KeyError, match="other"):
        MIXED["other"]
    with pytest.raises(ModuleNotFoundError, match="not_there"):
        MIXED["gone"]


def test_a_class_has_the_name_of_its_entry_and_a_subclass_has_none():
    assert [MIXED.name_of(kind) for kind in (Fraction, OrderedDict, int)] == ["own", "path", None]
    assert MIXED.name_of(type("Own", (Fraction,), {})) is None


def test_a_registry_shows_its_names_and_imports_nothing():
    assert repr(MIXED) == "Registry(['own', 'path', 'gone'])"


def test_registries_are_joined_in_order():
    assert list(MIXED | Registry({"more": int})) == [*MIXED, "more"]


@pytest.mark.parametrize("registry", [SAMPLERS, REFERENCE_SAMPLERS, SOLVERS, EVENTS])
def test_every_path_is_where_its_class_is_defined(registry):
    """Else a class that is asked for by its name would not be known by it."""
    assert [registry.name_of(kind) for kind in registry.values()] == list(registry)


RESEARCH = {
    "sampler": ["localized"],
    "solver": ["phased_sgd", "coordinate_descent", "exponential_mechanism"],
}


@pytest.mark.parametrize(
    ("parameter", "name"), [(which, name) for which, names in RESEARCH.items() for name in names]
)
def test_an_estimator_takes_research_by_name_and_by_instance(parameter, name):
    X, y = [[k / 20.0, 1.0 - k / 20.0] for k in range(20)], [k % 2 for k in range(20)]
    registry = {"sampler": SAMPLERS, "solver": SOLVERS}[parameter]
    settings = {"delta": 0.0} if name == "exponential_mechanism" else {}
    if parameter == "sampler":
        settings["solver"] = "regularized_exponential"
    models = [
        DPLogisticRegression(epsilon=1.0, random_state=0, **{parameter: value}, **settings)
        for value in (name, registry[name]())
    ]
    fitted = [pickle.loads(pickle.dumps(clone(model).fit(X, y))) for model in models]
    one, other = fitted
    assert (one.coef_ == other.coef_).all()
    assert one.solver_ == other.solver_ == settings.get("solver", name)
    assert one.privacy_ == other.privacy_
    again = clone(other).get_params()[parameter]
    assert dataclasses.is_dataclass(again)
    assert again == registry[name]()
