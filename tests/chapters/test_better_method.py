"""A better method: what its texts say, computed in other ways."""

import numpy as np
import pandas as pd
import pytest
from chapter_texts import filled, says

from microdata_price.base.data import data_path
from microdata_price.chapters import better_method as chapter
from microdata_price.chapters.better_method import KINDS, PEERS, Findings, ratios
from microdata_price.errors.sums import answer_errors
from microdata_price.fitting import METHODS, fit, microdata_methods, paper_methods
from microdata_price.grid.run import run_grid
from microdata_price.grid.spec import GridSpec
from microdata_price.model.benchmark import data_set
from microdata_price.model.measurement import measure
from microdata_price.model.privacy import ConcentratedDP, PureDP


def rows(values):
    """Errors of two data sets by method, with one query set and level."""
    same = {"family": "1d", "privacy": "pure", "level": 0.5, "query_set": "identity"}
    same |= {"metric": "total", "standard_error": 0.3, "exact": np.nan, "se_cv": np.nan}
    return pd.DataFrame(
        same | {"dataset": name, "method": method, "value": value, "estimate_cv": np.nan}
        for name, own in values.items()
        for method, value in own.items()
    )


def test_averages_are_compared_not_tables():
    four = {"nnls": 4.0, "maxfit": 6.0, "sequential": 8.0, "reweighted": 1.0, "consensus": 3.0}
    errors = rows({"one": four, "two": four | {"reweighted": 11.0}})
    found = ratios(errors, "consensus").iloc[0]
    # NNLS has the smallest average, 4, though reweighted fitting has the smallest error of all.
    assert (found["ratio"], found["best"]) == (0.75, "nnls")
    # Each average of two has the standard error 0.3 / sqrt 2.
    assert found["error"] == pytest.approx(0.75 * np.hypot(0.3 / 3, 0.3 / 4) / np.sqrt(2))
    single = ratios(errors, "consensus", ["dataset", "query_set"])
    assert single["ratio"].tolist() == [3.0, 0.75]


def test_the_headline_says_what_the_grid_found(tmp_path):
    run_grid(
        GridSpec.choose(epsilon=[3.0], methods=tuple(METHODS), runs=3, seed=5), tmp_path, workers=1
    )
    said = filled("better_method", better_dir=str(tmp_path), epsilons=[3.0], rhos=[], runs=2)
    errors = Findings(str(tmp_path)).errors
    four, worst = list(microdata_methods(paper_methods())), []
    sharp = errors["se_cv"].notna() & errors["metric"].eq("total") & errors["estimate_cv"].ge(0)
    best_known = errors["estimate_cv"].where(sharp, errors["value"])
    errors = errors.assign(known=errors["exact"].fillna(best_known))
    for (_, query_set, metric), own in errors.groupby(["family", "query_set", "metric"]):
        if metric == "total" and query_set != "sum":
            mean = own.groupby("method")["known"].mean()
            worst.append(mean["consensus"] / mean[four].min())
    assert says(said[0], max(worst))
    assert says(said[0], np.mean(worst), 0.02)


@pytest.mark.parametrize("guarantee", [PureDP(0.5), ConcentratedDP(0.125)])
@pytest.mark.parametrize("name", ["Stair-1d", "PUMA0101301"])
def test_the_oracle_s_error_is_that_of_the_posterior_mean(guarantee, name):
    data, rng = data_set(name), np.random.default_rng(1)
    m = measure(data.table, data.workload, guarantee, runs=2000, rng=rng)
    noisy, truth, noise = m.answers[-1], data.table.ravel(), m.noise[-1]
    above, below = np.zeros_like(noisy), np.zeros_like(noisy)
    for count, n in zip(*np.unique(truth, return_counts=True), strict=True):
        away = np.abs(noisy - count) / noise.std
        weight = n * np.exp(-(away**2) / 2 if guarantee.norm == 2 else -np.sqrt(2) * away)
        above, below = above + weight * count, below + weight
    square = ((above / below - truth) ** 2).sum(axis=1)
    error = square.std() / 2000**0.5
    assert chapter.oracle(data, guarantee) == pytest.approx(square.mean(), abs=5 * error)


def test_mbi_saw_the_noise_that_is_drawn_here():
    """So differences are paired: the kept errors of its exact problem come out again."""
    kept = pd.read_csv(data_path("peers.csv")).query("method == 'fixed-total' & metric == 'total'")
    kept = kept.set_index(["dataset", "query_set"])["value"]
    name = "PUMA0101301"
    data, rng = data_set(name), np.random.default_rng([PEERS["seed"], *name.encode()])
    m = measure(data.table, data.workload, PureDP(0.5), runs=PEERS["runs"], rng=rng)
    f = chapter.held_total(m)
    assert f.answers()[0] == pytest.approx(np.maximum(fit(m, "ols").answers()[0], 1), abs=1e-6)
    errors = answer_errors(f.cells, data.table, data.workload)
    for query_set, e in zip(data.workload.names, errors, strict=True):
        assert (e**2).sum(axis=1).mean() == pytest.approx(kept[name, query_set], rel=1e-5)


def test_the_mean_gains_what_the_parts_differ_by():
    parts = Findings(runs=20).parts
    assert parts["average"] - parts["apart"] == pytest.approx(parts["cells"][-1])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shape", [(100,), (9, 24)])
def test_fresh_tables_are_tables_of_counts(kind, shape):
    table = chapter.drawn(kind, shape, np.random.default_rng(5))
    assert (table.shape, table.sum() > 0) == (shape, True)
    assert (table == np.abs(np.rint(table))).all()
