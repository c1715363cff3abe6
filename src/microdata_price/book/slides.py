"""Slides from a page of the book: one section a slide, its admonitions as speaker notes.

The page ``teach/slides.md`` is written once. The book shows it as a page to read; this module makes
a deck of it that works from a folder, with reveal.js and MathJax beside it.
"""

from __future__ import annotations

import html
import importlib.util
import re
import shutil
from dataclasses import dataclass
from pathlib import Path

from markdown_it import MarkdownIt
from mdit_py_plugins.dollarmath import dollarmath_plugin

from ..exceptions import BuildError

PAGE = "teach/slides.md"
FOLDER = "slides"
_REVEAL = (
    "dist/reset.css",
    "dist/reveal.css",
    "dist/reveal.js",
    "plugin/notes/notes.js",
)
_NOTE = re.compile(r"^(:{3,})\{admonition\} Say\n(.*?)^\1[ \t]*$", re.DOTALL | re.MULTILINE)
_IMAGE = re.compile(
    r'^```\{image\} (?:\.\./)*images/(?P<file>\S+)\n:alt: "(?P<alt>[^"\n]*)"\n'
    r"(?:\S.*\n)*?```[ \t]*$",
    re.MULTILINE,
)
_LINK = re.compile(r"\[([^\]]*)\]\(([^)\s]+?)\.(?:ipynb|md)\)")
_TO_DECK = re.compile(r"^<a href=\"\.\./slides/.*\n(?:\S.*\n)*", re.MULTILINE)
"""The paragraph by which the page leads to the deck; in the deck it would lead nowhere."""
_DIRECTIVE = re.compile(r"^(?:`{3,}|:{3,})\{", re.MULTILINE)
_ROLE = re.compile(r"\{[a-z:-]+\}`")

_STYLE = """
:root { --ink: #1a1a1a; --accent: #0b5a99; }
.reveal { font-family: system-ui, -apple-system, "Segoe UI", sans-serif; font-size: 30px;
  color: var(--ink); }
body { background: #fff; }
.reveal h1, .reveal h2 { color: var(--accent); font-weight: 700; line-height: 1.15;
  margin: 0 0 0.6em; }
.reveal h1 { font-size: 1.9em; } .reveal h2 { font-size: 1.4em; }
.reveal .slides section { text-align: left; }
.reveal p, .reveal li { line-height: 1.35; margin: 0.35em 0; }
.reveal ul, .reveal ol { padding-left: 1.2em; }
.reveal img { display: block; margin: 0.3em auto; width: 100%; max-height: 440px;
  object-fit: contain; }
.reveal .slide-number { right: auto; left: 8px; }
.reveal table { border-collapse: collapse; margin: 0.6em auto; }
.reveal th, .reveal td { padding: 0.25em 0.7em; border-bottom: 1px solid #999; }
.reveal a { color: var(--accent); text-decoration: underline; }
.reveal .progress { color: var(--accent); }
.reveal .math { margin: 0.4em 0; }
"""

_SCRIPT = """
Reveal.initialize({ hash: true, width: 1100, height: 700, margin: 0.05, transition: "none",
  slideNumber: "c/t", controlsTutorial: false, plugins: [RevealNotes] });
"""


@dataclass(frozen=True)
class Slide:
    """One slide: HTML of its body and of its speaker notes.

    Examples
    --------
    >>> print(Slide("<h2>Title</h2>", "").section())
    <section>
    <h2>Title</h2>
    </section>
    """

    body: str
    notes: str

    def section(self) -> str:
        """Return the slide as reveal.js wants it."""
        notes = f'\n<aside class="notes">\n{self.notes.strip()}\n</aside>' if self.notes else ""
        return f"<section>\n{self.body.strip()}{notes}\n</section>"


def _markdown() -> MarkdownIt:
    def render_math(content: str, options: dict[str, bool]) -> str:
        left, right = ("\\[", "\\]") if options["display_mode"] else ("\\(", "\\)")
        return f"{left}{html.escape(content)}{right}"

    parser = MarkdownIt("commonmark").enable("table")
    return parser.use(dollarmath_plugin, renderer=render_math, double_inline=True)


def _page_link(match: re.Match[str]) -> str:
    """Turn a link from the page's folder into one from the deck's."""
    target = match.group(2)
    target = target[3:] if target.startswith("../") else f"teach/{target}"
    return f"[{match.group(1)}](../{target}.html)"


def read_slides(text: str) -> list[Slide]:
    r"""Read a page as slides: its title with what follows, then each second-level section.

    Parameters
    ----------
    text
        MyST text with every quoted value filled in. Allowed are CommonMark, tables, mathematics,
        ``{image}`` and ``{admonition} Say``.

    Raises
    ------
    BuildError
        Another directive or a role: a deck could only show its source.

    Examples
    --------
    >>> [s.body.strip() for s in read_slides("# A\n\nb\n\n## C\n\n$x$\n")]
    ['<h1>A</h1>\n<p>b</p>', '<h2>C</h2>\n<p><span class="math inline">\\(x\\)</span></p>']
    """
    parser = _markdown()
    slides = []
    for part in re.split(r"^(?=## )", text, flags=re.MULTILINE):
        notes = "\n\n".join(found.group(2) for found in _NOTE.finditer(part))
        body = _IMAGE.sub(
            lambda m: f"![{m['alt'].replace('[', '(').replace(']', ')')}](images/{m['file']})",
            _NOTE.sub("", _TO_DECK.sub("", part)),
        )
        for piece in (body, notes):
            left = _DIRECTIVE.search(piece) or _ROLE.search(piece)
            if left:
                title = part.strip().splitlines()[0]
                raise BuildError(
                    f"slide {title!r} uses {left.group()!r}; slides may hold only Markdown, "
                    "mathematics, {image} and {admonition} Say"
                )
        slides.append(
            Slide(
                parser.render(_LINK.sub(_page_link, body)),
                parser.render(_LINK.sub(_page_link, notes)) if notes else "",
            )
        )
    return slides


def deck(slides: list[Slide], title: str) -> str:
    """Return the deck's HTML document.

    Examples
    --------
    >>> "Reveal.initialize" in deck([Slide("<h1>A</h1>", "")], "A")
    True
    """
    sections = "\n".join(s.section() for s in slides)
    styles = "\n".join(
        f'<link rel="stylesheet" href="{Path(f).name}">' for f in _REVEAL if f.endswith(".css")
    )
    scripts = "\n".join(
        f'<script src="{Path(f).name}"></script>' for f in _REVEAL if f.endswith(".js")
    )
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{html.escape(title)}: slides</title>
{styles}
<style>{_STYLE}</style>
</head>
<body>
<main class="reveal"><div class="slides">
{sections}
</div></main>
{scripts}
<script src="../_static/mathjax/tex-svg-full.js"></script>
<script>{_SCRIPT}</script>
</body>
</html>
"""


def reveal_folder() -> Path:
    """Return the folder of the installed reveal.js.

    Examples
    --------
    >>> (reveal_folder() / "dist" / "reveal.js").is_file()
    True
    """
    spec = importlib.util.find_spec("sphinx_revealjs")
    if spec is None or spec.origin is None:
        raise BuildError("sphinx-revealjs, which carries reveal.js, is not installed; make install")
    return Path(spec.origin).parent / "_static" / "revealjs"


def stage_slides(staged: Path, extra: Path, title: str) -> bool:
    """Make the deck from the staged page, if the book has one.

    Parameters
    ----------
    staged
        The staged book: its ``teach/slides.md`` with every value filled in, and ``images``.
    extra
        The folder that becomes the top of the site.
    title
        The book's title.

    Returns
    -------
    bool
        Whether there is a deck.

    Raises
    ------
    BuildError
        A picture that no notebook drew, or text that a deck cannot show.
    """
    page = staged / PAGE
    if not page.is_file():
        return False
    text = page.read_text(encoding="utf-8")
    folder = extra / FOLDER
    (folder / "images").mkdir(parents=True, exist_ok=True)
    for match in _IMAGE.finditer(text):
        picture = staged / "images" / match["file"]
        if not picture.is_file():
            raise BuildError(f"the slides show {match['file']}, which no notebook drew")
        shutil.copyfile(picture, folder / "images" / match["file"])
    for file in _REVEAL:
        shutil.copyfile(reveal_folder() / file, folder / Path(file).name)
    (folder / "index.html").write_text(deck(read_slides(text), title), encoding="utf-8")
    return True
