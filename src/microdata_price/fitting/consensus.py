"""Weighted mean of three fits that agree on the total: the recommended method."""

from __future__ import annotations

from functools import reduce
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..model.measurement import Measurements
from ..model.queryset import QuerySet
from ..optimize import Certificate, Problem, Term, solve
from .fit import Fit, finish, held, repeated
from .ols import fit_ols
from .reweighted import Rules, find_cutoff, reweighted_terms, reweighting
from .sequential import fit_sequential
from .shrinkage import shrink

Array = NDArray[np.float64]

RULES = Rules(least_downweight=10.0, unit="noise")
"""Low answers count for a hundredth of what the paper gives them at least; in noises, so that the
fit does not change with the unit of counts."""

MOST_SEQUENTIAL, LEAST_DEVIATIONS, MOST_DEVIATIONS = 0.25, 2.0, 5.0
"""The largest weight of sequential fitting, and between how many deviations of their sum from 0 the
low cells earn it."""
MOST_SHRUNK = 1 / 3
FIRM = 10.0  # cells of a query above which the shrunk part weighs it more: targets err alike


class Part(NamedTuple):
    """One of the three fits, and its weight in each run."""

    name: str
    cells: Array
    certificate: Certificate
    weight: Array


def _total(m: Measurements, cells: Array) -> Term:
    """Return the term that holds the sum of all cells at that of a first fit."""
    queries = QuerySet.sum_query(m.workload.shape)
    return held(queries, queries.answers(cells.reshape(-1, *m.workload.shape)))


def _is_total(queries: QuerySet) -> bool:
    return queries.size == 1 and bool((queries.labels == 0).all())


def _reweighted(m: Measurements, total: Term) -> tuple[Array, Certificate]:
    """Fit consistent answers by the paper's Algorithm 2 with the total held."""
    sets = zip(m.workload.query_sets, m.answers, reweighting(m, rules=RULES), strict=True)
    others = [t for q, a, w in sets if not _is_total(q) for t in reweighted_terms(q, a, w)]
    solution, certificate = solve(Problem((total, *others)))
    return solution.x, certificate


def _shrunk(m: Measurements, total: Term, own: int, first: Array) -> tuple[Array, Certificate]:
    """Fit the targets of `shrink` and the other noisy answers with the total held."""
    terms = [total]
    sets = zip(m.workload.query_sets, m.answers, m.variances, strict=True)
    for k, (queries, answers, variance) in enumerate(sets):
        if k == own:
            targets = shrink(m, own, first)
            terms.append(Term(queries, targets.mean, 1 / targets.variance))
        elif not _is_total(queries):
            firm = max(1.0, m.workload.cells / queries.size / FIRM)
            terms.append(Term(queries, answers, repeated(firm / variance, answers.shape)))
    solution, certificate = solve(Problem(tuple(terms)))
    return solution.x, certificate


def _weights(m: Measurements, own: int, signed: Array, shrunk: Array) -> tuple[Array, ...]:
    """Weigh sequential, reweighted and shrunk cells, run by run, by least-squares cells alone."""
    variance = m.variances[own]
    low = signed < find_cutoff(signed, m.noise[own])[:, None]
    count = low.sum(axis=1)
    sets = list(zip(m.workload.query_sets, m.variances, strict=True))
    total = min((v for q, v in sets if _is_total(q)), default=np.inf)
    # The low cells' sum is known from themselves, or from the total less the others.
    others = total + (signed.shape[1] - count) * variance
    spread = np.minimum(np.maximum(count, 1) * variance, others)  # no cell has the sum 0
    deviations = (signed * low).sum(axis=1) / np.sqrt(spread)
    rise = (deviations - LEAST_DEVIATIONS) / (MOST_DEVIATIONS - LEAST_DEVIATIONS)
    sequential = MOST_SEQUENTIAL * np.clip(rise, 0.0, 1.0)
    far = np.ones(m.runs)
    for k, (queries, v) in enumerate(sets):
        if k != own and queries.size > 1:
            apart = queries.answers((shrunk - signed).reshape(-1, *queries.shape))
            far = np.maximum(far, (apart**2).mean(axis=1) / v)
    third = MOST_SHRUNK / far
    return sequential, 1 - sequential - third, third


def consensus_parts(m: Measurements) -> tuple[Part, ...]:
    """Return the fits whose weighted mean `fit_consensus` is, with their weights.

    They are sequential fitting of the least-squares answers, reweighted fitting of the same answers
    with the total held at the first one's, and, where the cells themselves were asked, the fit of
    the cells' targets by `shrink`, with that total, too.

    Examples
    --------
    >>> from microdata_price.model.noise import Laplace
    >>> from microdata_price.model.workload import Workload
    >>> m = Measurements(Workload.table(2), ([[9.0]], [[8.0, -2.0]]), (Laplace(8), Laplace(8)))
    >>> [part.cells.sum().round(6).item() for part in consensus_parts(m)]
    [8.0, 8.0, 8.0]
    >>> [part.weight.round(2).item() for part in consensus_parts(m)]
    [0.0, 0.67, 0.33]
    """
    signed = fit_ols(m)
    consistent = Measurements(m.workload, signed.answers(), m.noise)
    first = fit_sequential(consistent)
    total = _total(m, first.cells)
    certificate = first.certificate.combine(signed.certificate)
    fits = [
        ("sequential", first.cells, certificate),
        ("reweighted", *_reweighted(consistent, total)),
    ]
    cells = [k for k, q in enumerate(m.workload.query_sets) if q.is_identity]
    weights: tuple[Array, ...] = (np.full(m.runs, 0.5),) * 2
    if cells:
        fits.append(("shrunk", *_shrunk(m, total, cells[0], first.cells)))
        weights = _weights(m, cells[0], signed.cells, fits[2][1])
    return tuple(Part(*fit, weight) for fit, weight in zip(fits, weights, strict=True))


def fit_consensus(m: Measurements) -> Fit:
    """Fit by a mean of three fits with one total, weighted by the noisy answers; recommended.

    A mean of nonnegative, consistent tables is one. At given weights its squared error is the
    weighted mean of the parts' errors, less their weighted mean squared distance from it (for each
    query: the square is convex). The three fits err in different ways: sequential fitting moves the
    large cells, reweighted fitting frees the small ones, shrunken targets pull moderate cells down.

    Sequential fitting counts only where the cells that do not stand out one by one (Algorithm 2's
    low cells) stand out together: nothing up to 2 deviations of their sum, a quarter from 5 on. The
    shrunk fit counts a third, and less by the factor by which its marginals lie further from least
    squares than noise does. Reweighted fitting has the rest. Where the cells were not asked, the
    first two count one half each.

    All have the same total, so the sum is that of `fit_sequential_ols`: ``max(0, least-squares
    sum)`` where the sum is asked first. The certificate is the worst of the parts': each is proved
    to be the optimum of its own problem. Their mean minimises no objective.
    """
    parts = consensus_parts(m)
    certificate = reduce(Certificate.combine, (p.certificate for p in parts))
    cells = sum((p.weight[:, None] * p.cells for p in parts), np.zeros_like(parts[0].cells))
    return finish("consensus", m, cells, certificate)
