"""Problems whose cells have no weights: proximal steps against the conic solver."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from microdata_price.model.queryset import QuerySet
from microdata_price.optimize import (
    TOLERANCE,
    WORST_TOLERANCE,
    AnyTerm,
    Problem,
    SubsetSum,
    Term,
    attempt,
    certify,
    solve,
)
from microdata_price.optimize.conic import solve_conic
from microdata_price.optimize.merge import merge

NOISE = 4.0
RUNS = 5
KINDS = ("least squares", "held", "bounds", "subset sums")


def labels_of(rng, cells, groups, missing):
    """Labels 0, 1, ... without a gap, some cells left out if asked."""
    labels = rng.integers(-1 if missing else 0, groups, cells)
    labels[0] = max(labels[0], 0)
    used = np.unique(labels[labels >= 0])
    return np.where(labels >= 0, np.searchsorted(used, labels), -1)


def random_sets(rng):
    """Query sets of one to four ways: marginals, nested and overlapping labels, masks, cells."""
    ways = int(rng.integers(1, 5))
    largest = (24, 6, 4, 3)[ways - 1]
    shape = tuple(int(n) for n in rng.integers(1, largest + 1, ways))
    cells = int(np.prod(shape))
    kept = [k for n in range(ways) for k in combinations(range(ways), n)]
    chosen = rng.permutation(len(kept))[: rng.integers(1, 4)]
    sets = [QuerySet.marginal(shape, kept[k], f"marginal{k}") for k in chosen]
    family = rng.choice(["marginals", "nested", "overlapping", "disjoint"])
    if family == "nested":
        fine = labels_of(rng, cells, max(1, cells // 2), missing=False)
        coarse = labels_of(rng, int(fine.max()) + 1, 3, missing=False)[fine]
        for name, labels in (("coarse", coarse), ("fine", fine)):
            sets.append(QuerySet.from_labels(labels.reshape(shape), name))
    elif family == "overlapping":
        for k in range(2):
            labels = labels_of(rng, cells, max(1, cells // 3), missing=True)
            sets.append(QuerySet.from_labels(labels.reshape(shape), f"some{k}"))
    elif family == "disjoint":
        half = rng.integers(0, 2, cells)
        for k in range(2):
            if (half == k).any():
                mask = np.where(half == k, 0, -1).reshape(shape)
                sets.append(QuerySet.from_labels(mask, f"mask{k}"))
    if rng.random() < 0.3:
        sets.append(QuerySet.identity(shape))
    return sets


def random_terms(rng, sets, kind):
    """Sparse counts, measured; some answers held at those of a table, many of them 0."""
    cells = sets[0].cells
    truth = np.where(rng.random((RUNS, cells)) < 0.6, 0, rng.integers(0, 60, (RUNS, cells)))
    truth = truth.astype(float)
    terms: list[AnyTerm] = []
    for j, q in enumerate(sets):
        target = q.answers(truth.reshape(RUNS, *q.shape)) + NOISE * rng.laplace(size=(RUNS, q.size))
        weight = np.full(target.shape, 10.0 ** rng.uniform(-1, 1) / (2 * NOISE**2))
        if kind == "held" and j < len(sets) // 2:
            held = q.answers(truth.reshape(RUNS, *q.shape))
            terms.append(Term(q, held, np.full(held.shape, np.inf)))
        elif kind == "bounds":
            radius = np.abs(target - q.answers(truth.reshape(RUNS, *q.shape))) * 1.01 + NOISE / 10
            terms.append(Term(q, target, weight, radius))
        elif kind == "subset sums":
            low = target < 3 * NOISE
            count = low.sum(axis=1, keepdims=True)
            total = np.where(low, target, 0.0).sum(axis=1, keepdims=True)
            terms.append(Term(q, target, np.where(low, weight / 10, weight)))
            some = np.where(count > 0, weight[:, :1] / np.maximum(count, 1), 0.0)
            terms.append(SubsetSum(q, low, total, some))
        else:
            terms.append(Term(q, target, weight))
    return Problem(tuple(terms))


@pytest.mark.parametrize("kind", KINDS)
def test_hundreds_of_random_workloads_have_the_conic_solvers_answers(kind):
    rng = np.random.default_rng(KINDS.index(kind))
    missed, far = 0, 0
    for _ in range(120):
        problem = random_terms(rng, random_sets(rng), kind)
        fast, certificate = attempt(problem)
        good = certificate.per_run <= WORST_TOLERANCE
        missed += int((~good).sum())
        slow = solve_conic(problem)
        assert certify(problem, slow).worst <= WORST_TOLERANCE
        for term in problem.terms:  # answers are unique, and so is the table of least norm
            apart = np.abs(term.answers(fast.x) - term.answers(slow.x))[good] / NOISE
            assert apart.max(initial=0.0) <= 1e-5
        far += int((np.abs(fast.x - slow.x).max(axis=1)[good] > 1e-3 * NOISE).sum())
    assert missed <= 3  # of 600
    assert far == 0


@pytest.mark.parametrize("kind", ["least squares", "held"])
def test_the_answers_do_not_depend_on_the_table_at_which_the_steps_begin(kind):
    rng = np.random.default_rng(7)
    shape, open_cells = (4, 5, 3), 0
    for keep in (((0, 1), (1, 2)), ((0, 1), (1,)), ((0, 1), (0, 2), (1, 2))):  # the second merges
        problem = random_terms(rng, [QuerySet.marginal(shape, k) for k in keep], kind)
        near = rng.integers(0, 90, (RUNS, 60)) * (rng.random((RUNS, 60)) < 0.5).astype(float)
        there, certificate = attempt(problem, least_norm=False, near=near)
        assert certificate.worst <= WORST_TOLERANCE
        far, _ = attempt(problem, least_norm=False)
        for term in problem.terms:
            np.testing.assert_allclose(term.answers(there.x), term.answers(far.x), atol=1e-5)
        open_cells += int((np.abs(there.x - far.x) > NOISE).sum())
        settled, _ = attempt(problem, near=near)
        np.testing.assert_allclose(settled.x, attempt(problem)[0].x, atol=1e-3 * NOISE)
    assert open_cells > 0  # it was another table, but for the answers


def test_held_answers_may_pin_every_cell():
    q = [QuerySet.marginal((3, 4), (a,)) for a in (0, 1)]
    zero = [np.zeros((1, k.size)) for k in q]
    held = Term(q[0], zero[0], np.full((1, 3), np.inf))
    asked = Term(q[1], zero[1] + 5, np.ones((1, 4)))
    solution, certificate = solve(Problem((held, asked)))
    assert certificate.worst <= TOLERANCE
    assert certificate.conic_calls == 0
    assert not solution.x.any()


@pytest.mark.parametrize("seed", range(10))
def test_held_answers_may_contradict_each_other_by_rounding(seed):
    rng = np.random.default_rng(seed)
    shape = (4, 5, 3)
    x = rng.integers(0, 50, (3, 60)) * (rng.random((3, 60)) < 0.4) / 3
    terms = []
    for k in ((0, 1), (0, 2)):
        q = QuerySet.marginal(shape, k)
        said = q.answers(x.reshape(3, *shape))
        said = np.maximum(said * (1 + 1e-14 * rng.normal(size=said.shape)), 0.0)
        terms.append(Term(q, said, np.full(said.shape, np.inf)))
    q = QuerySet.marginal(shape, (1, 2))
    asked = q.answers(x.reshape(3, *shape)) + NOISE * rng.normal(size=(3, q.size))
    problem = Problem((*terms, Term(q, asked, np.full(asked.shape, 1 / NOISE**2))))
    fast, certificate = attempt(problem)
    assert certificate.worst <= WORST_TOLERANCE
    slow = solve_conic(problem)
    assert certify(problem, slow).worst <= WORST_TOLERANCE
    np.testing.assert_allclose(q.answers(fast.x), q.answers(slow.x), atol=1e-5 * NOISE)


@pytest.mark.parametrize("seed", range(20))
def test_held_answers_may_pin_some_cells_to_zero(seed):
    """Rows of a random workload that are held at 0 empty their cells; the others are fitted."""
    rng = np.random.default_rng(seed)
    shape = (5, 4, 3)
    x = rng.integers(1, 50, (RUNS, *shape)).astype(float)
    x[:, rng.random(5) < 0.5] = 0
    sets = [QuerySet.marginal(shape, k) for k in ((0,), (0, 1), (1, 2))]
    terms = [Term(sets[0], sets[0].answers(x), np.full((RUNS, 5), np.inf))]
    for q in sets[1:]:
        asked = q.answers(x) + NOISE * rng.laplace(size=(RUNS, q.size))
        terms.append(Term(q, asked, np.full(asked.shape, 1 / NOISE**2)))
    problem = Problem(tuple(terms))
    fast, certificate = solve(problem)
    assert certificate.worst <= WORST_TOLERANCE
    assert certificate.conic_calls == 0
    empty = sets[0].spread(sets[0].answers(x)) == 0
    assert np.abs(fast.x[empty]).max(initial=0.0) <= 1e-9
    slow = solve_conic(problem)
    np.testing.assert_allclose(fast.x, slow.x, atol=1e-3 * NOISE)


def test_cells_that_no_query_tells_apart_share_evenly():
    shape = (3, 4, 2)
    rows, columns = (QuerySet.marginal(shape, (a,)) for a in (0, 1))
    target = [np.array([[6.0, -1.0, 9.0]]), np.array([[5.0, 1.0, 2.0, 4.0]])]
    terms = [Term(q, t, np.ones_like(t)) for q, t in zip((rows, columns), target, strict=True)]
    merged = merge(Problem(tuple(terms)))
    assert merged is not None
    assert merged.problem.shape == (3, 4)
    x = solve(Problem(tuple(terms)))[0].x.reshape(shape)
    np.testing.assert_array_equal(x[:, :, 0], x[:, :, 1])
    rng = np.random.default_rng(1)
    labels = rng.integers(0, 3, (3, 4, 2))
    hidden = [QuerySet.from_labels(q.labels.reshape(shape), q.name) for q in (rows, columns)]
    hidden.append(QuerySet.from_labels(labels, "labels"))
    assert merge(
        Problem(tuple(Term(q, np.zeros((1, q.size)), np.ones((1, q.size))) for q in hidden))
    )
    cells = Term(QuerySet.identity(shape), np.zeros((1, 24)), np.ones((1, 24)))
    assert merge(Problem((*terms, cells))) is None


def test_cells_that_no_query_counts_are_empty():
    some = QuerySet.from_labels([0, 1, -1, 1, -1], "some")
    total = QuerySet.from_labels([0, 0, -1, 0, -1], "their sum")
    terms = [Term(q, np.full((1, q.size), 6.0), np.ones((1, q.size))) for q in (some, total)]
    solution, certificate = solve(Problem(tuple(terms)))
    assert certificate.worst <= TOLERANCE
    assert solution.x[0, 2] == solution.x[0, 4] == 0


def test_open_runs_are_solved_in_one_batch_as_one_by_one():
    rng = np.random.default_rng(3)
    sets = [QuerySet.marginal((4, 5), (a,)) for a in (0, 1)]
    problem = random_terms(rng, sets, "least squares")
    whole = solve(problem)[0].x
    for run in range(RUNS):
        one = solve(problem.select(slice(run, run + 1)))[0].x
        np.testing.assert_allclose(one[0], whole[run], atol=1e-6)
