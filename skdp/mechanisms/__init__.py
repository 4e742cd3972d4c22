"""How one answer is released: noise on a public grid, drawn exactly, and private choices."""

from skdp.mechanisms.base import AdditiveMechanism, Mechanism
from skdp.mechanisms.laplace import Laplace

__all__ = [
    "MECHANISMS",
    "AdditiveMechanism",
    "Laplace",
    "Mechanism",
]

MECHANISMS: dict[str, type[AdditiveMechanism]] = {
    "laplace": Laplace,
}
"""Every additive noise by name; the conformance suite runs over this list."""
