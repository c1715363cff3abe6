import numpy as np
import pytest

from microdata_price.base.numbers import Mean
from microdata_price.exceptions import InputError
from microdata_price.fitting import METHODS, fit
from microdata_price.model.measurement import measure
from microdata_price.model.noise import Gaussian, Laplace
from microdata_price.model.privacy import ConcentratedDP, PureDP
from microdata_price.model.workload import Workload
from microdata_price.studies.anatomy import (
    balance,
    balanced_threshold,
    certificates,
    pulls,
    set_errors,
    worst_cells,
)
from microdata_price.studies.cases import (
    Case,
    bench_case,
    reordered,
    short_case,
)
from microdata_price.theory.upper.projection import threshold

GUARANTEES = (PureDP(0.5), ConcentratedDP(0.125))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", ["PUMA1304600", "Level00-1d", "Stair-2d"])
def test_the_parts_of_the_balance_add_up_to_the_error_of_the_sum(name, method):
    data, case = bench_case(name, PureDP(0.5), runs=20, seed=3)
    cells = fit(case.measurements, method).cells
    b = balance(case, cells)
    parts = (b.clipped_empty, b.clipped_full, b.taken_empty, b.taken_full)
    assert sum(p.value for p in parts) == pytest.approx(b.total.value, abs=1e-6)
    assert b.total.value == pytest.approx((cells.sum(axis=1) - data.table.sum()).mean(), abs=1e-6)


@pytest.mark.parametrize("guarantee", GUARANTEES)
def test_what_clipping_adds_is_its_exact_mean_within_its_standard_error(guarantee):
    _, case = bench_case("PUMA1304600", guarantee, runs=2000, seed=4)
    b = balance(case, np.maximum(case.noisy_cells, 0))
    assert abs(b.clipped_empty.value - b.exact_empty) < 5 * b.clipped_empty.error
    assert abs(b.clipped_full.value - b.exact_full) < 5 * b.clipped_full.error


@pytest.mark.parametrize("guarantee", GUARANTEES)
@pytest.mark.parametrize("name", ["PUMA1304600", "Level00-1d"])
def test_nnls_takes_the_pulls_off_every_cell_and_clips(name, guarantee):
    _, case = bench_case(name, guarantee, runs=10, seed=5)
    f = fit(case.measurements, "nnls")
    expected = np.maximum(case.noisy_cells - sum(pulls(case, f)), 0)
    np.testing.assert_allclose(f.cells, expected, atol=1e-7)


def test_pulls_weigh_query_sets_by_their_noise():
    table = np.array([[30.0, 0.0], [0.0, 5.0]])
    m = measure(
        table,
        Workload.table((2, 2)),
        PureDP(0.5),
        runs=8,
        rng=np.random.default_rng(2),
        split=(0.4, 0.1, 0.2, 0.3),
    )
    case = Case(table, m)
    f = fit(m, "nnls")
    expected = np.maximum(case.noisy_cells - sum(pulls(case, f)), 0)
    np.testing.assert_allclose(f.cells, expected, atol=1e-7)


@pytest.mark.parametrize("noise", [Laplace(8.0), Gaussian(4.0)])
@pytest.mark.parametrize(("empty", "full"), [(2000, 0), (2000, 3), (300, 40)])
def test_the_balanced_threshold_is_near_the_mean_of_the_real_one(noise, empty, full):
    rng = np.random.default_rng(6)
    cells = np.r_[np.full(full, 1e4), np.zeros(empty)]
    noisy = cells + noise.sample(rng, (400, cells.size))
    total = cells.sum() + noise.sample(rng, 400)
    real = Mean.of(threshold(noisy, total, weight=1.0))
    predicted = balanced_threshold(noise, empty, full)
    assert abs(real.value - predicted) < 5 * real.error + 0.03 * predicted


def test_the_balanced_threshold_without_empty_cells_is_zero_and_needs_counts():
    assert balanced_threshold(Laplace(8.0), 0, 7) == 0
    with pytest.raises(InputError, match="0 or more"):
        balanced_threshold(Laplace(8.0), -1, 7)


def test_set_errors_are_those_of_the_answers():
    data, case = bench_case("PUMA1304600", PureDP(0.5), runs=50, seed=7)
    f = fit(case.measurements, "nnls")
    frame = set_errors(case, [f]).set_index("query set")
    error = f.answers()[0][:, 0] - data.table.sum()
    assert frame.loc["sum", "error"] == pytest.approx((error**2).mean())
    assert frame.loc["sum", "standard error"] == pytest.approx((error**2).std(ddof=1) / 50**0.5)
    assert frame.loc["sum", "bias"] == pytest.approx(error.mean())
    assert np.isnan(frame["exact"]).all()
    ols = set_errors(case, [fit(case.measurements, "ols")])
    assert ols["exact"].iloc[-1] == pytest.approx(216 * 128 * 216 / 250)


def test_another_order_of_priority_is_the_same_answers():
    _, case = bench_case("PUMA1304600", PureDP(0.5), runs=5, seed=8)
    order = ("sum", "identity", "marginal1", "marginal2")
    other = reordered(case.measurements, order)
    assert other.workload.names == order
    np.testing.assert_array_equal(other.answers[1], case.measurements.answers[3])
    for method in ("nnls", "maxfit", "reweighted"):
        np.testing.assert_allclose(
            fit(other, method).cells, fit(case.measurements, method).cells, atol=1e-5
        )
    with pytest.raises(InputError, match="name each"):
        reordered(case.measurements, ("sum", "identity"))


def test_cases_hold_what_was_measured():
    data, case = bench_case("Level00-2d", PureDP(0.5), runs=2, seed=1)
    assert case.empty.sum() == data.empty_cells == 99
    assert short_case(PureDP(0.5), seed=1).measurements.runs == 1
    assert np.isnan(Mean.of([3.0]).error)
    with pytest.raises(InputError, match="2 runs or more"):
        bench_case("Level00-2d", PureDP(0.5), runs=1, seed=1)
    with pytest.raises(InputError, match="Level00-2d"):
        bench_case("Level0-2d", PureDP(0.5), runs=2, seed=1)


def test_the_worst_cells_are_sorted_and_exact():
    _, case = bench_case("PUMA1304600", PureDP(0.5), runs=40, seed=9)
    f = fit(case.measurements, "sequential")
    frame = worst_cells(case, f, 216)
    errors = (f.cells - case.truth) ** 2
    assert (np.diff(frame["error"]) <= 0).all()
    assert frame["error"].sum() == pytest.approx(errors.mean(axis=0).sum())
    assert frame["zero"].iloc[0] == (f.cells[:, errors.mean(axis=0).argmax()] == 0).mean()


def test_certificates_are_the_worst_of_the_runs():
    _, case = bench_case("Level00-2d", PureDP(0.5), runs=5, seed=9)
    fits = [fit(case.measurements, name) for name in METHODS]
    frame = certificates(fits)
    assert list(frame["method"]) == list(METHODS)
    for f, (_, row) in zip(fits, frame.iterrows(), strict=True):
        assert max(row["primal"], row["dual"], row["gap"]) == f.certificate.worst <= 1e-7
