"""Public maps of rows to features: each reads one row and public numbers, and costs no privacy."""

from skdp._feature_maps.additive import AdditiveMap
from skdp._feature_maps.base import FeatureMap
from skdp._feature_maps.fourier import FourierMap
from skdp._feature_maps.mixture import MixtureMap
from skdp._feature_maps.table import TableFacts
from skdp._feature_maps.tabulated import TabulatedMap
from skdp._feature_maps.trees import TreeMap

__all__ = [
    "AdditiveMap",
    "FeatureMap",
    "FourierMap",
    "MixtureMap",
    "TableFacts",
    "TabulatedMap",
    "TreeMap",
]
