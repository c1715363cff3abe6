from __future__ import annotations

import functools
from typing import Any

import method_levels
import numpy as np
import pytest
from method_levels import RUNS, asked
from scipy import stats
from sentences import check_texts, numbers, says, texts

from microdata_price.studies.alg_reweighted import HERE, Findings

PURE, ZCDP = asked(tiny=True, runs=(RUNS, 2))
at = functools.partial(method_levels.at, Findings)


def low_of(answers: np.ndarray, std: float, privacy: str) -> tuple[np.ndarray, float]:
    """Return which answers are low, and the cutoff, by Algorithm 2 one rank after the other."""
    law = stats.norm(scale=std) if privacy == "zcdp" else stats.laplace(scale=std / 2**0.5)
    for j, value in enumerate(sorted(answers), start=1):
        if -np.expm1(j * law.logcdf(value)) <= 0.01:
            return answers < value, float(value)
    return np.ones(answers.size, dtype=bool), np.inf


@pytest.mark.parametrize("given", PURE + ZCDP, ids=str)
def test_every_sentence_is_recomputed(given: dict[str, Any]) -> None:
    found = at(**given)
    check_texts(texts(found).values())
    case, cells, runs = found.case, found.fitted.cells, given["runs"]
    truth, std = case.truth, case.noise.std
    shape = np.array(case.table.shape)
    each = std**2 * np.prod(shape / (shape + 1))
    ours, nnls = ((f.cells.sum(axis=1) - truth.sum()) ** 2 for f in (found.fitted, found.nnls))
    assert says(found.opening, ours.mean() / each, 0.06)
    assert says(found.opening, nnls.mean() / each, 0.06)
    gain, spread = nnls.mean() - ours.mean(), (nnls - ours).std(ddof=1) / runs**0.5
    assert ("mends" in found.opening or "better" in found.opening) == (gain > 4 * spread)
    assert ("worse" in found.opening) == (-gain > 4 * spread)
    if "mends most" in found.opening:
        assert nnls.mean() / each - 1 >= 2 * (ours.mean() / each - 1)
        assert nnls.mean() > each

    answers = case.noisy_cells
    low, cut = map(np.array, zip(*(low_of(a, std, given["privacy"]) for a in answers), strict=True))
    assert (low == found.steps[-1].low).all()
    assert says(found.low_said, low.sum(axis=1).mean(), 1e-3)
    assert says(found.low_said, (low & (truth > 0)).sum(axis=1).mean(), 0.02)
    assert ("no cutoff" in found.low_said) == (np.isinf(cut).mean() >= 0.5)
    if np.median(cut) < np.inf:
        assert says(found.low_said, np.median(cut))
    told = numbers(found.cells_cutoff_picture.text.split("Of ")[-1])
    assert told == [truth.size, low[0].sum(), (low[0] & (truth > 0)).sum()]

    law = stats.norm(scale=std)
    if given["privacy"] == "pure":
        law = stats.laplace(scale=std / 2**0.5)
    n = np.maximum(low.sum(axis=1), 1)
    w = np.where(low.any(axis=1), np.maximum(law.ppf(0.5 ** (1 / n)), 1), 1)
    assert numbers(found.pull_said)[0] == pytest.approx(np.median(2 * w**2), rel=6e-3)

    row, moved = cells[0], np.abs(cells[0] - answers[0])
    assert numbers(found.response_picture.text.split(":")[1])[:2] == [(row == 0).sum(), row.size]
    if not low[0].all():
        assert says(found.response_picture.text, moved[~low[0]].mean(), 0.06)
    short, fitted = found.short.noisy_cells[0], found.short_fit.cells[0]
    is_low, _ = low_of(short, found.short.noise.std, given["privacy"])
    assert f"{is_low.sum()} of them low" in found.small_picture.text
    for part in (is_low, ~is_low):
        assert not part.any() or says(
            found.small_picture.text, np.abs(fitted - short)[part].max(), 0.06
        )


@pytest.mark.parametrize("given", PURE + ZCDP, ids=str)
def test_the_worst_cell_is_what_is_said(given: dict[str, Any]) -> None:
    found = at(**given)
    errors = found.fitted.cells - found.case.truth
    squares = (errors**2).mean(axis=0)
    worst = int(np.argmax(squares))
    said = found.worst_said
    assert says(said.split("count is")[1], found.case.truth[worst])
    assert says(said, 100 * found.steps[-1].low[:, worst].mean(), 0.02)
    assert says(said, errors[:, worst].mean(), 0.06)
    if "towards zero" in said:
        assert errors[:, worst].mean() < 0
    assert found.worst["error"].iloc[0] == pytest.approx(squares.max())


@pytest.mark.parametrize("given", PURE[:1] + PURE[4:7] + ZCDP, ids=str)
def test_each_reading_changes_what_is_said(given: dict[str, Any]) -> None:
    """The weights of each reading by hand: where none changes, the verdict says so."""
    found = at(**given)
    lines = found.variants_said.split("\n")
    labels = [v for v in dict.fromkeys(label for _, label in found.effects) if v != HERE]
    assert len(lines) == len(labels) == 3
    for line, label in zip(lines, labels, strict=True):
        for place, half in zip(("this level", "little noise"), line.split(";"), strict=True):
            e = found.effects[place, label]
            assert ("changes nothing" in half) == (e.changed == 0)
            clear = abs(e.difference.value) > 4 * e.difference.error
            assert ("raises" in half) == (clear and e.difference.value > 0)
            assert ("lowers" in half) == (clear and e.difference.value < 0)
            if e.changed:
                before = found.effects[place, HERE].of_cells.value
                assert says(half, 100 * abs(e.of_cells.value - before) / before, 0.06)
    level = 1 / 20 if given["privacy"] == "pure" else 1 / 400
    assert found.finer_std == pytest.approx(
        found.case.noise.std * (level if given["privacy"] == "pure" else level**0.5)
    )
    assert says(found.twice_said, found.finer_std)
    # A bound of 0.1 in place of 1 changes nothing where no median lies below 1.
    here = [w for s in found.steps for w in s.downweight[s.low.any(axis=1)]]
    if min(here, default=2) > 1:
        assert found.effects["this level", labels[1]].changed == 0
