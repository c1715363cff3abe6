"""The explorer's draws against the package, its page, its folder and its cache."""

from unittest.mock import Mock, call

import numpy as np
import pytest

from explorer_data import EDITION, SOURCES, package_bounds, read_data, small_explorer
from microdata_price.base.numbers import at_least, format_number
from microdata_price.book.plan import Edition
from microdata_price.chapters.explorer.bounds import POINTS
from microdata_price.chapters.explorer.draws import DRAWS, PER_RECORD, TABLES, draws_of, story_draw
from microdata_price.errors.known import ols_variances
from microdata_price.exceptions import InputError
from microdata_price.explorer import build as explorer
from microdata_price.fitting import METHODS, fit
from microdata_price.model.privacy import ConcentratedDP, PureDP
from microdata_price.model.workload import Workload
from microdata_price.theory.upper.projection import project

OF_EDITION = {"epsilon-0.5": PureDP(0.5), "rho-0.125": ConcentratedDP(0.125)}


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    return small_explorer(tmp_path_factory)


def test_draws_on_the_page_are_those_of_the_package_and_their_errors_the_exact_ones(built):
    draws = read_data(built, "draws")
    assert 0 <= draws["worst_certificate"] <= 1e-7
    for key, guarantee in OF_EDITION.items():
        for table in TABLES:
            run = draws["runs"][f"{table.key}|{key}"]
            measured = draws_of(table, guarantee, DRAWS, "shown")
            want = {"noisy": np.concatenate(measured.answers, axis=1)}
            want |= {m: fit(measured, m).cells for m in METHODS}
            for name, values in want.items():
                packed = {"noisy": run["noisy"], **run["fits"]}[name]["packed"]
                back = np.cumsum([int(x) for x in packed.split(",")]) / PER_RECORD
                assert np.abs(back.reshape(values.shape) - values).max() <= 0.5001 / PER_RECORD
                assert name in ("noisy", "ols") or back.min() >= 0
                off = values.sum(axis=1) - table.counts.sum()
                low, high = run["range"]
                assert name == "noisy" or low <= off.min() <= off.max() <= high
    for level in draws["levels"]:
        exact = ols_variances(Workload.table((4, 6)), [level["std"] ** 2] * 4)
        for table in TABLES:
            found = draws["runs"][f"{table.key}|{level['key']}"]["expected"]["ols"]
            for name, want in (("sum", exact[0].sum()), ("cells", exact[-1].sum())):
                assert abs(found[name] - want) < 5 * found[f"{name}_error"]
    first, second = (draws_of(TABLES[0], PureDP(0.5), 5, part) for part in ("shown", "expected"))
    assert not np.isclose(first.answers[3], second.answers[3]).any()


def test_a_count_pays_in_the_draw_that_the_story_tells(built):
    stories = {level["key"]: level["story"] for level in read_data(built, "draws")["levels"]}
    assert stories["epsilon-0.5"] in (7, 25, 37)
    counts = TABLES[0].counts
    for key, guarantee in {**OF_EDITION, "epsilon-3": PureDP(3.0)}.items():
        measured = draws_of(TABLES[0], guarantee, DRAWS, "shown")
        at = story_draw(measured, counts) - 1
        cells, total = measured.answers[3][at], measured.answers[0][at, 0]
        clipped = np.maximum(cells, 0)
        kept = project(cells[None], np.array([max(total, 0.0)]))[0]
        assert abs(kept[0] - 7) > abs(clipped[0] - 7) + 1
        assert abs(kept.sum() - 7) < abs(clipped.sum() - 7)
        assert stories.get(key, at + 1) == at + 1
    # Without such a draw it tells the first.
    assert story_draw(draws_of(TABLES[0], PureDP(1000.0), DRAWS, "shown"), counts) == 1


def test_the_folder_is_whole_and_the_page_says_what_the_package_says(built):
    made = {"plane-data.js", "draws-data.js", "static.svg", "colours.css"}
    assert {p.name for p in built.iterdir()} == {p.name for p in SOURCES.iterdir()} | made
    sharpest, unit = ("channel", "first_moment"), PureDP(0.5).signed_error
    every = {d: package_bounds(PureDP(0.5), d, sum_error=unit) for d in POINTS}
    text = (built / "index.html").read_text(encoding="utf-8")
    least = at_least(max(every[10_000][k] for k in sharpest))
    assert f"whose total errs no more must have a count that errs by {least} or more" in text
    said = ("signed answers’ error at the stop <var>d</var> = {},", "the printed one at {}:")
    for names, words in zip((sharpest, ("printed",)), said, strict=True):
        first = next(d for d in POINTS if max(every[d][k] for k in names) > unit)
        assert words.format(format_number(first)) in text
    assert "prefers-color-scheme: dark" in (built / "static.svg").read_text(encoding="utf-8")
    plane = read_data(built, "plane")  # whose stops have the edition's levels
    assert plane["start"]["epsilon"] == EDITION.epsilon in plane["modes"]["pure"]["levels"]
    assert EDITION.rho in plane["modes"]["zcdp"]["levels"]


def test_a_folder_is_not_written_over_and_a_failed_one_leaves_nothing(built, tmp_path, monkeypatch):
    for name in ("plane", "draws"):
        monkeypatch.setattr(explorer, f"{name}_data", Mock(return_value=read_data(built, name)))
    with pytest.raises(InputError, match="exists already"):
        explorer.build_explorer(built, SOURCES, EDITION)
    monkeypatch.setattr(explorer, "fill", Mock(side_effect=InputError("cannot be filled in")))
    with pytest.raises(InputError, match="cannot be filled in"):
        explorer.build_explorer(tmp_path / "explorer", SOURCES, EDITION)
    assert list(tmp_path.iterdir()) == []


def test_it_is_computed_again_only_when_something_changed(tmp_path, monkeypatch):
    build = Mock(side_effect=lambda folder, *_, **__: folder.mkdir())
    monkeypatch.setattr(explorer, "build_explorer", build)
    editions = (Edition(), Edition(runs=50), Edition(solutions=False), Edition(epsilon=0.2))
    root, cache, say = SOURCES.parents[1], tmp_path / "cache", Mock()
    first, again, plain, other = (explorer.explorer_folder(root, e, cache, say) for e in editions)
    assert first == again == plain != other
    assert [made.args[2] for made in build.mock_calls] == [editions[0], editions[3]]
    assert say.mock_calls == [call("computing the explorer's numbers, which takes minutes")] * 2


def test_of_two_builds_at_once_the_slower_takes_what_the_quicker_made(tmp_path):
    def late(folder, _sources):
        folder.mkdir()
        raise InputError("exists already")

    given = (SOURCES.parents[1], "explorer", "microdata_price.explorer.dice")
    assert explorer.kept_folder(*given, 1, tmp_path, late).is_dir()
    with pytest.raises(InputError, match="no such level"):
        explorer.kept_folder(*given, 2, tmp_path, Mock(side_effect=InputError("no such level")))
