"""Reweighted fitting: the paper's Algorithm 2."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ..exceptions import InputError, unknown_name
from ..model.measurement import Measurements
from ..model.noise import Noise, max_median, max_quantile
from ..model.queryset import QuerySet
from ..optimize import AnyTerm, Problem, SubsetSum, Term, solve
from .fit import Fit, finish

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

CONFIDENCE = 0.99  # the paper's setting of its confidence parameter gamma


@dataclass(frozen=True)
class Rules:
    """Choices about the downweight that Algorithm 2 leaves open; the defaults are this package's.

    Raises
    ------
    InputError
        A least downweight that is not a positive number, or a word that is not one of these.
    """

    # The downweight is this or more, in the unit below; positive, as the median of the largest of
    # one draw is 0 and no query can have an infinite weight.
    least_downweight: float = 1.0
    # Of how many draws it takes the median: of as many as there are low queries, or of the rank of
    # the first answer that stands out (one more).
    draws: Literal["low", "cutoff"] = "low"
    # What the median is counted in: records, as in the paper's formula, or standard deviations of
    # the noise, so that the fit does not change with the unit of counts.
    unit: Literal["counts", "noise"] = "counts"

    def __post_init__(self) -> None:
        least = self.least_downweight
        if not (isinstance(least, (int, float)) and 0 < least < np.inf):
            raise InputError(f"the least downweight is {least!r}; it must be a positive number")
        if self.draws not in ("low", "cutoff"):
            raise unknown_name("draws rule", str(self.draws), ("low", "cutoff"))
        if self.unit not in ("counts", "noise"):
            raise unknown_name("unit", str(self.unit), ("counts", "noise"))


DEFAULT_RULES = Rules()


@dataclass(frozen=True, eq=False)
class Reweighting:
    """Reweighted query set: Algorithm 2's cutoff, low answers and weights, for a batch of runs."""

    name: str  # of the query set
    cutoff: Array  # answers below it are low, (runs,), in counts; infinity where none stands out
    low: Mask  # the low queries, shape (runs, queries)
    downweight: Array  # factor on the low queries' noise, (runs,); 1 or more by the default rules
    low_sum: Array  # sum of the low noisy answers, shape (runs,), in counts
    weight: Array  # of each query by itself, shape (runs, queries), in 1 / squared counts
    low_sum_weight: Array  # of the sum of the low queries, shape (runs,); 0 where no query is low

    @property
    def low_count(self) -> NDArray[np.intp]:
        """Numbers of low queries, shape (runs,)."""
        return np.asarray(self.low.sum(axis=1))


def find_cutoff(answers: Array, noise: Noise, confidence: float = CONFIDENCE) -> Array:
    """Return the cutoff of one query set (the paper's Algorithm 2, lines 5 to 7).

    With the answers sorted upwards, it is the first a_(j) that the largest of j fresh draws of
    noise reaches with probability ``1 - confidence`` at most, infinity if there is none.

    Parameters
    ----------
    answers
        Noisy answers, shape (runs, queries), in counts.
    noise
        Of each answer.
    confidence
        The paper's gamma, between 0 and 1.

    Examples
    --------
    >>> from microdata_price.model.noise import Laplace
    >>> find_cutoff(np.array([[-3.0, 90.0, 2.0, 50.0], [1.0, 2.0, -1.0, 0.0]]), Laplace(8))
    array([50., inf])
    """
    ordered = np.sort(answers, axis=1)
    count = np.arange(1, ordered.shape[1] + 1)
    # Comparing with the quantile asks for one evaluation a rank, not one a run and rank. With
    # noise in whole numbers "a or more" is "more than a - 1", so the comparison is strict.
    stands_out = ordered > max_quantile(noise, count, 1 - confidence)
    first = stands_out.argmax(axis=1)[:, None]
    found = np.take_along_axis(stands_out, first, axis=1)
    return np.where(found, np.take_along_axis(ordered, first, axis=1), np.inf)[:, 0]


def _downweights(noise: Noise, size: int, rules: Rules) -> Array:
    """Return the downweight for every number of low queries from 0 to all."""
    draws = np.arange(size + 1, dtype=float)
    if rules.draws == "cutoff":
        # With all of them low no answer stands out, so there is no later rank.
        draws = np.minimum(draws + 1, size)
    unit = noise.std if rules.unit == "noise" else 1.0
    downweight = np.ones(size + 1)
    downweight[1:] = np.maximum(max_median(noise, draws[1:]) / unit, rules.least_downweight)
    return downweight


def _reweight(
    name: str, answers: Array, noise: Noise, confidence: float, rules: Rules
) -> Reweighting:
    cutoff = find_cutoff(answers, noise, confidence)
    low = answers < cutoff[:, None]
    count = low.sum(axis=1)
    downweight = _downweights(noise, answers.shape[1], rules)[count]
    variance = noise.variance
    low_weight = 1 / (2 * variance * downweight**2)
    sum_weight = np.zeros(count.size)
    np.divide(1 / (2 * variance), count, out=sum_weight, where=count > 0)
    return Reweighting(
        name,
        cutoff,
        low,
        downweight,
        np.where(low, answers, 0.0).sum(axis=1),
        np.where(low, low_weight[:, None], 1 / variance),
        sum_weight,
    )


def reweighting(
    m: Measurements, confidence: float = CONFIDENCE, rules: Rules = DEFAULT_RULES
) -> tuple[Reweighting, ...]:
    """Return each query set's cutoff, low queries and weights (the paper's Algorithm 2).

    The paper leaves some cases open. Ours: if no answer stands out, all are low; if the least one
    does, none is; the downweight belongs to the number of low queries; and it is 1 or more, since
    the median of the largest of one draw is 0.

    Parameters
    ----------
    m
        Noisy answers, a batch of runs, in counts.
    confidence
        The paper's gamma, between 0 and 1; anything else is an `InputError`.
    rules
        Choices about the downweight that the paper leaves open.

    Examples
    --------
    >>> from microdata_price.model.noise import Laplace
    >>> from microdata_price.model.workload import Workload
    >>> answers = ([[90.0]], [[-5.0, 80.0, 3.0]])
    >>> m = Measurements(Workload.table(3), answers, (Laplace(8), Laplace(8)))
    >>> points = reweighting(m)[1]
    >>> points.low, points.low_sum
    (array([[ True, False,  True]]), array([-2.]))
    """
    if not (isinstance(confidence, (int, float)) and 0 < confidence < 1):
        raise InputError(
            f"the confidence is {confidence!r}; it must be a number between 0 and 1, such as 0.99"
        )
    return tuple(
        _reweight(q.name, a, n, confidence, rules)
        for q, a, n in zip(m.workload.query_sets, m.answers, m.noise, strict=True)
    )


def reweighted_terms(queries: QuerySet, answers: Array, step: Reweighting) -> list[AnyTerm]:
    """Return a query set's terms: its queries, and the sum of those that are low."""
    sums = step.low_sum_weight[:, None]
    if queries.size == 1:
        # One query is its own sum of low queries: half its weight twice is all of it, unless the
        # rules say that it is downweighted.
        return [Term(queries, answers, step.weight + sums)]
    terms: list[AnyTerm] = [Term(queries, answers, step.weight)]
    if step.low.any():
        terms.append(SubsetSum(queries, step.low, step.low_sum[:, None], sums))
    return terms


def fit_reweighted(
    m: Measurements, confidence: float = CONFIDENCE, rules: Rules = DEFAULT_RULES
) -> Fit:
    """Fit by reweighted nonnegative least squares (the paper's Algorithm 2).

    Within each query set the answers that do not stand out from noise around zero are low: each
    counts for less, and their sum joins the problem as a query of its own. `reweighting` shows the
    steps and has the parameters.
    """
    steps = reweighting(m, confidence, rules)
    sets = zip(m.workload.query_sets, m.answers, steps, strict=True)
    terms = tuple(t for q, a, w in sets for t in reweighted_terms(q, a, w))
    solution, certificate = solve(Problem(terms))
    return finish("reweighted", m, solution.x, certificate)
