import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from microdata_price.exceptions import InputError
from microdata_price.fitting import Rules, fit_reweighted, reweighting
from microdata_price.fitting.reweighted import find_cutoff
from microdata_price.model.measurement import Measurements
from microdata_price.model.noise import Gaussian, Laplace, max_median
from microdata_price.model.noise_discrete import DiscreteGaussian, DoubleGeometric
from microdata_price.model.workload import Workload

NOISES = st.floats(0.01, 100).map(Laplace) | st.floats(0.01, 100).map(Gaussian)
WHOLE = [DoubleGeometric(0.3), DoubleGeometric(2.0), DiscreteGaussian(3)]


def one_set(answers, noise=None):
    answers = np.atleast_2d(np.asarray(answers, dtype=float))
    sets = Workload.table(answers.shape[1]).query_sets
    return Measurements(Workload((sets[-1],)), (answers,), (noise or Laplace(8.0),))


@settings(max_examples=200)
@given(
    noise=NOISES | st.sampled_from(WHOLE),
    seed=st.integers(0, 2**32 - 1),
    size=st.integers(1, 30),
    confidence=st.floats(0.5, 0.999),
)
def test_the_cutoff_is_that_of_the_algorithm_word_for_word(noise, seed, size, confidence):
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 2, size) * rng.exponential(5 * noise.std, size)
    whole = noise in WHOLE
    answers = truth + noise.sample(rng, (3, size))
    answers = np.rint(answers) if whole else answers
    found = find_cutoff(answers, noise, confidence)
    for run in range(3):
        expected = np.inf
        for j, a in enumerate(np.sort(answers[run]), start=1):
            # In whole numbers a or more is more than a - 1.
            reached = -np.expm1(j * float(noise.log_cdf(a - whole)))
            if reached <= 1 - confidence:
                expected = a
                break
        assert found[run] == expected


@pytest.mark.parametrize(
    ("answers", "cutoff", "low"),
    [
        ([1.0, -2.0, 3.0], np.inf, [True, True, True]),  # none stands out
        ([100.0, 200.0, 300.0], 100.0, [False, False, False]),  # every one does
        ([100.0, -5.0, 3.0, 90.0], 90.0, [False, True, True, False]),
        ([100.0, -5.0, 90.0], 90.0, [False, True, False]),  # the median of one draw is 0
        ([100.0, 100.0, -5.0], 100.0, [False, False, True]),  # as large as the cutoff is not low
    ],
)
def test_low_answers_count_for_less_and_their_sum_joins(answers, cutoff, low):
    w, low = reweighting(one_set(answers))[0], np.array(low)
    assert w.cutoff[0] == cutoff
    assert w.low.tolist() == [low.tolist()]
    count = int(low.sum())
    assert w.low_count.tolist() == [count]
    down = max(1.0, float(max_median(Laplace(8.0), count))) if count else 1.0
    assert (down > 1) == (count > 1)
    assert w.downweight[0] == pytest.approx(down)
    np.testing.assert_allclose(w.weight[0], np.where(low, 1 / (2 * 128 * down**2), 1 / 128))
    assert w.low_sum[0] == np.array(answers)[low].sum()
    assert w.low_sum_weight[0] == pytest.approx(1 / (2 * count * 128) if count else 0.0)


@pytest.mark.parametrize(
    ("total", "rules", "expected"),
    [*((t, Rules(), 1.0) for t in (-20.0, 3.0, 500.0)), (3.0, Rules(5.0), 1 / 50 + 1 / 2)],
)
def test_a_single_query_keeps_its_whole_weight_unless_the_rules_say_otherwise(
    total, rules, expected
):
    """Low or not: half the weight by itself and half as the sum of low queries."""
    cells = np.array([90.0, 80.0, 70.0])
    m = Measurements(Workload.table(3), ([[total]], cells[None]), (Laplace(8), Laplace(8)))
    steps = reweighting(m, rules=rules)[0]
    weight = (steps.weight[0, 0] + steps.low_sum_weight[0]) * 128
    assert weight == pytest.approx(expected)
    # None of the cells is low, so x = a - weight (sum x - total).
    shift = weight * (240.0 - total) / (1 + 3 * weight)
    np.testing.assert_allclose(fit_reweighted(m, rules=rules).cells[0], cells - shift, atol=1e-9)


def test_settings_out_of_range_are_refused():
    for confidence in (0.0, 1.0, -1, np.nan, "x"):
        with pytest.raises(InputError, match="between 0 and 1"):
            fit_reweighted(one_set([1.0, 2.0]), confidence=confidence)
    for least in (0, -1.0, np.inf, np.nan, "x"):
        with pytest.raises(InputError, match="positive number"):
            Rules(least)
    for rule, said in ({"draws": "lows"}, "low"), ({"unit": "noises"}, "noise"):
        with pytest.raises(InputError, match=f"did you mean {said}"):
            Rules(**rule)


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
