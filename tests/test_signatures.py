"""Public signatures: data are positional, everything else is given by name."""

import inspect
import runpy
from importlib import import_module
from pathlib import Path

import pytest

FOLDERS = [
    "additive",
    "auditing",
    "budget",
    "calibration",
    "cluster",
    "decomposition",
    "ensemble",
    "features",
    "inspection",
    "linear_model",
    "metrics",
    "model_selection",
    "naive_bayes",
    "pipeline",
    "preprocessing",
    "statistics",
    "tabular",
]
# What is worked on, in the order in which scikit-learn expects it.
POSITIONAL = {
    "X_public",
    "condition",
    "covariates",
    "estimator",
    "event",
    "metric",
    "model",
    "one",
    "other",
    "param_distributions",
    "param_grid",
    "parent",
    "steps",
    "time",
    "treated",
    "x",
    "y",
    "y_pred",
    "y_prob",
    "y_score",
    "y_true",
}
# Values that functions return. Nobody makes one to choose a setting.
RESULTS = {
    "Amount",
    "Attack",
    "CalibrationMap",
    "Covariance",
    "Description",
    "Difference",
    "Leak",
    "Marginals",
    "Mean",
    "ModelCard",
    "MultiRunAudit",
    "NoisyNumbers",
    "OneRunAudit",
    "PrivateScorer",
    "Quantile",
    "Statistic",
    "SurvivalCurve",
    "Variance",
}
DOCS = Path(__file__).parents[1] / "docs"
# In signatures and pages parameters come in these groups, in this order.
GROUPS = {
    "data": "features bounds categories classes target_bounds data_norm max_norm max_weight "
    "max_rows missing",
    "privacy": "epsilon delta neighboring budget",
    "model": "n_clusters n_components quantile quantiles loss threshold smoothing slope_bound "
    "loss_clip C fit_intercept intercept_scaling center class_weight standard_errors alpha priors "
    "least_variance tail n_terms linear_share transformation reference interactions "
    "monotonic_cst norm scale "
    "n_trees depth feature_seed target_transform additive random additive_share",
    "solver": "solver sampler n_steps sampling_rate clip_norm step_size momentum average noise "
    "max_iter n_samples_hint epsilon_hint subsample tol",
    "computation": "random_state verbose",
}
GROUPED = (
    *("additive.DP", "cluster.", "decomposition.", "ensemble.", "features."),
    *("linear_model.", "naive_bayes.", "preprocessing."),
)


def signatures():
    """Yield the name and the parameters of each public class and function that takes settings."""
    for folder in FOLDERS:
        module = import_module(f"skdp.{folder}")
        for name in set(module.__all__) - RESULTS:
            entry = getattr(module, name)
            is_error = inspect.isclass(entry) and issubclass(entry, Exception)
            if callable(entry) and not is_error:
                yield f"{folder}.{name}", inspect.signature(entry).parameters.values()


SIGNATURES = dict(sorted(signatures()))


@pytest.mark.parametrize("name", SIGNATURES)
def test_settings_are_given_by_name(name):
    by_place = {p.name for p in SIGNATURES[name] if p.kind is p.POSITIONAL_OR_KEYWORD}
    assert by_place <= POSITIONAL


@pytest.mark.parametrize(
    "name", [n for n in SIGNATURES if ".DP" in n and "search" not in n.lower()]
)
def test_a_number_in_the_first_place_is_no_epsilon(name):
    folder, cls = name.split(".")
    make = getattr(import_module(f"skdp.{folder}"), cls)
    with pytest.raises(TypeError, match="positional argument"):
        make(8, 1e-5)


@pytest.mark.parametrize("name", [name for name in SIGNATURES if name.startswith(GROUPED)])
def test_parameters_come_in_groups(name):
    groups = [names.split() for names in GROUPS.values()]
    found = [
        next(k for k, names in enumerate(groups) if parameter.name in names)
        for parameter in SIGNATURES[name]
    ]
    assert found == sorted(found)


@pytest.mark.skipif(not DOCS.exists(), reason="needs a checkout")
def test_pages_show_the_same_groups():
    shown = runpy.run_path(str(DOCS / "_extensions" / "parameter_groups.py"))["NAMES"]
    assert shown["Privacy"] == {*GROUPS["privacy"].split()}
    assert shown["Solver"] == {*GROUPS["solver"].split()}
    assert shown["Computation"] >= {*GROUPS["computation"].split()}
