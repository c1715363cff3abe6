from __future__ import annotations

from pathlib import Path

import pytest

from microdata_price.base.provenance import PACKAGE, code_files, code_key, digest
from microdata_price.book.grids import grid_specs
from microdata_price.book.plan import Edition, chapters, find_root, notebook_paths, toc_entries
from microdata_price.book.run import chapter_key
from microdata_price.exceptions import InputError
from microdata_price.grid.spec import PAPER_EPSILONS, PAPER_RHOS
from tiny_book import ROOT, make_notebook, make_root, ordinary

SRC = ROOT / "src" / PACKAGE


@pytest.mark.parametrize(
    "bad",
    [
        {"epsilon": 0},
        {"epsilon": float("nan")},
        {"rho": -1},
        {"delta": 1.0},
        {"delta": 0},
        {"runs": 1},
        {"runs": -5},
    ],
)
def test_an_edition_refuses_levels_out_of_range(bad: dict[str, float]) -> None:
    with pytest.raises(InputError, match=next(iter(bad))):
        Edition(**bad)


def test_editions_have_folders_and_titles_of_their_own() -> None:
    editions = [
        Edition(),
        Edition(epsilon=0.25),
        Edition(rho=0.25),
        Edition(epsilon=0.25, rho=0.03, delta=1e-8, runs=500),
        Edition(solutions=False),
        Edition(epsilon=0.25, solutions=False),
    ]
    assert len({e.slug for e in editions}) == len(editions)
    assert len({e.title for e in editions}) == len(editions)
    assert editions[3].slug == "eps-0.25-rho-0.03-delta-1e-08-runs-500"


def test_a_given_level_replaces_its_kind_and_leaves_the_other() -> None:
    edition = Edition(epsilon=0.25)
    assert (edition.epsilons, edition.rhos) == ((0.25,), PAPER_RHOS)
    assert Edition(rho=0.03).epsilons == PAPER_EPSILONS


def test_published_comparisons_stay_at_their_level_and_share_the_grid_that_has_it() -> None:
    default = grid_specs(Edition())
    assert default["grid_dir"] == default["published_dir"]
    other = grid_specs(Edition(epsilon=0.25, runs=50))
    assert other["grid_dir"].epsilons == (0.25,)
    assert other["published_dir"].epsilons == (0.5,)
    assert other["published_dir"].rhos == ()
    assert len(other["published_dir"].datasets) == 16
    assert {s.runs for s in other.values()} == {50}


def test_levels_reach_the_parameters_of_their_name_and_its_plural(tmp_path: Path) -> None:
    lists = make_notebook(
        ("text", "# B"),
        (
            "code",
            'epsilons = [1.0, 0.5]\nrho = 0.125\npublished_epsilon = 0.5\ngrid_dir = ""',
            "parameters",
        ),
        ("code", "epsilons, rho, published_epsilon, grid_dir"),
    )
    root = make_root(tmp_path, {"a": ordinary(), "b": lists}, {})
    a, b = chapters(root, Edition(epsilon=0.25, delta=1e-8, runs=7))
    assert a.values == {"epsilon": 0.25, "runs": 7}
    assert b.values == {"epsilons": [0.25]}
    assert (a.folders, b.folders) == ((), ("grid_dir",))


def test_every_notebook_is_checked_before_any_runs(tmp_path: Path) -> None:
    bad = make_notebook(("text", "# B"), ("code", "rho = 1.0", "parameters"), ("code", "2"))
    root = make_root(tmp_path, {"a": ordinary(), "b": bad}, {})
    with pytest.raises(InputError, match="b declares the parameter 'rho' and never reads it"):
        chapters(root, Edition())


def test_the_root_is_found_from_below_and_its_absence_explained(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = make_root(tmp_path, {"a": ordinary()}, {})
    assert find_root(root / "notebooks") == root.resolve()
    monkeypatch.chdir(root / "book" / "reference")
    assert find_root() == root.resolve()


def test_a_page_listed_twice_is_an_error(tmp_path: Path) -> None:
    root = make_root(tmp_path, {"a": ordinary()}, {})
    toc = root / "book" / "_toc.yml"
    toc.write_text("format: jb-book\nroot: intro\nchapters:\n- file: intro\n", encoding="utf-8")
    with pytest.raises(InputError, match="lists intro more than once"):
        toc_entries(root)


def test_every_page_of_the_book_is_there_or_is_written_by_the_build() -> None:
    from microdata_price.book.build import COMPUTED

    for entry in toc_entries(ROOT):
        if entry.startswith("notebooks/"):
            continue
        assert entry == COMPUTED or (ROOT / "book" / f"{entry}.md").is_file(), entry
    assert all(path.is_file() for path in notebook_paths(ROOT))


def test_code_files_follow_imports_however_deep() -> None:
    found = {
        p.relative_to(SRC).as_posix()
        for p in code_files(SRC, ["from microdata_price.page import output"])
    }
    assert {"__init__.py", "page/output.py", "page/style.py", "exceptions.py"} <= found
    assert "grid.py" not in found
    deep = code_files(SRC, ["def f():\n    import microdata_price.fitting.methods as m"])
    names = {p.relative_to(SRC).as_posix() for p in deep}
    assert {"fitting/__init__.py", "fitting/nnls.py", "optimize/dual_newton.py"} <= names
    assert code_files(SRC, ["import numpy", "from math import pi"]) == []


def make_package(home: Path) -> Path:
    package = home / "src" / PACKAGE
    (package / "sub").mkdir(parents=True)
    for name, text in {
        "__init__.py": "",
        "a.py": "from .sub import b",
        "sub/__init__.py": "",
        "sub/b.py": "from ..c import f",
        "c.py": "f = 1",
        "other.py": "",
    }.items():
        (package / name).write_text(text, encoding="utf-8")
    (home / "data").mkdir()
    (home / "data" / "x.csv").write_text("1", encoding="utf-8")
    return package


@pytest.mark.parametrize(
    ("changed", "matters"),
    [
        ("src/microdata_price/c.py", True),
        ("src/microdata_price/sub/__init__.py", True),
        ("src/microdata_price/other.py", False),
        ("data/x.csv", True),
    ],
)
def test_the_key_changes_with_what_matters_and_with_nothing_else(
    tmp_path: Path, changed: str, matters: bool
) -> None:
    make_package(tmp_path)
    source = ["from microdata_price.a import b"]
    before = code_key(tmp_path, source)
    assert code_key(tmp_path, source) == before
    (tmp_path / changed).write_text("f = 2", encoding="utf-8")
    assert (code_key(tmp_path, source) != before) == matters


def test_a_notebooks_key_depends_on_text_values_and_grid(tmp_path: Path) -> None:
    root = make_root(tmp_path, {"a": ordinary(), "b": ordinary(body="twice = epsilon * 2")}, {})
    (a, b), (a_other, _) = chapters(root, Edition()), chapters(root, Edition(epsilon=0.25))
    keys = [chapter_key(root, c, {}) for c in (a, b, a_other)]
    assert len(set(keys)) == 3
    assert chapter_key(root, a, {"grid_dir": "x"}) == keys[0]


def test_digests_tell_where_one_part_ends() -> None:
    assert digest("ab", "c") != digest("a", "bc") != digest("abc")
