from __future__ import annotations

import functools

import numpy as np
import pytest
from sentences import EPSILONS, check_texts, numbers, says, texts

from microdata_price.exceptions import InputError
from microdata_price.studies.dropped_runs import Findings, study


@functools.cache
def at(epsilon: float, tables: tuple[str, ...] = ("Level00-1d", "Step16-1d")) -> Findings:
    return study(epsilon, tables, runs=12, seed=5)


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_every_sentence_is_true_of_the_runs(epsilon: float) -> None:
    found = at(epsilon)
    check_texts(texts(found).values())
    assert found.worst_certificate < 1e-7
    kept = {(t.table, t.method): int(t.kept.sum()) for t in found.trials}
    least = min(kept.values())
    if least == 12:
        assert "every run" in found.opening
    else:
        assert says(found.opening, least)
    # The sum has two query sets' share of the budget: Laplace noise of scale 2 / epsilon.
    assert says(found.variance_said, 2 * (2 / epsilon) ** 2)
    whole = [n for n in kept.values() if n == 12]
    assert (
        "keeps every run" in found.kept_all_said or "keep every run" in found.kept_all_said
    ) == (bool(whole))
    off = [np.abs(t.imitated - t.error)[t.kept].max() for t in found.trials if t.kept.any()]
    if off:
        assert numbers(found.fewest_said)[-1] >= max(off) * (1 - 1e-9)
    for t in found.trials:
        squares = t.error**2
        row = found.table[
            (found.table["table"] == t.table) & (found.table["kept"] == t.count)
        ].iloc[0]
        assert row["kept"] == f"{int(t.kept.sum())} of 12"
        assert says(str(found.table["exact fits, all runs"].tolist()), squares.mean(), rel=0.06)


@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
def test_the_words_follow_what_is_kept(share: float) -> None:
    """Whatever a solver keeps, the sentences say it: nothing, the half with low noise, all."""
    found = at(0.5)
    trials = []
    for t in found.trials:
        order = np.argsort(t.error)
        kept = np.zeros(12, dtype=bool)
        kept[order[: round(12 * share)]] = True
        trials.append(type(t)(t.table, t.method, t.error, t.error, kept))
    other = Findings(0.5, found.noise, tuple(trials), 0.0)
    check_texts(texts(other).values())
    assert ("no two groups" in other.which_said) == (share in (0.0, 1.0))
    if share == 0.5:
        own = trials[0]
        low, high = own.error[own.kept], own.error[~own.kept]
        gap = (high.mean() - low.mean()) / np.hypot(low.std(ddof=1), high.std(ddof=1)) * 6**0.5
        assert ("depends on the noise" in other.which_said) == (gap > 3) or abs(gap - 3) < 1
        assert "Too few runs are left" in other.moved_said
    assert ("loses runs" in other.kept_all_said) == (share < 1)


def test_too_little_is_refused() -> None:
    with pytest.raises(InputError, match="2 runs or more"):
        study(runs=1)
    with pytest.raises(InputError, match="0 tables"):
        study(tables=[])
