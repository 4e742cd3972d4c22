"""How a log-concave law is drawn, and what is proved about the draw."""

from skdp.samplers._ball import Ball
from skdp.samplers._black_box import BlackBox
from skdp.samplers.ball_walk import BallWalkSampler
from skdp.samplers.base import Certificate, Draw, Progress, Run, Sampler, Setting, Target
from skdp.samplers.draws import draw_black_box, draw_samples
from skdp.samplers.exact import ExactSampler
from skdp.samplers.grid_walk import GridWalkSampler
from skdp.samplers.hinge_gibbs import HingeGibbsSampler
from skdp.samplers.hit_and_run import HitAndRunSampler
from skdp.samplers.langevin import LangevinSampler
from skdp.samplers.localized import LocalizedSampler
from skdp.samplers.logistic_gibbs import LogisticGibbsSampler
from skdp.samplers.mala import MALASampler
from skdp.samplers.proximal import ProximalSampler
from skdp.samplers.proximal_bundle import ProximalBundleSampler
from skdp.samplers.proximal_tv import ProximalTVSampler
from skdp.samplers.registry import SAMPLERS
from skdp.samplers.renyi_langevin import RenyiLangevinSampler
from skdp.samplers.smoothed_langevin import SmoothedLangevinSampler
from skdp.samplers.zeroth_order import AlternatingSchedule, ZerothOrderSampler

__all__ = [
    "SAMPLERS",
    "AlternatingSchedule",
    "Ball",
    "BallWalkSampler",
    "BlackBox",
    "Certificate",
    "Draw",
    "ExactSampler",
    "GridWalkSampler",
    "HingeGibbsSampler",
    "HitAndRunSampler",
    "LangevinSampler",
    "LocalizedSampler",
    "LogisticGibbsSampler",
    "MALASampler",
    "Progress",
    "ProximalBundleSampler",
    "ProximalSampler",
    "ProximalTVSampler",
    "RenyiLangevinSampler",
    "Run",
    "Sampler",
    "Setting",
    "SmoothedLangevinSampler",
    "Target",
    "ZerothOrderSampler",
    "draw_black_box",
    "draw_samples",
]
