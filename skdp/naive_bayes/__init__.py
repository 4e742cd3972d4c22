"""Naive Bayes classifiers whose counts and sums are released privately, all at once."""

from skdp.naive_bayes.models import DPCategoricalNB, DPGaussianNB, DPMixedNB

__all__ = ["DPCategoricalNB", "DPGaussianNB", "DPMixedNB"]
