"""What a release says of its own accuracy: bias, ranges, intervals; and that it never stops one."""

import numpy as np
import pytest
from benchmarks.seeded import seeded
from hypothesis import given
from hypothesis import strategies as st

from microdata_price.errors.known import ols_variances
from microdata_price.exceptions import CertificateError
from microdata_price.fitting import fit
from microdata_price.model.benchmark import data_set
from microdata_price.model.measurement import measure
from microdata_price.model.privacy import ConcentratedDP, PureDP
from microdata_price.release import report as report_module
from microdata_price.release.candidates import candidates, sparse_table
from microdata_price.release.files import intervals_csv, release_files
from microdata_price.release.fit import finish
from microdata_price.release.measure import measure_privately
from microdata_price.release.report import (
    bias_range,
    draws_for,
    fit_imitations,
    quantile_rank,
    signed_intervals,
)
from microdata_price.tables.schema import Schema
from microdata_price.tables.workload_text import parse_workload

CODES = (tuple(map(str, range(1, 10))), tuple(map(str, range(1, 25))))
SCHEMA = Schema(("RAC1P", "HISP"), CODES)
WORKLOAD = parse_workload("sum, marginals, identity", SCHEMA)
SMALL = Schema(("region", "sex"), (("north", "south", "west"), ("f", "m")))
TABLE = np.array([[30, 0], [1, 20], [0, 12]])


def test_time_decides_how_many_draws():
    assert draws_for(1e-4) == 200
    assert draws_for(1.0) == 20
    assert draws_for(30.0) == 0


@given(st.integers(9, 3000))
def test_ranks_cover_what_they_say(draws):
    rank = quantile_rank(draws)
    assert 1 <= rank <= draws
    assert rank / (draws + 1) >= 0.9 - 1e-12
    assert (rank - 1) / (draws + 1) < 0.9


@pytest.mark.parametrize(
    "guarantee", [PureDP(1.0), PureDP(0.5), PureDP(0.1), ConcentratedDP(0.005)]
)
def test_intervals_cover_nine_truths_in_ten(guarantee):
    """Alone and jointly, for a sparse real table and one without empty cells."""
    rng = np.random.default_rng(11)
    alone, joint = [], []
    for name in ("PUMA0101301", "Level16-2d"):
        data = data_set(name)
        shape = data.table.shape
        schema = Schema(("a", "b"), tuple(tuple(map(str, range(n))) for n in shape))
        workload = parse_workload("sum, marginals, identity", schema)
        truth = workload.answers(data.table)
        for _ in range(25):
            m = seeded(data.table, schema, workload, guarantee, rng)
            signed = fit(m.measurements(), "ols").answers()
            variances = ols_variances(workload, m.mechanism.variances)
            halves, together = signed_intervals(m, [np.sqrt(v) for v in variances], 99)
            inside = [np.abs(s[0] - t) <= h for s, t, h in zip(signed, truth, halves, strict=True)]
            alone.append(np.concatenate(inside).mean())
            joint.append(
                all(
                    (np.abs(s[0] - t) <= h).all()
                    for s, t, h in zip(signed, truth, together, strict=True)
                )
            )
    assert 0.88 <= np.mean(alone) <= 0.95
    assert 0.78 <= np.mean(joint) <= 0.99  # fifty trials of a chance of nine in ten


def test_the_error_of_a_sparse_tables_total_is_what_it_is():
    """Nonnegative least squares on a table whose records are in one cell: the bias is measured."""
    data = data_set("Level00-2d")
    rng = np.random.default_rng(3)
    schema = Schema(("a", "b"), tuple(tuple(map(str, range(n))) for n in data.table.shape))
    workload = parse_workload("sum, marginals, identity", schema)
    runs = measure(data.table, workload, PureDP(0.5), runs=1500, rng=rng)
    off = fit(runs, "nnls").answers()[0][:, 0] - data.table.sum()
    bias, error = off.mean(), np.sqrt((off**2).mean())
    found = []
    for _ in range(12):
        made = finish(seeded(data.table, schema, workload, PureDP(0.5), rng), "nnls", draws=120)
        found.append(made.report.expected.iloc[0])
    assert np.mean([r["bias"] for r in found]) == pytest.approx(bias, rel=0.2)
    assert np.mean([r["fitted"] for r in found]) == pytest.approx(error, rel=0.15)
    inside = [r["fitted_low"] <= error <= r["fitted_high"] for r in found]
    assert np.mean(inside) >= 0.75


def test_the_total_is_reported_whether_it_was_asked_or_not():
    workload = parse_workload("identity", SMALL)
    m = measure_privately(TABLE.astype(float), SMALL, workload, PureDP(0.5))
    expected = finish(m, "nnls", draws=36).report.expected
    assert list(expected["query_set"]) == ["(all records)", "identity", "region", "sex"]
    assert list(expected["asked"]) == [False, True, False, False]
    # The signed total adds up six noises of one variance.
    assert expected["ols"][0] == pytest.approx(np.sqrt(6 * m.mechanism.variances[0]), rel=1e-6)
    assert expected["ols"][2] == pytest.approx(np.sqrt(2 * m.mechanism.variances[0]), rel=1e-6)
    assert expected["ols"][3] == pytest.approx(np.sqrt(3 * m.mechanism.variances[0]), rel=1e-6)
    assert np.isfinite(expected.loc[:, ["fitted", "bias"]].astype(float)).all(axis=None)


def test_what_does_not_follow_from_what_was_asked_has_no_error():
    for asked, unknown in (
        ("sum", ["region", "sex"]),
        ("region", ["sex"]),
        ("sum, sex", ["region"]),
    ):
        m = measure_privately(TABLE.astype(float), SMALL, parse_workload(asked, SMALL), PureDP(0.5))
        expected = finish(m, "nnls", draws=36).report.expected.set_index("query_set")
        others = [name for name in expected.index if name not in unknown]
        assert np.isinf(expected.loc[unknown, "ols"]).all()
        assert expected.loc[unknown, ["fitted", "bias"]].isna().all(axis=None)
        assert np.isfinite(expected.loc[others, ["ols", "fitted", "bias"]]).all(axis=None)


def test_signed_answers_have_no_bias_and_an_exact_error():
    m = measure_privately(
        TABLE.astype(float), SMALL, parse_workload("sum, marginals, identity", SMALL), PureDP(0.5)
    )
    expected = finish(m, "ols").report.expected
    np.testing.assert_array_equal(expected["fitted"], expected["ols"])
    np.testing.assert_array_equal(expected["bias"], 0)
    np.testing.assert_allclose(expected["ols"] ** 2, m.mechanism.variances[0] / 2, rtol=1e-12)


def test_imitated_draws_that_miss_are_left_out_and_counted(monkeypatch):
    workload = parse_workload("sum, marginals, identity", SMALL)
    m = measure_privately(TABLE.astype(float), SMALL, workload, PureDP(0.5))

    def missing(measurements, method):
        if method == "nnls" and (measurements.answers[0] % 3 == 0).any():
            raise CertificateError("two runs have no optimal answer")
        return fit(measurements, method)

    monkeypatch.setattr(report_module, "fit", missing)
    runs = m.imitated(TABLE, 60)
    kept, cells = fit_imitations(runs, "nnls")
    np.testing.assert_array_equal(kept, np.flatnonzero(runs.answers[0][:, 0] % 3 != 0))
    np.testing.assert_allclose(cells, fit(runs.select(kept), "nnls").cells, atol=1e-6)
    made = finish(m, "nnls", draws=90)
    assert made.report.draws + made.report.left_out == 90
    assert made.report.left_out > 0
    assert b"left out" in release_files(made)["README.txt"]


@pytest.mark.parametrize(
    "problem", [CertificateError("no"), MemoryError(), np.linalg.LinAlgError()]
)
def test_a_report_that_fails_does_not_stop_a_release(monkeypatch, problem):
    workload = parse_workload("sum, marginals, identity", SMALL)
    m = measure_privately(TABLE.astype(float), SMALL, workload, PureDP(0.5))

    def failing(*_args, **_more):
        raise problem

    monkeypatch.setattr(report_module, "signed_intervals", failing)
    made = finish(m, "nnls")
    assert made.report is None
    files = release_files(made)
    assert b"could not be estimated" in files["README.txt"]
    assert "records.csv" in files


def test_without_draws_what_is_exact_is_still_said():
    workload = parse_workload("sum, marginals, identity", SMALL)
    m = measure_privately(TABLE.astype(float), SMALL, workload, PureDP(0.5))
    made = finish(m, "nnls", draws=0)
    assert made.report.draws == 0
    assert made.report.expected["fitted"].isna().all()
    assert made.report.expected["ols"].notna().all()
    assert b"was not estimated" in release_files(made)["README.txt"]


def test_progress_is_told_until_the_end():
    told = []
    workload = parse_workload("sum, marginals, identity", SMALL)
    m = measure_privately(TABLE.astype(float), SMALL, workload, PureDP(0.5))
    finish(m, "nnls", 90, lambda *given: told.append(given))
    assert [t[0] for t in told] == sorted(t[0] for t in told)
    assert told[-1][:2] == (90, 90)
    assert told[-1][2] == 0


def test_intervals_are_whole_and_hold_the_public_total():
    workload = parse_workload("sum, marginals, identity", SMALL)
    m = measure_privately(TABLE.astype(float), SMALL, workload, PureDP(0.5), known_total=True)
    text = intervals_csv(finish(m, "nnls", draws=36)).decode().splitlines()
    head = text[0].split(",")
    first = dict(zip(head, text[1].split(","), strict=True))
    assert {first["low"], first["high"], first["low_all"], first["published"]} == {"63"}
    for line in text[1:]:
        row = dict(zip(head, line.split(","), strict=True))
        assert (
            0 <= int(row["low_all"]) <= int(row["low"]) <= int(row["high"]) <= int(row["high_all"])
        )


@given(st.integers(0, 10**6))
def test_tables_that_are_tried_are_tables_with_the_signed_total(seed):
    rng = np.random.default_rng(seed)
    workload = parse_workload("sum, marginals, identity", SMALL)
    m = seeded(rng.integers(0, 50, (3, 2)), SMALL, workload, PureDP(0.3), rng)
    cells = fit(m.measurements(), "ols").cells[0]
    published = np.maximum(np.rint(cells), 0).astype(np.int64)
    for table in candidates(m, cells, published)[1:]:
        assert table.min() >= 0
        assert table.sum() == max(0, round(float(cells.sum())))
    assert sparse_table(np.array([7.0, -3.0, 5.0, 2.0]), 14).tolist() == [7, 0, 5, 2]


def test_more_bias_is_seen_as_more():
    rng = np.random.default_rng(0)
    noise = rng.normal(0, 1, (200, 5))
    low, high = bias_range(np.full(5, 10.0), noise)
    assert low < 10 * np.sqrt(5) < high
    assert bias_range(np.zeros(5), noise)[0] == 0
