"""Max fitting: the paper's second baseline."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..model.measurement import Measurements
from ..optimize import WORST_TOLERANCE, Certificate, Problem, Term, attempt, solve
from ..optimize.distance import (
    Distance,
    certify_distance,
    distance_bound,
    exact_distance,
    raise_bound,
)
from .fit import Fit, finish, repeated

Array = NDArray[np.float64]

_ROUNDS = 12  # searches for cuts before the linear program is asked


def _second_stage(m: Measurements, distance: Array) -> Problem:
    """Least squares with every residual within the distance."""
    terms = []
    for q, a, n in zip(m.workload.query_sets, m.answers, m.noise, strict=True):
        radius = np.broadcast_to(distance[:, None] * n.std, a.shape)
        terms.append(Term(q, a, repeated(1 / n.variance, a.shape), radius))
    return Problem(tuple(terms))


def _solve(m: Measurements) -> tuple[Distance, Array, Certificate]:
    """Return each run's distance, its cells, and the certificate of both stages."""
    sets, stds = m.workload.query_sets, [n.std for n in m.noise]
    distance = distance_bound(sets, m.answers, stds)
    solution, certificate = attempt(_second_stage(m, distance.value))
    # Where no table is within the bound, the second stage has no answer: the bound is too low.
    # Its multipliers then run away, and where to is where a violated cut lies.
    missed = np.flatnonzero(~(certificate.per_run <= WORST_TOLERANCE))
    for _ in range(_ROUNDS):
        if not missed.size:
            break
        part, old = m.select(missed), distance.select(missed)
        new = raise_bound(sets, part.answers, stds, old, solution.select(missed).y)
        higher = np.flatnonzero(new.value > old.value)
        if not higher.size:
            break
        missed, new = missed[higher], new.select(higher)
        found, better = attempt(_second_stage(m.select(missed), new.value))
        distance = distance.replace_runs(missed, new)
        solution = solution.replace_runs(missed, found)
        certificate = certificate.replace_runs(missed, better)
        missed = missed[~(better.per_run <= WORST_TOLERANCE)]
    missed = np.flatnonzero(~(certificate.per_run <= WORST_TOLERANCE))
    if missed.size:
        new = exact_distance(sets, m.select(missed).answers, stds)
        found, better = solve(_second_stage(m.select(missed), new.value), names=missed)
        distance = distance.replace_runs(missed, new)
        solution = solution.replace_runs(missed, found)
        certificate = certificate.replace_runs(missed, better)
    proof = certify_distance(sets, m.answers, stds, distance)
    return distance, solution.x, certificate.combine(proof)


def max_distance(m: Measurements) -> Distance:
    """Return max fitting's first stage: the least largest residual, in noises, with its proof.

    Examples
    --------
    >>> from microdata_price.model.noise import Laplace
    >>> from microdata_price.model.workload import Workload
    >>> m = Measurements(Workload.table(2), ([[9.0]], [[8.0, -4.0]]), (Laplace(8), Laplace(8)))
    >>> round(float(max_distance(m).value[0] * Laplace(8).std), 9)
    4.0
    """
    return _solve(m)[0]


def fit_max(m: Measurements) -> Fit:
    """Fit by max fitting (the paper's bilevel baseline).

    First the distance: the least t such that some nonnegative table answers every query to within
    t standard deviations of its noise; then the table of least squares among those within t. Both
    stages are exact. Usually t is forced by the most negative noisy answer, else by answers that
    cannot be met together, else a linear program gives it, with the proof that it is the least.
    """
    _, cells, certificate = _solve(m)
    return finish("maxfit", m, cells, certificate)
