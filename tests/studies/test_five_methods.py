from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest
from scipy import integrate, optimize, stats
from sentences import EPSILONS, RHOS, check_texts, numbers, says, texts

from microdata_price.exceptions import InputError
from microdata_price.studies.five_methods import Findings, study

CASES = [
    *(("PUMA1304600", "pure", e) for e in EPSILONS),
    *(("PUMA1304600", "zcdp", r) for r in RHOS),
    *((name, "pure", 0.5) for name in ("Level00-1d", "Level32-1d", "Stair-2d", "PUMA0101301")),
]
SETS = {"sum": "sum", "marginal1": "rows", "marginal2": "columns", "identity": "cells"}


@functools.cache
def at(name: str, privacy: str, level: float) -> Findings:
    return study(name, privacy, level, runs=30, seed=1)


def ratios(found: Findings, query_set: str) -> dict[str, np.ndarray[Any, Any]]:
    """Each method's squared errors over the exact mean one of OLS, from a pseudoinverse."""
    sets = found.case.workload.query_sets
    design = np.vstack([q.matrix.toarray() for q in sets])
    own = next(q for q in sets if q.name == query_set).matrix.toarray()
    spread = own @ np.linalg.inv(design.T @ design) @ own.T
    exact = found.case.noise.std**2 * np.trace(spread)
    return {
        m: (((f.cells - found.case.truth) @ own.T) ** 2).sum(axis=1) / exact
        for m, f in found.fits.items()
    }


def exact_ols(found: Findings) -> float:
    """The expected squared error of the sum under OLS, from a pseudoinverse."""
    design = np.vstack([q.matrix.toarray() for q in found.case.workload.query_sets])
    ones = np.ones(design.shape[1])
    return float(found.case.noise.std**2 * ones @ np.linalg.inv(design.T @ design) @ ones)


def _cut_error(privacy: str, std: float, q: float) -> float:
    """The expected squared error of max(0, q + z), by quadrature."""
    law = stats.laplace(scale=std / 2**0.5) if privacy == "pure" else stats.norm(scale=std)
    z = np.linspace(-60 * std, 60 * std, 2_000_001)
    return float(integrate.trapezoid((np.maximum(q + z, 0) - q) ** 2 * law.pdf(z), z))


@pytest.mark.parametrize("given", CASES, ids=str)
def test_every_sentence_is_recomputed(given: tuple[str, str, float]) -> None:
    found = at(*given)
    check_texts(texts(found).values())
    b = {"pure": lambda e, k: 2**0.5 * k / e, "zcdp": lambda r, k: (k / 2 / r) ** 0.5}
    std = b[given[1]](given[2], len(found.case.workload.names))
    assert says(found.table_said, std)
    assert says(found.table_said, float((found.data.table == 0).sum()))

    of_sum, of_cells = ratios(found, "sum"), ratios(found, "identity")
    micro = ("nnls", "maxfit", "sequential", "reweighted")
    means = {m: of_sum[m].mean() for m in micro}
    paying = [
        m for m in micro if means[m] - 3 * of_sum[m].std(ddof=1) / len(of_sum[m]) ** 0.5 > 1.25
    ]
    assert found.paying == paying
    assert ("No nonnegative method" in found.sum_said) == (not paying)
    if paying:
        assert says(found.sum_said, max(means[m] for m in paying), rel=0.05)
        if len(paying) < 4:
            said = float(numbers(found.sum_said)[-1])
            # Sequential fitting's sum is the noisy one, cut at zero, so its error is known.
            noise, total = found.case.noise.std, float(found.case.truth.sum())
            cut = {**means, "sequential": _cut_error(given[1], noise, total) / exact_ols(found)}
            spared = max(cut[m] for m in micro if m not in paying)
            assert spared * (1 - 1e-6) <= said <= 1.02 * spared
    top = max(of_cells[m].mean() for m in micro)
    assert ("beats OLS" in found.cells_said) == (top < 0.95)
    if top < 0.95:
        assert 0.9 / top <= numbers(found.cells_said)[0] <= 1 / top * (1 + 1e-9)
    every = {(q, m): ratios(found, q)[m].mean() for q in found.case.workload.names for m in micro}
    (q, _), worst = max(every.items(), key=lambda pair: pair[1])
    assert says(found.by_set.text, worst, rel=0.01)
    assert SETS[q] in found.by_set.text


@pytest.mark.parametrize("given", CASES[:5], ids=str)
def test_who_pays_adds_up(given: tuple[str, str, float]) -> None:
    found = at(*given)
    empty = found.data.table.ravel() == 0
    gains = {m: f.cells[:, empty].sum(axis=1).mean() for m, f in found.fits.items() if m != "ols"}
    other = {
        m: f.cells[:, ~empty].sum(axis=1).mean() - found.data.table.sum()
        for m, f in found.fits.items()
        if m != "ols"
    }
    for inside, outside, total in found.moved.values():
        assert inside.value + outside.value == pytest.approx(total.value, abs=1e-6)
    if "Every nonnegative method" in found.who_said:
        low, high = numbers(found.who_said)[:2]
        assert low <= min(gains.values())
        assert high >= max(gains.values())
        assert says(found.who_said, -min(other.values()), rel=0.05)
    assert max(f.certificate.worst for f in found.fits.values()) <= 1e-7


def test_nnls_is_what_lawson_and_hanson_find() -> None:
    found = at(*CASES[0])
    design = np.vstack([q.matrix.toarray() for q in found.case.workload.query_sets])
    for run in range(3):
        answers = np.concatenate([a[run] for a in found.case.measurements.answers])
        assert found.fits["nnls"].cells[run] == pytest.approx(
            optimize.nnls(design, answers)[0], abs=1e-4
        )


def test_another_kind_of_privacy_is_refused() -> None:
    with pytest.raises(InputError, match="approximate"):
        study(privacy="approximate")
