"""Losses of a proof: its last inequality's slack, shared out among the steps.

Every link of the chain is a difference on one scale, in nats, so that they add up to the slack.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ...model.noise_discrete import DiscreteNoise
from ...model.privacy import ApproximateDP, ConcentratedDP, PureDP, check_guarantee
from ..lower.packing_bounds import group_delta
from .fano_walk import Information, cell_divergences
from .packing import Packing
from .packing_walk import PackingOdds


class Slack(NamedTuple):
    """Slack of a theorem, from the side it asks for up to what is allowed, step by step.

    ``asked`` is below zero where the theorem asks nothing; ``lost`` holds each step's name and
    loss, from the lower side upwards.
    """

    asked: float
    lost: tuple[tuple[str, float], ...]
    unit: str = "nats"

    @property
    def allowed(self) -> float:
        """The theorem's upper side."""
        return self.asked + self.total

    @property
    def total(self) -> float:
        """The whole slack."""
        return math.fsum(loss for _, loss in self.lost)


def packing_slack(guarantee: PureDP | ApproximateDP, packing: Packing, odds: PackingOdds) -> Slack:
    """Share out the slack of Theorem 3, items 1 and 2, in logarithms.

    With ``s = exp(-2 m eps)`` and the exact delta' of group privacy: ``P s <= P(G_i on table i) s
    <= P(G_i on table 1) + delta' <= P(G_i on table 1) + delta/eps <= K P(any G_i)/(d-1) + delta/eps
    <= K/(d-1) + delta/eps <= 2 max(K/(d-1), delta/eps)``. Without a delta two links are equalities.
    """
    eps = check_guarantee(guarantee, PureDP, ApproximateDP).level
    steps, cells = packing.steps, packing.d - 1
    shrink = math.exp(-eps * steps)
    delta = shrink * float(group_delta(guarantee, np.array(float(steps))))
    printed = guarantee.delta / eps
    overlap = packing.overlap / cells
    # Both in logarithms from the start: the shrunken chance may be below all doubles.
    markov = math.log(odds.own / packing.share)
    ends = [
        odds.base + delta,
        odds.base + printed,
        overlap * odds.union + printed,
        overlap + printed,
        2 * max(overlap, printed),
    ]
    logs = [math.log(end) for end in ends]
    group = logs[0] + eps * steps - math.log(odds.own)
    # What is left of two equal ends is rounding.
    group = group if group > 1e-12 * eps * steps else 0.0
    names = ("its delta", "overlap", "a chance is at most 1", "two terms")
    rest = [(n, high - low) for n, low, high in zip(names, logs[:-1], logs[1:], strict=True)]
    if not guarantee.delta:
        rest = rest[1:-1]
    lost = (("Markov and union", markov), ("group privacy", group), *rest)
    return Slack(eps * steps - math.fsum(loss for _, loss in lost), lost)


def fano_slack(
    guarantee: ConcentratedDP,
    noise: DiscreteNoise,
    packing: Packing,
    odds: PackingOdds,
    found: Information,
) -> Slack:
    """Share out the slack of Theorem 3, item 3; sampled entropies make two pieces sampled."""
    log_n, log_k = math.log(found.tables), math.log(packing.overlap)
    divergence = sum(cell_divergences(noise, packing.m))
    allowed = check_guarantee(guarantee, ConcentratedDP).rho * packing.steps**2
    lost = (
        ("Markov and union", (1 - packing.share - odds.outside) * log_n + odds.outside * log_k),
        ("hit", odds.own * log_k - found.inside[0]),
        ("missed", odds.outside * log_n - found.outside[0]),
        ("one bit", math.log(2) - found.h_g[0]),
        ("convexity", divergence - found.information[0]),
        ("group privacy", allowed - divergence),
    )
    return Slack(allowed - math.fsum(loss for _, loss in lost), lost)
