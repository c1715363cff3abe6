"""The three structures: each does with its own shortcuts what the dense matrix U would do."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

from microdata_price.model.queryset import QuerySet
from microdata_price.optimize import Problem
from microdata_price.optimize import conjugate as conjugate_module
from microdata_price.optimize.boxed import split
from microdata_price.optimize.conjugate import Conjugate, conjugate
from microdata_price.optimize.partitions import Partitions, partitions
from microdata_price.optimize.tree import Tree, tree
from microdata_price.optimize.tuning import TUNING
from microdata_price.optimize.two_way import TwoWay, two_way
from random_problems import STRUCTURES, Recipe, random_problem, term

RUNS = 3


def recognised(problem, which):
    """Return the structure, the order of the terms and the order of the cells, or None."""
    _, aggregates = split(problem)
    cells = np.arange(problem.cells)
    if which == "two-way":
        found = two_way(problem, aggregates)
        if found is not None and found[2]:  # the other side comes first
            cells = cells.reshape(max(problem.shape), -1).T.ravel()
        return found and (*found[:2], cells)
    found = {"tree": tree, "any": partitions, "cg": conjugate}[which](problem, aggregates)
    return found and (*found, cells)


def problems():
    rng = np.random.default_rng(11)
    for structure, kind in itertools.product(STRUCTURES, ("least squares", "subset sums")):
        for _ in range(6):
            yield random_problem(rng, structure, kind, Recipe(), RUNS)


@pytest.mark.parametrize(
    ("which", "kind", "least"),
    [("two-way", TwoWay, 12), ("tree", Tree, 30), ("any", Partitions, 50), ("cg", Conjugate, 50)],
)
def test_products_and_newton_steps_are_those_of_the_dense_matrix(which, kind, least, monkeypatch):
    monkeypatch.setattr(conjugate_module, "TUNING", replace(TUNING, forcing=1e-14))
    rng = np.random.default_rng(3)
    compared = 0
    for problem in problems():
        found = recognised(problem, which)
        if found is None or not found[1]:
            continue
        structure, order, cells = found
        assert isinstance(structure, kind)
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
        if which != "two-way" or all(
            problem.terms[k].size > 1 or problem.terms[k].weight.all() for k in order
        ):
            compared += 1
            for run, u in enumerate(dense):
                np.testing.assert_allclose(forces[run], u.T @ y[run], atol=1e-12)
                np.testing.assert_allclose(structure.matvec(x)[run], u @ x[run], atol=1e-12)
                most = np.where(u > 0, x[run], -np.inf).max(axis=1)
                np.testing.assert_array_equal(structure.largest(x)[run], most)
                matrix = u @ np.diag(free[run]) @ u.T + np.diag(slack[run])
                np.testing.assert_allclose(step[run], np.linalg.solve(matrix, y[run]), atol=1e-9)
        one = structure.select(np.array([1]))
        np.testing.assert_allclose(one.matvec(x[1:2])[0], structure.matvec(x)[1], atol=1e-12)
    assert compared >= least


def test_nested_totals_must_be_nested():
    halves, mixed, some = (
        QuerySet.from_labels(x, "q") for x in ([0, 0, 1, 1], [0, 1, 1, 2], [0, 0, 1, -1])
    )

    def problem(*sets):
        return Problem(tuple(term(q, np.zeros(q.size), 1) for q in (*sets, QuerySet.identity(4))))

    assert tree(problem(halves), [0]) is not None
    assert tree(problem(halves, mixed), [0, 1]) is None
    assert tree(problem(some), [0]) is None
    assert partitions(problem(halves, mixed, some), [0, 1, 2]) is not None
