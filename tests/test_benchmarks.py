"""The benchmarks compare solvers that give the same answers."""

import contextlib
import json
import random

import numpy as np
import pandas as pd
import pytest
from benchmarks import fuzz
from benchmarks.against_mbi import against_mbi
from benchmarks.large_tables import large_tables
from benchmarks.methods_in_grid import methods_in_grid
from benchmarks.peers import FILE, FIXED, fit_estimated_total, objective
from benchmarks.per_fit import per_fit
from benchmarks.release_loss import release_loss
from benchmarks.releases import NESTED, end_to_end, persons
from benchmarks.scaling import list_scaling
from benchmarks.workloads import CASES, REFERENCE, marginals, ratios, workloads

from microdata_price.base.data import data_path
from microdata_price.chapters.better_method import held_total
from microdata_price.errors.known import ols_variances
from microdata_price.exceptions import InputError
from microdata_price.fitting import fit, microdata_methods, paper_methods
from microdata_price.model.benchmark import data_set
from microdata_price.model.measurement import measure, noise_for
from microdata_price.model.privacy import ConcentratedDP, PureDP
from release_samples import rows


@pytest.mark.parametrize("reader", fuzz.READERS, ids=lambda reader: reader.__name__)
def test_damaged_inputs_are_refused_or_answered_rightly(tmp_path, reader, monkeypatch):
    rng, answered = random.Random(1), 0
    for damage in [fuzz.damaged] * 25 + [lambda data, _: data] * 25:
        monkeypatch.setattr(fuzz, "damaged", damage)
        _, right = reader(tmp_path, rng)
        with contextlib.suppress(InputError, MemoryError):
            right()
            answered += 1
    assert answered >= (25 if reader is not fuzz.options else 1)  # what is whole is no refusal


def test_lists_tables_methods_and_workloads_are_timed_and_releases_counted():
    frame = per_fit("Level00-2d", runs=4, baseline_runs=2, repeats=1)
    assert set(frame["method"]) == {"nnls", "maxfit", "sequential", "reweighted"}
    exact = frame[frame["method"].isin(["nnls", "reweighted"])]
    assert (exact["difference"] < 0.02).all()  # the others' default tolerances, in counts
    frame = list_scaling((100, 200), repeats=1)
    assert (frame["certificate"] < 1e-9).all()
    frame = large_tables((6, 12), interior_most=6, repeats=1)
    assert frame[frame["solver"] == "ours"]["certificate"].max() < 1e-9
    assert frame[frame["solver"] == "Clarabel"]["side"].tolist() == [6]
    frame = methods_in_grid(runs=2, repeats=1, every=93).set_index("method")
    assert tuple(frame.index) == microdata_methods()
    frame = workloads((REFERENCE,), compare=False, memory=False, repeats=1)
    assert (frame["certificate"] <= 1e-7).all()
    assert ratios(frame)[(REFERENCE, "nnls")] == 1
    frame = release_loss(60, (PureDP(1.0), ConcentratedDP(0.25)), ("nnls", "reweighted"))
    assert frame["claim"].tolist() == [1.0, 1.0, 0.25, 0.25]
    assert (set(frame["releases"]), frame["within"].all()) == ({120}, True)


def test_a_file_of_persons_is_released_from_end_to_end(tmp_path):
    """With groups, cut points, "other", structural zeros, shares and a cap."""
    seconds, megabytes = end_to_end(lambda f: persons(f, 2000), NESTED, tmp_path)
    assert seconds > 0
    assert 50 < megabytes < 1024
    records = rows(tmp_path / "release" / "records.csv")
    assert not any(r["age"] == "below 18" and r["status"] == "married" for r in records)
    tracts = json.loads((tmp_path / "schema.json").read_text())["groups"]["tract"]["block"]
    asked = rows(tmp_path / "release" / "measurements.csv")
    assert [r["tract"] for r in asked if r["query_set"] == "tract"] == list(tracts)
    assert {r["status"] for r in records} == {"single", "married", "other", "not stated"}


def test_the_kept_file_of_peers_is_whole_and_its_ols_errors_are_the_exact_ones():
    kept = pd.read_csv(data_path(FILE))
    assert set(kept["method"]) == {"mbi", FIXED, *paper_methods()}
    assert not kept.duplicated(["dataset", "method", "query_set", "metric"]).any()
    assert len(kept) == 16 * 7 * (4 + 3)
    for row in kept.query("method == 'ols' & metric == 'total'").itertuples():
        workload = data_set(row.dataset).workload
        exact = ols_variances(workload, [n.variance for n in noise_for(workload, PureDP(0.5))])
        total = exact[workload.names.index(row.query_set)].sum()
        assert abs(row.value - total) < 5 * row.standard_error
    assert kept["excess_objective"].max() < 1e-3


def test_mbi_s_problem_holds_the_least_variance_total_and_has_no_excess_solved_exactly(monkeypatch):
    monkeypatch.setitem(CASES, "small", lambda: marginals((4, 5, 6), 2))
    frame = against_mbi(("small",), runs=2).set_index("solver")
    assert frame.loc["ours, mbi's total held", "excess"] == 0
    assert frame.loc["ours", "excess"] < 0  # its total is free
    data, rng = data_set("PUMA0101301"), np.random.default_rng(1)
    m = measure(data.table, data.workload, PureDP(0.5), runs=4, rng=rng)
    own, free = held_total(m).cells, fit(m, "nnls").cells
    # With one noise on every answer mbi's total is that of OLS.
    np.testing.assert_allclose(fit_estimated_total(m).cells.sum(axis=1), own.sum(axis=1))
    scaled = free * (own.sum(axis=1) / free.sum(axis=1))[:, None]
    assert (objective(m, free) <= objective(m, own) + 1e-9).all()
    assert (objective(m, own) <= objective(m, scaled) + 1e-9).all()
