"""Private linear models of random Fourier features and additive features."""

from skdp.kernel_approximation.classifier import DPKernelClassifier
from skdp.kernel_approximation.regressor import DPKernelRegressor

__all__ = ["DPKernelClassifier", "DPKernelRegressor"]
