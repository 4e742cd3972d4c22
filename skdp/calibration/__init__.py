"""Private calibration of probabilities, and private prediction intervals and sets."""

from skdp.calibration.calibrated import DPCalibratedClassifier
from skdp.calibration.conformal import DPConformalClassifier, DPConformalRegressor

__all__ = [
    "DPCalibratedClassifier",
    "DPConformalClassifier",
    "DPConformalRegressor",
]
