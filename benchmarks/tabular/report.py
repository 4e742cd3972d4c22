"""Write the tables of the documentation from the lines that `run.py` left.

Usage: python benchmarks/tabular/report.py results.jsonl > docs/tabular_tables.md
"""

import sys

import pandas as pd

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
    """Print one table of means over seeds: the best private one of a row is bold."""
    here = rows[rows["epsilon"].isin([epsilon, float("inf")]) & rows[metric].notna()]
    private = here[here["epsilon"] == epsilon]["model"].unique()
    means = here.pivot_table(index="table", columns="model", values=metric, sort=False)
    order = [*private, *(model for model in means.columns if model not in private)]
    print(f"### {title}\n\n| data | {' | '.join(order)} |\n|---|{'---|' * len(order)}")
    for name, found in means[order].iterrows():
        shown = found.round(DIGITS[metric])
        best = shown[private].min() if metric in LESS_IS_BETTER else shown[private].max()
        cells = (cell(shown[m], metric, m in private and shown[m] == best) for m in order)
        print(f"| {name} | {' | '.join(cells)} |")
    print()


def cell(value, metric, bold):
    """Return a number as the tables show it."""
    if pd.isna(value):
        return "–"
    text = f"{value:.{DIGITS[metric]}f}".replace("0.", ".", 1) if abs(value) < 1 else f"{value:.2f}"
    return f"**{text}**" if bold else text


if __name__ == "__main__":
    main(sys.argv[1])
