"""
Privacy accounting: how tight are accountants for repeated releases?
====================================================================

Each curve is the upper bound of one accountant. Left: a repeated Gaussian release. Right: a
repeated ε-DP release, with no other information about it. The exact cost is known in both cases.
All releases are on one data set, with one δ.
"""

import matplotlib.pyplot as plt
import numpy as np

from skdp.accounting import (
    AdvancedAccountant,
    BasicAccountant,
    GDPAccountant,
    RDPAccountant,
    ZCDPAccountant,
)
from skdp.privacy import GDPEvent, PureDPEvent, SelfComposedEvent

DELTA = 1e-5
COUNTS = np.unique(np.geomspace(1, 3000, 25).astype(int))
SHARED = [
    ("basic", BasicAccountant()),
    ("advanced, Dwork and Roth 3.20", AdvancedAccountant(form="dwork_roth")),
    ("zCDP, classic conversion", ZCDPAccountant(conversion="classic")),
    ("Rényi, tight conversion", RDPAccountant()),
]
PANELS = [
    (
        "Gaussian releases, μ = 0.1 each",
        GDPEvent(0.1),
        [*SHARED, ("Gaussian DP (exact)", GDPAccountant())],
    ),
    (
        "black boxes, ε = 0.1 each",
        PureDPEvent(0.1),
        [
            *SHARED,
            ("Gaussian DP", GDPAccountant()),
            ("advanced, optimal (exact)", AdvancedAccountant(form="optimal")),
        ],
    ),
]
COLORS = {
    "basic": "tab:gray",
    "advanced, Dwork and Roth 3.20": "tab:orange",
    "zCDP, classic conversion": "tab:purple",
    "Rényi, tight conversion": "tab:blue",
    "Gaussian DP": "tab:green",
}


def main() -> None:
    """Draw both panels."""
    figure, axes = plt.subplots(1, 2, figsize=(10, 4.4), sharex=True, sharey=True)
    for axis, (title, event, accountants) in zip(axes, PANELS, strict=True):
        for label, accountant in accountants:
            epsilons = [
                accountant.epsilon(SelfComposedEvent(event, int(count)), DELTA) for count in COUNTS
            ]
            exact = "exact" in label
            axis.plot(
                COUNTS,
                epsilons,
                color="black" if exact else COLORS[label],
                linewidth=2.2 if exact else 1.4,
                label=label,
            )
        axis.set(title=title, xlabel="number of releases", xscale="log", yscale="log")
        axis.set_ylim(0.08, 120.0)
        axis.grid(alpha=0.3)
        axis.legend(fontsize=8, loc="lower right", frameon=False)
    axes[0].set_ylabel(f"ε at δ = {DELTA:g}")
    figure.tight_layout()
    plt.show()


if __name__ == "__main__":
    main()
