import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from microdata_price.exceptions import InputError
from microdata_price.fitting import Rules, fit_reweighted, reweighting
from microdata_price.fitting.reweighted import find_cutoff
from microdata_price.model.measurement import Measurements
from microdata_price.model.noise import Gaussian, Laplace, max_exceeds, max_median
from microdata_price.model.noise_discrete import DiscreteGaussian, DoubleGeometric
from microdata_price.model.workload import Workload

NOISES = st.one_of(
    st.floats(0.01, 100).map(Laplace),
    st.floats(0.01, 100).map(Gaussian),
)


def one_set(answers, noise=None):
    answers = np.atleast_2d(np.asarray(answers, dtype=float))
    sets = Workload.table(answers.shape[1]).query_sets
    return Measurements(Workload((sets[-1],)), (answers,), (noise or Laplace(8.0),))


@settings(max_examples=200)
@given(
    noise=NOISES,
    seed=st.integers(0, 2**32 - 1),
    size=st.integers(1, 30),
    confidence=st.floats(0.5, 0.999),
)
def test_the_cutoff_is_that_of_the_algorithm_word_for_word(noise, seed, size, confidence):
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 2, size) * rng.exponential(5 * noise.std, size)
    answers = truth + noise.sample(rng, (3, size))
    found = find_cutoff(answers, noise, confidence)
    for run in range(3):
        expected = np.inf
        for j, a in enumerate(np.sort(answers[run]), start=1):
            if max_exceeds(noise, j, a) <= 1 - confidence:
                expected = a
                break
        assert found[run] == expected


@settings(max_examples=60)
@given(
    noise=st.sampled_from([DoubleGeometric(0.3), DoubleGeometric(2.0), DiscreteGaussian(3.0)]),
    seed=st.integers(0, 2**32 - 1),
    size=st.integers(1, 30),
)
def test_the_cutoff_with_noise_in_whole_numbers(noise, seed, size):
    rng = np.random.default_rng(seed)
    answers = np.rint(rng.integers(0, 2, (3, size)) * 9 + rng.laplace(0, noise.std, (3, size)))
    found = find_cutoff(answers, noise, 0.9)
    for run in range(3):
        expected = np.inf
        for j, a in enumerate(np.sort(answers[run]), start=1):
            # a or more is more than a - 1
            if -np.expm1(j * float(noise.log_cdf(a - 1))) <= 1 - 0.9:
                expected = a
                break
        assert found[run] == expected


def test_no_answer_stands_out_so_all_are_low():
    w = reweighting(one_set([1.0, -2.0, 3.0]))[0]
    assert w.low.all()
    assert w.cutoff[0] == np.inf
    assert w.low_sum[0] == 2.0
    assert w.low_sum_weight[0] == pytest.approx(1 / (2 * 3 * 128))


def test_every_answer_stands_out_so_none_is_low():
    w = reweighting(one_set([100.0, 200.0, 300.0]))[0]
    assert not w.low.any()
    assert w.cutoff[0] == 100.0
    assert w.low_sum[0] == 0.0
    assert w.low_sum_weight[0] == 0.0
    np.testing.assert_array_equal(w.weight, np.full((1, 3), 1 / 128))


def test_low_answers_count_for_less_and_their_sum_joins():
    w = reweighting(one_set([100.0, -5.0, 3.0, 90.0]))[0]
    assert w.low.tolist() == [[False, True, True, False]]
    assert w.low_count.tolist() == [2]
    down = float(max_median(Laplace(8.0), 2))
    assert down > 1
    assert w.downweight[0] == pytest.approx(down)
    np.testing.assert_allclose(w.weight[0, 1:3], 1 / (2 * 128 * down**2))
    assert w.low_sum[0] == -2.0
    assert w.low_sum_weight[0] == pytest.approx(1 / (2 * 2 * 128))


def test_the_downweight_is_one_at_least():
    w = reweighting(one_set([100.0, -5.0, 90.0]))[0]
    assert w.low_count.tolist() == [1]
    assert max_median(Laplace(8.0), 1) == 0
    assert w.downweight[0] == 1.0
    tiny = reweighting(one_set([0.01, -0.05, 0.03], Laplace(0.02)))[0]
    assert tiny.downweight[0] == 1.0


def test_answers_equal_to_the_cutoff_are_not_low():
    w = reweighting(one_set([100.0, 100.0, -5.0]))[0]
    assert w.cutoff[0] == 100.0
    assert w.low.tolist() == [[False, False, True]]


@pytest.mark.parametrize("total", [-20.0, 3.0, 500.0])
def test_a_single_query_keeps_its_whole_weight(total):
    """Low or not: half the weight by itself and half as the sum of low queries."""
    w = Workload.table(3)
    sets = (([[total]]), [[90.0, 80.0, 70.0]])
    m = Measurements(w, sets, (Laplace(8), Laplace(8)))
    steps = reweighting(m)[0]
    assert steps.weight[0, 0] + steps.low_sum_weight[0] == pytest.approx(1 / 128)
    # None of the cells is low, so this is plain nonnegative least squares.
    shift = (240.0 - total) / 4
    np.testing.assert_allclose(
        fit_reweighted(m).cells[0], np.array([90.0, 80.0, 70.0]) - shift, atol=1e-9
    )


@pytest.mark.parametrize("confidence", [0.0, 1.0, -1, 2, float("nan"), "high"])
def test_the_confidence_must_lie_between_zero_and_one(confidence):
    with pytest.raises(InputError, match="between 0 and 1"):
        fit_reweighted(one_set([1.0, 2.0]), confidence)


def test_a_higher_confidence_makes_more_answers_low():
    m = one_set(np.random.default_rng(1).normal(size=(50, 40)) * 20)
    counts = [reweighting(m, c)[0].low_count for c in (0.5, 0.9, 0.99, 0.9999)]
    assert (np.diff(counts, axis=0) >= 0).all()


@settings(max_examples=50)
@given(noise=NOISES, seed=st.integers(0, 2**32 - 1), least=st.floats(0.01, 20))
def test_rules_say_what_the_downweight_is(noise, seed, least):
    rng = np.random.default_rng(seed)
    m = one_set(rng.choice([0.0, 30.0], (6, 12)) * noise.std + noise.sample(rng, (6, 12)), noise)
    for draws in ("low", "cutoff"):
        for unit in ("counts", "noise"):
            w = reweighting(m, rules=Rules(least, draws, unit))[0]
            for run, low in enumerate(w.low_count):
                count = low if draws == "low" else min(low + 1, 12)
                if low:
                    median = float(max_median(noise, count)) / (noise.std if unit == "noise" else 1)
                    assert w.downweight[run] == pytest.approx(max(median, least))
            plain = reweighting(m)[0]
            np.testing.assert_array_equal(w.low, plain.low)
            np.testing.assert_array_equal(w.low_sum_weight, plain.low_sum_weight)


@pytest.mark.parametrize("factor", [0.01, 3.0, 1000.0])
def test_a_downweight_in_noises_does_not_depend_on_the_unit_of_counts(factor):
    workload = Workload.table(20)
    rng = np.random.default_rng(5)
    truth = workload.answers(np.r_[400.0, 90.0, np.zeros(18)])
    answers = [a + Laplace(8).sample(rng, (5, a.size)) for a in truth]
    plain = Measurements(workload, tuple(answers), (Laplace(8), Laplace(8)))
    larger = Measurements(
        workload, tuple(factor * a for a in answers), (Laplace(8 * factor), Laplace(8 * factor))
    )
    rules = Rules(unit="noise")
    np.testing.assert_allclose(
        fit_reweighted(larger, rules=rules).cells / factor,
        fit_reweighted(plain, rules=rules).cells,
        atol=1e-8,
    )


@pytest.mark.parametrize("least", [0, -1.0, float("inf"), float("nan"), "one"])
def test_the_least_downweight_is_a_positive_number(least):
    with pytest.raises(InputError, match="positive number"):
        Rules(least)


def test_unknown_rules_are_refused():
    with pytest.raises(InputError, match="did you mean low"):
        Rules(draws="lows")
    with pytest.raises(InputError, match="did you mean noise"):
        Rules(unit="noises")


def test_a_single_low_query_is_downweighted_where_the_rules_say_so():
    sets = (([[3.0]]), [[90.0, 80.0, 70.0]])
    m = Measurements(Workload.table(3), sets, (Laplace(8), Laplace(8)))
    rules = Rules(least_downweight=5.0)
    steps = reweighting(m, rules=rules)[0]
    weight = (steps.weight[0, 0] + steps.low_sum_weight[0]) * 128
    np.testing.assert_allclose(weight, 1 / 50 + 1 / 2)
    # With the cells at full weight: x = a - weight (sum x - 3).
    shift = weight * (240.0 - 3.0) / (1 + 3 * weight)
    expected = np.array([90.0, 80.0, 70.0]) - shift
    np.testing.assert_allclose(fit_reweighted(m, rules=rules).cells[0], expected, atol=1e-9)
