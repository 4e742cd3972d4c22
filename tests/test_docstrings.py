"""Public docstrings: every parameter and result is documented, and equal ones in equal words."""

import inspect
from enum import Enum
from functools import cache, cached_property
from importlib import import_module

import pytest
from numpydoc.docscrape import ClassDoc, FunctionDoc, get_doc_object
from numpydoc.validate import Validator, validate
from public_modules import MODULES

# No docstring at all, a parameter without words, words without a parameter, no word on the result.
WANTED = {"GL08", "PR01", "PR02", "RT01"}
ROOMS = ["skdp", *(f"skdp.{name}" for name in MODULES)]

ESTIMATORS = [
    "additive",
    "ensemble",
    "features",
    "linear_model",
    "naive_bayes",
    "preprocessing",
    "decomposition",
    "cluster",
    "tabular",
]
# What every estimator and scaler says of the parameters that they share. What is particular, such
# as the model that ``epsilon=inf`` is, stands above the parameters.
SHARED = {
    "epsilon": "*Public.* Privacy loss of one fit, in nats.",
    "delta": "*Public.* Probability that the ε bound fails, well below 1/n. ``None``: the "
    "budget's δ, or 1e-5.",
    "neighboring": "*Public.* Whether neighbors differ in the values of one record (n is then "
    "public) or in its presence (n is then private).",
    "budget": "*Public.* Budget that `fit` spends from before it reads the data.",
    "random_state": "*Secret.* Seed of the noise, for tests only: a known seed voids the "
    "guarantee. See :term:`seed`.",
}
# Parameters of one name that say different things in different classes of a folder, and why.
DIFFERENT = {
    ("statistics", "edges"): "cells of a histogram, or beginnings of cells without an end",
    ("statistics", "x"): "marginals takes categories, the others numbers only",
    ("linear_model", "standard_errors"): "what robust ones need not assume; none for counts",
    ("linear_model", "smoothing"): "margins, or shares of a width; the hinge's may be automatic",
}


def public_objects(room: str) -> dict[str, object]:
    """Return the classes and functions that a public module defines as its own."""
    module = import_module(room)
    found = {name: getattr(module, name) for name in getattr(module, "__all__", [])}
    return {k: v for k, v in found.items() if inspect.isclass(v) or inspect.isfunction(v)}


def members(cls: type) -> dict[str, object]:
    """Return the public methods and properties that skdp wrote, inherited ones included."""
    found = {}
    for name in dir(cls):
        raw = inspect.getattr_static(cls, name)
        kinds = isinstance(raw, property | cached_property)
        member = raw if kinds else getattr(cls, name, None)
        code = getattr(raw, "fget", None) or getattr(raw, "func", None) if kinds else member
        module = getattr(inspect.unwrap(code), "__module__", None) if callable(code) else None
        if name[0] != "_" and not inspect.isclass(member) and (module or "").startswith("skdp"):
            found[name] = member
    return found


class WithInheritance(Validator):
    """An override without words of its own is described by those that it inherits."""

    def __init__(self, obj_name):
        super().__init__(get_doc_object(obj_name))
        self.raw_doc = inspect.getdoc(self.obj) or ""

    @property
    def name(self):
        return getattr(self.obj, "__qualname__", "")

    @property
    def is_function_or_method(self):
        return inspect.isroutine(self.obj)

    @property
    def signature_parameters(self):
        inherited = isinstance(self.obj, type) and issubclass(self.obj, Enum | Exception)
        # Exceptions and Enums take Python's arguments, which are documented there.
        return () if inherited else super().signature_parameters


@cache
def errors_of(member: object) -> list[str]:
    """Return the defects of a docstring. One that classes inherit is checked once."""
    found = validate(member, validator_cls=WithInheritance)["errors"]
    return [f"{code}: {text}" for code, text in found if code in WANTED]


@pytest.mark.parametrize("room", ROOMS)
def test_parameters_and_results_of_public_objects_are_documented(room):
    wrong = {}
    for name, item in public_objects(room).items():
        wrong[name] = errors_of(item)
        if inspect.isclass(item):
            wrong |= {f"{name}.{key}": errors_of(value) for key, value in members(item).items()}
    wrong = {name: errors for name, errors in wrong.items() if errors}
    assert not wrong, "\n".join(f"{name}: {error}" for name in wrong for error in wrong[name])


@pytest.mark.parametrize("room", ROOMS)
def test_every_public_class_and_function_has_an_example(room):
    documented = {name: inspect.getdoc(item) or "" for name, item in public_objects(room).items()}
    assert {name for name, text in documented.items() if ">>> " not in text} == set()


def words_of(item: object) -> dict[str, str]:
    """Return the words on each parameter, by its name."""
    doc = ClassDoc(item) if inspect.isclass(item) else FunctionDoc(item)
    words = {}
    for names, _, text in doc["Parameters"]:
        words |= dict.fromkeys(names.split(", "), " ".join(" ".join(text).split()))
    return words


def told_differently(rooms: list[str]) -> dict[str, dict[str, list[str]]]:
    """Return parameters with more than one text: the texts, and who uses each."""
    texts: dict[str, dict[str, list[str]]] = {}
    for room in rooms:
        for name, item in public_objects(f"skdp.{room}").items():
            if name[0].islower() == (room == "statistics"):
                for parameter, text in words_of(item).items():
                    texts.setdefault(parameter, {}).setdefault(text, []).append(name)
    return {parameter: found for parameter, found in texts.items() if len(found) > 1}


def listed(found: dict[str, dict[str, list[str]]]) -> str:
    return "\n".join(
        f"{parameter}:\n" + "\n".join(f"    {', '.join(who)}: {text}" for text, who in by.items())
        for parameter, by in found.items()
    )


@pytest.mark.parametrize("room", [*ESTIMATORS, "statistics"])
def test_equal_parameters_of_one_folder_have_equal_words(room):
    found = told_differently([room])
    allowed = {parameter for folder, parameter in DIFFERENT if folder == room}
    assert allowed <= set(found), "an exception that is no longer needed"
    wrong = {parameter: texts for parameter, texts in found.items() if parameter not in allowed}
    assert not wrong, listed(wrong)


@pytest.mark.parametrize("room", ESTIMATORS)
def test_parameters_that_all_estimators_share_have_these_words(room):
    wrong = []
    for name, item in public_objects(f"skdp.{room}").items():
        wanted = {k: v for k, v in SHARED.items() if k in inspect.signature(item).parameters}
        words = words_of(item)
        wrong += [f"{name}: {k}: {words.get(k)}" for k, v in wanted.items() if words.get(k) != v]
    assert not wrong, "\n".join(wrong)
