"""Certificates of right and wrong answers; who is asked when one misses; too small a memory."""

import importlib
from dataclasses import replace

import numpy as np
import pytest

from microdata_price.exceptions import CertificateError, InputError
from microdata_price.model.queryset import QuerySet
from microdata_price.optimize import TOLERANCE, Problem, Solution, SubsetSum, Term, certify, solve
from microdata_price.optimize.memory import check_memory, memory_needed
from random_problems import Recipe, random_problem, term

SUM, CELLS = QuerySet.sum_query(3), QuerySet.identity(3)


def row(*values):
    return np.array([values], dtype=float)


# Cells (4, 1, -3) and sum 8, noise 2 each: x = (5.5, 2.5, 0) from y = -0.25 x 1.5 each.
BY_HAND = Problem(
    (Term(SUM, row(9.5), row(0.25)), Term(CELLS, row(4, 1, -3), np.full((1, 3), 0.25)))
)
BEST = Solution(row(5.5, 2.5, 0), (row(-0.375), row(0.375, 0.375, 0.75)))


def test_the_gap_bounds_the_distance_from_the_optimum():
    terms, rng = BY_HAND.terms, np.random.default_rng(1)

    def value(x):
        return sum((t.weight * (t.answers(x) - t.target) ** 2).sum() / 2 for t in terms)

    for _ in range(50):
        x = np.maximum(BEST.x + rng.normal(size=(1, 3)), 0)
        y = tuple(t.weight * (t.answers(x) - t.target) for t in terms)
        lift = max(0.0, -(y[0] + y[1]).min())  # make the multipliers feasible
        y = (y[0] + lift, y[1])
        dual = -sum(
            (a * t.target + a**2 / 2 / t.weight).sum() for t, a in zip(terms, y, strict=True)
        )
        assert dual <= value(BEST.x) + 1e-12
        # Undo the scale: the objective plus the largest force's scale times count plus noise.
        scale = value(x) + 0.25 * (2 + 1e-5 * 9.5) * (9.5 + 2)
        found = certify(BY_HAND, Solution(x, y)).gap[0] * scale
        assert found == pytest.approx(value(x) - dual, rel=1e-9)


ERRORS, NOT_NUMBERS = 10.0 ** -np.arange(1, 9), (np.nan, np.inf, -np.inf)
ONES, CELL_ANSWERS = np.ones((1, 3)), Term(CELLS, row(1, 2, 3), np.ones((1, 3)))
HELD = Problem((Term(SUM, row(6), row(np.inf)), CELL_ANSWERS))
FREE = Problem((Term(SUM, row(6), row(0)), CELL_ANSWERS))
BOUNDED = Problem((Term(CELLS, row(1, 2, -3), ONES, 3 * ONES),))
PARTLY = Problem((Term(CELLS, row(1, 2, 3), row(4, 4, 0)),))
INSIDE = Problem((Term(CELLS, row(1, 2, 3), ONES, 3 * ONES),))
EQUAL = Problem((Term(CELLS, row(1, 2, 3), row(np.inf, np.inf, 1)),))
SUBSET = Problem((SubsetSum(CELLS, ONES > 0, row(6), row(1)),))
LARGE = Problem((Term(CELLS, row(1e9 + 3, 5, -2), ONES / 64),))
LARGE_PART = Problem((Term(CELLS, row(1e9, 5, -2), row(1, 1, 0) / 64),))
NO_FORCE = (row(0), row(0, 0, 0))


@pytest.mark.parametrize(
    ("problem", "x", "y", "part", "expected"),
    [
        (BY_HAND, BEST.x, BEST.y, "worst", 0),
        # In proportion to the error of a cell or a multiplier, in noises.
        *((BY_HAND, BEST.x + row(e, 0, 0), BEST.y, "dual", e / 2) for e in ERRORS),
        *((BY_HAND, BEST.x, (BEST.y[0] - e, BEST.y[1]), "dual", 2 * e) for e in ERRORS),
        *((BY_HAND, BEST.x, (BEST.y[0], BEST.y[1] - row(e, 0, 0)), "dual", 2 * e) for e in ERRORS),
        (BY_HAND, BEST.x - row(0, 0, 0.5), BEST.y, "primal", 0.25),
        (HELD, row(1, 2, 3), NO_FORCE, "per_run", 0),
        (HELD, row(1, 2, 3.1), NO_FORCE, "primal", 0.1),
        (BOUNDED, row(1, 2, 0), (row(0, 0, 3),), "per_run", 0),
        (BOUNDED, row(1, 6, 0), (row(0, 0, 3),), "primal", 1),
        (BOUNDED, row(-0.5, 2, 0), (row(0, 0, 3),), "primal", 0.5),
        (INSIDE, row(1, 2, 3), (row(0, 0, 5),), "dual", 3),  # it calls for a residual of 3
        (FREE, row(1, 2, 3), NO_FORCE, "per_run", 0),
        (FREE, row(1, 2, 3), (row(1), row(0, 0, 0)), "dual", 1),  # of a query that is not asked
        (PARTLY, row(1, 2, 3), (row(0, 0, 1),), "dual", 0.5),  # over the others' largest force
        (LARGE, row(1e9 + 3, 5, 0), (row(0, 0, 2 / 64),), "worst", 0),
        (LARGE, row(1e9 + 3, 5.2, 0), (row(0, 0, 2 / 64),), "per_run", 0.2 / (8 + 1e4)),
        (LARGE_PART, row(1e9, 5.2, 0), (row(0, 0, 0),), "dual", 0.2 / (8 + 1e4)),
        (EQUAL, row(1, 2, 3), (row(1e6, 0, 0),), "gap", 1e6 / (10 * 4)),  # in forces at equalities
        (SUBSET, row(1, 2, 3), (row(0),), "per_run", 0),
        (SUBSET, row(1, 2, 3), (row(1),), "dual", 1),
        *((FREE, row(bad, 2, 3), NO_FORCE, "per_run", np.inf) for bad in NOT_NUMBERS),
        *((FREE, row(1, 2, 3), (row(bad), ONES), "per_run", np.inf) for bad in NOT_NUMBERS),
    ],
)
def test_each_kind_of_violation_is_seen(problem, x, y, part, expected):
    found = np.ravel(getattr(certify(problem, Solution(x, y)), part))[0]
    assert found == pytest.approx(expected, rel=0.01)


@pytest.mark.parametrize("last", [1, 0])  # at a weight of 0 a query is not asked
def test_a_run_is_judged_alone_beside_one_of_huge_counts_and_noise(last):
    huge, runs = np.array([[1], [1e9]]), (slice(0, 2), slice(0, 1), slice(1, 2))
    problem = Problem((Term(CELLS, huge * row(1, 2, 3), row(1, 1, last) / huge),))
    wrong = Solution(huge * row(1.1, 2.2, -0.1), (np.repeat(row(0.3, 0.2, -0.1), 2, axis=0),))
    both, *alone = (certify(problem.select(k), wrong.select(k)) for k in runs)
    for part in ("primal", "dual", "gap"):
        each = [getattr(one, part)[0] for one in alone]
        np.testing.assert_allclose(getattr(both, part), each, rtol=1e-12)


MODULE = importlib.import_module("microdata_price.optimize.solve")  # not the function


def test_runs_that_miss_are_solved_again_and_named_where_both_solvers_miss(monkeypatch):
    rng, asked, wrong = np.random.default_rng(1), [], np.array([1, 4])
    problem = random_problem(rng, "two-way", "least squares", Recipe(), 6)
    right = again = solve(problem)[0]
    broken = replace(right, x=right.x + np.isin(np.arange(6), wrong)[:, None])

    def conic(part):
        asked.append(part.runs)
        return again.select(wrong)

    monkeypatch.setattr(MODULE, "solve_structured", lambda _: broken)
    monkeypatch.setattr(MODULE, "solve_conic", conic)
    solution, certificate = solve(problem)
    assert asked == [2]
    assert certificate.worst <= TOLERANCE
    assert certificate.conic.tolist() == [0, 1, 0, 0, 1, 0]
    np.testing.assert_array_equal(solution.x, right.x)
    again = broken
    with pytest.raises(CertificateError, match=r"2 of 6 runs \(numbers from 0: 1, 4\)"):
        solve(problem)


def test_constraints_that_contradict_each_other_name_the_run():
    held = term(QuerySet.sum_query(3), [[4.0], [-4.0]], np.inf)
    with pytest.raises(CertificateError, match="numbers from 0: 1"):
        solve(Problem((held, term(QuerySet.identity(3), np.ones((2, 3)), 1))))


def test_a_workload_too_large_is_refused_with_its_cells_and_the_estimate():
    kept = (), (0,), (1,), (0, 1)
    small, large = ([QuerySet.marginal((n, n), k) for k in kept] for n in (100, 200))
    needed = memory_needed(small, 1000)
    with pytest.raises(InputError, match=r"10,000 cells in 1,000 runs .* about \d\.\d GB"):
        check_memory(small, 1000, most=needed / 2)
    check_memory(small, 1000, most=2 * needed)
    # It grows with cells, runs and sets.
    assert memory_needed(large, 1000) > 3 * needed
    assert memory_needed(small, 4000) > 2 * needed
    assert memory_needed(small[2:], 1000) < needed
