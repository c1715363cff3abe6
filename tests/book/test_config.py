"""What the builder is told: version and date, a fork's addresses."""

import datetime
import subprocess

import pytest
import yaml

from microdata_price.book.site import site_config, source_date
from tiny_book import make_root


@pytest.fixture
def root(tmp_path):
    return make_root(tmp_path, {}, {})


def test_the_date_is_that_of_the_sources(root, monkeypatch):
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
    assert "1 January 1970" in site_config(root, "A title")


def configured(root, **own):
    path = root / "book" / "_config.yml"
    config = {**yaml.safe_load(path.read_text(encoding="utf-8")), **own}
    path.write_text(yaml.safe_dump(config), encoding="utf-8")
    return site_config(root, "A title", "A line above")


def test_a_fork_shows_what_it_has_set_alone(root):
    told = configured(root)
    assert not [w for w in ("Remarks", "remarks", "mybinder", "repository_url") if w in told]
    told = configured(root, remarks="https://example.org/?a=1&b=2")
    assert 'href="https://example.org/?a=1&amp;b=2"' in told
