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
from ..model.noise_discrete import DiscreteGaussian, DoubleGeometric
from ..model.privacy import ConcentratedDP, PureDP
from ..model.workload import Workload
from ..tables.workloads import split_shares
from .budget import ADDED, REPLACED

dp.enable_features("contrib")

LAPLACE, GAUSSIAN = "discrete Laplace", "discrete Gaussian"
LEAST_SCALE = 0.1
"""Noise of a smaller scale, in counts, is next to none and refused."""
LARGEST_SCALE = 1e6
"""A larger scale of noise, in counts, is refused: no answer would mean anything."""
KNOWN_STD = 1e-3
"""How accurate a known total is taken to be in a fit, next to the most accurate noisy answer."""


def float_above(exact: Fraction) -> float:
    """Return the smallest double that is at least an exact number.

    Examples
    --------
    >>> float_above(Fraction(1, 3)) >= Fraction(1, 3), float_above(Fraction(1, 2))
    (True, 0.5)
    """
    number = float(exact)
    return number if Fraction(number) >= exact else math.nextafter(number, math.inf)


def root_above(number: int) -> float:
    """Return the smallest double that is at least the root of a whole number.

    Examples
    --------
    >>> root_above(4), root_above(3) ** 2 >= 3
    (2.0, True)
    """
    root = math.sqrt(number)
    while Fraction(root) ** 2 < number:
        root = math.nextafter(root, math.inf)
    return root


def _vetted(name: str, scale: float) -> Any:
    vectors = dp.vector_domain(dp.atom_domain(T="i64"))
    if name == LAPLACE:
        return dp.m.make_laplace(vectors, dp.l1_distance(T="i64"), scale=scale)
    if name == GAUSSIAN:
        return dp.m.make_gaussian(vectors, dp.l2_distance(T="f64"), scale=scale)
    raise InputError(f"there is no mechanism {name!r}; there are {LAPLACE} and {GAUSSIAN}")


@dataclass(frozen=True)
class Mechanism:
    """Vetted noise for a workload, one scale a query set, and the guarantee of all of it.

    Parameters
    ----------
    name
        ``"discrete Laplace"`` or ``"discrete Gaussian"``.
    scales
        The noise's scale (Laplace) or its parameter sigma (Gaussian) for each query set, in
        counts; 0 for a query set whose answers are public already.
    guarantee
        What the release satisfies between tables that differ as ``neighbours`` says: OpenDP's
        privacy map of each query set, added up exactly and rounded upwards.
    neighbours
        `ADDED` or, with a public total, `REPLACED`.
    add_noise
        OpenDP's measurement on vectors of whole numbers for each query set; ``None`` for public
        answers.
    """

    name: str
    scales: tuple[float, ...]
    guarantee: PureDP | ConcentratedDP
    neighbours: str
    add_noise: tuple[Any, ...]

    @property
    def replacement(self) -> PureDP | ConcentratedDP:
        """At most what holds between tables that differ by one record replaced by another.

        Without a public total that is two steps, one record removed and one added.
        """
        return self.guarantee if self.neighbours == REPLACED else self.guarantee.group(2)

    @property
    def noise(self) -> tuple[Noise, ...]:
        """The law of the noise on the answers of each query set; a known one's is for fitting."""
        laws: list[Noise | None] = [
            None if s == 0 else DoubleGeometric(1 / s) if self.pure else DiscreteGaussian(s**2)
            for s in self.scales
        ]
        least = KNOWN_STD * min((n.std for n in laws if n is not None), default=1.0)
        return tuple(Gaussian(least) if n is None else n for n in laws)

    @property
    def pure(self) -> bool:
        """Whether the guarantee is of pure differential privacy."""
        return self.name == LAPLACE

    @property
    def variances(self) -> tuple[float, ...]:
        """The noise's variance for each query set, in squared counts; 0 for what is known."""
        return tuple(
            0.0 if s == 0 else n.variance for s, n in zip(self.scales, self.noise, strict=True)
        )

    def noisy(self, answers: Sequence[NDArray[Any]]) -> tuple[NDArray[np.int64], ...]:
        """Add fresh noise, drawn by OpenDP from the operating system's randomness."""
        return tuple(
            np.array(a if add is None else add(np.asarray(a).astype(np.int64).tolist()), np.int64)
            for a, add in zip(answers, self.add_noise, strict=True)
        )


def mechanism_like(workload: Workload, name: str, scales: Sequence[float]) -> Mechanism:
    """Build a mechanism from its scales; the guarantee follows from the workload and OpenDP's maps.

    Parameters
    ----------
    workload
        What it answers.
    name
        Which noise.
    scales
        One a query set, in counts; 0 where the answers are public, which only a total's may be.

    Raises
    ------
    InputError
        Another name, number of scales, or a scale of 0 for more than a total.

    Examples
    --------
    >>> made = mechanism_like(Workload.table(3), "discrete Gaussian", [2.0, 2.0])
    >>> made.guarantee, made.replacement
    (ConcentratedDP(rho=0.25), ConcentratedDP(rho=1.0))
    """
    sets = workload.query_sets
    fits = len(scales) == len(sets) and all(math.isfinite(s) and s >= 0 for s in scales)
    if not fits or not any(scales):
        raise InputError(
            f"the noise has scales {list(scales)}; needed is one of 0 or more for each of the "
            f"{len(sets)} query sets, not all of them 0"
        )
    known = [s == 0 for s in scales]
    for q, public in zip(sets, known, strict=True):
        if public and (q.size != 1 or (q.labels < 0).any()):
            raise InputError(f"the query set {q.name!r} cannot be public; only the total can")
    noises = [None if s == 0 else _vetted(name, s) for s in scales]
    # A record is in at most one query of a set. One that is replaced, the total being public,
    # changes at most two answers of a set by one each: 2 in L1, the root of 2 in L2.
    neighbours = REPLACED if any(known) else ADDED
    answers = 2 if any(known) else 1
    far = answers if name == LAPLACE else root_above(answers)
    losses = [Fraction(float(n.map(far))) for n in noises if n is not None]
    claim = PureDP if name == LAPLACE else ConcentratedDP
    guarantee = claim(float_above(sum(losses, Fraction(0))))
    return Mechanism(name, tuple(scales), guarantee, neighbours, tuple(noises))


def mechanism_for(
    workload: Workload,
    guarantee: PureDP | ConcentratedDP,
    shares: Mapping[str, float] | None = None,
    *,
    known_total: bool = False,
) -> Mechanism:
    """Build the mechanism that answers the whole workload within a guarantee.

    A record is in at most one query of each query set, so that one more record moves each set's
    answers by at most 1. Each set is measured with its own share of the budget and the losses add
    up (the paper's Theorems 1 and 2 with sequential composition); without shares all answers have
    the same noise. With a public total a record is replaced by another, which moves at most two
    answers of a set by 1 each: the sensitivity is 2 (L1) or the root of 2 (L2).
    The scales are raised, by units in the last place, until OpenDP's own maps, which round
    upwards, add up to no more than what was asked for.

    Parameters
    ----------
    workload
        What will be asked.
    guarantee
        `PureDP` gives discrete Laplace noise, `ConcentratedDP` discrete Gaussian noise.
    shares
        Shares of the budget by query sets' names (see `split_shares`).
    known_total
        Whether the total is public. It is then published as it is, and the guarantee is between
        tables of the same total that differ by one record replaced by another.

    Raises
    ------
    InputError
        So much budget that the noise would vanish, so little that no number could hold it, or
        shares that are none.

    Examples
    --------
    >>> m = mechanism_for(Workload.table((9, 24)), PureDP(0.5))
    >>> m.name, m.scales[0], m.guarantee, m.replacement
    ('discrete Laplace', 8.0, PureDP(epsilon=0.5), PureDP(epsilon=1.0))
    """
    pure = isinstance(guarantee, PureDP)
    asked = guarantee.level
    public = [
        known_total and q.size == 1 and bool((q.labels >= 0).all()) for q in workload.query_sets
    ]
    if known_total and (all(public) or not any(public)):
        raise InputError(
            "with a known total the workload must ask for the sum and for something else"
        )
    measured = Workload(tuple(q for q, p in zip(workload.query_sets, public, strict=True) if not p))
    split = split_shares(measured, shares or {})
    steps = 2 if known_total else 1
    spent = [asked / (steps * len(split)) if not shares else asked * s / steps for s in split]
    raw = [1 / s if pure else math.sqrt(1 / (2 * s)) for s in spent]
    if not max(raw) <= LARGEST_SCALE:
        raise InputError(
            f"{guarantee.parameter} is {asked:g}, which would need noise of "
            f"{max(raw):.0e} counts; no answer would mean anything; at most {LARGEST_SCALE:.0e} is "
            "accepted, so that more must be spent, or on fewer query sets"
        )
    if min(raw) < LEAST_SCALE:
        raise InputError(
            f"{guarantee.parameter} is {asked:g}, which would leave next to no noise and "
            "protect nobody; spend less"
        )
    while True:
        rest = iter(raw)
        scales = [0.0 if p else next(rest) for p in public]
        made = mechanism_like(workload, LAPLACE if pure else GAUSSIAN, scales)
        if made.guarantee.level <= asked:
            return made
        raw = [math.nextafter(s, math.inf) for s in raw]
