"""The kept comparison with mbi, and the exact problem that mbi's iterations approach."""

from __future__ import annotations

from importlib.util import find_spec

import numpy as np
import pytest
from scipy.optimize import lsq_linear

from microdata_price.errors.known import ols_variances
from microdata_price.exceptions import InputError
from microdata_price.fitting import fit, paper_methods
from microdata_price.model.benchmark import data_set
from microdata_price.model.measurement import Measurements, measure, noise_for
from microdata_price.model.noise import Laplace
from microdata_price.model.privacy import PureDP
from microdata_price.model.queryset import QuerySet
from microdata_price.model.workload import Workload
from microdata_price.studies.peers import FIXED, fit_fixed_total, fit_mbi, load_peers, objective
from microdata_price.studies.scorecard import EPSILON, published_tables


def measured(runs: int = 4, seed: int = 1) -> Measurements:
    data = data_set("PUMA0101301")
    rng = np.random.default_rng(seed)
    return measure(data.table, data.workload, PureDP(0.5), runs=runs, rng=rng)


def test_the_file_has_every_table_method_and_query_set() -> None:
    kept = load_peers()
    assert set(kept["dataset"]) == set(published_tables()["dataset"])
    assert set(kept["method"]) == {"mbi", FIXED, *paper_methods()}
    keys = ["dataset", "method", "query_set", "metric"]
    assert not kept.duplicated(keys).any()
    assert len(kept) == 16 * 7 * (4 + 3)
    assert (kept["standard_error"] > 0).all()


def test_the_kept_errors_of_ols_agree_with_the_exact_ones() -> None:
    kept = load_peers()
    own = kept[(kept["method"] == "ols") & (kept["metric"] == "total")]
    z = []
    for row in own.itertuples():
        workload = data_set(row.dataset).workload
        noise = noise_for(workload, PureDP(EPSILON))
        exact = ols_variances(workload, [n.variance for n in noise])
        total = exact[workload.names.index(row.query_set)].sum()
        z.append((row.value - total) / row.standard_error)
    assert np.abs(z).max() < 5


def test_mbi_has_the_sum_of_ols_and_the_errors_of_its_exact_problem() -> None:
    kept = load_peers().set_index(["dataset", "query_set", "metric"])
    by_method = dict(iter(kept.groupby("method")))
    mbi, ols, exact = (by_method[m].loc[by_method["mbi"].index] for m in ("mbi", "ols", FIXED))
    sums = mbi.index.get_level_values("query_set") == "sum"
    assert ols["value"][sums].to_numpy() == pytest.approx(mbi["value"][sums].to_numpy(), rel=1e-5)
    assert exact["value"].to_numpy() == pytest.approx(mbi["value"].to_numpy(), rel=0.05)
    assert (mbi["excess_objective"] < 1e-3).all()
    assert (mbi["excess_objective"] > -1e-6).all()


def test_the_held_sum_is_that_of_ols_and_nothing_beats_it_on_the_noisy_answers() -> None:
    m = measured()
    found = fit_fixed_total(m)
    total = fit(m, "ols").answers()[0]
    assert found.answers()[0] == pytest.approx(total, abs=1e-7)
    # NNLS may choose any sum, so it is nearer; scaled to the held sum it is a competitor.
    rival = fit(m, "nnls").cells
    rival = rival * (total / rival.sum(axis=1, keepdims=True))
    assert (objective(m, found.cells) <= objective(m, rival) + 1e-9).all()
    assert (objective(m, found.cells) >= objective(m, fit(m, "nnls").cells) - 1e-9).all()


def test_an_independent_solver_finds_the_same() -> None:
    rng = np.random.default_rng(3)
    workload = Workload.table((3, 4))
    m = measure(np.eye(3, 4) * 9, workload, PureDP(0.5), runs=3, rng=rng)
    total = np.maximum(fit(m, "ols").answers()[0][:, 0], 1)
    rows = np.concatenate(
        [(q.labels == np.arange(q.size)[:, None]).astype(float) for q in workload.query_sets]
    )
    for run, cells in enumerate(fit_fixed_total(m).cells):
        answers = np.concatenate([a[run] for a in m.answers])
        weight = np.ones(len(answers))
        # A weight so large that the sum is held to seven digits.
        weight[0], answers[0] = 1e5, total[run]
        other = lsq_linear(rows * weight[:, None], answers * weight, (0, np.inf), tol=1e-14)
        assert cells == pytest.approx(other.x, abs=1e-3)


def test_a_workload_that_does_not_begin_with_the_sum_is_refused() -> None:
    workload = Workload((QuerySet.identity((3,)), QuerySet.sum_query((3,))))
    m = Measurements(workload, ([[1.0, 2, 3]], [[6.0]]), (Laplace(1), Laplace(1)))
    with pytest.raises(InputError, match="sum query"):
        fit_fixed_total(m)


@pytest.mark.parametrize("missing", [find_spec("mbi") is None])
def test_without_mbi_the_message_says_what_to_run(
    missing: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not missing:
        monkeypatch.setitem(__import__("sys").modules, "mbi", None)
    with pytest.raises(InputError, match="make peers"):
        fit_mbi(measured(1))
