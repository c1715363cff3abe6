"""Certificates of right and wrong answers; who is asked when one misses; too small a memory."""

import importlib
import re
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from microdata_price.exceptions import CertificateError, InputError
from microdata_price.model.queryset import QuerySet
from microdata_price.optimize import TOLERANCE, Problem, Solution, certify, solve
from microdata_price.optimize.certificate import RESOLVED, ROUNDING, UNEQUAL
from microdata_price.optimize.memory import check_memory, memory_needed
from random_problems import Recipe, any_terms, random_problem, term

SUM, CELLS = QuerySet.sum_query(3), QuerySet.identity(3)


def row(*values):
    return np.array([values], dtype=float)


# Cells (4, 1, -3) and sum 9.5, noise 2 each: x = (5.5, 2.5, 0) from y = -0.25 x 1.5 each.
BY_HAND = Problem((term(SUM, 9.5, 0.25), term(CELLS, [4, 1, -3], 0.25)))
X, Y = row(5.5, 2.5, 0), (row(-0.375), row(0.375, 0.375, 0.75))


@pytest.mark.parametrize(
    ("x", "y", "part", "expected"),
    [
        (X, Y, "worst", 0),
        # In proportion to the error of a cell or a multiplier, in noises.
        *((X + row(e, 0, 0), Y, "dual", e / 2) for e in (1e-2, 1e-8)),
        *((X, (Y[0] - e, Y[1]), "dual", 2 * e) for e in (1e-2, 1e-8)),
        (X - row(0, 0, 0.5), Y, "primal", 0.25),
        *((row(bad, 2.5, 0), Y, "per_run", np.inf) for bad in (np.nan, np.inf, -np.inf)),
        *((X, (row(bad), Y[1]), "per_run", np.inf) for bad in (np.nan, np.inf, -np.inf)),
    ],
)
def test_each_kind_of_violation_is_seen(x, y, part, expected):
    found = np.ravel(getattr(certify(BY_HAND, Solution(x, y)), part))[0]
    assert found == pytest.approx(expected, rel=0.01)


def plain_certificate(problem, x, y):
    """One run's three numbers as `certify` describes them, by the queries' dense matrix."""
    terms = problem.terms
    matrix = np.vstack([t.matrix(0).toarray() for t in terms])
    target = np.concatenate([t.target[0] for t in terms])
    weight = np.concatenate([t.weight[0] for t in terms])
    bound = [np.full(t.size, np.inf) if t.radius is None else t.radius[0] for t in terms]
    bound = np.where(np.isinf(weight), 0.0, np.concatenate(bound))
    heard = np.concatenate([(t.weight[0] > 0) | (t.radius is not None) for t in terms])
    soft, bounded = (weight > 0) & np.isfinite(weight), np.isfinite(bound)
    w, one = np.where(soft, weight, 0.0), np.where(soft, weight, 1.0)
    t = np.where(bounded, bound, 0.0)
    count = np.abs(target[heard]).max(initial=0.0)
    noise = w.max() ** -0.5 if soft.any() else 0.0
    least = noise + ROUNDING * count or 1.0
    scale = np.where(soft, one**-0.5 + ROUNDING * count, least)
    held = bounded & (~soft | (np.abs(y) > w * t))
    asked = np.where(held, np.sign(y) * t, np.where(soft, y / one, 0.0))
    force = w * scale + np.where(held, ROUNDING * np.abs(y), 0.0)
    r, stray = matrix @ x - target, np.where(soft | held, 0.0, np.abs(y))
    primal = (np.where(bounded, np.maximum(np.abs(r) - t, 0.0), 0.0) / scale).max()
    dual = (np.abs(asked - r) / scale)[soft].max(initial=0.0)
    ends = np.cumsum([q.size for q in terms])[:-1]
    for own, forces in zip(np.split(stray, ends), np.split(force, ends), strict=True):
        dual = max(dual, own.max() / (forces.max() or 1.0))
    gap = np.abs(w * (r**2 - asked**2) / 2 + y * (asked - r)).sum()
    floor = least / noise**2 if noise else 1.0
    strengths = [f.max() for f in np.split(force, ends)]
    plain = [bool((t.weight[0] > 0).all() and np.isfinite(t.weight[0]).all()) for t in terms]
    weakest = np.where(plain, strengths, np.inf).min()
    most = UNEQUAL * weakest + RESOLVED * np.abs(y).max() if problem.nonnegative else np.inf
    allowed = (matrix * force[:, None]).max(axis=0)
    allowed = np.where(matrix.T @ soft > 0, allowed, np.maximum(allowed, floor))
    allowed, g = np.minimum(allowed, most), matrix.T @ y
    if problem.nonnegative:
        primal = max(primal, -x.min() / least)
    dual = max(dual, ((-g if problem.nonnegative else np.abs(g)) / allowed).max())
    size = (w * r**2).sum() / 2 + min(max(floor, force.max()), most) * (count + noise)
    return primal, dual, (gap + np.abs(g * x).sum()) / (size or 1.0)


@settings(max_examples=100)
@given(seed=st.integers(0, 2**32 - 1), nonnegative=st.booleans())
def test_a_certificate_is_that_of_its_definition_run_by_run(seed, nonnegative):
    rng = np.random.default_rng(seed)
    terms = [replace(t, weight=t.weight * 10.0 ** rng.choice([0, -9])) for t in any_terms(seed)]
    problem = Problem(tuple(terms), nonnegative)
    shape = 2, problem.cells
    x = rng.exponential(20, shape) * (rng.random(shape) < 0.6) - 0.1 * (rng.random() < 0.5)
    sizes = [t.target.shape for t in problem.terms]
    y = [rng.normal(size=s) * 10.0 ** rng.uniform(-3, 2, s) for s in sizes]
    y = tuple(v * (rng.random(v.shape) < 0.7) for v in y)
    found = certify(problem, Solution(x, y))
    for run in (0, 1):
        own = plain_certificate(problem.select([run]), x[run], np.concatenate(y, axis=1)[run])
        ours = [getattr(found, part)[run] for part in ("primal", "dual", "gap")]
        np.testing.assert_allclose(ours, own, rtol=1e-9)


MODULE = importlib.import_module("microdata_price.optimize.solve")  # not the function


def test_runs_that_miss_are_solved_again_and_named_where_both_solvers_miss(monkeypatch):
    rng, asked, wrong = np.random.default_rng(1), [], np.array([1, 4])
    problem = random_problem(rng, "two-way", "least squares", Recipe(), 6)
    right = again = solve(problem)[0]
    broken = replace(right, x=right.x + np.isin(np.arange(6), wrong)[:, None])
    conic = lambda part: (asked.append(part.runs), again.select(wrong))[1]  # noqa: E731
    monkeypatch.setattr(MODULE, "solve_structured", lambda _: broken)
    monkeypatch.setattr(MODULE, "solve_conic", conic)
    solution, certificate = solve(problem)
    assert (asked, certificate.conic.tolist()) == ([2], [0, 1, 0, 0, 1, 0])
    assert certificate.worst <= TOLERANCE
    np.testing.assert_array_equal(solution.x, right.x)
    again = broken
    for names, said in ((None, "1, 4"), (np.arange(6) + 10, "11, 14")):
        with pytest.raises(CertificateError, match=rf"2 of 6 runs \(numbers from 0: {said}\)"):
            solve(problem, names=names)


@pytest.mark.parametrize(("many", "more"), [(10, ""), (11, ", ...")])
def test_constraints_that_contradict_each_other_name_the_run(many, more):
    held = term(QuerySet.sum_query(3), [[4.0], *[[-4.0]] * many], np.inf)
    said = f"{many} of {many + 1} runs (numbers from 0: 1, 2, 3, 4, 5, 6, 7, 8, 9, 10{more})"
    with pytest.raises(CertificateError, match=re.escape(said)):
        solve(Problem((held, term(QuerySet.identity(3), np.ones((many + 1, 3)), 1))))


@pytest.mark.parametrize(
    ("shape", "kept", "runs", "kept_numbers", "block", "cuts", "dense"),
    [
        ((4, 5), [(), (0,), (1,), (0, 1)], 3, 6 * 3 * (20 + 30), 46 * 60, 3 * 16 * 20, 3 * 25 * 30),
        # All in one block, which holds no fewer cells than a table has; no set is eliminated.
        ((400, 400), [(0, 1)], 2, 12 * 320_000, 34 * 160_000, 3 * 160_000, 3 * 1000**2),
        # A dense matrix has no more entries than it may have.
        ((200, 200, 2), [(0, 1), (0, 1, 2)], 1, 6 * 200_000, 38 * 80_000, 12 * 80_000, 75_000_000),
    ],
)
def test_a_workload_too_large_is_refused(shape, kept, runs, kept_numbers, block, cuts, dense):
    sets = [QuerySet.marginal(shape, k) for k in kept]
    needed = 8 * (kept_numbers + block + cuts + dense)
    assert memory_needed(sets, runs) == needed
    check_memory(sets, runs, most=needed)
    with pytest.raises(InputError, match=r"cells in \d runs? at .* about \d\.\d GB"):
        check_memory(sets, runs, most=needed - 1)
