"""The vetted mechanism of a release: noise for each query set, and what all of it guarantees."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import opendp.prelude as dp
from numpy.typing import NDArray

from ..exceptions import InputError
from ..model.noise import Gaussian, Noise
from ..model.noise_released import DiscreteGaussian, DoubleGeometric
from ..model.privacy import ConcentratedDP, PureDP, check_guarantee, least_double
from ..model.queryset import QuerySet
from ..model.workload import Workload
from ..tables.workloads import split_shares
from .budget import ADDED, REPLACED

dp.enable_features("contrib")

LAPLACE, GAUSSIAN = "discrete Laplace", "discrete Gaussian"
LEAST_SCALE, LARGEST_SCALE = 0.1, 1e6  # less noise is next to none; with more nothing is told
ROOT_OF_TWO = math.sqrt(2)  # the double nearest to the root of 2, which is above it
KNOWN_STD = 1e-3  # of a known total in a fit, next to the most accurate noisy answer


def is_total(queries: QuerySet) -> bool:
    """Whether a query set is the one question of how many records there are."""
    return queries.size == 1 and bool((queries.labels >= 0).all())


def _vetted(name: str, scale: float) -> Any:
    vectors = dp.vector_domain(dp.atom_domain(T="i64"))
    if name == LAPLACE:
        return dp.m.make_laplace(vectors, dp.l1_distance(T="i64"), scale=scale)
    if name == GAUSSIAN:
        return dp.m.make_gaussian(vectors, dp.l2_distance(T="f64"), scale=scale)
    raise InputError(f"there is no mechanism {name!r}; there are {LAPLACE} and {GAUSSIAN}")


@dataclass(frozen=True)
class Mechanism:
    """Vetted noise for a workload, one scale a query set, and the guarantee of all of it."""

    name: str
    scales: tuple[float, ...]  # scale (Laplace) or sigma (Gaussian), in counts; 0 if public
    guarantee: PureDP | ConcentratedDP  # OpenDP's of each set, added up exactly, rounded upwards
    neighbours: str  # how tables differ for it: `ADDED` or, with a public total, `REPLACED`
    add_noise: tuple[Any, ...]  # OpenDP's measurements on vectors, None for public answers

    @property
    def replacement(self) -> PureDP | ConcentratedDP:
        """At most what holds where one record is replaced by another, which is two steps."""
        return self.guarantee if self.neighbours == REPLACED else self.guarantee.group(2)

    @property
    def noise(self) -> tuple[Noise, ...]:
        """The law of the noise on the answers of each query set; a known one's is for fitting."""
        pure, drawn = self.name == LAPLACE, [s for s in self.scales if s > 0]
        laws: dict[float, Noise] = {
            s: DoubleGeometric(1 / s) if pure else DiscreteGaussian(s**2) for s in drawn
        }
        known = Gaussian(KNOWN_STD * min(law.std for law in laws.values()))
        return tuple(laws.get(s, known) for s in self.scales)

    @property
    def variances(self) -> tuple[float, ...]:
        """The noise's variance for each query set, in squared counts; 0 for what is known."""
        pairs = zip(self.scales, self.noise, strict=True)
        return tuple(0.0 if scale == 0 else law.variance for scale, law in pairs)

    def noisy(self, answers: Sequence[NDArray[Any]]) -> tuple[NDArray[np.int64], ...]:
        """Add fresh noise, drawn by OpenDP from OpenSSL's generator, which the system seeds."""
        whole = zip((np.asarray(a).astype(np.int64) for a in answers), self.add_noise, strict=True)
        return tuple(a if add is None else np.array(add(a.tolist()), np.int64) for a, add in whole)


def mechanism_like(workload: Workload, name: str, scales: Sequence[float]) -> Mechanism:
    """Build a mechanism from its scales; the guarantee follows from the workload and OpenDP's maps.

    A record is in at most one query of each set: one more moves a set's answers by at most 1. With
    a public total one is replaced by another, which moves at most two answers by 1 each: 2 in L1,
    the root of 2 in L2. The losses of the sets add up.
    """
    sets = workload.query_sets
    fits = len(scales) == len(sets) and all(math.isfinite(s) and s >= 0 for s in scales)
    if not fits or not any(scales):
        needed = f"one of 0 or more for each of the {len(sets)} query sets, not all of them 0"
        raise InputError(f"the noise has scales {list(scales)}; needed is {needed}")
    for q, scale in zip(sets, scales, strict=True):
        if scale == 0 and not is_total(q):
            raise InputError(f"the query set {q.name!r} cannot be public; only the total can")
    noises = [None if s == 0 else _vetted(name, s) for s in scales]
    one, two = (1, 2) if name == LAPLACE else (1.0, ROOT_OF_TWO)
    distance, neighbours = (two, REPLACED) if None in noises else (one, ADDED)
    loss = sum((Fraction(float(n.map(distance))) for n in noises if n), Fraction(0))
    guarantee = (PureDP if name == LAPLACE else ConcentratedDP)(least_double(loss))
    return Mechanism(name, tuple(scales), guarantee, neighbours, tuple(noises))


def mechanism_for(
    workload: Workload,
    guarantee: PureDP | ConcentratedDP,
    shares: Mapping[str, float] | None = None,
    *,
    known_total: bool = False,
) -> Mechanism:
    """Build the mechanism that answers the whole workload within a guarantee.

    Each set is measured with its own share of the budget; without shares all answers have the same
    noise (the paper's Theorems 1 and 2). With a public total that is published as it is, and the
    guarantee is between tables of the same total that differ by one record replaced by another.

    Examples
    --------
    >>> m = mechanism_for(Workload.table((9, 24)), PureDP(0.5))
    >>> m.name, m.scales[0], m.guarantee, m.replacement
    ('discrete Laplace', 8.0, PureDP(epsilon=0.5), PureDP(epsilon=1.0))
    """
    check_guarantee(guarantee, PureDP, ConcentratedDP)
    pure, asked = isinstance(guarantee, PureDP), guarantee.level
    measured = [q for q in workload.query_sets if not (known_total and is_total(q))]
    if known_total and not 0 < len(measured) < len(workload.query_sets):
        raise InputError("with a known total one must ask for the sum and for something else")
    split, steps = split_shares(Workload(tuple(measured)), shares or {}), 2 if known_total else 1
    whole = steps * max(1.0, math.fsum(split))  # shares may add up to a little more than 1
    spent = [asked / (steps * len(split)) if not shares else asked * s / whole for s in split]
    raw = [1 / s if pure else math.sqrt(1 / (2 * s)) for s in spent]
    given = f"{guarantee.parameter} is {asked:g}, which would"
    if not max(raw) <= LARGEST_SCALE:
        most = f"over {LARGEST_SCALE:.0e} tell nothing: more must be spent, or on fewer query sets"
        raise InputError(f"{given} need noise of {max(raw):.0e} counts; {most}")
    if min(raw) < LEAST_SCALE:
        raise InputError(f"{given} leave next to no noise and protect nobody; spend less")
    while True:  # OpenDP's own maps round upwards: raise scales by units in the last place
        rest = iter(raw)
        scales = [next(rest) if q in measured else 0.0 for q in workload.query_sets]
        made = mechanism_like(workload, LAPLACE if pure else GAUSSIAN, scales)
        if made.guarantee.level <= asked:
            return made
        raw = [math.nextafter(s, math.inf) for s in raw]
