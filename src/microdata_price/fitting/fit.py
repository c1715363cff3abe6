"""Steps common to all methods: measurements to terms, and an answer to a certified fit."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..exceptions import CertificateError
from ..model.measurement import Measurements
from ..model.queryset import QuerySet
from ..model.workload import Workload
from ..optimize import WORST_TOLERANCE, Certificate, Term

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Fit:
    """Tables fitted to noisy answers, one a run.

    Examples
    --------
    >>> z = np.zeros(1)
    >>> Fit("nnls", Workload.table(2), np.array([[3.0, 4.0]]), Certificate(z, z, z)).answers()[0]
    array([[7.]])
    """

    method: str  # its name
    workload: Workload  # as asked
    cells: Array  # weights of the records, (runs, cells), in counts; 0 or more but for OLS
    certificate: Certificate  # each run's distance from its optimum, the worst of all stages

    @property
    def tables(self) -> Array:
        """The fitted tables, shape (runs, table shape)."""
        return self.cells.reshape(-1, *self.workload.shape)

    def answers(self) -> tuple[Array, ...]:
        """Answer the workload from the fitted tables; one array (runs, queries) a query set."""
        return self.workload.answers(self.tables)


def repeated(value: float, shape: tuple[int, int]) -> Array:
    """Return an array that holds one number throughout and takes no memory."""
    return np.broadcast_to(np.float64(value), shape)


def weighted(queries: QuerySet, answers: Array, variance: float) -> Term:
    """Return the term of one query set, its weight one over the variance of its noise."""
    return Term(queries, answers, repeated(1 / variance, answers.shape))


def held(queries: QuerySet, answers: Array) -> Term:
    """Return the term that holds a query set at the given answers."""
    return Term(queries, answers, repeated(np.inf, answers.shape))


def weighted_terms(m: Measurements) -> tuple[Term, ...]:
    """Return one term a query set: least squares with the weights of the paper's NNLS."""
    return tuple(map(weighted, m.workload.query_sets, m.answers, m.variances))


def finish(method: str, m: Measurements, cells: Array, certificate: Certificate) -> Fit:
    """Return the fit, or refuse it and name the runs whose certificate misses."""
    missed = np.flatnonzero(~(certificate.per_run <= WORST_TOLERANCE))
    if missed.size:
        named = ", ".join(str(r) for r in missed[:5]) + (", ..." if missed.size > 5 else "")
        raise CertificateError(
            f"method {method}: run {named} (counting from 0; {missed.size} of {m.runs}) has a "
            f"certificate of {certificate.worst:.1e}, needed is {WORST_TOLERANCE:.0e}; the answers "
            "may be too large, or too unequal in noise, for numbers of 64 bits"
        )
    return Fit(method, m.workload, cells, certificate)
