"""Draw accuracy or area under the ROC curve against ε, from the lines that `run.py` left.

Usage: python benchmarks/tabular/picture.py results.jsonl docs/images/accuracy.svg
"""

import sys

import matplotlib.pyplot as plt
import pandas as pd

PANELS = [("Adult", "accuracy"), ("magic04", "accuracy"), ("bank", "AUC")]
MODELS = {
    "skdp additive": {"color": "#0b4f8a", "marker": "o", "linewidth": 2.2},
    "skdp linear": {"color": "#4f9bd9", "marker": "o", "linewidth": 2.2},
    "DP-EBM": {"color": "#c46a1b", "marker": "s"},
    "diffprivlib linear": {"color": "#8a8f98", "marker": "^"},
    "diffprivlib forest": {"color": "#b9bdc4", "marker": "v"},
}
WITHOUT = {
    "boosting, no privacy": {"color": "black", "linestyle": ":"},
    "linear, no privacy": {"color": "black", "linestyle": "--"},
    "constant": {"color": "#a33", "linestyle": "-."},
}


def main(path, out):
    """Draw all panels into a file."""
    plt.rcParams |= {"font.size": 10, "svg.hashsalt": "skdp", "svg.fonttype": "path"}
    rows = pd.read_json(path, lines=True, dtype={"epsilon": str})
    rows["epsilon"] = rows["epsilon"].astype(float)
    figure, axes = plt.subplots(1, len(PANELS), figsize=(11, 3.9), layout="constrained")
    for ax, (table, metric) in zip(axes, PANELS, strict=True):
        panel(ax, rows[rows["table"] == table], table, metric)
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=4, frameon=False)
    figure.savefig(out, metadata={"Date": None}, facecolor="white")


def panel(ax, rows, table, metric):
    """Draw one table: lines of private models, with their spread over splits, levels of others."""
    found = rows.groupby(["model", "epsilon"])[metric].agg(["mean", "min", "max"])
    for model, style in WITHOUT.items():
        ax.axhline(found.loc[model, "mean"].iloc[0], linewidth=1, label=model, **style)
    for model, style in MODELS.items():
        of = found.loc[model]
        ax.plot(of.index, of["mean"], markersize=5, label=model, **style)
        ax.fill_between(of.index, of["min"], of["max"], color=style["color"], alpha=0.15, lw=0)
    ax.set(xscale="log", xlabel="ε", title=f"{table}: {metric}")
    ax.set_xticks([0.1, 0.3, 1, 3, 10], ["0.1", "0.3", "1", "3", "10"])
    ax.spines[["top", "right"]].set_visible(False)


if __name__ == "__main__":
    main(*sys.argv[1:3])
