"""The proof of Theorem 3 on mechanisms of known output law: noisy cells, clipped at 0.

The cells are independent, so that the law of their sum is a power of one Fourier transform.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import fft

from ...exceptions import InputError
from ...model.noise_discrete import DiscreteNoise, TruncatedDoubleGeometric
from ...model.privacy import ApproximateDP, PureDP
from ..laws.outputs import clipped_law
from ..lower.packing_bounds import group_delta
from ..upper.exact_errors import worst_clipped_sum
from ..upper.truncation import smallest_bound
from .packing import Packing, packing_at
from .steps import Step

Array = NDArray[np.float64]
_LARGEST = 2**24  # values of a law: 128 MB


class PackingOdds(NamedTuple):
    """Exact probabilities of the events in the proof, for one mechanism and one packing.

    Parameters
    ----------
    miss_cell, miss_first, miss_sum
        On table i: that cell i, the first cell, the sum is off by alpha C, alpha C, beta D or more.
    outside
        On table i: that the output lies outside G_i.
    own, base
        That the output lies in G_i, on table i and on table 1.
    union
        On table 1: that the output lies in any of the sets.
    """

    miss_cell: float
    miss_first: float
    miss_sum: float
    outside: float
    own: float
    base: float
    union: float


def clipped_packing(noise: DiscreteNoise, d: int, k: float) -> Packing:
    """Return the paper's packing for the mechanism that clips noisy cells, at its exact C and D.

    C is the noise's standard deviation (the supremum over counts), D the exact worst case of the
    sum.
    """
    return packing_at(d, noise.std, math.sqrt(float(worst_clipped_sum(noise, d).squared_error)), k)


def truncated_cells(guarantee: ApproximateDP) -> TruncatedDoubleGeometric:
    """Return the noise that makes every cell (epsilon, delta)-DP and never exceeds a bound.

    TDGeo(epsilon, B) with the smallest B; one record moves one cell only.
    """
    # The other function serves two answers a record, each with half of the guarantee.
    bound = smallest_bound(2 * guarantee.epsilon, min(2 * guarantee.delta, 0.999))
    return TruncatedDoubleGeometric(guarantee.epsilon, bound)


class _Laws:
    """Laws of cells of one mechanism as Fourier transforms of one length."""

    def __init__(self, noise: DiscreteNoise, packing: Packing) -> None:
        self.noise = noise
        reach = int(float(noise.upper_quantile(1e-19))) + 1
        self.top = packing.n + reach
        # Before any law is made: an empty cell's mean is known, its spread at most the noise's.
        total = 2.0 * self.top + packing.d * float(noise.excess(0.0).first)
        total += 12 * math.sqrt(packing.d) * noise.std
        if not total < _LARGEST:
            raise InputError(
                f"the law of the sum of {packing.d} cells would need {total:.2g} values; choose "
                f"fewer cells or less noise (at most {_LARGEST})"
            )
        self.length = int(fft.next_fast_len(int(total) + 2, real=True))

    def cell(self, count: int, keep: tuple[int, int] | None = None, drop: bool = False) -> Array:
        """Transform the law of one cell, kept to a range of values or deprived of it."""
        law = clipped_law(self.noise, count, 0, self.top)
        if keep is not None:
            values = np.arange(law.size)
            inside = (values >= keep[0]) & (values <= keep[1])
            law = np.where(inside != drop, law, 0.0)
        return np.asarray(fft.rfft(law, self.length))

    def mass(self, transform: Array, low: int, high: int) -> float:
        """Return the mass of a transformed law between two values, both included."""
        law = fft.irfft(transform, self.length)
        return max(float(law[max(low, 0) : max(high + 1, 0)].sum()), 0.0)


def packing_odds(noise: DiscreteNoise, packing: Packing) -> PackingOdds:
    """Return the exact probabilities of the proof's events."""
    p, laws = packing, _Laws(noise, packing)
    near, far = math.floor(p.alpha * p.C + 1e-9), math.ceil(p.alpha * p.C - 1e-9)
    near_sum, far_sum = math.floor(p.beta * p.D + 1e-9), math.ceil(p.beta * p.D - 1e-9)
    first, cell = (p.n - p.m - near, p.n - p.m + near), (p.m - near, p.m + near)
    zeros = laws.cell(0) ** (p.d - 2)
    ends = (p.n - near_sum, p.n + near_sum)

    def miss(count: int, off: int) -> float:
        law = clipped_law(noise, count, 0, laws.top)
        return float(law[np.abs(np.arange(law.size) - count) >= off].sum())

    moved_first, moved_cell = laws.cell(p.n - p.m), laws.cell(p.m)
    hit_sum = laws.mass(moved_first * moved_cell * zeros, p.n - far_sum + 1, p.n + far_sum - 1)
    own = laws.mass(laws.cell(p.n - p.m, first) * laws.cell(p.m, cell) * zeros, *ends)
    base_first = laws.cell(p.n, first)
    base = laws.mass(base_first * laws.cell(0, cell) * zeros, *ends)
    any_cells = laws.cell(0) * zeros
    none_cells = laws.cell(0, cell, drop=True) ** (p.d - 1)
    union = laws.mass(base_first * any_cells, *ends) - laws.mass(base_first * none_cells, *ends)
    # Where the sets are rare their overlaps are rarer still, and the difference above cancels.
    expected = (p.d - 1) * base
    union = expected if expected < 1e-6 else min(max(union, 0.0), expected)
    return PackingOdds(
        miss(p.m, far),
        miss(p.n - p.m, far),
        max(1 - hit_sum, 0.0),
        max(1 - own, 0.0),
        own,
        base,
        union,
    )


def accuracy_steps(packing: Packing, odds: PackingOdds) -> list[Step]:
    """Return Markov's inequality three times and the union bound, on table i."""
    a, b = 1 / packing.alpha**2, 1 / packing.beta**2
    return [
        Step(r"Markov, cell $i$: $P(\lvert\tilde x_i - m\rvert \ge \alpha C) \le 1/\alpha^2$",
             odds.miss_cell, a),
        Step(r"Markov, first cell: $P(\lvert\tilde x_1 - (n-m)\rvert \ge \alpha C) \le 1/\alpha^2$",
             odds.miss_first, a),
        Step(r"Markov, sum: $P(\lvert\tilde x_* - n\rvert \ge \beta D) \le 1/\beta^2$",
             odds.miss_sum, b),
        Step(r"Union: $P(M(\mathcal D_i) \notin G_i) \le 2/\alpha^2 + 1/\beta^2$",
             odds.outside, 2 * a + b),
    ]  # fmt: skip


def overlap_steps(packing: Packing, odds: PackingOdds) -> list[Step]:
    """Return the overlap condition, what it says on table 1, and that a chance is at most 1."""
    most = float(packing.memberships(packing.fullest_output()))
    expected = (packing.d - 1) * odds.base
    K = packing.overlap
    return [
        Step(r"Overlap: most sets $G_i$ that share an output $\le K$", most, K),
        Step(
            r"Expected overlap: $\sum_i P(M(\mathcal D_1) \in G_i) \le K\, P(M(\mathcal D_1) "
            r"\in \bigcup_i G_i)$",
            expected,
            K * odds.union,
        ),
        Step(r"A chance: $P(M(\mathcal D_1) \in \bigcup_i G_i) \le 1$", odds.union, 1.0),
    ]


def pure_steps(guarantee: PureDP, packing: Packing, odds: PackingOdds) -> list[Step]:
    """Return group privacy and the conclusion of Theorem 3, item 1, in logarithms."""
    loss = guarantee.epsilon * packing.steps
    return [
        Step(
            r"Group privacy: $\ln P(M(\mathcal D_i) \in G_i) - 2\epsilon m \le \ln P(M(\mathcal "
            r"D_1) \in G_i)$",
            math.log(odds.own) - loss,
            math.log(odds.base),
        ),
        Step(
            r"All together: $\ln\big(P\,(d-1)/K\big) \le 2\epsilon m$",
            math.log(packing.share * (packing.d - 1) / packing.overlap),
            loss,
        ),
    ]


def approximate_steps(guarantee: ApproximateDP, packing: Packing, odds: PackingOdds) -> list[Step]:
    """Return group privacy with its delta, its looser printed form, and the end of item 2."""
    eps, shrink = guarantee.epsilon, math.exp(-guarantee.epsilon * packing.steps)
    exact = shrink * float(group_delta(guarantee, np.array(float(packing.steps))))
    printed = guarantee.delta / eps
    per_set = packing.overlap / (packing.d - 1)
    z = printed / per_set
    return [
        Step(r"Group privacy: $e^{-2\epsilon m} P(M(\mathcal D_i) \in G_i) - \delta' \le "
             r"P(M(\mathcal D_1) \in G_i)$", shrink * odds.own - exact, odds.base),
        Step(r"Its delta: $\delta' = \delta\,\frac{1 - e^{-2m\epsilon}}{e^\epsilon - 1} \le "
             r"\delta/\epsilon$", exact, printed),
        Step(r"All together: $P e^{-2\epsilon m} - \delta/\epsilon \le K/(d-1)$",
             packing.share * shrink - printed, per_set),
        Step(r"Two terms: $1 + z \le 2\max(1, z)$ at $z = \delta(d-1)/(\epsilon K)$",
             1 + z, 2 * max(1.0, z)),
    ]  # fmt: skip
