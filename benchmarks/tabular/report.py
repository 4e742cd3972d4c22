"""Write the tables of the documentation from the lines that `run.py` left.

Usage: python benchmarks/tabular/report.py results.jsonl > docs/tabular_tables.md
"""

import sys

import pandas as pd
from scipy import stats

DIGITS = {"accuracy": 3, "AUC": 3, "log-loss": 3, "calibration": 3, "R2": 3, "seconds": 2}
LESS_IS_BETTER = ("log-loss", "calibration", "seconds")
TITLES = {
    "accuracy": "Accuracy",
    "AUC": "Area under the ROC curve (several classes: mean of one against the rest)",
    "log-loss": "Log-loss",
    "calibration": "Calibration error",
    "R2": "R²",
    "seconds": "Seconds of CPU for a fit, data preparation included",
}
HEADS = {
    "breast cancer": "cancer",
    "wine, 3 classes": "wine",
    "digits, 10 classes": "digits",
    "bank, calls": "calls",
    "California housing": "housing",
    "wine quality, red": "red wine",
    "wine quality, white": "white wine",
}
WITHOUT_A_CONSTANT = ("calibration", "seconds")
LEVEL = 0.05


def main(path):
    """Print a table for each measure and ε."""
    rows = pd.read_json(path, lines=True, dtype={"epsilon": str})
    rows["epsilon"] = rows["epsilon"].astype(float)
    if "failed" in rows:
        rows = rows[rows["failed"].isna()]
    for metric, title in TITLES.items():
        levels = (1.0,) if metric in ("calibration", "seconds") else (0.3, 1.0, 3.0)
        for epsilon in levels:
            write(rows, metric, f"{title}, ε = {epsilon:g}", epsilon)


def write(rows, metric, title, epsilon):
    """Print one table: a line for each model, a column for each data set."""
    here = rows[rows["epsilon"].isin([epsilon, float("inf")]) & rows[metric].notna()]
    if metric in WITHOUT_A_CONSTANT:
        here = here[here["model"] != "constant"]
    private = [*here[here["epsilon"] == epsilon]["model"].unique()]
    models = [*private, *(m for m in here["model"].unique() if m not in private)]
    columns = {name: column(of, metric, private) for name, of in here.groupby("table", sort=False)}
    print(f"### {title}\n\n| | {' | '.join(HEADS.get(name, name) for name in columns)} |")
    print(f"|---|{'---|' * len(columns)}")
    for model in models:
        print(f"| {model} | {' | '.join(of.get(model, '–') for of in columns.values())} |")
    print()


def column(rows, metric, private):
    """Return the cell of each model on one data set."""
    splits = rows.pivot(index="seed", columns="model", values=metric)
    best = leader(splits[splits.columns.intersection(private)], metric)
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


if __name__ == "__main__":
    main(sys.argv[1])
