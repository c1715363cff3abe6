"""The printed edition, from pages of the built site."""

import io
import unicodedata
from concurrent.futures import ThreadPoolExecutor

import pytest
from pypdf import PdfReader

from microdata_price.book.pdf import join, print_pages
from microdata_price.exceptions import InputError

PAGES = ["intro", "notebooks/difficult_table"]


@pytest.fixture(scope="module")
def printed(site):
    # In a thread of its own: in this one the other tests' browser may be at work.
    with ThreadPoolExecutor(1) as pool:
        pages = pool.submit(print_pages, site, PAGES).result()
    return PdfReader(io.BytesIO(join(site, PAGES, pages)))


def test_theorem_boxes_solutions_and_figures_are_printed(printed):
    # Normalised, since a font may write "ff" as one letter, and a line may end anywhere.
    text = unicodedata.normalize("NFKC", "\n".join(p.extract_text() for p in printed.pages))
    text = " ".join(text.split())
    told = ("The trade-off in one sentence", "Solution of Exercise 1", "Table 1.1", "Fig. 1.1")
    for words in (*told, "because that comes from the empty cells alone"):
        assert words in text
    assert "Hide code cell source" not in text
    assert [item.title for item in printed.outline] == [
        "The price of microdata",
        "1. The difficult table",
    ]


def test_links_between_pages_stay_inside_the_document(printed):
    notes = [note.get_object() for page in printed.pages for note in page.get("/Annots", [])]
    targets = [str(note.get("/A", {}).get("/URI", "")) for note in notes]
    assert not any(target.startswith("file:") for target in targets)
    assert any("/Dest" in note or note.get("/A", {}).get("/S") == "/GoTo" for note in notes)


def test_a_site_that_is_not_built_is_explained(tmp_path):
    with pytest.raises(InputError, match="has no page intro; build the site first"):
        print_pages(tmp_path, PAGES)
