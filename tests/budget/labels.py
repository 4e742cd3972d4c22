"""The labels of releases."""


def labels(budget):
    return [row["label"] for row in budget.history()]
