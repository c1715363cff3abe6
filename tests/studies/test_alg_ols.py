from __future__ import annotations

import functools
from typing import Any

import method_levels
import numpy as np
import pytest
from method_levels import RUNS, asked
from sentences import check_texts, numbers, says, texts

from microdata_price.studies.alg_ols import Findings, study

PURE, ZCDP = asked(runs=(RUNS, 2, 3, 400))
at = functools.partial(method_levels.at, Findings)


@pytest.mark.parametrize("given", PURE + ZCDP, ids=str)
def test_every_sentence_is_recomputed(given: dict[str, Any]) -> None:
    found = at(**given)
    check_texts(texts(found).values())
    case, cells = found.case, found.fitted.cells
    shape = np.array(case.table.shape)
    kept = np.prod(shape / (shape + 1))
    each = kept * case.noise.std**2
    assert all(np.allclose(e, each) for e in found.exact)
    assert says(found.opening, kept, 1e-4)
    assert says(found.exact_said, each, 1e-5)
    assert says(found.exact_said, kept, 1e-4)
    negative = (cells < 0).any()
    assert ("no microdata" in found.opening) == negative
    assert not negative or says(found.negative_said, 100 * (cells < 0).mean())
    nnls_sums = found.nnls.cells.sum(axis=1) - case.truth.sum()
    assert not negative or says(found.negative_said, (nnls_sums**2).mean() / each, 0.05)

    row, noisy = cells[0], case.noisy_cells[0]
    assert says(found.response_picture.text, np.abs(row - noisy).mean(), 0.06)
    if (row < 0).any():
        assert says(found.response_picture.text, -row[row < 0].sum())
    assert f"{(row < 0).sum()} of {row.size} cells negative" in found.response_picture.text

    squares = ((cells - case.truth) ** 2).mean(axis=0)
    top, truth = numbers(found.trap_said.split(" is ", 1)[1])[::2][:2]
    assert top == pytest.approx(squares.max(), rel=0.05)
    assert truth == pytest.approx(each, rel=1e-3)
    assert ("too much" in found.trap_said) == (squares.max() > each)
    assert ("one half" in found.trap_said) == (given["runs"] >= 4)
    assert found.gradient < 1e-8 * max(1.0, np.abs(case.noisy_cells).max())
    told = found.exact_errors.set_index("query set")
    assert told.loc["cells", "total, exactly"] == pytest.approx(each * row.size)
    sums = (cells.sum(axis=1) - case.truth.sum()) ** 2
    assert numbers(told.loc["sum", "total, measured"])[0] == pytest.approx(sums.mean(), rel=0.05)
    z = []
    for q, a, t in zip(
        case.workload.query_sets,
        found.fitted.answers(),
        case.workload.answers(case.table),
        strict=True,
    ):
        e = ((a - t) ** 2).sum(axis=1)
        z.append((e.mean() - q.size * each) / (e.std(ddof=1) / given["runs"] ** 0.5))
    assert says(found.measured_picture.text, np.abs(z).max(), 0.06)


@pytest.mark.parametrize("given", PURE + ZCDP, ids=str)
def test_the_small_list_shares_the_discrepancy(given: dict[str, Any]) -> None:
    found = at(**given)
    noisy, cells = found.short.measurements.answers, found.short_fit.cells[0]
    over = noisy[1][0].sum() - noisy[0][0, 0]
    assert ("records more than" in found.small_said) == (over > 0)
    assert says(found.small_said, abs(over))
    assert says(found.small_said, abs(over) / 9)
    moved = cells - noisy[1][0]
    assert np.allclose(moved, -over / 9, atol=1e-9 * (1 + abs(over)))
    assert ("move down" in found.small_picture.text) == (moved[0] < 0)
    assert f"{(cells < 0).sum()} of the fitted" in found.small_picture.text


def test_a_cell_chosen_on_one_half_is_measured_without_a_bias() -> None:
    """The split estimates scatter around the exact error; the plain maxima lie above it."""
    splits, tops, each = [], [], 0.0
    for seed in range(24):
        found = study("Level00-1d", runs=RUNS, seed=seed)
        top, split = found._largest
        assert split is not None
        tops.append(top.value)
        splits.append(split.value)
        each = found.each
    spread = np.std(splits, ddof=1) / len(splits) ** 0.5
    assert abs(np.mean(splits) - each) < 4 * spread
    assert min(tops) > each
