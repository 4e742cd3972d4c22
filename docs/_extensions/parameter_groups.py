"""Headings between the groups of an estimator's parameters."""

import re

NAMES = {
    "Privacy": {"epsilon", "delta", "neighboring", "budget"},
    "Solver": {
        *("solver", "sampler", "n_steps", "sampling_rate", "clip_norm", "step_size", "momentum"),
        *("average", "noise", "max_iter", "n_samples_hint", "epsilon_hint", "subsample", "tol"),
    },
    "Computation": {"random_state", "verbose", "n_jobs"},
}
GROUPED = re.compile(
    r"skdp\.(additive|cluster|decomposition|density|ensemble|linear_model"
    r"|naive_bayes|preprocessing|tabular)\.DP\w+$"
)
PARAMETER = re.compile(r"( +)\*\*(\w+)\*\*")


def group_of(name: str, before: str) -> str:
    """Return the group of a parameter: data come before privacy, and the model after it."""
    named = (group for group, names in NAMES.items() if name in names)
    return next(named, "Data" if before in ("", "Data") else "Model")


def add_headings(app, what, name, obj, options, lines):
    """Insert a heading where a group begins, into lines that numpydoc has rewritten."""
    if what != "class" or not GROUPED.match(name) or ":Parameters:" not in lines:
        return
    group, i = "", lines.index(":Parameters:") + 1
    while i < len(lines) and not lines[i].startswith((":", ".. rubric")):
        if found := PARAMETER.match(lines[i]):
            before, group = group, group_of(found[2], group)
            if group != before:
                heading = [f"{found[1]}.. rubric:: {group}", ""]
                lines[i:i] = heading
                i += len(heading)
        i += 1


def setup(app) -> dict:
    """Register the handler after that of numpydoc."""
    app.connect("autodoc-process-docstring", add_headings, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
