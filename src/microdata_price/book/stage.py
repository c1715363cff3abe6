"""From executed notebooks to pages and downloads, and to what prose pages quote of them."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote as url

import nbformat

from ..base.numbers import format_number
from ..exceptions import BuildError
from ..figures.picture import for_the_site
from ..page.output import METADATA_KEY
from ..page.say import render as fill
from . import notebook
from .notebook import DIFFICULTIES, Notebook
from .parameters import TAG, Values
from .plain import assemble, head, markdown, text_of, verbatim, with_links
from .plan import FOLDERS

# How the list begins of which a reader chooses a prediction; the page's script knows it too.
_CHOICE = re.compile(r"^- \(a\) ", re.MULTILINE)
_QUOTED = re.compile(r"\{\{ *([A-Za-z]\w*)\.([\w.-]+) *\}\}")
SOLUTION = re.compile(  # what folds with this class on a prose page, or is called answers
    r"^(`{3,}|:{3,})\{dropdown\}[^\n]*\n:class-container: solution$.*?^\1[ \t]*$\n?"
    r"|^<details>\n<summary>Answers</summary>.*?^</details>\n", re.S | re.M,
)  # fmt: skip
_AWAY = re.compile(
    r"(?<!!)\[([^\[\]]*)\]\((?!#|https?:|mailto:)[^()\s]+\)"
    r"|<a href=\"(?!#|https?:|mailto:)[^\"]*\">([^<]*)</a>"
)
"""A link to another page, which lies nowhere beside a downloaded notebook."""


@dataclass
class Found:
    """What the notebooks of a book computed for its text."""

    quoted: dict[str, dict[str, str]] = field(default_factory=dict)
    certificates: dict[str, float] = field(default_factory=dict)
    files: dict[str, str] = field(default_factory=dict)


def outputs_told(cells: list[Notebook]) -> Iterator[tuple[dict[str, Any], Any]]:
    """Yield what each output of cells says of itself to the book, with the output."""
    for cell in cells:
        for output in cell.get("outputs", []):
            yield output.get("metadata", {}).get(METADATA_KEY, {}), output


def collect(name: str, executed: Notebook, found: Found) -> None:
    """Read what one executed notebook computed for the text, its pictures and its files."""
    texts = found.quoted.setdefault(name, {})
    for ours, output in outputs_told(executed.cells):
        for key, text in ours.get("record", {}).items():
            if key in texts:
                raise BuildError(f"notebook {name!r} records {key!r} twice")
            texts[key] = text
        if about := ours.get("figure"):
            for part in ("alt", "caption"):
                # Quoted as a directive's option, between double quotes.
                texts[f"{about['name']}.{part}"] = about[part].replace('"', "'")
            picture = for_the_site(output["data"]["image/svg+xml"])
            found.files[f"images/{about['name']}.svg"] = picture
        if about := ours.get("file"):
            found.files[f"downloads/{about['name']}"] = about["content"]
        if "certificate" in ours:
            worst = max(found.certificates.get(name, 0.0), float(ours["certificate"]))
            found.certificates[name] = worst


def quote(text: str, page: str, found: Found) -> str:
    """Put computed texts where a page quotes them."""
    for mark in _QUOTED.finditer(text):
        if mark[2] not in found.quoted.get(mark[1], {}):
            said = f"page {page!r} quotes {mark[0]!r}, which notebook {mark[1]!r} does not define"
            raise BuildError(said)
    return _QUOTED.sub(lambda mark: found.quoted[mark[1]][mark[2]], text)


def filled(template: str, /, **values: Any) -> str:
    """Fill a template of this folder in."""
    text = (Path(__file__).parent / template).read_text(encoding="utf-8")
    return fill(text, {"verbatim": verbatim, **values})


def exercises(notebooks: Mapping[str, Notebook], *, solutions: bool) -> str:
    """Write the list of every exercise of the book's chapters, as a paragraph and a table."""
    chapters: dict[str, list[dict[str, str]]] = {}
    for name, content in notebooks.items():
        for cell in content.cells:
            if notebook.role(cell) == "exercise" and (found := head("exercise", cell)):
                called, _, about = found["title"].removesuffix(")").partition(" (")
                exercise = {
                    "called": called.replace(" ", "\N{NO-BREAK SPACE}"),
                    "label": notebook.label(cell),
                    "about": about.replace("|", "&#124;"),
                    "difficulty": notebook.difficulty(cell),
                    "choice": "yes" if _CHOICE.search(cell.source) else "",
                }
                chapters.setdefault(name, []).append(exercise)
    return filled("exercises.md", chapters=chapters, levels=DIFFICULTIES, solutions=solutions)


def shown_parameters(source: str, values: Values) -> str:
    """Return the parameters cell with the values that were used in place of its own."""
    plain = notebook.python_only(source)
    written, lines = (text.encode().split(b"\n") for text in (source, plain))
    above = len(written) - len(lines)  # as %%time, which is no Python
    for node in reversed(ast.parse(plain).body):
        if not isinstance(node, (ast.Assign, ast.AnnAssign)) or node.value is None:
            continue
        name = ast.unparse(node.targets[0] if isinstance(node, ast.Assign) else node.target)
        at = node.value
        if name in values and ast.unparse(at) != repr(values[name]):
            first, last = at.lineno - 1, (at.end_lineno or at.lineno) - 1
            head, tail = lines[first][: at.col_offset], lines[last][at.end_col_offset :]
            changed = [head + repr(values[name]).encode() + tail]
            lines[first : last + 1] = changed
            written[first + above : last + above + 1] = changed
    made, shown = (b"\n".join(text).decode() for text in (lines, written))
    # Magics stay as they are written, unless one of several lines, which is a call, stands below.
    return shown if notebook.python_only(shown) == made else made


def _levels_line(values: Values) -> str:
    """Return the line under which the site folds a chapter's parameters and imports."""

    def written(value: Any) -> str:
        if isinstance(value, (list, tuple)):
            return "; ".join(map(written, value))
        return str(value) if isinstance(value, (str, bool)) else format_number(value)

    told = {k: v for k, v in values.items() if k not in FOLDERS and v not in ("", None)}
    said = ", ".join(f"{k} = {written(v)}" for k, v in told.items())
    return f"Levels used: {said}" if said else "Imports"


def _block(ours: Mapping[str, Any]) -> str:
    """Return what one output says to the book as text for its builder; empty for nothing."""
    if about := ours.get("figure"):
        alt = json.dumps(about["alt"], ensure_ascii=False)
        return (
            f"::::{{figure}} ../images/{about['name']}.svg\n:name: {about['name']}\n:alt: {alt}\n"
            f":class: computed-figure\n\n{about['caption']}\n::::\n"
        )
    if about := ours.get("table"):
        return (
            f"::::{{table}} {about['caption']}\n:name: {about['name']}\n\n"
            f"{about['markdown']}\n::::\n"
        )
    if about := ours.get("file"):
        place = f"../downloads/{about['name']}"
        return f"{{download}}`{about['label']} <{place}>` ({about['name']}, {about['size']})\n"
    return str(ours.get("say", ""))


def _kept(executed: Notebook, values: Values, solutions: bool) -> list[Notebook]:
    """Return copies of the cells that readers get: no raw ones, perhaps no solutions."""
    out = {notebook.INJECTED} if solutions else {notebook.INJECTED, "solution"}
    own = (c for c in executed.cells if c.cell_type != "raw" and not out & {*notebook.tags(c)})
    kept = [nbformat.from_dict(c) for c in own]
    for cell in kept:
        if TAG in notebook.tags(cell) and cell.cell_type == "code":
            cell.source = shown_parameters(cell.source, values)
        pasted = cell.get("attachments", {})  # pictures, which move into the text
        for name in sorted(pasted, key=len, reverse=True):  # a.png.jpg before a.png
            for kind, data in pasted[name].items():
                uri = f"data:{kind};base64,{''.join(data.split())}"
                for link in (url(name), url(name, "!#$&'()*+,/:;=?@"), name):
                    cell.source = cell.source.replace(f"attachment:{link}", uri)
    return kept


def page(name: str, executed: Notebook, values: Values, solutions: bool) -> Notebook:
    """Turn an executed notebook, and the values it used, into the one that the builder reads."""
    pieces: list[tuple[Notebook, list[Notebook]]] = []
    levels: list[Notebook] = []
    for cell in _kept(executed, values, solutions):
        tags = notebook.tags(cell)
        if cell.cell_type == "markdown":
            pieces.append((cell, [markdown(text_of(cell, name))]))
            continue
        blocks = [_block(ours) for ours, _ in outputs_told([cell])]
        told = [markdown(with_links(text, name)) for text in blocks if text]
        cell.outputs = [output for ours, output in outputs_told([cell]) if not ours]
        cell.pop("id", None)
        if TAG in tags:
            shown = dict.fromkeys(("code_prompt_show", "code_prompt_hide"), _levels_line(values))
            cell.metadata = nbformat.from_dict({"tags": ["hide-input"], "mystnb": shown})
            levels.append(cell)
            continue
        if levels and notebook.SETUP in tags:
            levels[0].source += f"\n\n{cell.source}"
        elif cell.outputs or not {"remove-input", "remove-cell"} & {*tags}:
            told.insert(0, cell)
        pieces.append((cell, told))
    cells = [*assemble(name, pieces), *levels, markdown(filled("foot.md", name=name))]
    return nbformat.v4.new_notebook(cells=cells, metadata=notebook.METADATA, nbformat_minor=4)


def download(executed: Notebook, values: Values, address: str, solutions: bool) -> Notebook:
    """Turn an executed notebook into what readers download: with results, runnable again."""
    kept = _kept(executed, values, solutions)
    for cell in kept:
        if cell.cell_type == "markdown" or notebook.is_prose(cell):
            cell.source = _AWAY.sub(r"\1\2", cell.source)
    if kept and kept[0].cell_type == "markdown":
        title, _, rest = kept[0].source.partition("\n")
        command = f"git+{address}`" if address else ".` in the folder of this project"
        kept[0].source = (
            f"{title}\n\n*To run this notebook anywhere, install its package once with "
            f"`pip install {command}, then run all cells.*\n{rest}"
        )
    made = notebook.strip(nbformat.from_dict({"cells": kept}))
    for cell, shown in zip(made.cells, kept, strict=True):
        for output in shown.get("outputs", []):
            if "execution_count" in output:
                output.execution_count = None
            if "data" in output:
                output.metadata = nbformat.from_dict({})
                if text := output.data.get("text/markdown"):
                    output.data["text/markdown"] = _AWAY.sub(r"\1\2", text)
            cell.outputs.append(output)
    return made
