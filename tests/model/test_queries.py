"""Query sets against their own matrices; what is no table, workload or measurement is refused."""

import functools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from microdata_price.base.data import data_path
from microdata_price.exceptions import InputError
from microdata_price.model import noise_discrete, privacy
from microdata_price.model.benchmark import DataSet, data_set, labels, synthetic
from microdata_price.model.conversion import approximate_together, pure_renyi
from microdata_price.model.measurement import Measurements, measure, noise_for
from microdata_price.model.noise import Gaussian, Laplace, max_median, max_quantile
from microdata_price.model.noise_asymmetric import AsymmetricLaplace
from microdata_price.model.privacy import ApproximateDP, ConcentratedDP, PureDP
from microdata_price.model.queryset import QuerySet
from microdata_price.model.workload import Workload
from microdata_price.release.intervals import half_width
from microdata_price.theory.upper.exact_errors import clipped
from microdata_price.theory.upper.truncation import smallest_bound
from random_measurements import random_workload


@given(st.integers(0, 10**6), st.integers(0, 3))
def test_queries_are_the_rows_of_their_matrices(seed, batch):
    rng = np.random.default_rng(seed)
    workload = random_workload(rng)
    tables = rng.integers(0, 99, (batch, workload.cells)).astype(float)
    # Flat tables may have the shape of one: 1 of 1 x 4 cells.
    boxed = tables.reshape(batch, *workload.shape)
    matrices = [q.matrix.toarray() for q in workload.query_sets]
    found = zip(workload.query_sets, matrices, workload.answers(boxed), strict=True)
    for q, matrix, answers in found:
        assert matrix.shape == (q.size, q.cells)
        np.testing.assert_array_equal(matrix.sum(axis=1), q.counts)
        np.testing.assert_array_equal(answers, tables @ matrix.T)
        np.testing.assert_array_equal(q.answers(tables), answers.reshape(q.answers(tables).shape))
        np.testing.assert_array_equal(q.spread(answers), answers @ matrix)
        assert q.is_identity == np.array_equal(matrix, np.eye(q.cells))
    assert Workload([*workload.query_sets]).query_sets == workload.query_sets  # a tuple
    # One record more in the worst cell moves the answers this far.
    for p in (1, 2):
        worst = np.linalg.norm(np.concatenate(matrices), ord=p, axis=0).max()
        assert workload.sensitivity(p) == pytest.approx(worst)


@given(st.integers(1, 9), st.floats(0.01, 9.0), st.floats(0.1, 0.9))
def test_shares_of_the_budget_compose(d, level, share):
    split = (share, 1 - share)
    laplace = noise_for(Workload.table(d), PureDP(level), split)
    assert sum(1 / n.scale for n in laplace) == pytest.approx(level)
    assert laplace[0].scale == pytest.approx(1 / (level * share))
    gaussian = noise_for(Workload.table(d), ConcentratedDP(level), split)
    assert sum(1 / (2 * n.variance) for n in gaussian) == pytest.approx(level)
    m = Measurements(Workload((CELLS,)), [[[3.0, 4.0]]], [*EIGHT[:1]])  # lists become tuples
    assert (m.runs, m.noise) == (1, EIGHT[:1])
    one, again = np.random.default_rng(d), np.random.default_rng(d)
    m = measure(np.ones(d), Workload.table(d), PureDP(level), runs=2, rng=one, split=split)
    for answers, truth, noise in zip(m.answers, (d, 1), laplace, strict=True):
        np.testing.assert_array_equal(answers, truth + noise.sample(again, answers.shape))


def test_levels_and_scales_become_floats():
    integer = noise_discrete.DoubleGeometric(2), noise_discrete.DiscreteGaussian(2)
    levels = PureDP(2), ConcentratedDP(2), ApproximateDP(2, 0.5)
    for made in (Laplace(2), Gaussian(2), AsymmetricLaplace(2, 2), *integer, *levels):
        assert {type(value) for value in vars(made).values()} == {float}


TWO, RNG = Workload.table(2), np.random.default_rng(0)
CELLS, EIGHT = QuerySet.identity(2), (Laplace(8), Laplace(8))
kept = functools.partial(QuerySet.marginal, (2, 3))
labelled = functools.partial(QuerySet.from_labels, name="q")
answered = functools.partial(Measurements, TWO, noise=EIGHT)
draw = functools.partial(measure, workload=TWO, guarantee=PureDP(1), rng=RNG, runs=1)
shares = functools.partial(noise_for, TWO, PureDP(1))
together = functools.partial(approximate_together, delta=1e-6)
COUNTED = draw, TWO.answers, lambda t: DataSet("", "", t, TWO), functools.partial(clipped, EIGHT[0])
MISSING = [np.nan, 2], *(np.ma.array([1, 2], t, mask=[False, True]) for t in (float, int, bool))
NO_NUMBERS = ["a", 2], ["1", "2"], [2j, 2], [None, 2], *(np.ones(2, t) for t in ("m8[s]", "M8[s]"))
kind = functools.partial(privacy.guarantee_of, epsilon=0.5)
HUGE = PureDP, ConcentratedDP, PureDP(1).group, Laplace, Gaussian, noise_discrete.DiscreteGaussian
NO_SHAPES = (2, 0), (), True, (2.0, 2), 2.5, None, "2", (10**9, 10**9), 10**30
NO_LEVELS = (0, -1.0, np.nan, np.inf, "3", True)
TENTH, CUT = noise_discrete.DoubleGeometric(0.1), noise_discrete.TruncatedDoubleGeometric(0.5, 9)
WHOLE = TENTH, CUT, noise_discrete.DiscreteGaussian(4), noise_discrete.DiscreteGaussian(1e12)
REAL = Laplace(2), Gaussian(2)
OF_DRAWS = (lambda n: max_quantile(TENTH, n, 0.1), lambda n: max_median(TENTH, n))
OF_SUMS = (functools.partial(half_width, TENTH, terms) for terms in (1, 3))
OF_CHANCES = (lambda p: max_quantile(TENTH, 3, p), *OF_SUMS)
NO_CHANCES = -1.0, 0.0, 1.0, 2.0, np.nan, [0.5, -1.0]
# What is said, what is called, and what it is called with, one by one.
REFUSED = [
    (r"axes to keep are \(0, 0\); each must occur once", kept, (0, 0)),
    ("must occur once and lie between 0 and 1", kept, (2,), (-1,), (0.5,), (np.nan,)),
    ("side must be a whole number of 1 or more", Workload.table, *NO_SHAPES),
    ("must be whole numbers, shaped as the table", labelled, [0.0], [], 0),
    ("run from 0 to 2 and use 2 of them", labelled, [0, 2]),
    ("must be 0, 1, 2, ... without a gap", labelled, [-2, 0], [-1, -1], np.uint64([0, 2**64 - 1])),
    (r"has shape \(3,\); query set 'identity' is for", CELLS.answers, [1, 2, 3]),
    (r"has shape \(\); query set 'identity' is for", CELLS.answers, 1),
    (r"needed is \(..., 2\)", CELLS.spread, 1, [1], [1, 2, 3]),
    ("has no query set; it needs at least one", Workload, ()),
    ("every name must be used once", Workload, (CELLS, CELLS)),
    ("a workload has one shape", Workload, (CELLS, QuerySet.sum_query(3))),
    ("there is no query set 1. Known are: sum", TWO.__getitem__, 1),
    ("there is no query set 'summ'; did you mean sum", TWO.__getitem__, "summ"),
    ("the sensitivity's order is 3; it must be 1 or 2", TWO.sensitivity, 3),
    ("PureDP .* or ConcentratedDP", functools.partial(noise_for, TWO), ApproximateDP(1, 1e-6), 1.0),
    ("must have 2 positive shares", shares, 1.0, (1.0,), (0.0, 1.0), (np.nan, 0.5)),
    ("runs is 1?0*;", lambda runs: draw([1, 2], runs=runs), 0, 10**15),
    *(("workload is for shape", draw, [1, 2, 3]), (r"cell at \(1,\).* negative", draw, [1, -2])),
    (r"cell at \(0,\).* fraction", draw, [0.5, 2]),
    *(("it must have at least one cell", draw, [], 7), ("that add up to 1", shares, (0.5, 0.51))),
    *(("not a finite number|is nan; it must be (0 or|a fin)", c, *MISSING) for c in COUNTED),
    *(("that is not a number of 64 bits", call, *NO_NUMBERS) for call in (*COUNTED, shares)),
    ("2 query sets, 1 arrays of answers and 2", answered, ([[7.0]],)),
    (r"needed is \(runs, 2\)", answered, ([[7.0]], [[3.0]])),
    (r"needed is \(runs, 1\)", answered, ([7.0], [[3.0, 4.0]])),
    ("is not a finite number", answered, ([[7.0]], [[3.0, np.inf]])),
    ("number of runs", answered(([[7.0]], [[3.0, 4.0]])).select, np.zeros(1, bool)),
    *(("chance is (-1|0|1|2|nan); it", z.upper_quantile, *NO_CHANCES) for z in (*WHOLE, *REAL)),
    *(("chance is (-1|0|1|2|nan); it", f, *NO_CHANCES) for f in OF_CHANCES),
    ("terms is .*; it must be a whole", lambda n: half_width(TENTH, n, 0.1), 0, -1, 2.5, np.nan),
    *(("draws is .*; it must be 1 or more", f, 0, 0.5, -1) for f in OF_DRAWS),
    *(("a whole number of 0", z.excess, 2.5, -1, np.nan) for z in WHOLE),
    *(("a whole number of 0", functools.partial(clipped, z), 0.5, [1, -1]) for z in WHOLE),
    *(("count is (-1|nan); it must be 0 or more", z.excess, -1, np.nan) for z in REAL),
    ("epsilon is -1; it must be", lambda e: pure_renyi(e, 2.0), -1.0),
    ("order is .* above 1", functools.partial(pure_renyi, 1.0), -2, 1, np.nan, [2, 1]),
    *((f"0.25 of {g.parameter} = 1e-30 is 2.5e-31;", g(1e-30).scaled, 0.25) for g in HUGE[:2]),
    (r"there is no data set \"\['x'\]\"", data_set, ["x"]),
    ("there is no data set 'level00-1d'.*Level00-1d", data_set, "level00-1d"),
    ("there is no synthetic table 'Level99'", synthetic, "Level99"),
    ("there is no form 'long'", functools.partial(labels, "race"), "long"),
    (r"the data file 'nothing\.csv' is neither", data_path, "nothing.csv"),
    ("scale is 0; it must be a positive number of counts", Laplace, 0),
    ("left rate is -1.0; it must be a positive", functools.partial(AsymmetricLaplace, 1.0), -1.0),
    ("the group size is 0; it must be a whole number", PureDP(1.0).group, 0),
    ("no kind of privacy", lambda word: privacy.level_of(word, 0.5), "pur", "approximate"),
    *(("there is no variable 'age'", labels, "age"), ("did you mean pure", kind, "pur")),
    *((r"0\.\.\.0.*; it must be", call, 10**400, -(10**400)) for call in HUGE),
    ("epsilon is (0|nan|inf); it", lambda level: ApproximateDP(level, 1e-6), 0.0, np.nan, np.inf),
    ("half of epsilon is 5e-31", functools.partial(smallest_bound, delta=1e-6), 1e-30),
    ("delta is 1; it must be between 0 and 1", functools.partial(ApproximateDP, 1.0), 1.0),
    ("epsilon is .* must be", lambda e: together([e], rho=0.1), -5.0, np.nan),
    ("rho is -0.1; it must be", lambda rho: together([1.0], rho), -0.1),
    ("bound is", functools.partial(noise_discrete.TruncatedDoubleGeometric, 0.5), *NO_LEVELS),
    ("sigma2 is", noise_discrete.DiscreteGaussian, *NO_LEVELS),
    ("epsilon is", noise_discrete.DoubleGeometric, *NO_LEVELS),
]


@pytest.mark.parametrize(
    ("said", "call", "argument"), [(said, call, x) for said, call, *each in REFUSED for x in each]
)
def test_what_is_none_is_refused_in_one_sentence(said, call, argument):
    with pytest.raises(InputError, match=said) as caught:
        call(argument)
    assert "\n" not in str(caught.value)
