"""The fast solver against others, on hard problems; its structures against the dense matrix U."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import microdata_price.optimize.conjugate as conjugate_module
import microdata_price.optimize.structured as structured
from microdata_price.model.queryset import QuerySet
from microdata_price.model.workload import Workload
from microdata_price.optimize import TOLERANCE, WORST_TOLERANCE, Problem, Term, certify, solve
from microdata_price.optimize.boxed import is_cells, split
from microdata_price.optimize.conic import solve_conic
from microdata_price.optimize.conjugate import conjugate
from microdata_price.optimize.partitions import Partitions, partitions
from microdata_price.optimize.structured import make_plan, solve_structured
from microdata_price.optimize.tree import Tree, tree
from microdata_price.optimize.tuning import TUNING
from microdata_price.optimize.two_way import TwoWay, two_way
from random_problems import KINDS, STRUCTURES, Recipe, random_problem, random_terms, term

SEEDS, SOFT = st.integers(0, 2**32 - 1), ("least squares", "subset sums")
PLANNED = TwoWay, TwoWay, (TwoWay, Tree, Partitions), (TwoWay, Tree), (TwoWay, Tree, Partitions)
HARD = {
    "plain": Recipe(),
    "all zeros": Recipe(empty=True),
    "one huge cell": Recipe(large=1e9),
    "ties": Recipe(ties=True),
    "little noise": Recipe(noise=1e-6, large=100.0),
    "much noise": Recipe(noise=1e6),
}


CERTIFIED = [
    *((h, k, 6) for h in HARD for k in KINDS if k != "bounds"),
    *((h, "bounds", 4) for h in ("all zeros", "ties", "much noise")),
    ("plain", "bounds", 20),  # which do not lead round in circles
]


@pytest.mark.parametrize("structure", STRUCTURES)
@pytest.mark.parametrize(("hard", "kind", "many"), CERTIFIED)
def test_hard_problems_do_not_need_the_conic_solver(structure, hard, kind, many):
    rng = np.random.default_rng(3)
    for _ in range(many):
        problem = random_problem(rng, structure, kind, HARD[hard])
        assert isinstance(make_plan(problem).structure, PLANNED[STRUCTURES.index(structure)])
        fast = solve(problem)[0] if kind == "bounds" else solve_structured(problem)
        most = 2e-10 if hard in ("one huge cell", "little noise") else 2e-11
        assert certify(problem, fast).worst <= most


def test_weights_twelve_orders_apart_seldom_need_the_conic_solver():
    """The rounding of a multiplier is large in a cell of little weight; last steps mend it."""
    missed, rng = [], np.random.default_rng(3)
    for structure, kind, _ in itertools.product(STRUCTURES, SOFT, range(8)):
        problem = random_problem(rng, structure, kind, Recipe(orders=12.0))
        missed.extend(certify(problem, solve_structured(problem)).per_run > 1e-9)
        assert solve(problem)[1].worst <= WORST_TOLERANCE
    assert sum(missed) <= 36  # of 320


def test_large_tables_of_very_noisy_cells_do_not_need_the_conic_solver():
    rng, (_, *sets, cells) = np.random.default_rng(3), Workload.table((101, 101)).query_sets
    table = rng.poisson(0.5, (1, 101, 101)).astype(float)
    held = [term(q, q.answers(table), np.inf) for q in sets]
    problem = Problem((*held, term(cells, 1e6 * rng.normal(size=cells.size), 1e-12)))
    assert certify(problem, solve_structured(problem)).worst > WORST_TOLERANCE
    assert solve(problem)[1].conic_calls == 0


@pytest.mark.parametrize("nonnegative", [True, False])
@pytest.mark.parametrize("fixed", [0, 3])
@pytest.mark.parametrize(
    "shape", [(1,), (1, 1), (1, 7), (7, 1), (3, 1, 4), (1, 1, 5), (2, 2), (3, 4), (4, 3)]
)
def test_sides_of_any_length_and_equalities_on_single_cells(shape, fixed, nonnegative):
    sets, rng = Workload.table(shape).query_sets, np.random.default_rng(7)
    problem = random_terms(rng, sets, "least squares", Recipe(large=9.0))
    *others, cells = problem.terms
    here = np.broadcast_to(np.arange(problem.cells) < fixed, cells.target.shape)
    target, weight = np.where(here, 2.0, cells.target), np.where(here, np.inf, cells.weight)
    problem = Problem((*others, Term(cells.queries, target, weight)), nonnegative)
    plan, long = make_plan(problem), [n for n in shape if n > 1]
    assert isinstance(plan.structure, TwoWay)
    assert plan.flip == (len(long) == 2 and long[0] > long[1])
    fast = solve_structured(problem)
    assert certify(problem, fast).worst <= 1e-13
    np.testing.assert_array_equal(fast.x[here], 2.0)
    np.testing.assert_allclose(fast.x, solve_conic(problem).x, atol=1e-7)


@pytest.mark.parametrize("structure", STRUCTURES)
@pytest.mark.parametrize("kind", KINDS)
def test_several_terms_on_single_cells_share_their_forces(structure, kind):
    rng = np.random.default_rng(5)
    for _ in range(4):
        problem = random_problem(rng, structure, kind, Recipe())
        x = solve(problem)[0].x  # a table within all bounds
        away, held = 9 * rng.normal(size=x.shape), rng.random(x.shape) < 0.1
        weight = np.where(held, np.inf, rng.random(x.shape) / 64)
        cells = QuerySet.identity(problem.shape, "again")
        radius = np.abs(away) + rng.random(x.shape)
        again = Term(cells, np.where(held, x, x + away), weight, radius)
        more = Problem((*problem.terms, again, term(cells, x - away, 0.01)))
        assert certify(more, solve_structured(more)).worst <= 5e-11


@settings(max_examples=30)
@given(SEEDS)
def test_a_run_does_not_depend_on_its_neighbours(seed):
    rng = np.random.default_rng(seed)
    problem = random_problem(rng, STRUCTURES[seed % 5], KINDS[seed % 4], Recipe(), runs=6)
    whole = solve_structured(problem).x
    for runs in (slice(0, 1), slice(2, 5)):
        np.testing.assert_allclose(solve_structured(problem.select(runs)).x, whole[runs], atol=1e-7)
    # In blocks of as many cells as stay in the cache, and of as many dense matrices.
    unknowns = sum(problem.terms[k].size for k in split(problem)[1])
    for cells, matrices in ((4, 9), (4, 2)):
        most = {"block_cells": cells * problem.cells, "block_entries": matrices * unknowns**2}
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(structured, "TUNING", replace(TUNING, **most))
            plan = make_plan(problem)
            dense = isinstance(plan.structure, Partitions)
            assert plan.block == (matrices if dense and matrices < cells else cells)
            np.testing.assert_allclose(solve_structured(problem).x, whole, atol=1e-7)


@pytest.mark.parametrize("structure", STRUCTURES)
def test_contradictions_are_proved(structure):
    rng, proved = np.random.default_rng(11), 0
    for _ in range(8):
        good = random_problem(rng, structure, "bounds", Recipe(), runs=3)
        # In run 1 the first query set must be far from what its cells can add up to.
        terms = list(good.terms)
        if len(terms) < 2 or is_cells(terms[0].queries):
            continue
        target = terms[0].target.copy()
        target[1] -= 3 * max(t.radius.sum(axis=1).max() for t in terms) + 3e5
        terms[0] = Term(terms[0].queries, target, terms[0].weight, terms[0].radius)
        cells = QuerySet.identity(good.shape, "within wide bounds")
        problem = Problem((*terms, term(cells, np.zeros((3, good.cells)), 0, 1e9)))
        found = solve_structured(problem)
        assert found.contradictory.tolist() == [False, True, False]
        assert np.isnan(found.x[1]).all()
        pairs = list(zip(problem.terms, found.y, strict=True))
        forces = sum(t.spread(a)[1] for t, a in pairs)
        most = sum(a[1] @ t.target[1] + np.abs(a[1]) @ t.radius[1] for t, a in pairs)
        size = max(np.abs(a[1]).max() for a in found.y)
        assert forces.min() >= -1e-10 * size
        assert most < -size
        missed = certify(problem, found).per_run
        assert max(missed[0], missed[2]) <= TOLERANCE < missed[1] == np.inf
        proved += 1
    assert proved >= 3


RUNS = 3
FOUND = [(two_way, 13), (tree, 33), (partitions, 56), (conjugate, 57)]


@pytest.mark.parametrize(("find", "many"), FOUND)
def test_products_and_newton_steps_are_those_of_the_dense_matrix(find, many, monkeypatch):
    monkeypatch.setattr(conjugate_module, "TUNING", replace(TUNING, forcing=1e-14))
    rng, drawn, compared = np.random.default_rng(3), np.random.default_rng(11), 0
    for form, some, _ in itertools.product(STRUCTURES, SOFT, range(6)):
        problem = random_problem(drawn, form, some, Recipe(), RUNS)
        found = find(problem, split(problem)[1])
        if found is None or not found[1]:
            continue
        structure, order, *flip = found
        cells = np.arange(problem.cells)
        if any(flip):  # the other side of a two-way table comes first
            cells = cells.reshape(max(problem.shape), -1).T.ravel()
        dense = [
            np.concatenate([problem.terms[k].matrix(run).toarray() for k in order])[:, cells]
            for run in range(RUNS)
        ]
        unknowns = dense[0].shape[0]
        y, x = rng.normal(size=(RUNS, unknowns)), rng.normal(size=(RUNS, problem.cells))
        forces = np.broadcast_to(structure.rmatvec(y), x.shape)
        free = np.where(rng.random(x.shape) < 0.6, rng.uniform(0.1, 1, x.shape), 0.0)
        slack = rng.uniform(0.1, 2, y.shape)
        step = structure.solve(free, slack, y, np.full((RUNS, 1), 1e-3))
        # An empty sum of some queries counts as the whole in a two-way table, and there alone.
        full = all(problem.terms[k].size > 1 or problem.terms[k].weight.all() for k in order)
        if full or find is not two_way:
            compared += 1
            for run, u in enumerate(dense):
                np.testing.assert_allclose(forces[run], u.T @ y[run], atol=1e-12)
                np.testing.assert_allclose(structure.matvec(x)[run], u @ x[run], atol=1e-12)
                most = np.where(u > 0, x[run], -np.inf).max(axis=1)
                np.testing.assert_array_equal(structure.largest(x)[run], most)
                matrix = u @ np.diag(free[run]) @ u.T + np.diag(slack[run])
                np.testing.assert_allclose(step[run], np.linalg.solve(matrix, y[run]), atol=1e-9)
        two = structure.select(np.array([1, 2]))
        np.testing.assert_allclose(two.matvec(x[1:]), structure.matvec(x)[1:], atol=1e-12)
        again = two.solve(free[1:], slack[1:], y[1:], np.full((2, 1), 1e-3))
        np.testing.assert_allclose(again, step[1:], atol=1e-9)
    assert compared == many


def test_a_sum_of_some_cells_of_a_list_is_one_of_its_own():
    some = term(QuerySet.from_labels([0, 0, -1, -1], "some"), [0], 1)
    assert two_way(Problem((some, term(QuerySet.identity(4), np.zeros(4), 1))), [0]) is not None
