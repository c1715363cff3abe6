"""Print a built site with Chromium: ``python -m microdata_price.book.pdf [SITE [PDF]]``."""

from __future__ import annotations

import io
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import unquote, urlsplit

from ..base.files import write_whole
from ..exceptions import BuildError, InputError
from .build import default_site
from .plan import Edition, find_root, toc_entries

# Proofs open and the page turns light by itself when it is printed.
_WHOLE = """async () => {
    for (const image of document.images) { image.loading = "eager"; }
    await Promise.all([...document.images].map(image => image.decode().catch(() => null)));
    await window.MathJax?.startup?.promise;
}"""


def print_pages(site: Path, pages: Sequence[str]) -> list[bytes]:
    """Print pages of a built site, each to a PDF of its own."""
    missing = [name for name in pages if not (site / f"{name}.html").is_file()]
    if missing:
        raise InputError(f"{site} has no page {missing[0]}; build the site first with make book")
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        chromium = None
    if chromium is None:
        raise BuildError(
            "printing needs Chromium and Playwright; on Debian: apt-get install chromium, and "
            "make install"
        )
    printed = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=chromium, args=["--no-sandbox", "--disable-gpu"]
        )
        page = browser.new_page(color_scheme="light")
        page.emulate_media(media="print")
        for name in pages:
            page.goto((site / f"{name}.html").as_uri())
            page.evaluate(_WHOLE)
            sheets = page.pdf(
                format="A4",
                print_background=True,
                scale=0.85,
                margin={"top": "18mm", "bottom": "18mm", "left": "16mm", "right": "16mm"},
            )
            printed.append(sheets)
        browser.close()
    return printed


def join(site: Path, pages: Sequence[str], printed: Sequence[bytes]) -> bytes:
    """Join printed pages to one document with an outline; links between pages stay links."""
    from pypdf import PdfReader, PdfWriter
    from pypdf.annotations import Link
    from pypdf.generic import Fit

    writer = PdfWriter()
    first: dict[Path, int] = {}
    for name, content in zip(pages, printed, strict=True):
        reader = PdfReader(io.BytesIO(content))
        first[(site / f"{name}.html").resolve()] = len(writer.pages)
        said = reader.metadata.title if reader.metadata else None
        writer.append(reader, (said or name).split(" — ")[0], import_outline=False)
    for number, sheet in enumerate(writer.pages):
        notes = [(r, r.get_object()) for r in sheet.get("/Annots", [])]
        parts = [urlsplit(str(note.get("/A", {}).get("/URI", ""))) for _, note in notes]
        if notes:
            sheet["/Annots"].clear()  # type: ignore[attr-defined]
        for (reference, note), part in zip(notes, parts, strict=True):
            target = first.get(Path(unquote(part.path)).resolve())
            if part.scheme != "file":
                sheet["/Annots"].append(reference)  # type: ignore[attr-defined]
            elif target is not None:
                link = Link(rect=note["/Rect"], target_page_index=target, fit=Fit.fit())
                writer.add_annotation(number, link)
    buffer = io.BytesIO()
    writer.write(buffer)
    return buffer.getvalue()


def main(site: str = "", pdf: str = "") -> Path:
    """Print a built book to a file, by default the book's beside it; return the PDF's path."""
    root = find_root()
    place, pages = Path(site or default_site(root, Edition())).resolve(), toc_entries(root)
    target = Path(pdf or place.parent / "the-price-of-microdata.pdf")
    write_whole(target, join(place, pages, print_pages(place, pages)))
    return target


if __name__ == "__main__":
    try:
        print(main(*sys.argv[1:3]))
    except (BuildError, InputError) as error:
        print(f"microdata-price: {error}", file=sys.stderr)
        sys.exit(2 if isinstance(error, InputError) else 1)
