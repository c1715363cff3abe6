from __future__ import annotations

import functools
from typing import Any

import method_levels
import numpy as np
import pytest
from method_levels import RUNS, asked
from scipy import optimize, special
from sentences import check_texts, numbers, says, texts

from microdata_price.studies.alg_max import PLACES, Findings

PURE, ZCDP = asked(runs=(RUNS, 2))
at = functools.partial(method_levels.at, Findings)


@pytest.mark.parametrize("given", PURE + ZCDP, ids=str)
def test_every_sentence_is_recomputed(given: dict[str, Any]) -> None:
    found = at(**given)
    check_texts(texts(found).values())
    case, cells, runs = found.case, found.fitted.cells, given["runs"]
    std, m = case.noise.std, case.measurements
    errors = cells.sum(axis=1) - case.truth.sum()
    shape = np.array(case.table.shape)
    each = std**2 * np.prod(shape / (shape + 1))
    same = (np.abs(cells - found.nnls.cells) <= 1e-6 * std).all(axis=1)
    assert says(found.opening, 100 * same.mean())
    assert says(found.opening, (errors**2).mean() / each, 0.05)
    assert says(found.same_said, 100 * same.mean())
    assert ("practically one" in found.same_said) == ((~same).sum() < 2)
    if (~same).sum() >= 2:
        worse = ((cells - case.truth) ** 2 - (found.nnls.cells - case.truth) ** 2).sum(axis=1)
        worse = worse[~same]
        clearly = worse.mean() > 4 * worse.std(ddof=1) / len(worse) ** 0.5
        assert ("raises" in found.same_said) == clearly

    lowest = np.maximum(0, [-min(a[i].min() for a in m.answers) for i in range(runs)]) / std
    forced = np.abs(lowest - found.distance.value) < 1e-8 * (1 + lowest)
    assert says(found.distance_said, 100 * forced.mean())
    assert ("Mostly" in found.distance_said) == (forced.mean() > 0.5)
    assert ("One extreme" in found.opening) == (forced.mean() > 0.5)
    assert says(found.distance_said, found.distance.value.mean(), 0.02)
    # P(the largest of n is below t) = P(one is)^n; the mean is the integral of the rest.
    if n := int(case.empty.sum()):
        grid = np.linspace(0, 40, 400_001)
        inside = 1 - np.exp(-np.sqrt(2) * grid)
        if given["privacy"] == "zcdp":
            inside = special.erf(grid / np.sqrt(2))
        assert says(found.distance_said, np.trapezoid(1 - inside**n, grid))

    stopped = np.abs(cells.sum(axis=1) - m.answers[0][:, 0]) >= (found.distance.value - 1e-6) * std
    assert numbers(found.stopped_said.split("In ")[1])[0] == pytest.approx(
        100 * stopped.mean(), 1e-2
    )
    row = cells[0]
    assert numbers(found.response_picture.text.split(":")[1])[:2] == [(row == 0).sum(), row.size]
    assert ("is the same as" in found.response_picture.text) == same[0]
    assert says(found.balance_picture.text, errors.mean(), 0.06)
    assert np.abs(found.bound - found.distance.value).max() < 1e-9


@pytest.mark.parametrize("given", PURE[:1] + ZCDP[:1] + PURE[3:5], ids=str)
def test_the_distance_is_that_of_a_linear_program(given: dict[str, Any]) -> None:
    found = at(**given)
    for case, distance in ((found.case, found.distance), (found.short, found.short_distance)):
        Q = np.vstack([q.matrix.toarray() for q in case.workload.query_sets])
        a = np.concatenate([b[0] for b in case.measurements.answers]) / case.noise.std
        ones = np.ones((a.size, 1))
        rows = np.vstack([np.hstack([Q, -ones]), np.hstack([-Q, -ones])])
        cost = np.r_[np.zeros(Q.shape[1]), 1.0]
        least = optimize.linprog(cost, rows, np.r_[a, -a], method="highs").fun
        assert distance.value[0] == pytest.approx(least, abs=1e-7 * (1 + abs(a).max()))


@pytest.mark.parametrize("given", PURE + ZCDP, ids=str)
def test_one_cell_alone_does_what_is_said(given: dict[str, Any]) -> None:
    """Far below zero the distance is what the cell cannot follow; in between it is less."""
    found = at(**given)
    case, cell = found.case, found.one_cell
    ours, theirs = cell.roots["maxfit"][-1], cell.roots["nnls"][-1]
    clearly = ours.value - theirs.value > 4 * np.hypot(ours.error, theirs.error)
    if "drags the sum" in found.ends_said:
        assert clearly
        assert ours.value > 1.1 * theirs.value
    truth = case.truth[cell_index(found)]
    assert cell.empty == (truth == 0)
    if 20 * case.noise.std - truth > 8 * case.noise.std:
        assert cell.distances[0].value == pytest.approx(20 - truth / case.noise.std, rel=1e-6)
        assert cell.same[0] == 1
    assert says(found.ends_said, 100 * cell.same[0])
    assert says(found.ends_said, cell.distances[-1].value, 0.02)
    for text in (found.opening, found.extreme_picture.text):
        assert says(text, ours.value, 0.02)
        assert says(text, theirs.value, 0.02)
    assert PLACES[0] == -PLACES[-1]


def cell_index(found: Findings) -> int:
    chosen = np.flatnonzero(found.case.truth == found.case.truth.min())
    return int(chosen[chosen.size // 2]) if found.case.empty.any() else int(chosen[0])
