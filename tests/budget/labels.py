"""Terms with room for many small costs, and the labels of releases."""

from skdp.privacy import GDPEvent, PrivacyGuarantee

TERMS = {"epsilon": 1.0, "delta": 1e-5}
COST = PrivacyGuarantee(GDPEvent(0.001), "replace_one", "test")


def spend(budget, name="a fit", cost=COST, **more):
    budget.spend(cost, delta=0.0, name=name, **more)


def labels(budget):
    return [row["label"] for row in budget.history()]
