"""Text whose shape a result decides, and files to download: from outputs to the page."""

from __future__ import annotations

from pathlib import Path

import nbformat
import pytest

from microdata_price.book import build as book
from microdata_price.book import notebook
from microdata_price.book.plan import Edition
from microdata_price.book.quote import Found
from microdata_price.book.run import Run
from microdata_price.book.stage import download, files, page
from microdata_price.exceptions import BuildError, InputError
from microdata_price.page.prose import block, file
from microdata_price.page.style import METADATA_KEY
from tiny_book import make_notebook


def display(about: dict[str, object]) -> nbformat.NotebookNode:
    return nbformat.v4.new_output(
        "display_data", data={"text/plain": "shown"}, metadata={METADATA_KEY: about}
    )


def executed(*outputs: dict[str, object]) -> nbformat.NotebookNode:
    nb = make_notebook(("text", "# Title"), ("code", "x = 1", "parameters"), ("code", "print(x)"))
    nb.cells[2].outputs = [display(o) for o in outputs]
    return nb


CSV = {"file": {"name": "errors.csv", "content": "a,b\n1,2\n", "label": "All errors"}}


def test_blocks_stand_on_the_page_in_their_order() -> None:
    found = Found(quoted={"chapter": {"n": "42"}})
    nb = executed({"block": "## First\n\n{glue:text}`n` lines."}, CSV, {"block": "## Second"})
    cells = page("chapter", nb, {}, found, solutions=True).cells
    texts = [c.source for c in cells if c.cell_type == "markdown"]
    assert texts[1] == "## First\n\n42 lines."
    assert "{download}`All errors <../downloads/errors.csv>`" in texts[2]
    assert texts[3] == "## Second"
    assert ("chapter", "n") in found.uses
    assert all(not c.outputs for c in cells if c.cell_type == "code")


def test_a_block_that_quotes_what_is_not_defined_fails() -> None:
    with pytest.raises(BuildError, match="nothing"):
        page("chapter", executed({"block": "{glue:text}`nothing`"}), {}, Found(), solutions=True)


def test_files_are_offered_once_and_not_carried_in_the_notebook() -> None:
    nb = executed(CSV)
    assert files(nb) == {"errors.csv": "a,b\n1,2\n"}
    copy = download("chapter", nb, {}, Found(), solutions=True)
    assert all(not c.outputs for c in copy.cells if c.cell_type == "code")


def test_files_are_written_where_the_page_links(tmp_path: Path) -> None:
    notebook.write(executed(CSV), tmp_path / "executed.ipynb")
    run = Run("chapter", tmp_path / "executed.ipynb", 1.0, "2026-01-01", {}, {})
    book.stage_notebooks(Edition(), [run], Found(), tmp_path / "staged")
    assert (tmp_path / "staged" / "downloads" / "errors.csv").read_text() == "a,b\n1,2\n"


@pytest.mark.parametrize("name", ["", "errors", "Errors.csv", "../errors.csv", "a b.csv"])
def test_bad_file_names_are_refused(name: str) -> None:
    with pytest.raises(InputError, match="file's name"):
        file(name, "a", "the errors")


def test_nothing_is_no_block_and_no_file() -> None:
    with pytest.raises(InputError, match="empty"):
        block("  \n")
    with pytest.raises(InputError, match="empty"):
        file("a.csv", "", "the errors")
