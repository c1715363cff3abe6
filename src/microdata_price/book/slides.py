"""Slides from a page of the book: one section a slide, with the speaker's notes and clock.

The page ``teach/slides`` becomes a deck, with reveal.js and the look of ``book/slides/`` beside it.
"""

from __future__ import annotations

import html
import posixpath
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

from bs4 import BeautifulSoup, Tag

from ..exceptions import BuildError
from ..page.say import render as fill

PAGE = "teach/slides.html"
FOLDER = "slides"
_REVEAL = ("dist/reset.css", "dist/reveal.css", "dist/reveal.js", "plugin/notes/notes.js")


def slides(page: BeautifulSoup) -> Iterator[Tag]:
    """Yield the slides of a finished page: its title with what follows, then each section.

    A slide's fold "Say, minutes 0 to 2" becomes its notes, "Ask (1 minute)" a question with its
    time; of ``steps`` each line, and every ``fragment``, waits for a key.
    """
    clock = None
    for section in page.select("article.bd-article section"):
        section.attrs = {}
        for inner in section.find_all("section", recursive=False):
            inner.extract()
        for gone in section.select(f"a.headerlink, p:has(> a[href^='../{FOLDER}/'])"):
            gone.decompose()
        for title in section.select(".admonition > .admonition-title, details > summary"):
            box, said = title.parent or title, title.get_text().strip()
            if minutes := re.match(r"Say, minutes (\d+) to (\d+)", said):
                begin, end = map(int, minutes.groups())
                if clock not in (None, begin):
                    raise BuildError(f"slides: {said!r} follows minute {clock}; let it begin there")
                clock = end
                section["data-timing"] = str(60 * (end - begin))
                box.name, title.name = "aside", "p"
                box.attrs, title.attrs = {"class": "notes"}, {}
                title.string = f"Minutes {begin} to {end}."
            elif pause := re.match(r"Ask \((.*)\)", said):
                box["class"], title["class"] = "ask", "pause"
                title.string = f"Think: {pause[1]}"
                box.append(title.extract())
        for step in section.select(".steps li"):
            step["class"] = "fragment"
        for picture in section.select(".wide-figure"):
            picture["class"], section["class"] = "picture", "pictured"
        for link in section.select("a[href]"):
            if not re.match("#|[a-z]+:", str(link["href"])):
                place = posixpath.join(posixpath.dirname(PAGE), str(link["href"]))
                link["href"] = posixpath.relpath(place, FOLDER)
        yield section


def write_deck(site: Path, look: Path, reveal: Path) -> None:
    """Make the deck of a finished site, if it has the page, with its look and with reveal.js."""
    path = site / PAGE
    if not path.is_file():
        return
    page = BeautifulSoup(path.read_text(encoding="utf-8"), "html.parser")
    title = page.title.get_text().split(" — ")[-1] if page.title else ""
    (site / FOLDER).mkdir()
    for file in [*look.iterdir(), *(reveal / name for name in _REVEAL)]:
        shutil.copyfile(file, site / FOLDER / file.name)
    told = {"title": html.escape(title), "slides": "\n".join(map(str, slides(page)))}
    text = fill((look / "index.html").read_text(encoding="utf-8"), told)
    (site / FOLDER / "index.html").write_text(f"{text}\n", encoding="utf-8")
