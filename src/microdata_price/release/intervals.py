"""Exact intervals for true counts, from the known law of the noise alone."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import fft, optimize, special

from ..model.noise import check_chance, check_count
from ..model.noise_released import DiscreteGaussian, DoubleGeometric
from ..model.queryset import QuerySet
from ..model.workload import Workload
from .plan import Array, Measured, signed_variances

Whole = NDArray[np.int64]
Law = DoubleGeometric | DiscreteGaussian

LEVEL = 0.9  # the probability with which an interval covers
_WIDEST = 1e5  # standard deviation, in counts, up to which laws of sums are computed exactly
_ROUNDED = 1e-10  # more than transforms of laws may round a chance by
_NEVER = 1e-26  # the chance of a sum so far away that its law is computed no farther
_SLOPES = special.expit(np.linspace(-16, 16, 600))  # parts of the steepest that Chernoff's admits
_NO_WEIGHT = 1e6  # times the noise of a sum: what is so uncertain hardly changes the others


def half_width(law: Law, terms: int, chance: float) -> int:
    """Return the least t with ``P(|z_1 + ... + z_terms| > t) <= chance``, or, far away, a bound."""
    check_chance(chance)
    check_count(terms, "the number of terms", 1, whole=True)
    if terms == 1:
        return int(law.upper_quantile(chance / 2))
    if law.std * math.sqrt(terms) > _WIDEST or chance < 10 * _ROUNDED:
        return _chernoff(law, terms, chance)
    points = fft.next_fast_len(_chernoff(law, terms, _NEVER)) + 1
    if isinstance(law, DoubleGeometric):
        angle = np.linspace(0, np.pi / 2, points)  # half of each angle of the transform
        wave = (1 + (np.sin(angle) / math.sinh(law.epsilon / 2)) ** 2) ** -float(terms)
    else:
        wave = fft.dct(law.pmf(np.arange(float(points))), type=1) ** terms
    tails = 2 * np.cumsum(fft.idct(wave, type=1)[:0:-1])[::-1]  # P(|z| > t) for t = 0, 1, ...
    return int(np.argmax(tails <= chance - _ROUNDED))


def _chernoff(law: Law, terms: int, chance: float) -> int:
    """Return a t with ``P(|z| > t) <= chance``, as ``2 E exp(s z) exp(-s t)`` at the best s."""
    rest = math.log(2 / chance)
    if isinstance(law, DiscreteGaussian):  # its moments are at most those of the Gaussian
        return math.ceil(math.sqrt(2 * terms * law.sigma2 * rest))
    s = law.epsilon * _SLOPES
    moment = np.log1p(-((np.sinh(s / 2) / math.sinh(law.epsilon / 2)) ** 2))
    return math.ceil(np.min((rest - terms * moment) / s))


@dataclass(frozen=True, eq=False)
class Told:
    """All that a release tells of the true answers to one query set."""

    queries: QuerySet
    signed: Array  # the least-squares answers
    variance: Array  # of each, exact; NaN where the workload is too large for it
    noisy: Whole  # answers, or sums of such
    half: int  # so near to them is each true count, with 90 %,
    wide: int  # and so near are all of all query sets at once
    most: int | None  # the total, where it is public: no count is larger

    @property
    def ends(self) -> dict[str, Whole]:
        """The ends of the intervals; a count is 0 or more, and at most a public total."""
        ends = {"low": -self.half, "high": self.half, "low_all": -self.wide, "high_all": self.wide}
        return {name: np.clip(self.noisy + by, 0, self.most) for name, by in ends.items()}


def _within(fine: QuerySet, coarse: QuerySet) -> NDArray[np.int64]:
    """Return in which coarse query each fine one lies; longer than these where some lie in two."""
    pairs = fine.labels.astype(np.int64) * coarse.size + coarse.labels
    return np.unique(pairs) % coarse.size


def intervals(measured: Measured, cells: Array, others: tuple[QuerySet, ...]) -> list[Told]:
    """Return what the noisy answers tell of each query asked, and of others that follow.

    The law of the noise is known, on every table. So an interval around a noisy answer covers by
    itself with probability 90 %, and all N asked at once where each misses with chance ``1 -
    0.9^(1/N)``. A count that was not asked is a sum of some that were, and of their noises; each
    takes its chance to miss from the 10 % for all (union bound). ``cells`` are least squares',
    ``others`` query sets that were not asked; those that follow from nothing asked are left out.
    """
    sets, laws = measured.workload.query_sets, measured.mechanism.noise
    variances = [law.variance for law in laws]
    sources: list[tuple[QuerySet, int, int]] = [(q, k, 1) for k, q in enumerate(sets)]
    for wanted in others:
        # The query sets whose answers add up to the wanted ones, and the most that are added.
        places = enumerate([_within(q, wanted) for q in sets])
        ways = [(int(np.bincount(p).max()), k) for k, p in places if p.size == sets[k].size]
        if ways:
            terms, k = min(ways, key=lambda way: way[0] * variances[way[1]])
            sources.append((wanted, k, terms))
    asked = sum(q.size for q, law in zip(sets, laws, strict=True) if isinstance(law, Law))
    more = sum(q.size for q, _, _ in sources[len(sets) :])

    def missed(chance: float) -> float:
        return -math.expm1(asked * math.log1p(-chance)) + more * chance - (1 - LEVEL)

    chance = float(optimize.brentq(missed, 0.0, 1 - LEVEL, xtol=1e-15))
    exact = signed_variances(measured.workload, variances)
    found = []
    for at, (queries, k, terms) in enumerate(sources):
        law, noisy, signed = laws[k], measured.answers[k], queries.answers(cells)
        variance = exact[k]
        if at >= len(sets):
            summed = np.bincount(_within(sets[k], queries), weights=noisy, minlength=queries.size)
            noisy = np.rint(summed).astype(np.int64)
            # Asked with next to no weight; what this changes cancels between two such weights.
            far = _NO_WEIGHT * terms * (variances[k] or 1.0)
            joint, both = Workload((queries, *sets)), ([by * far, *variances] for by in (2, 1))
            variance = np.dot([2, -1], [signed_variances(joint, v)[0] for v in both])
        if isinstance(law, Law):
            half, wide = (half_width(law, terms, c) for c in (1 - LEVEL, chance))
        else:  # a public total
            signed, variance, half, wide = noisy.astype(float), np.zeros(queries.size), 0, 0
        found.append(Told(queries, signed, variance, noisy, half, wide, measured.known_total))
    return found
