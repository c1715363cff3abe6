"""Editions, chapters, what a result depends on, and what the builder is told."""

import datetime
import json
import subprocess
from unittest.mock import Mock

import pytest

from microdata_price.base.provenance import PACKAGE, code_key
from microdata_price.book import plan
from microdata_price.book.build import stage_redirects
from microdata_price.book.plan import Edition, chapters, find_root, grid_specs, toc_entries
from microdata_price.book.run import chapter_key
from microdata_price.book.site import site_config, source_date
from microdata_price.exceptions import InputError
from microdata_price.grid.folder import manifest_of
from microdata_price.grid.spec import PAPER_EPSILONS, PAPER_RHOS, GridSpec
from tiny_book import make_notebook, make_root, ordinary


def test_editions_have_folders_and_titles_of_their_own():
    given = [{}, {"epsilon": 0.25}, {"rho": 0.25}, {"solutions": False}]
    given += [{**given[1], "rho": 0.03, "delta": 1e-8, "runs": 500}, given[1] | given[3]]
    editions = [Edition(**g) for g in given]
    assert len({e.slug for e in editions}) == len({e.title for e in editions}) == len(editions)
    assert editions[4].slug == "eps-0.25-rho-0.03-delta-1e-08-runs-500"
    # A given level replaces its kind and leaves the other.
    grids = [grid_specs(e)["grid_dir"] for e in editions]
    assert (grids[1].epsilons, grids[1].rhos) == ((0.25,), PAPER_RHOS)
    assert (grids[2].epsilons, grids[2].rhos) == (PAPER_EPSILONS, (0.25,))
    # Published comparisons stay at their level, and share the grid that has it.
    default = grid_specs(Edition())
    assert default["grid_dir"] == default["published_dir"]
    whole, published, _ = (other := grid_specs(Edition(epsilon=0.25, runs=50))).values()
    assert (whole.epsilons, published.epsilons, published.rhos) == ((0.25,), (0.5,), ())
    assert ({s.runs for s in other.values()}, len(published.datasets)) == ({50}, 16)


def test_levels_reach_the_parameters_of_their_name_and_its_plural(tmp_path):
    source = 'epsilons = [1.0, 0.5]\nrho = 0.125\npublished_epsilon = 0.5\ngrid_dir = ""'
    uses = ("code", "epsilons, rho, published_epsilon, grid_dir")
    lists = make_notebook(("text", "# B"), ("code", source, "parameters"), uses)
    root = make_root(tmp_path, {"a": ordinary(), "b": lists}, {})
    a, b = chapters(root, Edition(epsilon=0.25, delta=1e-8, runs=70))
    assert (a.values, b.values) == ({"epsilon": 0.25, "runs": 70}, {"epsilons": [0.25]})
    assert (a.folders, b.folders) == ((), ("grid_dir",))


def test_the_root_is_found_from_below_and_a_page_is_listed_once(tmp_path, monkeypatch):
    root = make_root(tmp_path, {"a": ordinary()}, {})
    assert find_root(root / "notebooks") == root.resolve()
    monkeypatch.chdir(root / "book" / "reference")
    assert find_root() == root.resolve()
    toc = root / "book" / "_toc.yml"
    toc.write_text("format: jb-book\nroot: intro\nchapters:\n- file: intro\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"cannot be used: .*intro"):
        toc_entries(root)
    # The installed package elsewhere: no book above the folder nor above the code.
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("microdata_price.book.plan.__file__", str(tmp_path / "plan.py"))
    with pytest.raises(InputError, match="no book was found"):
        find_root()


MATTERS = ["c.py", "deep.py", "sub/__init__.py", "../../data/x.csv", "sub/readme.txt"]


@pytest.mark.parametrize("changed", [*MATTERS, "other.py"])
def test_the_key_changes_with_what_matters_and_with_nothing_else(tmp_path, changed):
    package = tmp_path / "src" / PACKAGE
    files = {"__init__.py": "", "a.py": "from .sub import b", "sub/__init__.py": ""}
    files |= {"deep.py": "from . import c", "c.py": "import numpy", "other.py": ""}
    files |= {"sub/b.py": f"def g():\n    import {PACKAGE}.deep as m", "../../data/x.csv": "1"}
    for name, text in {**files, "sub/readme.txt": "{{ name }}"}.items():
        (package / name).parent.mkdir(parents=True, exist_ok=True)
        (package / name).write_text(text, encoding="utf-8")
    source = ["from microdata_price.a import b"]
    assert (before := code_key(tmp_path, source)) == code_key(tmp_path, source)
    (package / changed).write_text("f = 2", encoding="utf-8")
    assert (code_key(tmp_path, source) != before) == (changed in MATTERS)


def test_a_notebooks_key_depends_on_code_values_grid_and_files_beside_it(tmp_path):
    root = make_root(tmp_path, {"a": ordinary(), "b": ordinary(body="twice = epsilon * 2")}, {})
    (a, b), (a_other, _) = chapters(root, Edition()), chapters(root, Edition(epsilon=0.25))
    keys = [chapter_key(root, c, {}) for c in (a, b, a_other)]
    beside = root / "notebooks" / "helper.py"
    for text in ("x = 1", "x = 2"):
        beside.write_text(text, encoding="utf-8")
        keys.append(chapter_key(root, a, {}))
    assert len(set(keys)) == 5
    beside.unlink()
    for name in ("other.ipynb", ".hidden"):
        (root / "notebooks" / name).write_text("{}", encoding="utf-8")
    assert chapter_key(root, a, {"grid_dir": root}) == keys[0]


def test_old_addresses_lead_to_the_new_pages(tmp_path):
    root = make_root(tmp_path, {}, {})
    moved = "notebooks/old: notebooks/new#place\nteach/notes: teach/lesson\napi: intro\n"
    for text in ("# nothing has moved\n", moved):
        (root / "book" / "_redirects.yml").write_text(text, "utf-8")
        stage_redirects(root, tmp_path)
    new = {"notebooks/old": "new.html#place", "teach/notes": "lesson.html", "api": "intro.html"}
    for page, place in new.items():
        assert f'url={place}"' in (tmp_path / f"{page}.html").read_text("utf-8")


def test_the_date_is_that_of_the_sources_and_a_fork_shows_what_it_has_set(tmp_path, monkeypatch):
    root = make_root(tmp_path, {}, {})
    monkeypatch.delenv("SOURCE_DATE_EPOCH", raising=False)
    assert source_date(root) is None
    git = ["git", "-C", str(root), "-c", "user.name=a", "-c", "user.email=a@example.org"]
    subprocess.run([*git, "init", "-q"], check=True)
    assert source_date(root) is None
    monkeypatch.setenv("GIT_COMMITTER_DATE", "2026-03-01T12:00:00Z")
    subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", "a"], check=True)
    assert source_date(root) == datetime.date(2026, 3, 1)
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "0")
    assert source_date(root) == datetime.date(1970, 1, 1)
    assert "1 January 1970" in (told := site_config(root, "A title", "A line above"))
    path = root / "book" / "_config.yml"
    assert not [w for w in ("Remarks", "remarks", "mybinder", "repository_url") if w in told]
    path.write_text(f"{path.read_text('utf-8')}\nremarks: https://example.org/?a=1&b=2\n", "utf-8")
    assert 'href="https://example.org/?a=1&amp;b=2"' in site_config(root, "A title")


def test_a_grid_that_is_gone_is_computed_again_and_another_refused(tmp_path, monkeypatch):
    made = []
    monkeypatch.setattr(plan, "_computed", lambda _, folder: made.append(folder) or {"fits": "1"})
    given = [Mock(folders=["grid_dir"])], Edition(epsilon=0.4), tmp_path, lambda _: None
    for _ in range(2):
        plan.compute_folders(*given)
    assert made[0] == made[1]
    made[0].mkdir()
    (made[0] / "manifest.json").write_text(json.dumps(manifest_of(GridSpec())))
    with pytest.raises(InputError, match="holds the results of another grid"):
        plan.compute_folders(*given)
