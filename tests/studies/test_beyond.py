from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import nnls
from sentences import check_texts, numbers, says, texts

from microdata_price.exceptions import InputError
from microdata_price.model.measurement import measure
from microdata_price.model.privacy import PureDP
from microdata_price.model.queryset import QuerySet
from microdata_price.model.workload import Workload
from microdata_price.studies.beyond import HELD, REFERENCE, Findings, load_workloads, study
from microdata_price.studies.peers import fit_estimated_total

METHODS = ("nnls", "maxfit", "sequential", "reweighted")
CASES = (REFERENCE, "3-way, pairs only")


def made_up(seed: int, scale: float, conic: int = 0) -> Findings:
    """Whatever a machine measures, the sentences must follow."""
    rng = np.random.default_rng(seed)
    live = [
        (case, 6000, 500, m, "ours", scale ** (m != "nnls") * rng.uniform(0.01, 0.1), 1e-11, conic)
        for case in CASES
        for m in METHODS
    ]
    columns = ["case", "cells", "queries", "method", "solver", "seconds", "certificate", "conic"]
    about = {"cells": 10, "queries": 5, "measured": "2026-01-02", "where": "one core"}
    about["versions"] = "mbi 2.0.0"
    kept = []
    for case in CASES:
        for solver in ("ours", "OSQP", "piqp"):
            one = {"part": "workloads", "case": case, "method": "nnls", "solver": solver}
            one |= {"seconds": scale * rng.uniform(0.1, 1), "megabytes": rng.uniform(1, 90)}
            kept.append(one | {"loss": 100 * rng.uniform(1, 1.01)})
        for solver in ("mbi", HELD, "ours"):
            one = {"part": "against_mbi", "case": case, "method": "nnls", "solver": solver}
            one |= {"seconds": scale * rng.uniform(0.1, 1), "error": rng.uniform(1e4, 1e5)}
            one |= {"standard_error": rng.uniform(1e2, 1e3), "excess": rng.uniform(0.001, 0.1)}
            kept.append(one | {"runs": 30})
        for method in METHODS:
            one = {"part": "sizes", "case": case, "method": method, "solver": "ours"}
            one |= {"seconds": scale * rng.uniform(1, 50), "allowed": 60.0, "conic": 0}
            kept.append(one | {"certificate": 1e-10, "megabytes": rng.uniform(10, 900)})
    return Findings(
        pd.DataFrame(live, columns=columns), pd.DataFrame([k | about for k in kept]), 150.0
    )


@pytest.mark.parametrize("scale", [0.1, 1.0, 1000.0])
@pytest.mark.parametrize("seed", range(4))
def test_sentences_follow_what_was_measured(seed: int, scale: float) -> None:
    found = made_up(seed, scale, conic=seed)
    check_texts(texts(found).values())
    live = found.live
    unit = live[(live["case"] == REFERENCE) & (live["method"] == "nnls")]["seconds"].iloc[0]
    worst = live["seconds"].max() / unit
    assert numbers(found.opening)[0] == pytest.approx(worst, rel=0.1)
    assert numbers(found.opening)[0] >= worst * (1 - 1e-9)
    assert ("within the 150" in found.opening) == bool(worst <= 150)
    sizes = found.kept[found.kept["part"] == "sizes"]
    late = sizes[sizes["seconds"] > 60]
    assert ("Not every fit" in found.sizes_said) == bool(len(late))
    for row in late.itertuples():
        assert says(found.sizes_said, row.seconds, rel=0.06)
    rows = found.kept[found.kept["part"] == "against_mbi"]
    for row in rows.itertuples():
        assert says(found.mbi_said, row.error, rel=0.01)
    for _, part in rows.groupby("case"):
        seconds = part.set_index("solver")["seconds"]
        quick, slow = sorted([seconds["mbi"], seconds["ours"]])
        assert says(found.mbi_said, slow / quick, rel=0.06)
    assert ("was not asked" in found.conic_said) == (seed == 0)
    fits = found.kept[(found.kept["part"] == "workloads") & (found.kept["method"] == "nnls")]
    for case, part in fits.groupby("case"):
        seconds = part.set_index("solver")["seconds"]
        lost = seconds.drop("ours").min() < seconds["ours"]
        assert (f"“{case}”" in found.others_said) == bool(lost)


def test_the_kept_file_has_what_the_page_says_of_it() -> None:
    kept = load_workloads()
    assert set(kept["part"]) == {"workloads", "sizes", "against_mbi"}
    ours = kept[(kept["solver"] == "ours") & (kept["part"] != "against_mbi")]
    assert (ours["certificate"] <= 1e-7).all()
    assert kept["measured"].notna().all()
    found = Findings(made_up(0, 1.0).live, kept, 150.0)
    check_texts(texts(found).values())
    # What others reach can hardly be below a certified optimum.
    assert found.others["above"].min() > -1e-6


def test_a_multiple_that_is_none_is_refused(tmp_path) -> None:
    with pytest.raises(InputError, match="above 0"):
        study(tmp_path, 0.0)


def test_the_problem_with_mbis_total_is_solved_as_by_an_independent_solver() -> None:
    shape = (2, 3, 2)
    sets = tuple(QuerySet.marginal(shape, k) for k in ((0, 1), (1, 2)))
    rng = np.random.default_rng(5)
    m = measure(rng.integers(0, 9, shape), Workload(sets), PureDP(0.5), runs=3, rng=rng)
    found = fit_estimated_total(m)
    rows = np.concatenate([q.matrix.toarray() for q in sets] + [np.ones((1, 12))])
    for run, cells in enumerate(found.cells):
        totals = np.array([a[run].sum() for a in m.answers])
        total = max(np.average(totals, weights=[1 / q.size for q in sets]), 1.0)
        assert cells.sum() == pytest.approx(total)
        answers = np.concatenate([*(a[run] for a in m.answers), [total]])
        weight = np.r_[np.ones(answers.size - 1), 1e4]  # which holds the total to many digits
        other = nnls(rows * weight[:, None], answers * weight)[0]
        fitted, expected = (rows[:-1] @ x for x in (cells, other))
        assert fitted == pytest.approx(expected, abs=1e-3)
