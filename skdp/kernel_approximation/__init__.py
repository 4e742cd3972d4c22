"""Random Fourier features beside additive ones, in a linear model that is learned privately."""

from skdp.kernel_approximation.classifier import DPKernelClassifier
from skdp.kernel_approximation.regressor import DPKernelRegressor

__all__ = ["DPKernelClassifier", "DPKernelRegressor"]
