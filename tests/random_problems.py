"""Random problems of every structure that the fast solver knows, plain and hard."""

from dataclasses import dataclass

import numpy as np

from microdata_price.model.queryset import QuerySet
from microdata_price.optimize import Problem, SubsetSum, Term
from random_measurements import random_workload, without_gaps

STRUCTURES = ("list", "two-way", "three-way", "tree", "overlapping")
KINDS = ("least squares", "equalities", "subset sums", "bounds")


@dataclass(frozen=True)
class Recipe:
    """What a random problem looks like: the largest count, the noise, and how weights vary."""

    large: float = 1e4
    noise: float = 8.0
    orders: float = 1.0
    ties: bool = False
    empty: bool = False


def random_sets(rng, structure):
    """Draw query sets of one structure; the identity comes last."""
    if structure == "list":
        n = int(rng.choice([1, 2, 3, 10, 40]))
        return [QuerySet.sum_query(n), QuerySet.identity(n)]
    if structure in ("two-way", "three-way"):
        way, sides = (2, [1, 2, 3, 5, 8]) if structure == "two-way" else (3, [1, 2, 3, 4])
        shape = tuple(rng.choice(sides, way).tolist())
        kept = [tuple(a for a in range(way) if code >> a & 1) for code in range(2**way - 1)]
        sets = [QuerySet.marginal(shape, axes) for axes in kept if rng.random() < 0.7]
        return [*sets, QuerySet.identity(shape)]
    n = int(rng.integers(4, 40))
    if structure == "tree":
        tract = np.unique(np.sort(rng.integers(0, max(1, n // 3), n)), return_inverse=True)[1]
        many = int(tract.max()) + 1
        above = np.sort(rng.integers(0, max(1, many // 2), many))
        county = np.unique(above, return_inverse=True)[1]
        order = rng.permutation(n)
        return [
            QuerySet.sum_query(n),
            QuerySet.from_labels(county[tract][order], "county"),
            QuerySet.from_labels(tract[order], "tract"),
            QuerySet.identity(n),
        ]
    sets = [QuerySet.sum_query(n)]
    for k in range(int(rng.integers(1, 4))):
        labels = rng.integers(-1, max(1, n // 2), n)
        labels[0] = max(labels[0], 0)
        sets.append(QuerySet.from_labels(without_gaps(labels), f"group{k}"))
    return [*sets, QuerySet.identity(n)]


def random_problem(rng, structure, kind, recipe, runs=4):
    """Draw a problem of one structure that has an answer."""
    return random_terms(rng, random_sets(rng, structure), kind, recipe, runs)


def random_terms(rng, sets, kind, recipe, runs=4):
    """Draw noisy answers to query sets, terms of a kind of them, and some table's answers."""
    cells = sets[0].cells
    small = rng.integers(0, 20, (runs, cells))
    truth = np.where(rng.random((runs, cells)) < 0.7, 0, small).astype(float)
    if recipe.empty:
        truth[:] = 0
    else:
        truth[:, 0] = recipe.large
    noisy = truth + recipe.noise * rng.laplace(size=truth.shape)
    feasible = truth if rng.random() < 0.5 else np.maximum(noisy, 0.0)
    terms = []
    for q in sets:
        exact = q.answers(feasible.reshape(-1, *q.shape))
        target = q.answers(truth.reshape(-1, *q.shape))
        target = target + recipe.noise * rng.laplace(size=(runs, q.size))
        if recipe.ties:
            target = np.round(target / recipe.noise) * recipe.noise
        exponents = rng.uniform(-recipe.orders / 2, recipe.orders / 2, target.shape)
        weight = 10.0**exponents / recipe.noise**2
        if recipe.orders <= 1:
            weight = np.broadcast_to(weight[:, :1], target.shape)
        if kind == "equalities" and q is not sets[-1] and rng.random() < 0.8:
            terms.append(Term(q, exact, np.broadcast_to(np.inf, target.shape)))
        elif kind == "subset sums":
            low = target < 3 * recipe.noise
            count = low.sum(axis=1, keepdims=True)
            total = np.where(low, target, 0.0).sum(axis=1, keepdims=True)
            some = np.where(count > 0, weight[:, :1] / np.maximum(count, 1), 0.0)
            terms.append(Term(q, target, np.where(low, weight / 10, weight)))
            terms.append(SubsetSum(q, low, total, some))
        elif kind == "bounds":
            # A largest residual that leaves room: the least possible one is max fitting's matter.
            radius = np.abs(exact - target) * 1.01 + recipe.noise / 10
            terms.append(Term(q, target, weight, radius))
        else:
            terms.append(Term(q, target, weight))
    return Problem(tuple(terms))


def any_terms(seed, runs=2):
    """Any terms that some table satisfies: weights of 0, finite and infinite, bounds, sums."""
    rng = np.random.default_rng(seed)
    workload = random_workload(rng, 20)
    x0 = rng.integers(0, 2, (runs, workload.cells)) * rng.exponential(20, (runs, workload.cells))
    terms = []
    for q in workload.query_sets:
        exact = q.answers(x0.reshape(runs, *q.shape))
        noisy = exact + rng.normal(size=exact.shape) * 5
        if rng.random() < 0.3:
            terms.append(term(q, noisy, 10.0 ** rng.uniform(-3, 0)))
            continue
        weight = 10.0 ** rng.uniform(-3, 0, exact.shape) * (rng.random(exact.shape) < 0.8)
        radius = np.where(rng.random(exact.shape) < 0.5, np.abs(noisy - exact), np.inf)
        equal = rng.random(exact.shape) < 0.2
        target, weight = np.where(equal, exact, noisy), np.where(equal, np.inf, weight)
        terms.append(Term(q, target, weight, radius if rng.random() < 0.5 else None))
        members = rng.random(exact.shape) < 0.5
        if rng.random() < 0.5:
            sums = np.where(members, noisy, 0).sum(axis=1, keepdims=True)
            some = np.where(members.any(axis=1, keepdims=True), 0.02, 0.0)
            terms.append(SubsetSum(q, members, sums, some))
    return tuple(terms)


def term(queries, target, weight, radius=None):
    """One weight for all of a query set's answers, and at will one largest residual."""
    target = np.atleast_2d(np.asarray(target, dtype=float))
    bounds = None if radius is None else np.full(target.shape, radius)
    return Term(queries, target, np.broadcast_to(float(weight), target.shape), bounds)
