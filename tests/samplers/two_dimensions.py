"""Exact distributions of two coefficients, by quadrature on a grid."""

import numpy as np
from problems import target_with

from skdp.design import ClippedDesign

RECORDS = np.array([(1, 0.2), (-0.5, 0.6), (0.3, -0.9), (0.1, 0.7), (-0.8, -0.3), (0.4, 0.4)])
AXIS = np.linspace(-9.0, 9.0, 361)


def target(loss):
    return target_with(ClippedDesign.clip(RECORDS, 2.0, targets=np.ones(6)), loss, 2.0, 0.8, 0.5)


def masses(target):
    """Points of the grid, of shape (N, 2), and their probabilities."""
    points = np.stack(np.meshgrid(AXIS, AXIS, indexing="ij"), axis=-1).reshape(-1, 2)
    energy = 0.5 * target.prior_precision * (points**2).sum(axis=1)
    for record, label in zip(RECORDS, target.design.targets, strict=True):
        energy += target.temperature * target.loss.value(label, points @ record)
    weight = np.exp(energy.min() - energy)
    return points, weight / weight.sum()


def distribution(points, weight, direction):
    """Distribution function along one direction, smooth between the points."""
    projected = points @ direction
    order = np.argsort(projected, kind="stable")
    value, start = np.unique(projected[order].round(9), return_index=True)
    mass = np.add.reduceat(weight[order], start)
    middle = np.cumsum(mass) - 0.5 * mass
    return lambda x: np.interp(x, value, middle)
