"""Blocks: independent streams, paired noise, prefixes, and certificates that stop the work."""

from __future__ import annotations

import dataclasses
import importlib

import numpy as np
import pandas as pd
import pytest

from microdata_price.errors.estimates import answer_errors, sum_errors
from microdata_price.exceptions import CertificateError
from microdata_price.fitting import METHODS, fit
from microdata_price.grid import blocks as gb
from microdata_price.grid.spec import Pair
from microdata_price.grid.tables import conic_calls, pair_rows
from microdata_price.model.benchmark import DataSet, data_set
from microdata_price.model.measurement import Measurements, measure
from microdata_price.model.privacy import ConcentratedDP, PureDP
from microdata_price.model.workload import Workload
from microdata_price.optimize import Certificate

PAIR = Pair("SplitStairs-2d", PureDP(0.5))


def test_streams_differ_by_data_set_kind_level_seed_and_block() -> None:
    pairs = [
        Pair(d, g)
        for d in ("Stair-1d", "Stair-2d", "PUMA0101301")
        for g in (PureDP(0.5), PureDP(0.125), ConcentratedDP(0.5), ConcentratedDP(0.125))
    ]
    first = {gb.stream(p, s, b).random() for p in pairs for s in (0, 1) for b in (0, 1)}
    assert len(first) == len(pairs) * 4
    assert gb.stream(PAIR, 7, 3).random() == gb.stream(PAIR, 7, 3).random()


def test_levels_that_print_alike_have_streams_of_their_own() -> None:
    near = np.nextafter(0.5, 1)
    keys = {gb.Task(Pair("Stair-1d", PureDP(e)), ("ols",), 0, 0, 1).key for e in (0.5, near)}
    assert len(keys) == 2


def test_blocks_cover_the_runs_once() -> None:
    for runs in (1, 249, 250, 251, 1000):
        blocks = gb.tasks_of(PAIR, ("ols",), runs, 0)
        assert sum(b.runs for b in blocks) == runs
        assert [b.block for b in blocks] == list(range(len(blocks)))
        assert all(b.runs == 250 for b in blocks[:-1])


def test_a_large_table_has_small_blocks() -> None:
    assert gb.block_size(Workload.table(10**6)) == 1
    assert gb.block_size(Workload.table(1)) == 250


def test_a_block_is_what_its_parts_say() -> None:
    """Noise, fits and sums redone by hand."""
    task = gb.Task(PAIR, tuple(METHODS), 5, 2, 40)
    found = gb.run_block(task)
    data = data_set(PAIR.dataset)
    drawn = measure(
        data.table, data.workload, PAIR.guarantee, runs=250, rng=gb.stream(PAIR, 5, 2)
    ).select(slice(40))
    control = answer_errors(fit(drawn, "ols").cells, data.table, data.workload)
    for method in METHODS:
        fitted = fit(drawn, method)
        errors = answer_errors(fitted.cells, data.table, data.workload)
        sums = sum_errors(errors, control)
        np.testing.assert_array_equal(found.sums[method].queries, sums.queries)
        np.testing.assert_array_equal(found.sums[method].totals, sums.totals)
        assert found.certificates[method] == fitted.certificate.worst


def test_a_shorter_block_has_the_first_runs_of_a_longer_one() -> None:
    whole = gb.run_block(gb.Task(PAIR, ("ols",), 5, 0, 250)).sums["ols"]
    parts = [gb.run_block(gb.Task(PAIR, ("ols",), 5, 0, n)).sums["ols"] for n in (1, 2, 3)]
    for k, part in enumerate(parts[1:], start=1):
        step = part.queries[:, 1] - parts[k - 1].queries[:, 1]
        assert (step >= -1e-9).all()
        assert (step[k % 2] > 0).all()
        assert (step[1 - k % 2] == 0).all()
    assert (whole.queries[:, 1] >= parts[-1].queries[:, 1]).all()


def test_a_methods_numbers_do_not_depend_on_the_others() -> None:
    together = gb.run_block(gb.Task(PAIR, tuple(METHODS), 1, 0, 30))
    for method in METHODS:
        alone = gb.run_block(gb.Task(PAIR, (method,), 1, 0, 30))
        assert set(alone.sums) == {"ols", method}
        for name in alone.sums:
            np.testing.assert_array_equal(alone.sums[name].queries, together.sums[name].queries)


def test_a_missed_certificate_names_data_set_level_method_and_run(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def spoiled(m: Measurements, method: str) -> object:
        fitted = fit(m, method)
        bad = fitted.certificate.gap.copy()
        if method == "maxfit":
            bad[17] = 1e-3
        worse = Certificate(fitted.certificate.primal, fitted.certificate.dual, bad)
        return dataclasses.replace(fitted, certificate=worse)

    monkeypatch.setattr(gb, "fit", spoiled)
    task = gb.Task(PAIR, tuple(METHODS), 0, 1, 30)
    with pytest.raises(
        CertificateError,
        match=r"SplitStairs-2d at epsilon 0\.5, method maxfit, run 268: .*1\.0e-03",
    ):
        gb.run_block(task)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_certificate_that_is_no_number_is_a_miss(
    monkeypatch: pytest.MonkeyPatch, bad: float
) -> None:
    def spoiled(m: Measurements, method: str) -> object:
        z = np.zeros(m.runs)
        return dataclasses.replace(fit(m, method), certificate=Certificate(z, z, z + bad))

    monkeypatch.setattr(gb, "fit", spoiled)
    with pytest.raises(CertificateError, match="method ols, run 1: "):
        gb.run_block(gb.Task(PAIR, ("ols",), 0, 0, 3))


def test_an_error_of_the_solver_gets_its_place(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(_: Measurements, method: str) -> object:
        raise CertificateError(f"{method}: run 3 has no optimum")

    monkeypatch.setattr(gb, "fit", fails)
    task = gb.Task(Pair("Stair-1d", ConcentratedDP(0.125)), ("ols",), 0, 2, 100)
    with pytest.raises(
        CertificateError,
        match=r"Stair-1d at rho 0\.125, method ols, runs 501 to 600 .*: ols: run 3",
    ):
        gb.run_block(task)


def test_a_table_of_ones_own() -> None:
    data = DataSet("mine", "own", np.array([[5.0, 0.0, 2.0]]), Workload.table((1, 3)))
    rng = np.random.default_rng(1)
    found = gb.fit_block(data, PureDP(1.0), ("nnls",), rng, 1, "mine at epsilon 1")
    assert found.sums["nnls"].queries.shape == (2, 4, 1 + 1 + 3 + 3)
    assert found.sums["nnls"].runs.tolist() == [1.0, 0.0]


def test_how_often_the_conic_solver_was_asked_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the fast solvers' answers spoilt for some runs, exactly these are counted."""
    door = importlib.import_module("microdata_price.optimize.solve")
    pair, size = Pair("Level00-1d", PureDP(0.5)), 10
    task = gb.Task(pair, ("nnls",), 0, 0, size)
    assert gb.run_block(task).conic == {"ols": 0, "nnls": 0}
    fast = door.attempt

    def spoilt(*args: object, **kwargs: object) -> object:
        solution, proof = fast(*args, **kwargs)  # type: ignore[arg-type]
        gap = proof.gap.copy()
        gap[:3] = 1.0
        return solution, Certificate(proof.primal, proof.dual, gap)

    monkeypatch.setattr(door, "attempt", spoilt)
    found = gb.run_block(task)
    assert found.conic["nnls"] == 3
    rows = pair_rows(data_set(pair.dataset), pair.guarantee, ("ols", "nnls"), found).errors
    assert {(r["method"], r["conic_calls"]) for r in rows} == {("ols", 0), ("nnls", 3)}
    assert conic_calls(pd.DataFrame(rows)) == 3
