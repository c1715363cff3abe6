"""The mean of three fits that agree on the total: the recommended method (ours)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..model.measurement import Measurements
from ..model.queryset import QuerySet
from ..optimize import Certificate, Problem, SubsetSum, Term, solve
from .fit import Fit, finish, held, weighted
from .ols import fit_ols
from .reweighted import Rules, reweighting
from .sequential import fit_sequential
from .shrinkage import shrink

Array = NDArray[np.float64]

RULES = Rules(least_downweight=10.0, unit="noise")
"""Low answers count for a hundredth of what the paper gives them at least; in noises, so that the
fit does not change with the unit of counts."""


class Part(NamedTuple):
    """One of the three fits."""

    name: str
    cells: Array
    certificate: Certificate


def _total(m: Measurements, cells: Array) -> Term:
    """Return the term that holds the sum of all cells at that of a first fit."""
    queries = QuerySet.sum_query(m.workload.shape)
    return held(queries, queries.answers(cells.reshape(-1, *m.workload.shape)))


def _is_total(queries: QuerySet) -> bool:
    return queries.size == 1 and bool((queries.labels == 0).all())


def _reweighted(m: Measurements, total: Term) -> Part:
    """Fit consistent answers by the paper's Algorithm 2 with the total held."""
    terms: list[Term | SubsetSum] = [total]
    steps = reweighting(m, rules=RULES)
    for queries, answers, step in zip(m.workload.query_sets, m.answers, steps, strict=True):
        if _is_total(queries):
            continue
        terms.append(Term(queries, answers, step.weight))
        if step.low.any():
            weight = step.low_sum_weight[:, None]
            terms.append(SubsetSum(queries, step.low, step.low_sum[:, None], weight))
    solution, certificate = solve(Problem(tuple(terms)))
    return Part("reweighted", solution.x, certificate)


def _shrunk(m: Measurements, total: Term, own: int, first: Array) -> Part:
    """Fit the targets of `shrink` and the other noisy answers with the total held."""
    terms = [total]
    sets = zip(m.workload.query_sets, m.answers, m.variances, strict=True)
    for k, (queries, answers, variance) in enumerate(sets):
        if k == own:
            targets = shrink(m, own, first)
            terms.append(Term(queries, targets.mean, 1 / targets.variance))
        elif not _is_total(queries):
            terms.append(weighted(queries, answers, variance))
    solution, certificate = solve(Problem(tuple(terms)))
    return Part("shrunk", solution.x, certificate)


def consensus_parts(m: Measurements) -> tuple[Part, ...]:
    """Return the fits whose mean `fit_consensus` is.

    They are sequential fitting of the least-squares answers, reweighted fitting of the same answers
    with the total held at the first one's, and, where the cells themselves were asked, the fit of
    the cells' targets by `shrink`, with that total, too.

    Parameters
    ----------
    m
        Noisy answers, a batch of runs, in counts; the order of query sets is that of priority.

    Examples
    --------
    >>> from microdata_price.model.noise import Laplace
    >>> from microdata_price.model.workload import Workload
    >>> m = Measurements(Workload.table(2), ([[9.0]], [[8.0, -2.0]]), (Laplace(8), Laplace(8)))
    >>> [part.cells.sum().round(6).item() for part in consensus_parts(m)]
    [8.0, 8.0, 8.0]
    """
    signed = fit_ols(m)
    consistent = Measurements(m.workload, signed.answers(), m.noise)
    sequential = fit_sequential(consistent)
    total = _total(m, sequential.cells)
    certificate = sequential.certificate.combine(signed.certificate)
    parts = [Part("sequential", sequential.cells, certificate), _reweighted(consistent, total)]
    cells = [k for k, q in enumerate(m.workload.query_sets) if q.is_identity]
    if cells:
        parts.append(_shrunk(m, total, cells[0], sequential.cells))
    return tuple(parts)


def fit_consensus(m: Measurements) -> Fit:
    """Fit by the mean of three fits with one total (ours; what this package recommends).

    A mean of nonnegative, consistent tables is one. Its expected squared error is never more than
    the mean of the parts' errors, and less by exactly the parts' mean squared distance from their
    mean (for each query: the square is convex). The three fits err in different ways: sequential
    fitting moves the large cells, reweighted fitting frees the small ones, shrunken targets pull
    moderate cells down. All have the same total, so the sum is that of `fit_sequential_ols`:
    ``max(0, least-squares sum)`` where the sum is asked first.

    The certificate is the worst of the parts': each part is proved to be the optimum of its own
    problem. The mean minimises no objective, so there is nothing else to certify.

    Examples
    --------
    >>> from microdata_price.model.noise import Laplace
    >>> from microdata_price.model.workload import Workload
    >>> m = Measurements(Workload.table(2), ([[9.0]], [[8.0, -2.0]]), (Laplace(8), Laplace(8)))
    >>> fitted = fit_consensus(m)
    >>> bool(fitted.cells.min() >= 0), fitted.cells.sum().round(6).item()
    (True, 8.0)
    """
    parts = consensus_parts(m)
    certificate = parts[0].certificate
    for part in parts[1:]:
        certificate = certificate.combine(part.certificate)
    return finish("consensus", m, np.mean([p.cells for p in parts], axis=0), certificate)
