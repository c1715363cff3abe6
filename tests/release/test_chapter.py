"""What the chapter on one's own table says."""

import functools
import json
import re
from pathlib import Path

import numpy as np
import pytest
from sentences import EPSILONS, check_texts, numbers, says, texts

from microdata_price.fitting import METHODS
from microdata_price.model.privacy import PureDP
from microdata_price.release import chapter, publish, release_again
from microdata_price.release.measure import measure_privately
from microdata_price.tables.schema import Schema
from microdata_price.tables.table_text import table_text

MICRO = [m for m, method in METHODS.items() if not method.signed]


@functools.cache
def at(epsilon):
    return chapter.study(epsilon=epsilon, runs=40, seed=3)


@pytest.mark.parametrize("epsilon", [*EPSILONS, 0.001])
def test_every_sentence_is_recomputed_from_the_price(epsilon):
    found = at(epsilon)
    check_texts(texts(found).values())
    table = found.priced.totals
    made = table[(table["metric"] == "total") & table["method"].isin(MICRO)]
    top = made["squared_error"] / made["ols"]
    assert says(found.opening, top.max(), rel=0.1)
    # What differs from signed answers by rounding alone neither pays nor gains.
    off, error = made["squared_error"] - made["ols"], 4 * made["standard_error"]
    dust = 1e-6 * made["ols"]
    pay, gain = int((off > error + dust).sum()), int((-off > error + dust).sum())
    assert ("highest price of microdata on a query set" in found.opening) == (pay > 0)
    free = bool((off + error <= dust).all())
    assert ("are free" in found.opening) == free
    assert ("not settled" in found.opening) == (not free and pay == 0)
    assert f"{len(made)} pairs" in found.verdict
    assert f"{pay} of them pay and {gain} gain" in found.verdict
    assert not any("0000" in text for text in texts(found).values())
    assert f"{int((found.truth == 0).sum())} are empty" in found.counts_picture.text
    drawn = found.finest[found.finest["method"].isin(MICRO)]
    above = int((drawn["squared_error"] > drawn["ols"]).sum())
    assert says(found.finest_picture.text, above)
    assert says(found.finest_picture.text, len(drawn))
    assert ("and not at" in found.level_said) == (not chapter.LOWEST <= epsilon <= chapter.HIGHEST)
    assert len(found.worst_table) == 3 * made["method"].nunique()


def test_ones_own_table_is_called_confidential(tmp_path):
    schema = Schema(("kind",), (("a", "b"),))
    path = tmp_path / "mine.csv"
    path.write_text(table_text(schema, np.array([1, 0])))
    found = chapter.study(str(path), workload="sum, identity", runs=8)
    check_texts(texts(found).values())
    assert "confidential" in found.opening
    assert "invented" not in found.opening
    # A few runs settle nothing, and nothing is said to be free for want of runs.
    made = found.totals[found.totals["method"].isin(MICRO)]
    high = made["price"] + 4 * made["price_error"]
    assert ("are free" in found.opening) == bool((high <= 1 + 1e-6).all())
    assert "1 record in 2 cells, of which 1 is empty" in found.counts_picture.text


@pytest.mark.parametrize("epsilon", [0.05, 0.5, chapter.HIGHEST])
def test_a_release_is_told_as_it_is(epsilon, tmp_path):
    found = at(0.5)
    measured = measure_privately(found.truth, found.schema, found.workload, PureDP(epsilon))
    made = publish(measured, "nnls", tmp_path / "one", draws=0)
    one = chapter.OneRelease(found.truth, made)
    check_texts(texts(one).values())
    assert says(one.picture.text, sum(int(v) < 0 for v in measured.answers[-1]))
    cells = list(zip(found.truth.ravel(), made.rounded.table.ravel(), strict=True))
    lost, born = sum(t > 0 and w == 0 for t, w in cells), sum(t == 0 and w > 0 for t, w in cells)
    assert numbers(one.said)[:2] == [lost, born]
    assert numbers(one.said)[2:] == [
        sum(t for t, _ in cells),
        measured.answers[0][0],
        sum(w for _, w in cells),
    ]
    moved = abs(made.rounded.table - made.weights)
    assert moved.max() <= numbers(one.rounding_said)[-1] + 1e-9
    release_again(tmp_path / "one", "maxfit", tmp_path / "two", draws=0)
    said = chapter.together_said([tmp_path / "one", tmp_path / "two"])
    assert said.startswith("Of these 2 folders 1 count")
    assert says(said, epsilon)


def test_the_trend_is_chosen_by_the_prices():
    assert "price falls" in chapter.trend_said(3.0, 2.0, 2.0)
    assert "price rises" in chapter.trend_said(2.0, 3.0, 3.0)
    assert "hardly changes" in chapter.trend_said(1.141, 1.1405, 1.1405)


def test_the_plain_text_is_true_of_ones_own_table_too():
    """Plain text cannot know whose table is priced: it says "unless"."""
    path = Path(__file__).parents[2] / "notebooks" / "your_own_table.ipynb"
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    text = "\n".join("".join(c["source"]) for c in cells if c["cell_type"] == "markdown")
    priced, heading, _ = text.partition("## A release, step by step")
    assert heading
    said = [s for s in re.split(r"(?<=[.!?])\s", priced) if "invented" in s]
    assert len(said) == 1
    assert "unless it is given another" in said[0]
