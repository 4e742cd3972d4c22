"""What stands around a fit: importing the package, spending from a ledger, accounting."""

from itertools import count

from skdp import PrivacyBudget
from skdp.accounting import PLDAccountant
from skdp.privacy import (
    GaussianEvent,
    GDPEvent,
    PoissonSampledEvent,
    PrivacyGuarantee,
    SelfComposedEvent,
)

NOISES = count(1.0, 1e-6)  # none that is remembered comes again


class Costs:
    """Times of what every program does."""

    timeout = 120

    def setup(self):
        """Open a ledger."""
        self.budget = PrivacyBudget(epsilon=100.0, delta=1e-3)

    def timeraw_import(self):
        """Import the package and an estimator."""
        return "from skdp import DPLogisticRegression"

    def time_spend(self):
        """Write one release into a ledger."""
        release = PrivacyGuarantee(GDPEvent(1e-6), "replace_one", "")
        self.budget.spend(release, delta=1e-9, name="tracked")

    def time_dp_sgd_epsilon(self):
        """Account 10 000 steps on Poisson samples."""
        step = PoissonSampledEvent(0.01, GaussianEvent(next(NOISES)))
        PLDAccountant("add_remove_one").epsilon(SelfComposedEvent(step, 10_000), 1e-5)
