"""The only step of a release that sees the true table: vetted noise on the workload's answers."""

from __future__ import annotations

import math
import secrets
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import opendp.prelude as dp
from numpy.typing import NDArray

from ..exceptions import InputError
from ..model.measurement import Measurements
from ..model.noise_discrete import DiscreteGaussian, DoubleGeometric
from ..model.privacy import ConcentratedDP, PureDP
from ..model.table import check_table
from ..model.workload import Workload
from ..tables.csv_files import read_table
from ..tables.schema import Schema

dp.enable_features("contrib")

LARGEST_BUDGET = 20.0
"""More epsilon or rho than this a query set is refused: the noise would be next to nothing."""
LARGEST_TOTAL = 1e15
"""More records than this are refused: a sum of them would not be exact in floating point."""
LARGEST_SCALE = 1e6
"""A larger scale of noise, in counts, is refused: no answer would mean anything."""


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


@dataclass(frozen=True)
class Mechanism:
    """A vetted mechanism for a whole workload, and the guarantee that the library computes for it.

    Parameters
    ----------
    name
        ``"discrete Laplace"`` or ``"discrete Gaussian"``.
    scale
        The noise's scale (Laplace) or its root parameter sigma (Gaussian), in counts.
    sensitivity
        How far one record moves the vector of all answers, in L1 (Laplace) or L2 (Gaussian).
    guarantee
        What OpenDP's privacy map returns for that sensitivity: what the release satisfies.
    add_noise
        OpenDP's measurement on vectors of whole numbers.
    """

    name: str
    scale: float
    sensitivity: float
    guarantee: PureDP | ConcentratedDP
    add_noise: Any

    @property
    def noise(self) -> DoubleGeometric | DiscreteGaussian:
        """The law of the noise on each answer."""
        if isinstance(self.guarantee, PureDP):
            return DoubleGeometric(1 / self.scale)
        return DiscreteGaussian(self.scale**2)

    def noisy(self, answers: Iterable[int]) -> NDArray[np.int64]:
        """Add fresh noise, drawn by OpenDP from the operating system's randomness."""
        return np.array(self.add_noise([int(a) for a in answers]), dtype=np.int64)


def _vetted(name: str, scale: float) -> Any:
    vectors = dp.vector_domain(dp.atom_domain(T="i64"))
    if name not in ("discrete Laplace", "discrete Gaussian"):
        raise InputError(f"there is no mechanism {name!r}; there are discrete Laplace and Gaussian")
    if name == "discrete Laplace":
        return dp.m.make_laplace(vectors, dp.l1_distance(T="i64"), scale=scale)
    return dp.m.make_gaussian(vectors, dp.l2_distance(T="f64"), scale=scale)


def mechanism_like(name: str, scale: float, sensitivity: float) -> Mechanism:
    """Build a mechanism from its parts; the guarantee is the library's for that sensitivity.

    Examples
    --------
    >>> mechanism_like("discrete Gaussian", 2.0, 1.0).guarantee
    ConcentratedDP(rho=0.125)
    """
    vetted = _vetted(name, scale)
    far = sensitivity if name == "discrete Gaussian" else round(sensitivity)
    spent = float(vetted.map(far))
    claim = PureDP(spent) if name == "discrete Laplace" else ConcentratedDP(spent)
    return Mechanism(name, scale, float(sensitivity), claim, vetted)


def _within(name: str, scale: float, sensitivity: float, asked: float) -> Mechanism:
    """Raise the scale until the library's map returns no more than what is asked for."""
    while True:
        made = mechanism_like(name, scale, sensitivity)
        claim = made.guarantee
        if claim.level <= asked:
            return made
        scale = math.nextafter(scale, math.inf)


def mechanism_for(workload: Workload, guarantee: PureDP | ConcentratedDP) -> Mechanism:
    """Build the mechanism that answers the whole workload within a guarantee.

    All answers form one vector. A record is in at most one query of each query set, so it moves the
    vector by 1 in as many places as there are sets that count it. The scale of the noise follows
    from that (the paper's Theorems 1 and 2) and is raised, by units in the last place, until
    OpenDP's own map, which rounds upwards, returns no more than what was asked for.

    Parameters
    ----------
    workload
        What will be asked.
    guarantee
        `PureDP` gives discrete Laplace noise, `ConcentratedDP` discrete Gaussian noise.

    Raises
    ------
    InputError
        So much budget that the noise would vanish, or so little that no number could hold it.

    Examples
    --------
    >>> m = mechanism_for(Workload.table((9, 24)), PureDP(0.5))
    >>> m.name, m.scale, m.guarantee
    ('discrete Laplace', 8.0, PureDP(epsilon=0.5))
    """
    pure = isinstance(guarantee, PureDP)
    touched = round(workload.sensitivity(1))
    asked, word = guarantee.level, guarantee.parameter
    if asked > LARGEST_BUDGET * touched:
        raise InputError(
            f"{word} is {asked:g} for {touched} query sets, which would leave next to no noise and "
            f"protect nobody; at most {LARGEST_BUDGET * touched:g} is accepted"
        )
    scale = touched / asked if pure else math.sqrt(touched / (2 * asked))
    if not scale <= LARGEST_SCALE:
        least = touched / LARGEST_SCALE if pure else touched / (2 * LARGEST_SCALE**2)
        raise InputError(
            f"{word} is {asked:g}, which would need noise of {scale:.0e} counts; no answer would "
            f"mean anything, so that {least:g} or more is needed for {touched} query sets"
        )
    if pure:
        return _within("discrete Laplace", scale, touched, asked)
    return _within("discrete Gaussian", scale, root_above(touched), asked)


@dataclass(frozen=True, eq=False)
class Measured:
    """What is left of a table once it has been measured: all that any later step sees.

    Parameters
    ----------
    identity
        A random name, by which copies of one release are recognised.
    schema
        Columns and values, which are public.
    workload
        What was asked, highest priority first.
    answers
        Noisy answers, whole numbers, one read-only array a query set.
    mechanism
        How they were made.
    """

    identity: str
    schema: Schema
    workload: Workload
    answers: tuple[NDArray[np.int64], ...]
    mechanism: Mechanism

    def __post_init__(self) -> None:
        for array in self.answers:
            array.setflags(write=False)

    def measurements(self) -> Measurements:
        """Return them as one run, for fitting."""
        noise = (self.mechanism.noise,) * len(self.answers)
        return Measurements(
            self.workload, tuple(a[None, :].astype(float) for a in self.answers), noise
        )


def split_answers(workload: Workload, vector: NDArray[np.int64]) -> tuple[NDArray[np.int64], ...]:
    """Cut the vector of all answers into one array a query set."""
    ends = [0, *np.cumsum([q.size for q in workload.query_sets]).tolist()]
    return tuple(vector[a:b].copy() for a, b in pairwise(ends))


def measure_privately(
    table: NDArray[np.float64],
    schema: Schema,
    workload: Workload,
    guarantee: PureDP | ConcentratedDP,
) -> Measured:
    """Measure a true table once; the table is not kept.

    Parameters
    ----------
    table
        True counts, shaped as the schema.
    schema
        Columns and values.
    workload
        What to ask.
    guarantee
        What the whole workload shall satisfy.

    Raises
    ------
    InputError
        A table that is none, or as for `mechanism_for`.

    Examples
    --------
    >>> schema = Schema(("sex",), (("f", "m"),))
    >>> m = measure_privately(np.array([3.0, 4.0]), schema, Workload.table(2), PureDP(0.5))
    >>> [a.shape for a in m.answers]
    [(1,), (2,)]
    """
    mechanism = mechanism_for(workload, guarantee)
    truth = workload.answers(check_table(table, workload.shape))
    if table.sum() > LARGEST_TOTAL:
        raise InputError(
            f"the table counts more than {LARGEST_TOTAL:.0e} records; its sums would not be exact"
        )
    vector = mechanism.noisy(np.concatenate(truth).astype(np.int64))
    return Measured(
        secrets.token_hex(8), schema, workload, split_answers(workload, vector), mechanism
    )


def measure_file(
    path: Path, schema: Schema, workload: Workload, guarantee: PureDP | ConcentratedDP
) -> Measured:
    """Read a table and measure it: the one place where a release opens the file.

    Raises
    ------
    InputError
        As for `read_table` and `measure_privately`.
    """
    return measure_privately(read_table(path, schema), schema, workload, guarantee)
