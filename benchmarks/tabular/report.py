"""Write the tables of the documentation from the lines that `run.py` left.

Usage: python benchmarks/tabular/report.py results.jsonl > docs/tabular_tables.md
       python benchmarks/tabular/report.py results.jsonl MODEL OTHER

With two models, it prints the means of both and of their difference on the same splits, with its
standard error, wherever they differ.
"""

import sys
from pathlib import Path

import pandas as pd
from scipy import stats

sys.path.append(str(Path(__file__).parent))

from ranks import mean_ranks

DIGITS = {"accuracy": 3, "AUC": 3, "log-loss": 3, "calibration": 3, "R2": 3, "seconds": 2}
LESS_IS_BETTER = ("log-loss", "calibration", "seconds")
TITLES = {
    "accuracy": "Accuracy",
    "R2": "R²",
    "log-loss": "Log-loss",
    "calibration": "Calibration error",
    "AUC": "Area under the ROC curve (several classes: mean of one against the rest)",
    "seconds": "Seconds of CPU for a fit, data preparation included",
}
HEADS = {
    "breast cancer": "cancer",
    "wine, 3 classes": "wine",
    "digits, 10 classes": "digits",
    "magic04": "magic04",
    "Adult": "Adult",
    "bank": "bank",
    "bank, calls": "calls",
    "bands": "bands",
    "weak signal, 1000 rows": "weak, 1000",
    "weak signal, 8000 rows": "weak, 8000",
    "diabetes": "diabetes",
    "California housing": "housing",
    "wine quality, red": "red wine",
    "wine quality, white": "white wine",
    "weak signal, number": "weak, number",
}
TUNED = "DP-EBM, tuned on the test rows"
PRIVATE = (
    *("skdp tabular", "skdp additive", "skdp kernel", "skdp linear", "skdp naive Bayes", "DP-EBM"),
    *("diffprivlib linear", "diffprivlib naive Bayes", "diffprivlib forest"),
)
FORMULA = "formula of the simulation"
WITHOUT = ("linear, no privacy", "boosting, no privacy", FORMULA, "constant")
RELATIONS = ("replace_one", "add_remove_one")
ONE_LEVEL = ("calibration", "seconds")
LEVEL = 0.05


def main(path):
    """Print the ranks, and a table for each measure, ε and relation."""
    rows = pd.read_json(path, lines=True, dtype={"epsilon": str})
    rows["epsilon"] = rows["epsilon"].astype(float)
    if "failed" in rows:
        rows = rows[rows["failed"].isna()]
    write_ranks(rows)
    for metric, title in TITLES.items():
        for epsilon in (1.0,) if metric in ONE_LEVEL else (0.3, 1.0, 3.0):
            print(f"### {title}, ε = {epsilon:g}\n")
            for relation in RELATIONS:
                write(rows, metric, epsilon, relation)


def compare(path, model, other):
    """Print the area under the ROC curve or R² of two models, and their difference."""
    rows = pd.read_json(path, lines=True, dtype={"epsilon": str})
    rows["score"] = rows["AUC"].fillna(rows["R2"])
    head("data", ["relation", "ε", model, other, "change", "standard error"])
    for names, group in rows.groupby(["table", "relation", "epsilon"]):
        splits = group.pivot(index="seed", columns="model", values="score").dropna()
        change = splits[other] - splits[model]
        if change.any():
            means = (splits[model].mean(), splits[other].mean(), change.mean(), change.sem())
            shown = [f"{mean:.4f}".replace("0.", ".").replace("-", "−") for mean in means]
            line(HEADS[names[0]], [f"`{names[1]}`", f"{float(names[2]):g}", *shown])


def under(rows, relation):
    """Return the lines of skdp under one relation, and those of all others."""
    return rows[rows["relation"].eq(relation) | ~rows["relation"].isin(RELATIONS)]


def write(rows, metric, epsilon, relation):
    """Print one table: a line for each model, a column for each data set."""
    here = under(rows, relation)
    here = here[here["epsilon"].isin([epsilon, float("inf")]) & here[metric].notna()]
    if metric == "seconds":
        here = here[~here["model"].isin(["constant", FORMULA, TUNED])]
    models = [m for m in (*PRIVATE, TUNED, *WITHOUT) if m in {*here["model"]}]
    names = [name for name in HEADS if name in {*here["table"]}]
    columns = {name: column(here[here["table"] == name], metric) for name in names}
    head(f"skdp: `{relation}`", [HEADS[name] for name in names])
    for model in models:
        line(model, [of.get(model, "–") for of in columns.values()])
    print()


def head(first, others):
    """Print the head of a table."""
    line(first, others)
    print(f"|---|{'---|' * len(others)}")


def line(first, others):
    """Print a line of a table."""
    print(f"| {first} | {' | '.join(others)} |")


def column(rows, metric):
    """Return the cell of each model on one data set."""
    splits = rows.pivot(index="seed", columns="model", values=metric)
    best = leader(splits[[m for m in PRIVATE if m in splits]], metric)
    return {model: cell(values, metric, model == best) for model, values in splits.items()}


def leader(splits, metric):
    """Return the best model if a t test on the splits tells it from every other."""
    means = splits.mean().sort_values(ascending=metric in LESS_IS_BETTER)
    first, *others = means.index
    beyond = stats.t.ppf(1.0 - LEVEL / 2.0, 2 * len(splits) - 2)
    errors = (splits.var() / len(splits)).pipe(lambda of: (of + of[first]) ** 0.5)
    return first if all(abs(means[first] - means[o]) > beyond * errors[o] for o in others) else None


def cell(values, metric, bold):
    """Return mean and standard deviation over the splits as the tables show them."""
    text = number(values.mean(), metric)
    return f"{f'**{text}**' if bold else text} <small>±{number(values.std(), metric)}</small>"


def number(value, metric):
    """Return a number without the 0 before its point."""
    shown = round(value, DIGITS[metric]) + 0.0  # and no −0
    if abs(shown) < 1:
        return f"{shown:.{DIGITS[metric]}f}".replace("0.", ".", 1).replace("-", "−")
    return f"{shown:.2f}".replace("-", "−")


def write_ranks(rows):
    """Print the mean ranks of the models, a column for each kind of score and each relation."""
    rows = rows[
        rows["table"].isin(rows[rows["model"] == "DP-EBM"]["table"])
    ]  # all models are there
    kinds = {"accuracy or R²": rows["accuracy"].fillna(rows["R2"]), "log-loss": rows["log-loss"]}
    columns = {}
    for name, score in kinds.items():
        for relation in RELATIONS:
            values = ranked(under(rows.assign(score=score), relation))
            n_tables, n_models = values.index.unique("table").size, values.shape[1]
            title = f"{name}, `{relation}`: {n_models} models, {n_tables} data sets"
            columns[title] = mean_ranks(values, name in LESS_IS_BETTER)
    print("### Mean ranks\n")
    head("", [*columns])
    for model in (*PRIVATE, TUNED):
        line(model, [interval(of.get(model)) for of in columns.values()])
    print()


def ranked(rows):
    """Return the mean score of each (data set, ε), with a column for each model that is on all."""
    rows = rows[rows["model"].isin([*PRIVATE, TUNED]) & rows["score"].notna()]
    values = rows.pivot_table(index=["table", "epsilon"], columns="model", values="score")
    return values.dropna(axis=1)


def interval(found):
    """Return a mean rank and its interval as the table shows them."""
    if found is None:
        return "–"
    return "{:.1f} <small>{:.1f} to {:.1f}</small>".format(*found)


if __name__ == "__main__":
    main(sys.argv[1]) if len(sys.argv) == 2 else compare(*sys.argv[1:])
