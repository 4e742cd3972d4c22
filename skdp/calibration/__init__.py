"""Private probability calibration."""

from skdp.calibration.calibration_map import CalibrationMap
from skdp.calibration.dp_calibrated_classifier import DPCalibratedClassifier

__all__ = ["CalibrationMap", "DPCalibratedClassifier"]
