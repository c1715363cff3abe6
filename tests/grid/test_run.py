"""The grid's two tables: contract, values, exact columns, and independence of how it was run."""

import json
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

from microdata_price.base import provenance
from microdata_price.base.provenance import FOLDER, code_files
from microdata_price.exceptions import InputError
from microdata_price.fitting import fit, paper_methods
from microdata_price.grid import GridSpec, blocks, evaluate, load_errors, load_queries, run_grid
from microdata_price.grid.spec import Pair
from microdata_price.grid.tables import ERROR_COLUMNS, QUERY_COLUMNS
from microdata_price.model.benchmark import DataSet, data_set
from microdata_price.model.measurement import measure
from microdata_price.model.privacy import ConcentratedDP, PureDP
from microdata_price.model.workload import Workload

TABLES = ["Level00-1d", "SplitStairs-2d", "PUMA1703531"]
SPEC = GridSpec.choose(datasets=TABLES, epsilon=[0.5], rho=[0.125], runs=260, seed=11)
FILES = ("errors.parquet", "queries.parquet")


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    return run_grid(SPEC, tmp_path_factory.mktemp("grid"), workers=1)


def same(frame, other):
    """To the last bit."""
    one, two = (f.reset_index(drop=True) for f in (frame, other))
    pd.testing.assert_frame_equal(one, two, check_exact=True)


def test_columns_and_rows_are_the_contracts(whole):
    assert tuple(whole.errors.columns) == ERROR_COLUMNS
    assert tuple(whole.queries.columns) == QUERY_COLUMNS
    e, q, keys = whole.errors, whole.queries, ["dataset", "privacy", "level", "method", "query_set"]
    assert (len(e), len(q)) == (2 * 5 * (3 + 7 + 7), 2 * 5 * (101 + 121 + 250))
    assert not e.duplicated([*keys, "metric"]).any()
    assert not q.duplicated([*keys, "query"]).any()
    assert e[["runs", "failures"]].eq([260, 0]).all(axis=None)
    assert (e["worst_certificate"] <= 1e-7).all()
    assert (e.groupby(keys[:4])["worst_certificate"].nunique() == 1).all()
    # Nothing is missing but what cannot be known.
    assert np.isfinite(e[["value", "standard_error", "estimate_cv", "se_cv"]]).all(axis=None)
    for column in ("max_split", "se_split"):
        assert (e[column].notna() == (e["metric"] == "max")).all()
    known = (e["method"] == "ols") | ((e["method"] == "sequential") & (e["query_set"] == "sum"))
    assert (e["exact"].notna() == known).all()
    moments = q[["bias", "variance", "mean_squared_error", "standard_error"]]
    assert np.isfinite(moments).all(axis=None)


def test_values_are_those_of_the_raw_errors(whole):
    data = data_set("SplitStairs-2d")
    pair = Pair(data.name, ConcentratedDP(0.125))
    given = data.table, data.workload, pair.guarantee
    parts = [measure(*given, runs=250, rng=blocks.stream(pair, 11, b)) for b in (0, 1)]
    batches = [parts[0], parts[1].select(slice(10))]
    for method in paper_methods():  # what a grid has where nothing is asked for
        fitted = [fit(m, method) for m in batches]
        answers = [np.concatenate(a) for a in zip(*(f.answers() for f in fitted), strict=True)]
        truth = data.workload.answers(data.table)
        for name, a, t in zip(data.workload.names, answers, truth, strict=True):
            error, squares = a - t, (a - t) ** 2
            means = squares.mean(axis=0)
            at = "dataset == @data.name and privacy == 'zcdp' and method == @method"
            at += " and query_set == @name"
            each = whole.queries.query(at).sort_values("query")
            np.testing.assert_allclose(each["truth"], t)
            np.testing.assert_allclose(each["bias"], error.mean(axis=0), atol=1e-7)
            np.testing.assert_allclose(each["variance"], error.var(axis=0), rtol=1e-6, atol=1e-9)
            np.testing.assert_allclose(each["mean_squared_error"], means, rtol=1e-7)
            own = whole.errors.query(at).set_index("metric")
            assert (own["worst_certificate"] == max(f.certificate.worst for f in fitted)).all()
            raw = {"total": squares.sum(axis=1)}
            if name != "sum":
                raw["max"] = squares[:, means.argmax()]
                halves = [squares[0::2].mean(axis=0), squares[1::2].mean(axis=0)]
                split = (halves[1][halves[0].argmax()] + halves[0][halves[1].argmax()]) / 2
                assert own.loc["max", "max_split"] == pytest.approx(split, rel=1e-9)
            for metric, runs in raw.items():
                row, spread = own.loc[metric], runs.std(ddof=1) / np.sqrt(260)
                assert row["value"] == pytest.approx(runs.mean(), rel=1e-9)
                assert row["standard_error"] == pytest.approx(spread, rel=1e-6)


def test_exact_values_stand_beside_the_estimates(whole):
    e = whole.errors
    ols = e[e["method"] == "ols"]
    assert (ols["estimate_cv"] == ols["exact"]).all()
    assert (ols["se_cv"] == 0).all()
    row = ols.query("dataset == 'PUMA1703531' and privacy == 'pure'")
    row = row.set_index(["query_set", "metric"])["exact"]
    one = 128 * 216 / 250
    found = row["sum", "total"], row["identity", "max"], row["identity", "total"]
    assert found == pytest.approx((one, one, 216 * one))
    sequential = e.query("method == 'sequential' and query_set == 'sum'")
    twod = sequential.query("dataset == 'SplitStairs-2d' and privacy == 'pure'")
    assert twod["exact"].item() == pytest.approx(128)
    for known in (ols[ols["metric"] == "total"], sequential):
        z = (known["value"] - known["exact"]) / known["standard_error"]
        assert (z.abs() < 5).all()
    sums = e.query("query_set == 'sum' and method != 'ols'")
    assert (sums["se_cv"] / sums["standard_error"]).median() < 0.9


def test_a_part_equals_that_part_of_the_whole(whole, tmp_path):
    name, methods = "SplitStairs-2d", ("reweighted", "maxfit")
    part = replace(SPEC, datasets=(name,), epsilons=(), rhos=(0.125, 3.0), methods=methods)
    found = run_grid(part, tmp_path, workers=3)
    assert (found.computed, found.reused) == (4, 0)  # each block once
    chosen = "dataset == @name and privacy == 'zcdp' and method in @methods"
    same(found.errors.query("level == 0.125"), whole.errors.query(chosen))
    same(found.queries.query("level == 0.125"), whole.queries.query(chosen))


def test_the_files_say_what_made_them_and_are_not_computed_again(whole):
    for name in FILES:
        about = json.loads(pq.read_schema(whole.folder / name).metadata[b"microdata-price"])
        assert (about["parameters"]["runs"], about["made_by"]) == (260, blocks.blocks_code())
    names = {p.name for p in whole.folder.iterdir() if not p.name.startswith(".")}
    assert names == {*FILES, "manifest.json"}
    before = [(whole.folder / name).stat().st_mtime_ns for name in FILES]
    again = run_grid(SPEC, whole.folder, workers=1)
    assert (again.computed, again.reused) == (0, 12)
    assert [(whole.folder / name).stat().st_mtime_ns for name in FILES] == before
    for errors in (again.errors, load_errors(whole.folder)):
        same(errors, whole.errors)
    for queries in (again.queries, load_queries(str(whole.folder))):
        same(queries, whole.queries)
    for absent, out in (("", "results/"), ("no grid", "'no grid'$")):  # as in a notebook without
        with pytest.raises(InputError, match=f"microdata-price grid --out {out}"):
            load_errors(absent)


@pytest.mark.parametrize("runs", [1, 2, 3, 20])
def test_very_few_runs_and_extreme_levels(tmp_path, runs):
    levels = {"epsilon": [1e-6, 0.5, 1e3], "rho": [1e-10, 1e5]}
    spec = GridSpec.choose(datasets=["Level01-2d"], **levels, methods=["nnls"], runs=runs)
    found = run_grid(spec, tmp_path, workers=1).errors
    assert np.isfinite(found["value"]).all()
    assert np.isfinite(found["standard_error"]).all() == (runs > 1)
    assert np.isfinite(found["estimate_cv"]).all() == (runs > 2)
    assert np.isfinite(found.query("metric == 'max'")["max_split"]).all() == (runs > 1)


def test_a_table_of_ones_own():
    table = np.array([[40.0, 0.0, 3.0], [0.0, 0.0, 7.0]])
    data = DataSet("mine", "own", table, Workload.table((2, 3)))
    found = evaluate(data, PureDP(0.5), runs=300, rng=np.random.default_rng(1)).errors
    assert (set(found["family"]), tuple(found.columns)) == ({"own"}, ERROR_COLUMNS)
    ols = found.query("method == 'ols' and query_set == 'sum'")
    assert ols["exact"].item() == pytest.approx(128 * 6 / 12)
    for level, methods, runs, said in (
        *((PureDP(0.5), ["nlns"], 3, "no method 'nlns'"), (PureDP(0.5), ["ols"], 0, "runs is 0")),
        *((PureDP(0.5), [], 3, "no method is named"), (0.5, ["ols"], 3, "must be PureDP")),
    ):
        with pytest.raises(InputError, match=said):
            evaluate(data, level, methods, runs=runs, rng=np.random.default_rng(1))


def test_the_fingerprint_covers_every_module_of_a_block():
    ours = "[m.__file__ for n, m in sys.modules.items() if n.startswith('microdata_price')]"
    program = f"import sys, microdata_price.grid\nprint(*{ours}, sep='\\n')"
    listed = subprocess.check_output([sys.executable, "-c", program], text=True).split()
    assert {Path(f) for f in listed} <= set(code_files(FOLDER, ["import microdata_price.grid"]))


def test_the_fingerprint_changes_with_code_and_data(tmp_path, monkeypatch):
    fresh = blocks.blocks_code.__wrapped__
    first = fresh()
    assert first == fresh() == blocks.blocks_code()
    (changed := tmp_path / "pums2016.csv").write_text("dataset,state,puma,race,origin,persons\n")
    monkeypatch.setattr(blocks, "data_path", lambda _: changed)
    assert fresh()["data"] != first["data"]
    copied = tmp_path / "microdata_price"
    shutil.copytree(FOLDER, copied, ignore=shutil.ignore_patterns("__pycache__"))
    (copied / "model" / "noise.py").write_text("changed = True\n")
    monkeypatch.setattr(provenance, "FOLDER", copied)
    assert fresh()["code"] != first["code"]
