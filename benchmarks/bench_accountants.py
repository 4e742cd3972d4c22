"""Tightness and speed of the accountants, compared with those of other libraries.

One run, one table: ε at δ, add/remove neighbors, and milliseconds, nothing cached: the median of
three, or one if that is slow. Peers that cannot be imported are named and skipped:

    python benchmarks/bench_accountants.py [--smallest]
"""

from __future__ import annotations

import argparse
import functools
import statistics
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass

from skdp.accounting import ACCOUNTANTS, Accountant, AdvancedAccountant, UnpricedEventError
from skdp.privacy import (
    GaussianEvent,
    LaplaceEvent,
    PoissonSampledEvent,
    PureDPEvent,
    SelfComposedEvent,
)

Answers = dict[str, Callable[[], float]]


@dataclass(frozen=True)
class Row:
    """`count` releases of one kind, the noise relative to what one record contributes."""

    kind: str  # gaussian, laplace, pure or sampled
    noise: float  # of pure releases: 1/ε
    count: int
    delta: float
    rate: float = 1.0

    def event(self) -> SelfComposedEvent:
        """Return the row as an event of skdp."""
        leaf = {
            "gaussian": lambda: GaussianEvent(self.noise),
            "laplace": lambda: LaplaceEvent(self.noise),
            "pure": lambda: PureDPEvent(1.0 / self.noise),
            "sampled": lambda: PoissonSampledEvent(self.rate, GaussianEvent(self.noise)),
        }[self.kind]()
        return SelfComposedEvent(leaf, self.count)


ROWS = [
    Row("gaussian", 20.0, 100, 1e-5),
    Row("laplace", 10.0, 1000, 1e-6),
    Row("pure", 10.0, 1000, 1e-6),
    Row("sampled", 1.0, 1000, 1e-5, 0.01),
    Row("sampled", 1.0, 10_000, 1e-5, 0.01),
    Row("sampled", 2.0, 2000, 1e-5, 0.02),
    Row("sampled", 0.8, 200, 1e-5, 0.05),
]


def ours(row: Row) -> Answers:
    """Return one question for each accountant of skdp."""
    kinds = {name: kind("add_remove_one") for name, kind in ACCOUNTANTS.items()}
    kinds["advanced 3.20"] = AdvancedAccountant("add_remove_one", "dwork_roth")
    return {f"skdp {name}": functools.partial(_fresh, kind, row) for name, kind in kinds.items()}


def _fresh(accountant: Accountant, row: Row) -> float:
    for module in [m for name, m in sys.modules.items() if name.startswith("skdp.accounting")]:
        for value in vars(module).values():
            if hasattr(value, "cache_clear"):
                value.cache_clear()
    return accountant.epsilon(row.event(), row.delta)


def dp_accounting(row: Row) -> Answers:
    """Google's accountants."""
    import dp_accounting as dp
    from dp_accounting.pld import PLDAccountant
    from dp_accounting.rdp import RdpAccountant

    if row.kind == "pure":
        return {}
    leaf = dp.LaplaceDpEvent(row.noise) if row.kind == "laplace" else dp.GaussianDpEvent(row.noise)
    event = dp.PoissonSampledDpEvent(row.rate, leaf) if row.kind == "sampled" else leaf
    return {
        "dp-accounting PLD": lambda: (
            PLDAccountant().compose(event, row.count).get_epsilon(row.delta)
        ),
        "dp-accounting RDP": lambda: (
            RdpAccountant().compose(event, row.count).get_epsilon(row.delta)
        ),
    }


def prv_accountant(row: Row) -> Answers:
    """Microsoft's accountant, at its documented error of 0.01: its upper bound."""
    import prv_accountant as prv

    if row.kind == "laplace":  # its quadrature takes minutes
        return {}
    distribution = {
        "gaussian": lambda: prv.GaussianMechanism(row.noise),
        "pure": lambda: prv.PureDPMechanism(1.0 / row.noise),
        "sampled": lambda: prv.PoissonSubsampledGaussianMechanism(row.rate, row.noise),
    }[row.kind]

    def answer() -> float:
        accountant = prv.PRVAccountant(
            prvs=[distribution()],
            max_self_compositions=[row.count],
            eps_error=0.01,
            delta_error=row.delta / 1e3,
        )
        return accountant.compute_epsilon(row.delta, [row.count])[2]

    return {"prv-accountant": answer}


def autodp(row: Row) -> Answers:
    """The accountant of autodp, by Rényi divergences."""
    from autodp.mechanism_zoo import GaussianMechanism, LaplaceMechanism
    from autodp.transformer_zoo import AmplificationBySampling, Composition

    if row.kind == "pure":
        return {}

    def answer() -> float:
        laplace = row.kind == "laplace"
        distribution = LaplaceMechanism(row.noise) if laplace else GaussianMechanism(row.noise)
        if row.kind == "sampled":
            distribution = AmplificationBySampling(PoissonSampling=True)(
                distribution, row.rate, improved_bound_flag=True
            )
        return Composition()([distribution], [row.count]).get_approxDP(row.delta)

    return {"autodp": answer}


def opacus(row: Row) -> Answers:
    """Opacus' accountants by privacy random variables, its default, and by Rényi divergences."""
    from opacus.accountants import PRVAccountant, RDPAccountant

    if row.kind not in ("gaussian", "sampled"):
        return {}

    def answer(kind: type) -> float:
        accountant = kind()
        accountant.history = [(row.noise, row.rate, row.count)]
        return accountant.get_epsilon(row.delta)

    kinds = {"opacus PRV": PRVAccountant, "opacus RDP": RDPAccountant}
    return {name: functools.partial(answer, kind) for name, kind in kinds.items()}


PEERS = [dp_accounting, prv_accountant, autodp, opacus]


def timed(answer: Callable[[], float]) -> tuple[float, float]:
    """Return the answer and the median of three times in milliseconds."""
    times = []
    for _ in range(3):
        start = time.perf_counter()
        value = answer()
        times.append(1e3 * (time.perf_counter() - start))
        if times[0] > 2000.0:
            break
    return value, statistics.median(times)


def show(answers: Answers, foreign: bool) -> None:
    """Print one line for each answer; `foreign` code may fail in any way, and the others go on."""
    for name, answer in answers.items():
        try:
            value, duration = timed(answer)
        except UnpricedEventError:
            continue
        except Exception as error:
            if not foreign:
                raise
            print(f"  {name:18s} failed: {type(error).__name__}: {error}"[:100])
            continue
        print(f"  {name:18s} {value:12.5f} {duration:10.2f} ms", flush=True)


def available() -> list[Callable[[Row], Answers]]:
    """Return the peers that can be imported; say which cannot."""
    found = []
    for peer in PEERS:
        try:
            peer(ROWS[0])
            found.append(peer)
        except ImportError as error:
            print(f"skipped {peer.__name__}: {error}")
    return found


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--smallest", action="store_true", help="one row, and no peers")
    smallest = parser.parse_args().smallest
    warnings.simplefilter("ignore")
    peers = [] if smallest else available()
    for row in ROWS[: 1 if smallest else None]:
        print(f"\n{row}")
        for source in [ours, *peers]:
            show(source(row), foreign=source is not ours)


if __name__ == "__main__":
    main()
