"""Public maps of rows to features: each reads one row and public numbers, and costs no privacy."""

from skdp.features.additive import AdditiveMap
from skdp.features.base import FeatureMap
from skdp.features.fourier import FourierMap
from skdp.features.mixture import MixtureMap
from skdp.features.table import TableFacts
from skdp.features.tabulated import TabulatedMap
from skdp.features.trees import TreeMap

__all__ = [
    "AdditiveMap",
    "FeatureMap",
    "FourierMap",
    "MixtureMap",
    "TableFacts",
    "TabulatedMap",
    "TreeMap",
]
