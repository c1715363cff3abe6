"""Each method alone: least squares, reweighted and sequential fitting against what they are."""

import sys
from dataclasses import replace
from itertools import combinations, product

import mpmath
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from fitting_oracle import matrix
from microdata_price.exceptions import InputError
from microdata_price.fitting import Rules, fit, fit_ols, fit_reweighted, fit_sequential
from microdata_price.fitting import ols as ols_module
from microdata_price.fitting.fit import held, weighted
from microdata_price.fitting.refinement import parents
from microdata_price.fitting.reweighted import find_cutoff, reweighting
from microdata_price.fitting.sequential import sequential_stages
from microdata_price.model.measurement import Measurements, measure
from microdata_price.model.noise import Gaussian, Laplace, max_median
from microdata_price.model.noise_discrete import DiscreteGaussian, DoubleGeometric
from microdata_price.model.privacy import PureDP
from microdata_price.model.queryset import QuerySet
from microdata_price.model.workload import Workload
from microdata_price.optimize import TOLERANCE, WORST_TOLERANCE, Problem, certify
from microdata_price.optimize.conic import solve_conic
from microdata_price.optimize.tuning import TUNING
from random_measurements import measured, random_measurements

SEEDS = st.integers(0, 2**32 - 1)


def test_large_workloads_without_structure_go_to_lsmr(monkeypatch):
    rng = np.random.default_rng(1)
    quads = QuerySet.from_labels(np.arange(30) // 4, "quads")
    odd = QuerySet.from_labels(np.where(np.arange(30) % 3 == 0, 0, -1), "thirds")
    w = Workload((quads, odd))
    answers = tuple(rng.normal(size=(3, q.size)) * 50 for q in w.query_sets)
    m = Measurements(w, answers, (Laplace(8.0), Laplace(1.0)))
    dense = fit_ols(m).cells
    monkeypatch.setattr(ols_module, "_DENSE_CELLS", 0)
    monkeypatch.setattr(np.linalg, "lstsq", None)
    result = fit_ols(m)
    np.testing.assert_allclose(result.cells, dense, atol=1e-9)
    assert result.certificate.worst <= TOLERANCE


@pytest.mark.parametrize("shape", [(6,), (4, 5), (2, 3, 4)])
@pytest.mark.parametrize("kind", ["marginals", "labels", "missed", "twice"])
def test_what_has_a_closed_form_needs_no_other_solver(shape, kind, monkeypatch):
    monkeypatch.setattr(ols_module, "_solve_any", None)
    m = measured(np.ones(shape))
    sets, answers, noise = m.workload.query_sets, m.answers, m.noise
    if kind in ("labels", "missed"):  # the cells, and aggregates to be eliminated
        sets = [QuerySet.from_labels(q.labels.reshape(shape), q.name) for q in sets]
    if kind == "missed":  # by LSMR, of more aggregates
        monkeypatch.setattr(ols_module, "asks_cells", lambda _, most=0: most > 0)
        zeros = lambda m, _: np.zeros((m.runs, m.workload.cells))  # noqa: E731
        monkeypatch.setattr(ols_module, "_solve_any", zeros)
    if kind == "twice":
        again = QuerySet.marginal(shape, sets[-1].axes, "again")
        sets, answers, noise = (*sets, again), (*answers, answers[-1] + 9), (*noise, noise[0])
    m = Measurements(Workload(tuple(sets)), answers, noise)
    assert fit_ols(m).certificate.worst <= TOLERANCE


@pytest.mark.filterwarnings("error")
@given(st.integers(1, 12), st.integers(1, 3), st.integers(0, 10**6), st.sampled_from([1, 6, 9, 12]))
@example(12, 3, 443, 12)
@example(12, 3, 251, 9)
def test_answers_are_those_of_the_whole_problem(cells, others, seed, digits):
    rng, sets = np.random.default_rng(seed), [QuerySet.identity(cells)]
    for k in range(others):
        labels = np.unique(rng.integers(0, 4, cells), return_inverse=True)[1] - rng.integers(0, 2)
        if labels.max() >= 0:
            sets.append(QuerySet.from_labels(labels, f"set {k}"))
    rng.shuffle(sets)
    workload = Workload(tuple(sets))
    noise = [Laplace(s) for s in 10.0 ** rng.uniform(0, digits, len(sets))]
    answers = [rng.normal(0, 30 * n.std, (2, q.size)) for n, q in zip(noise, sets, strict=True)]
    rows = np.concatenate([matrix(q) for q in sets])
    with mpmath.workdps(80):
        weight = np.repeat([1 / mpmath.mpf(n.variance) for n in noise], [q.size for q in sets])
        inverse = np.array((mpmath.matrix(rows.T @ (weight[:, None] * rows)) ** -1).tolist())
        expected = np.concatenate(answers, axis=1) * weight @ rows @ inverse @ rows.T
        spread = (rows @ inverse * rows).sum(axis=1).astype(float) ** 0.5
    found = fit_ols(Measurements(workload, tuple(answers), tuple(noise)))
    off = np.abs(np.concatenate(found.answers(), axis=1) - expected.astype(float))
    assert (off <= 1e-5 * spread + 1e-15 * np.abs(found.cells).max() * cells).all()


@pytest.mark.parametrize(("share", "closed"), [(1, 0), (1e-3, 0), (1e-5, 0), (1e-5, 1), (1e-7, 1)])
def test_many_cells_that_are_hardly_asked_are_certified(share, closed):
    size, rng = 40_000, np.random.default_rng(1)
    parts = QuerySet.from_labels(rng.integers(0, 70, size), "parts")
    sets = (QuerySet.sum_query(size), parts, QuerySet.identity(size))
    sets = Workload.table((200, 200)).query_sets if closed else sets
    scale = [1 / share if q.size == size else 1.0 for q in sets]
    answers = tuple(rng.normal(0, 30 * s, (2, q.size)) for q, s in zip(sets, scale, strict=True))
    m = Measurements(Workload(sets), answers, tuple(Laplace(4.0 * s) for s in scale))
    assert fit_ols(m).certificate.worst <= WORST_TOLERANCE / 3


NOISES = st.floats(0.01, 100).map(Laplace) | st.floats(0.01, 100).map(Gaussian)
WHOLE = [DoubleGeometric(0.3), DoubleGeometric(2.0), DiscreteGaussian(3)]


def one_set(answers, noise=None):
    answers = np.atleast_2d(np.asarray(answers, dtype=float))
    sets = Workload.table(answers.shape[1]).query_sets
    return Measurements(Workload((sets[-1],)), (answers,), (noise or Laplace(8.0),))


@settings(max_examples=200)
@given(NOISES | st.sampled_from(WHOLE), SEEDS, st.integers(1, 30), st.floats(0.5, 0.999))
def test_the_cutoff_is_that_of_the_algorithm_word_for_word(noise, seed, size, confidence):
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 2, size) * rng.exponential(5 * noise.std, size)
    whole = noise in WHOLE
    answers = truth + noise.sample(rng, (3, size))
    answers = np.rint(answers) if whole else answers
    found = find_cutoff(answers, noise, confidence)
    j, a = np.arange(1, size + 1), np.sort(answers)
    # In whole numbers a or more is more than a - 1.
    reached = -np.expm1(j * noise.log_cdf(a - whole))
    expected = np.where(reached <= 1 - confidence, a, np.inf).min(axis=1)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(
    ("total", "rules", "expected"),
    [*((t, Rules(), 1.0) for t in (-20.0, 3.0, 500.0)), (3.0, Rules(5.0), 1 / 50 + 1 / 2)],
)
def test_a_single_query_keeps_its_weight_unless_the_rules_say_otherwise(total, rules, expected):
    cells = np.array([90.0, 80.0, 70.0])
    m = Measurements(Workload.table(3), ([[total]], cells[None]), (Laplace(8), Laplace(8)))
    steps = reweighting(m, rules=rules)[0]
    weight = (steps.weight[0, 0] + steps.low_sum_weight[0]) * 128
    assert weight == pytest.approx(expected)
    # None of the cells is low, so x = a - weight (sum x - total).
    shift = weight * (240.0 - total) / (1 + 3 * weight)
    np.testing.assert_allclose(fit_reweighted(m, rules=rules).cells[0], cells - shift, atol=1e-9)


def test_settings_out_of_range_and_unknown_methods_are_refused():
    for confidence in (0.0, 1.0, -1, np.nan, "x"):
        with pytest.raises(InputError, match="between 0 and 1"):
            fit_reweighted(one_set([1.0, 2.0]), confidence=confidence)
    for least in (0, -1.0, np.inf, np.nan, "x"):
        with pytest.raises(InputError, match="positive number"):
            Rules(least)
    for rule, said in ({"draws": "lows"}, "low"), ({"unit": "noises"}, "noise"):
        with pytest.raises(InputError, match=f"did you mean {said}"):
            Rules(**rule)
    with pytest.raises(InputError, match="no method 'nlns'; did you mean nnls or ols"):
        fit(one_set([1.0]), "nlns")


@settings(max_examples=50)
@given(noise=NOISES, seed=SEEDS, least=st.floats(0.01, 20), size=st.integers(1, 12))
def test_low_answers_count_for_less_as_the_rules_say_and_their_sum_joins(noise, seed, least, size):
    rng = np.random.default_rng(seed)
    shape, v = (6, size), noise.variance
    answers = rng.choice([0.0, 30.0], shape) * noise.std + noise.sample(rng, shape)
    low = answers < find_cutoff(answers, noise)[:, None]
    for draws, unit in product(("low", "cutoff"), ("counts", "noise")):
        w = reweighting(one_set(answers, noise), rules=Rules(least, draws, unit))[0]
        np.testing.assert_array_equal(w.low, low)
        np.testing.assert_allclose(w.low_sum, np.where(low, answers, 0).sum(axis=1))
        for run, count in enumerate(low.sum(axis=1)):
            assert w.low_count[run] == count
            assert w.low_sum_weight[run] == pytest.approx(1 / (2 * count * v) if count else 0.0)
            drawn = count if draws == "low" else min(count + 1, size)
            median = float(max_median(noise, drawn)) if count else 0.0
            down = max(median / (noise.std if unit == "noise" else 1), least) if count else 1.0
            assert w.downweight[run] == pytest.approx(down)
            expected = np.where(low[run], 1 / (2 * v * down**2), 1 / v)
            np.testing.assert_allclose(w.weight[run], expected)


def check_stages(m, tolerance):
    """Stages solved on smaller tables are those of Algorithm 1, which has all cells in each."""
    stages = sequential_stages(m)
    scale = max(n.std for n in m.noise) + max(np.abs(a).max() for a in m.answers)
    for k, (a, v) in enumerate(zip(m.answers, m.variances, strict=True)):
        earlier = [held(s.queries, s.answers) for s in stages[:k]]
        problem = Problem((*earlier, weighted(stages[k].queries, a, v)))
        full = solve_conic(problem)
        assert certify(problem, full).worst <= WORST_TOLERANCE
        assert np.abs(problem.terms[-1].answers(full.x) - stages[k].answers).max() <= tolerance
    for s, last in zip(stages, fit_sequential(m).answers(), strict=False):
        np.testing.assert_allclose(last, s.answers, atol=1e-8 * scale)
    return stages


@settings(max_examples=25)
@given(seed=SEEDS)
def test_each_stage_is_optimal_for_the_whole_table(seed):
    m = random_measurements(seed, cells=16)
    check_stages(m, 1e-6 * (m.noise[0].std + max(np.abs(b).max() for b in m.answers)))


def overlapping(seed, shape, ways, runs=3, power=1):
    """Measure all marginals on so many axes of a sparse table, in a random order of priority."""
    rng = np.random.default_rng(seed)
    sets = [QuerySet.marginal(shape, k) for k in combinations(range(len(shape)), ways)]
    workload = Workload(tuple(sets[k] for k in rng.permutation(len(sets))))
    table = rng.integers(0, 90, shape) ** power * (rng.random(shape) < 0.3)
    return measure(table, workload, PureDP(0.5), runs=runs, rng=rng)


@pytest.mark.parametrize("dense_unknowns", [0, 1000], ids=["conjugate gradients", "dense"])
@pytest.mark.parametrize(("shape", "ways"), [((3, 4, 5), 2), ((2, 3, 3, 4), 2), ((3, 2, 3, 2), 3)])
def test_each_stage_of_overlapping_marginals_is_optimal(shape, ways, dense_unknowns, monkeypatch):
    few = replace(TUNING, dense_unknowns=dense_unknowns)
    monkeypatch.setattr("microdata_price.optimize.partitions.TUNING", few)
    m = overlapping(5, shape, ways)
    for stage in check_stages(m, 1e-5 * m.noise[0].std):
        assert stage.certificate.worst <= 1e-9
        assert stage.certificate.conic_calls == 0


@pytest.mark.parametrize("method", ["nnls", "sequential", "reweighted", "consensus"])
def test_overlapping_marginals_of_counts_up_to_1e9_noises_are_fitted(method):
    for seed in (0, 1, 3, 4):
        m = overlapping(seed, (4, 4, 5), 2, power=5)
        assert fit(m, method).certificate.worst <= WORST_TOLERANCE


def test_answers_that_are_held_together_are_those_of_one_table(monkeypatch):
    """Two stages' answers agree to their certificates only; held so, no table has them."""
    module = sys.modules["microdata_price.fitting.sequential"]
    given, real = [], module.attempt
    note = lambda *k, **named: (given.append(k[0]), real(*k, **named))[1]  # noqa: E731
    monkeypatch.setattr(module, "attempt", note)
    shape = (3, 4, 2, 5)
    sequential_stages(overlapping(6, shape, 3))
    compared = 0
    for problem in given:
        for a, b in combinations(problem.terms[:-1], 2):
            both = QuerySet.marginal(shape, sorted({*a.queries.axes} & {*b.queries.axes}))
            one, other = (
                QuerySet.from_labels(parents(t.queries, both), "both").answers(t.target)
                for t in (a, b)
            )
            np.testing.assert_allclose(one, other, rtol=1e-13, atol=1e-13)
            compared += 1
    assert compared >= 3


def test_answers_that_agree_by_their_certificates_only_are_no_contradiction():
    m = random_measurements(467)  # labels that leave cells out, counts near 10^5
    result = fit_sequential(m)
    assert result.certificate.worst <= WORST_TOLERANCE
    assert result.certificate.conic_calls == 0


def test_marginals_add_up_without_rounding():
    """Rows and columns that are held together must have one total, to the last bit."""
    rng = np.random.default_rng(4)
    table = rng.integers(0, 3, (9, 24)) * 1000
    m = measure(table, Workload.table((9, 24)), PureDP(0.5), runs=200, rng=rng)
    total, rows, columns, _ = (s.answers for s in sequential_stages(m))
    np.testing.assert_array_equal(rows.sum(axis=1), total[:, 0])
    np.testing.assert_array_equal(columns.sum(axis=1), total[:, 0])
    np.testing.assert_allclose(total[:, 0], np.maximum(m.answers[0][:, 0], 0), rtol=1e-15)
