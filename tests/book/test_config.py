"""What the builder is told: version and date, a fork's addresses."""

from __future__ import annotations

import datetime
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml
from bs4 import BeautifulSoup

from microdata_price.book import notebook
from microdata_price.book.config import site_config, source_date
from microdata_price.book.site import remote_requests, run_builder
from tiny_book import make_notebook, make_root


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return make_root(tmp_path, {}, {})


def configured(root: Path, **own: object) -> dict[str, object]:
    """Return what the theme is told; it is there that the builder takes all of it from."""
    path = root / "book" / "_config.yml"
    config = yaml.safe_load(path.read_text(encoding="utf-8"))
    path.write_text(yaml.safe_dump({**config, **own}), encoding="utf-8")
    told = yaml.safe_load(site_config(root, "A title", None))
    assert "remarks" not in told
    return dict(told["sphinx"]["config"]["html_theme_options"])


def test_the_date_is_that_of_the_sources(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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
    assert "1 January 1970" in site_config(root, "A title", None)


def test_nothing_is_shown_of_what_a_fork_has_not_set(root: Path) -> None:
    told = configured(root)
    assert "Remarks" not in str(told["extra_footer"])
    assert not {"use_repository_button", "launch_buttons", "repository_url"} & set(told)


def test_a_forks_addresses_are_shown(root: Path) -> None:
    told = configured(
        root,
        remarks="https://example.org/?a=1&b=2",
        repository={"url": "https://example.org/a/b", "branch": "main"},
    )
    assert 'href="https://example.org/?a=1&amp;b=2"' in str(told["extra_footer"])
    assert told["use_repository_button"]
    assert told["launch_buttons"]


def test_a_fork_gets_its_buttons_and_its_foot(root: Path, tmp_path: Path) -> None:
    configured(
        root,
        remarks="me@example.org",
        repository={"url": "https://github.com/example/book", "branch": "main"},
    )
    staged = tmp_path / "staged"
    (staged / "_extra").mkdir(parents=True)
    shutil.copyfile(root / "book" / "references.bib", staged / "references.bib")
    (staged / "intro.md").write_text("# Welcome\n\nText.\n", encoding="utf-8")
    notebook.write(make_notebook(("text", "# A chapter\n\nText.")), staged / "notebooks/a.ipynb")
    toc = {"format": "jb-book", "root": "intro", "chapters": [{"file": "notebooks/a"}]}
    (staged / "_toc.yml").write_text(yaml.safe_dump(toc), encoding="utf-8")
    config = site_config(root, "A title", None)
    (staged / "_config.yml").write_text(config, encoding="utf-8")
    built = run_builder(staged, tmp_path / "out", strict=True)
    assert remote_requests(built) == []
    page = BeautifulSoup((built / "notebooks/a.html").read_text(encoding="utf-8"), "html.parser")
    links = [str(a["href"]) for a in page.find_all("a", href=True)]
    for host in ("https://mybinder.org/", "https://colab.research.google.com/"):
        found = [link for link in links if link.startswith(host)]
        assert found
        assert all(link.endswith("notebooks/a.ipynb") for link in found), found
    assert "https://github.com/example/book" in links
    foot = page.find(class_="extra_footer")
    assert foot is not None
    assert "Version" in foot.get_text()
    assert "mailto:me@example.org" in links
