"""Compares what spenders were told with what the ledger says."""

from collections import Counter
from dataclasses import dataclass, fields
from pathlib import Path

from spender import COST, budget_at


@dataclass
class Tally:
    """Counts of one storm. All but the first four must be 0."""

    acknowledged: int = 0
    models: int = 0  # of the acknowledged, statistics that were released
    rows: int = 0
    strikes: int = 0
    lost: int = 0  # acknowledged, without a row
    double: int = 0  # rows of one label beyond the first
    overspent: int = 0  # rows beyond the ceiling
    unpaid: int = 0  # released models without a row
    denied: int = 0  # "nothing was spent", with a row
    silent: int = 0  # an error that did not say that it was paid, with a row
    invented: int = 0  # rows without an attempt to write them

    def __add__(self, other):
        names = [field.name for field in fields(self)]
        return Tally(**{name: getattr(self, name) + getattr(other, name) for name in names})

    @property
    def faults(self):
        """Return the counts that must be 0 and are not."""
        names = [field.name for field in fields(self)][4:]
        return {name: getattr(self, name) for name in names if getattr(self, name)}


def check(place, room, diaries):
    """Return the tally of a ledger and the diaries of all who spent from it."""
    said = read(diaries)
    budget = budget_at(place, room)  # checks the chain and the sums
    rows = Counter(row["label"] for row in budget.history())
    acknowledged, models = said["ack"] | said["model"], said["model"]
    _explain(said, said["silent"] & set(rows))
    return Tally(
        acknowledged=len(acknowledged),
        models=len(models),
        rows=rows.total(),
        lost=len(acknowledged - set(rows)),
        double=rows.total() - len(rows),
        overspent=max(0, rows.total() - room) + (budget.spent.epsilon > room * COST * (1 + 1e-9)),
        unpaid=len(models - set(rows)),
        denied=len(said["nothing"] & set(rows)),
        silent=len(said["silent"] & set(rows)),
        invented=len(set(rows) - said["try"]),
    )


def _explain(said, labels):
    """Print the errors of some labels."""
    for text in said.get("trace", ()):
        label, _, trace = text.partition(" ")
        if label in labels:
            print(label, trace.replace("|", "\n"), flush=True)


def read(diaries):
    """Return the labels under each word."""
    said = {word: set() for word in ("try", "ack", "model", "nothing", "paid", "silent", "outside")}
    for path in sorted(Path(diaries).iterdir()):
        for line in path.read_text(errors="replace").splitlines():
            word, _, label = line.partition(" ")
            said.setdefault(word, set()).add(label)
    return said
