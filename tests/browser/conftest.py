"""A browser and the built sites for the tests that need them."""

import shutil
from pathlib import Path

import pytest
from browser_pages import FLAGS, ROOT, address, opened
from playwright.sync_api import sync_playwright

from microdata_price.book.build import default_site
from microdata_price.book.plan import Edition


def pytest_collection_modifyitems(items):
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.browser)


def _built(edition, how):
    folder = default_site(ROOT, edition)
    assert (folder / "index.html").is_file(), f"{folder} is not built: run {how} first"
    return folder


@pytest.fixture(scope="session")
def site():
    """The default site."""
    return _built(Edition(), "make book")


@pytest.fixture(scope="session")
def students():
    """The students' edition."""
    return _built(Edition(solutions=False), "make book SOLUTIONS=no")


@pytest.fixture(scope="session")
def chromium():
    path = shutil.which("chromium")
    assert path, "Debian's chromium is needed: apt-get install chromium"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=path, args=[f"--{flag}" for flag in FLAGS.split()]
        )
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def desk(chromium, site):
    """The explorer at a desk."""
    with opened(chromium, address(site, "explorer/index"), accept_downloads=True) as page:
        yield page


@pytest.fixture(scope="module")
def phone(chromium, site):
    """The explorer on a phone."""
    url = address(site, "explorer/index")
    with opened(chromium, url, width=390, has_touch=True, is_mobile=True) as page:
        yield page
