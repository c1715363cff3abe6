"""The explorer's draws against the package, its page, its folder and its cache."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest

from explorer_data import EDITION, SOURCES, package_bounds, read_data, small_explorer
from microdata_price.base.numbers import at_least, format_number
from microdata_price.book.plan import Edition
from microdata_price.errors.known import ols_variances
from microdata_price.exceptions import InputError
from microdata_price.explorer import build as explorer
from microdata_price.explorer.bounds import COUNTS, DELTAS, EPSILONS, POINTS, RHOS, SUMS
from microdata_price.explorer.draws import DRAWS, SCALE, TABLES, draws_of, level_key, story_draw
from microdata_price.explorer.plane import Setting
from microdata_price.fitting import METHODS, fit
from microdata_price.model.privacy import ConcentratedDP, PureDP
from microdata_price.model.workload import Workload
from microdata_price.theory.upper.projection import project


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return small_explorer(tmp_path_factory)


@pytest.fixture(scope="module")
def plane(built: Path) -> dict[str, Any]:
    return read_data(built, "plane")


@pytest.fixture(scope="module")
def draws(built: Path) -> dict[str, Any]:
    return read_data(built, "draws")


def test_levels_of_an_edition_become_stops_and_the_start() -> None:
    start = explorer.setting_of(Edition(epsilon=0.37, rho=0.03, delta=1e-8, runs=10))
    assert (start.epsilon, start.rho, start.delta) == (0.37, 0.03, 1e-8)
    assert explorer.setting_of(Edition()) == Setting()
    for name, stops in (("epsilon", EPSILONS), ("rho", RHOS), ("delta", DELTAS)):
        assert getattr(Setting(), name) in stops
    assert Setting().d in POINTS
    assert Setting().sum in SUMS
    assert 1.0 in COUNTS


# The draws


def test_draws_on_the_page_are_those_of_the_package(draws: dict[str, Any]) -> None:
    assert [m["key"] for m in draws["methods"]] == list(METHODS)
    for guarantee, key in ((PureDP(0.5), "epsilon-0.5"), (ConcentratedDP(0.125), "rho-0.125")):
        for table in TABLES:
            run = draws["runs"][f"{table.key}|{key}"]
            measured = draws_of(table, guarantee, DRAWS, "shown")
            want = {"noisy": np.concatenate(measured.answers, axis=1)}
            want |= {m: fit(measured, m).cells for m in METHODS}
            for name, values in want.items():
                packed = (run["noisy"] if name == "noisy" else run["fits"][name])["packed"]
                back = np.cumsum([int(x) for x in packed.split(",")]) / SCALE
                assert np.abs(back.reshape(values.shape) - values).max() <= 0.5001 / SCALE
                if name not in ("noisy", "ols"):
                    assert back.min() >= 0
                if name != "noisy":
                    errors = values.sum(axis=1) - table.counts.sum()
                    assert run["range"][0] <= errors.min()
                    assert errors.max() <= run["range"][1]


def test_expected_errors_agree_with_what_is_known_exactly(draws: dict[str, Any]) -> None:
    for level in draws["levels"]:
        variances = [level["std"] ** 2] * 4
        exact = ols_variances(Workload.table((4, 6)), variances)
        for table in TABLES:
            found = draws["runs"][f"{table.key}|{level['key']}"]["expected"]["ols"]
            for name, want in (("sum", exact[0].sum()), ("cells", exact[-1].sum())):
                assert abs(found[name] - want) < 5 * found[f"{name}_error"]


def test_shown_and_expected_draws_are_different() -> None:
    first, second = (draws_of(TABLES[0], PureDP(0.5), 5, part) for part in ("shown", "expected"))
    assert not np.isclose(first.answers[3], second.answers[3]).any()


def test_every_fit_is_certified(draws: dict[str, Any]) -> None:
    assert 0 <= draws["worst_certificate"] <= 1e-7


# The story


def test_a_count_pays_in_the_draw_that_the_story_tells(draws: dict[str, Any]) -> None:
    stories = {level["key"]: level["story"] for level in draws["levels"]}
    assert stories["epsilon-0.5"] in (7, 25, 37)
    for guarantee in (PureDP(0.5), ConcentratedDP(0.125), PureDP(3.0), PureDP(0.05)):
        measured, counts = draws_of(TABLES[0], guarantee, DRAWS, "shown"), TABLES[0].counts
        at = story_draw(measured, counts) - 1
        cells, total = measured.answers[3][at], measured.answers[0][at, 0]
        clipped = np.maximum(cells, 0)
        kept = project(cells[None], np.array([max(total, 0.0)]))[0]
        assert abs(kept[0] - 7) > abs(clipped[0] - 7) + 1
        assert abs(kept.sum() - 7) < abs(clipped.sum() - 7)
        assert stories.get(level_key(guarantee), at + 1) == at + 1


def test_without_such_a_draw_the_story_tells_the_first() -> None:
    quiet = draws_of(TABLES[0], PureDP(1000.0), DRAWS, "shown")
    assert story_draw(quiet, TABLES[0].counts) == 1


# The page


def test_the_page_says_what_the_package_says(built: Path, plane: dict[str, Any]) -> None:
    guarantee = PureDP(0.5)
    sharpest, unit = ("channel", "first_moment"), guarantee.signed_error
    bounds = package_bounds(guarantee, 10_000, sum_error=unit)
    text = (built / "index.html").read_text(encoding="utf-8")
    assert f"a count that errs by {at_least(max(bounds[k] for k in sharpest))} or more" in text
    first, printed = (
        next(
            d
            for d in plane["points"]
            if max(package_bounds(guarantee, d, sum_error=unit)[k] for k in names) > unit
        )
        for names in (sharpest, ("printed",))
    )
    said = re.search(r"<var>d</var> = ([\d,]+), the printed one at ([^:]+):", text)
    assert said
    assert said.groups() == (format_number(first), format_number(printed))
    assert not re.search(r"\{[{%]", text)


def test_a_page_that_asks_for_what_is_not_there_is_refused() -> None:
    with pytest.raises(InputError, match="cannot be filled in"):
        explorer.fill("<p>{{ unknown }}</p>", {"known": 1})


def test_the_folder_is_built_whole(built: Path) -> None:
    made = {"plane-data.js", "draws-data.js", "static.svg", "colours.css"}
    names = {p.name for p in SOURCES.iterdir()} | made
    assert {p.name for p in built.iterdir()} == names
    text = (built / "index.html").read_text(encoding="utf-8")
    for source in re.findall(r'(?:src|href)="([^"#:]+)"', text):
        assert (built / source).is_file() or source == "../index.html", source
    assert "prefers-color-scheme: dark" in (built / "static.svg").read_text(encoding="utf-8")
    plane = read_data(built, "plane")
    assert plane["start"]["epsilon"] == EDITION.epsilon
    assert EDITION.epsilon in plane["modes"]["pure"]["levels"]
    assert EDITION.rho in plane["modes"]["zcdp"]["levels"]
    levels = read_data(built, "draws")["levels"]
    assert [level["key"] for level in levels] == ["epsilon-0.5", "rho-0.125"]


def test_a_folder_is_never_written_over(built: Path) -> None:
    with pytest.raises(InputError, match="exists already"):
        explorer.build_explorer(built, SOURCES, EDITION)


def test_scripts_need_no_module_no_fetch_and_no_network() -> None:
    for path in SOURCES.iterdir():
        text = path.read_text(encoding="utf-8")
        for word in ("fetch(", "XMLHttpRequest", "import(", 'type="module"', "https://", "@import"):
            assert word not in text, (path.name, word)
        assert "http://" not in text.replace("http://www.w3.org/2000/svg", ""), path.name


def test_a_failed_build_leaves_nothing(
    plane: dict[str, Any],
    draws: dict[str, Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(explorer, "plane_data", Mock(return_value=plane))
    monkeypatch.setattr(explorer, "draws_data", Mock(return_value=draws))
    monkeypatch.setattr(explorer, "numbers_said", Mock(return_value={}))
    with pytest.raises(InputError, match="cannot be filled in"):
        explorer.build_explorer(tmp_path / "explorer", SOURCES, EDITION)
    assert list(tmp_path.iterdir()) == []


def test_it_is_computed_again_only_when_something_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    built: list[Edition] = []

    def build(folder: Path, _sources: Path, edition: Edition) -> None:
        built.append(edition)
        folder.mkdir()

    root = Path(__file__).parents[2]
    monkeypatch.setattr(explorer, "build_explorer", build)
    first = explorer.explorer_folder(root, Edition(), tmp_path / "cache")
    assert explorer.explorer_folder(root, Edition(runs=50), tmp_path / "cache") == first
    assert explorer.explorer_folder(root, Edition(solutions=False), tmp_path / "cache") == first
    other = explorer.explorer_folder(root, Edition(epsilon=0.2), tmp_path / "cache")
    assert other != first
    assert built == [Edition(), Edition(epsilon=0.2)]
