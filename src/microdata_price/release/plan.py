"""What a release will ask and with which noise, settled and judged before any table is seen."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ..base.numbers import not_below, rounded_down
from ..errors.known import ols_variances
from ..exceptions import InputError
from ..model.measurement import Measurements
from ..model.privacy import ConcentratedDP, PureDP, check_guarantee
from ..model.queryset import QuerySet
from ..model.workload import Workload
from ..optimize.memory import check_memory
from ..tables.schemas import Schema, parse_schema, require
from ..tables.workloads import parse_workload, query_values
from .mechanism import Mechanism, mechanism_for

Array = NDArray[np.float64]
More = Sequence[QuerySet]  # told without being asked

WEAK_STD, LEAST_STD = 1 - 1e-9, 0.5  # counts known better need consent, or are refused
WEAK_TIMES = 1e6  # what one record makes so many times likelier needs consent, too
SHORT_DELTA = 1e-6  # the chance left out where zCDP is told as a number of times


def signed_variances(workload: Workload, variances: Sequence[float]) -> Sequence[Array]:
    """Return the exact variances of least-squares answers; NaN where these are too many."""
    try:
        return ols_variances(workload, variances)
    except InputError:
        return [np.full(q.size, np.nan) for q in workload.query_sets]


def not_asked(schema: Schema, workload: Workload) -> tuple[QuerySet, ...]:
    """Return the total and each column's values where they are not asked; they are told, too."""
    asked = [q.labels for q in workload.query_sets]
    single = parse_workload("sum, marginals", schema).query_sets
    return tuple(q for q in single if not any(np.array_equal(q.labels, a) for a in asked))


def sharpest_std(workload: Workload, mechanism: Mechanism, more: More = ()) -> float:
    """Return the least standard deviation with which least squares knows a told count or a cell."""
    asked, variances = workload.query_sets, [n.variance for n in mechanism.noise]
    cells = () if any(q.is_identity for q in asked) else (QuerySet.identity(workload.shape),)
    # What is not asked is as if asked with a noise so wide that it tells nothing.
    wide = [1e12 * max(variances)] * len((*more, *cells))
    found = signed_variances(Workload((*asked, *more, *cells)), [*variances, *wide])
    if np.isnan(found[0][0]):
        # A lower bound: that of a cell, or of two if the total is public, as if all else was known.
        moved = 2 if 0 in mechanism.scales else 1
        return math.sqrt(1 / (moved * math.fsum(1 / v for v in mechanism.variances if v > 0)))
    pairs = zip(found, [*mechanism.scales, *wide], strict=True)
    return math.sqrt(min(float(v.min()) for v, scale in pairs if scale > 0))


def times(guarantee: PureDP | ConcentratedDP) -> float:
    """Return by how often one record makes an outcome likelier, but for a chance `SHORT_DELTA`."""
    level = check_guarantee(guarantee, PureDP, ConcentratedDP).level
    if isinstance(guarantee, ConcentratedDP):  # holds of the outcome itself, half the chance a side
        level = guarantee.to_approximate(SHORT_DELTA / 2).epsilon
    return math.exp(min(level, 99))


def warnings_of(workload: Workload, mechanism: Mechanism, more: More = ()) -> list[str]:
    """Return what must be said loudly of a mechanism wherever its release is described."""
    found, std, g = [], sharpest_std(workload, mechanism, more), mechanism.guarantee
    if std < WEAK_STD:
        said = f"a count with a standard deviation of only {rounded_down(std, 2):g} records. Many"
        found.append(f"all answers together may tell {said} published counts may be the true ones.")
    if times(g) > WEAK_TIMES:
        said = f"at {g.parameter} = {not_below(g.level)} one record may make what is published"
        found.append(f"{said} more than a million times likelier, as good as certain.")
    return [f"WEAK PROTECTION: {said}" for said in found]


def check_strength(workload: Workload, mechanism: Mechanism, weak: bool, more: More = ()) -> None:
    """Refuse noise that hides next to nothing; weak noise is allowed to who asks for it by name."""
    std = sharpest_std(workload, mechanism, more)
    said = f"a count with a standard deviation of only {rounded_down(std, 2):g} and protect nobody"
    least = f"{said}; below {LEAST_STD:g} nothing is released"
    require(std >= LEAST_STD, f"spend less: all answers together may tell {least}")
    if not weak and (found := warnings_of(workload, mechanism, more)):
        raise InputError(f"{found[0]} Spend less, or say --weak-protection if it is meant")


@dataclass(frozen=True, eq=False)
class Measured:
    """What is left of a table once it has been measured: all that any later step sees."""

    identity: str  # a random name, drawn with the noise, by which copies are recognised
    schema: Schema
    workload: Workload
    mechanism: Mechanism
    answers: tuple[NDArray[np.int64], ...] = ()  # read-only, one a query set; none before measuring
    ledger: str = ""  # the checksum of the line that counts it, empty without a ledger
    where: Mapping[str, str] = field(default_factory=dict)  # which rows alone were read, if any

    def __post_init__(self) -> None:
        for array in self.answers:
            array.setflags(write=False)

    @property
    def known_total(self) -> int | None:
        """The total, if it is public and so kept exactly; else ``None``."""
        public = (a for a, s in zip(self.answers, self.mechanism.scales, strict=True) if s == 0)
        return next((int(a[0]) for a in public), None)

    @property
    def warnings(self) -> list[str]:
        """What must be said loudly of the release."""
        return warnings_of(self.workload, self.mechanism, not_asked(self.schema, self.workload))

    def measurements(self) -> Measurements:
        """Return them as one run, for fitting."""
        answers = tuple(a[None, :].astype(float) for a in self.answers)
        return Measurements(self.workload, answers, self.mechanism.noise)


def plan_release(
    schema: Schema,
    workload: Workload,
    guarantee: PureDP | ConcentratedDP,
    shares: Mapping[str, float] | None = None,
    *,
    known_total: bool = False,
    weak: bool = False,
) -> Measured:
    """Settle what will be asked and with which noise (`mechanism_for`); `weak` allows little."""
    for queries in workload.query_sets:
        query_values(schema, queries)
    read = parse_schema(schema.to_json()), parse_workload(", ".join(workload.names), schema).names
    said = "read back from a folder, schema or workload differ; use parse_schema and parse_workload"
    require(read == (schema, workload.names), said)
    check_memory(workload.query_sets, runs=1)
    mechanism = mechanism_for(workload, guarantee, shares, known_total=known_total)
    check_strength(workload, mechanism, weak, not_asked(schema, workload))
    return Measured("not measured yet", schema, workload, mechanism)
