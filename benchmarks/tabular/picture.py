"""Draw scores against ε, under both relations, from the lines that `run.py` left.

Usage: python benchmarks/tabular/picture.py results.jsonl docs/images/accuracy.svg
"""

import sys

import matplotlib.pyplot as plt
import pandas as pd

PANELS = {
    ("Adult", "accuracy"): ("Adult: accuracy", (0.74, 0.89)),
    ("California housing", "R2"): ("Housing: R²", (-0.1, 0.9)),
    ("bank", "log-loss"): ("Bank: log-loss (less is better)", (0.275, 0.375)),
    ("weak signal, 1000 rows", "log-loss"): ("Weak signal, 1000 rows: log-loss", (0.55, 0.9)),
}
"""(data set, score): title and limits. Much worse values leave the panel."""
SOLID, DASHED = {"linestyle": "-", "linewidth": 2.2}, {"linestyle": (0, (2.5, 1.2))}
RELATIONS = {"replace_one": SOLID, "add_remove_one": DASHED}
OURS = {
    "skdp tabular": {"color": "#0b4f8a", "marker": "o"},
    "skdp additive": {"color": "#2e9c8f", "marker": "^"},
}
EBM = {"color": "#c4611b", "marker": "s"}
PEERS = {"DP-EBM": EBM | SOLID, "DP-EBM, tuned on the test rows": EBM | DASHED}
LEVELS = {
    "boosting, no privacy": {"color": "black", "linestyle": ":"},
    "constant": {"color": "#a33", "linestyle": "-."},
}


def main(path, out):
    """Draw all panels into a file."""
    plt.rcParams |= {"font.size": 12, "svg.hashsalt": "skdp", "svg.fonttype": "path"}
    rows = pd.read_json(path, lines=True, dtype={"epsilon": str})
    rows["epsilon"] = rows["epsilon"].astype(float)
    figure, axes = plt.subplots(1, 4, figsize=(13, 4.1), layout="constrained")
    for ax, ((table, metric), (title, limits)) in zip(axes, PANELS.items(), strict=True):
        panel(ax, rows[rows["table"] == table], metric)
        ax.set_title(title, fontsize=12)
        ax.set_ylim(limits)
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=4, frameon=False)
    figure.savefig(out, metadata={"Date": None}, facecolor="white")


def panel(ax, rows, metric):
    """Draw one data set: a line for each private model, a level for each of the others."""
    for model, style in OURS.items():
        for relation, dashes in RELATIONS.items():
            here = rows[(rows["model"] == model) & (rows["relation"] == relation)]
            curve(ax, here, metric, f"{model}, {relation}", style | dashes)
    for model, style in PEERS.items():
        curve(ax, rows[rows["model"] == model], metric, model, style)
    for model, style in LEVELS.items():
        level = rows.loc[rows["model"] == model, metric].mean()
        ax.axhline(level, label=model, zorder=1, **style)
    ax.set(xscale="log", xlabel="ε")
    ax.set_xticks([0.1, 0.3, 1, 3, 10], ["0.1", "0.3", "1", "3", "10"])
    ax.minorticks_off()
    ax.spines[["top", "right"]].set_visible(False)


def curve(ax, rows, metric, label, style):
    """Draw means over the splits, and a band from the least to the largest."""
    of = rows.groupby("epsilon")[metric].agg(["mean", "min", "max"])
    ax.plot(of.index, of["mean"], markersize=4, label=label, **style)
    ax.fill_between(of.index, of["min"], of["max"], color=style["color"], alpha=0.1, lw=0)


if __name__ == "__main__":
    main(*sys.argv[1:3])
