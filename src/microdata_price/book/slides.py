"""Slides from a page of the book: one section a slide, with the speaker's notes and clock.

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


def _fenced(opening: str) -> re.Pattern[str]:
    """Return the pattern of a block between fences whose first line goes on so."""
    return re.compile(
        rf"^(:{{3,}})\{{{opening}\n(?P<body>.*?)^\1[ \t]*$\n?", re.DOTALL | re.MULTILINE
    )


_SAY = _fenced(r"dropdown\} Say, minutes (?P<start>\d+) to (?P<end>\d+)\n:class-container: fold")
_ASK = _fenced(r"admonition\} Ask \((?P<pause>[^)\n]+)\)")
_REVEALED = _fenced(r"div\} (?P<how>fragment|steps)")
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
_BLOCK = re.compile(r"<p>BLOCK(\d+)END</p>\n?")
_ALLOWED = "Markdown, mathematics, {image}, {dropdown} Say, {admonition} Ask, {div} fragment, steps"

# A slide is 1280 by 720; from the last row, type of a twentieth of its height can be read.
_STYLE = """
:root { --ink: #1a1a1a; --accent: #0b5a99; }
.reveal { font-family: system-ui, -apple-system, "Segoe UI", sans-serif; font-size: 36px;
  color: var(--ink); }
body { background: #fff; } main { height: 100%; }
.reveal h1, .reveal h2 { color: var(--accent); font-weight: 700; line-height: 1.15;
  margin: 0 0 0.4em; }
.reveal h1 { font-size: 2em; } .reveal h2 { font-size: 1.3em; }
.reveal .slides section { text-align: left; height: 100%; flex-direction: column;
  justify-content: center; padding: 0 0 40px; box-sizing: border-box; }
.reveal .slides section.pictured > :not(.picture, h2) { padding-right: 100px; }
.reveal strong { font-weight: 700; } .reveal em { font-style: italic; }
.reveal .slides section.pictured { justify-content: flex-start; }
.reveal p, .reveal li { line-height: 1.3; margin: 0.3em 0; }
.reveal ul, .reveal ol { display: block; padding-left: 1.2em; margin: 0; }
.reveal .slides section .picture { flex: 1 1 0; min-height: 0; margin: 0; }
.reveal .slides section .fragment:has(> .picture) { display: flex; flex: 1 1 0; min-height: 0; }
.reveal .slides section .picture img { display: block; width: 100%; height: 100%; margin: 0;
  max-width: none; max-height: none; object-fit: contain; }
.reveal .ask { border-left: 10px solid #a34700; background: #fdf1e7; padding: 0.3em 0.7em;
  margin: 0.4em 0; }
.reveal .ask .pause { color: #8a3c00; font-weight: 700; font-size: 0.75em; margin: 0; }
.reveal .slide-number { right: auto; left: 8px; background: #fff; color: #4d4d4d;
  font-size: 20px; }
.reveal table { border-collapse: collapse; margin: 0.6em auto; }
.reveal th, .reveal td { padding: 0.25em 0.7em; border-bottom: 1px solid #999; }
.reveal a { color: var(--accent); text-decoration: underline; }
.reveal .progress { color: var(--accent); }
.reveal .math { margin: 0.2em 0; }
"""

_SCRIPT = """
Reveal.initialize({ hash: true, width: 1280, height: 720, margin: 0.05, transition: "none",
  display: "flex", center: false, slideNumber: "c/t", controlsTutorial: false,
  totalTime: SECONDS,
  plugins: [RevealNotes] });
"""


@dataclass(frozen=True)
class Slide:
    """One slide: HTML of its body and of its speaker notes, and its place on the clock.

    Examples
    --------
    >>> print(Slide("Title", "<h2>Title</h2>", "").section())
    <section>
    <h2>Title</h2>
    </section>
    """

    title: str
    body: str
    notes: str
    start: int = 0
    end: int = 0

    def section(self) -> str:
        """Return the slide as reveal.js wants it; the speaker's view shows its minutes."""
        look = ' class="pictured"' if 'class="picture"' in self.body else ""
        time = f' data-timing="{60 * (self.end - self.start)}"' if self.notes else ""
        clock = f"<p><strong>Minutes {self.start} to {self.end}.</strong></p>\n"
        notes = f'\n<aside class="notes">\n{clock}{self.notes.strip()}\n</aside>'
        shown = notes if self.notes else ""
        return f"<section{look}{time}>\n{self.body.strip()}{shown}\n</section>"


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


def _rendered(text: str) -> str:
    left = _DIRECTIVE.search(text) or _ROLE.search(text)
    if left:
        raise BuildError(f"uses {left.group()!r}; slides may hold only {_ALLOWED}")
    return str(_markdown().render(_LINK.sub(_page_link, text)))


def _body(text: str) -> str:
    """Return a slide's text as HTML: questions framed, and shown step by step what is to be."""

    def asked(match: re.Match[str]) -> str:
        pause = html.escape(match["pause"])
        inner = _rendered(match["body"])
        return f'<div class="ask">\n{inner}<p class="pause">Think: {pause}</p>\n</div>\n\n'

    def revealed(match: re.Match[str]) -> str:
        inner = _rendered(match["body"])
        if match["how"] == "steps":
            return inner.replace("<li>", '<li class="fragment">') + "\n"
        return f'<div class="fragment">\n{inner}</div>\n\n'

    def drawn(match: re.Match[str]) -> str:
        alt = html.escape(match["alt"], quote=True)
        return f'<p class="picture"><img src="images/{match["file"]}" alt="{alt}"></p>'

    # Made blocks wait outside the text, so that no second reading of Markdown touches them.
    made: list[str] = []

    def kept(block: str) -> str:
        made.append(block)
        return f"\n\nBLOCK{len(made) - 1}END\n\n"

    for pattern, make in ((_IMAGE, drawn), (_ASK, asked), (_REVEALED, revealed)):
        text = pattern.sub(lambda m, make=make: kept(make(m)), text)  # type: ignore[misc]
    shown = _rendered(text)
    while _BLOCK.search(shown):  # a revealed part may hold a picture or a question
        shown = _BLOCK.sub(lambda m: made[int(m[1])].strip() + "\n", shown)
    return shown


def read_slides(text: str) -> list[Slide]:
    r"""Read a page as slides: its title with what follows, then each second-level section.

    Examples
    --------
    >>> [s.body.strip() for s in read_slides("# A\n\nb\n\n## C\n\n$x$\n")]
    ['<h1>A</h1>\n<p>b</p>', '<h2>C</h2>\n<p><span class="math inline">\\(x\\)</span></p>']
    """
    slides: list[Slide] = []
    now = 0
    for part in re.split(r"^(?=## )", text, flags=re.MULTILINE):
        title = part.strip().partition("\n")[0].lstrip("# ")
        say = _SAY.search(part)
        notes, start, end = "", now, now
        if say is not None:
            notes, start, end = say["body"], int(say["start"]), int(say["end"])
            if start != now or end <= start:
                raise BuildError(
                    f"slide {title!r} is for minutes {start} to {end}; the slide before ends at "
                    f"minute {now}"
                )
        try:
            body = _body(_SAY.sub("", _TO_DECK.sub("", part)))
            said = _rendered(notes) if notes else ""
        except BuildError as error:
            raise BuildError(f"slide {title!r} {error}") from None
        slides.append(Slide(title, body, said, start, end))
        now = end
    return slides


def deck(slides: list[Slide], title: str) -> str:
    """Return the deck's HTML document.

    Examples
    --------
    >>> "Reveal.initialize" in deck([Slide("A", "<h1>A</h1>", "")], "A")
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
<main><div class="reveal"><div class="slides">
{sections}
</div></div></main>
{scripts}
<script src="../_static/mathjax/tex-svg-full.js"></script>
<script>{_SCRIPT.replace("SECONDS", str(60 * slides[-1].end if slides else 0))}</script>
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
    """Make the deck from the staged page, if the book has one."""
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
