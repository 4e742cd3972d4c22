"""Private calibration of probabilities, and private prediction intervals and sets."""

from skdp.calibration.calibration_map import CalibrationMap
from skdp.calibration.dp_calibrated_classifier import DPCalibratedClassifier
from skdp.calibration.dp_conformal_classifier import DPConformalClassifier
from skdp.calibration.dp_conformal_regressor import DPConformalRegressor

__all__ = [
    "CalibrationMap",
    "DPCalibratedClassifier",
    "DPConformalClassifier",
    "DPConformalRegressor",
]
