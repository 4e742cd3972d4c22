"""Naive Bayes classifiers whose counts and sums are released privately, all at once."""

from skdp.naive_bayes.categorical_nb import DPCategoricalNB
from skdp.naive_bayes.gaussian_nb import DPGaussianNB
from skdp.naive_bayes.mixed_nb import DPMixedNB

__all__ = ["DPCategoricalNB", "DPGaussianNB", "DPMixedNB"]
