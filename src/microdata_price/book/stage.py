"""Turn executed notebooks into pages: figures, tables, sentences, parameters, solutions."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

import nbformat

from ..page.style import METADATA_KEY
from . import notebook
from .parameters import TAG
from .plain import (
    Piece,
    assemble,
    levels_line,
    markdown,
    text_of,
    with_links,
)
from .plan import FOLDERS
from .quote import Found

LINE, PRINTED = 5_000, 500_000  # characters of a line, of one output

INJECTED = "injected-parameters"
_SOLUTION = re.compile(
    r"^(?P<fence>`{3,}|:{3,})\{dropdown\}[^\n]*\n:class-container: solution$.*?"
    r"^(?P=fence)[ \t]*$\n?",
    re.DOTALL | re.MULTILINE,
)


def without_solutions(text: str) -> str:
    """Return a prose page without its solutions: what folds with the class ``solution``.

    Examples
    --------
    >>> fold = [":::{dropdown} Answer", ":class-container: solution", "42", ":::"]
    >>> without_solutions(chr(10).join(["a", *fold, "b"])).split()
    ['a', 'b']
    """
    return _SOLUTION.sub("", text)


def shown_parameters(source: str, values: Mapping[str, Any]) -> str:
    """Return the parameters cell with the values that were used in place of its own.

    Examples
    --------
    >>> shown_parameters("epsilon = 0.5  # pure DP", {"epsilon": 0.25})
    'epsilon = 0.25  # pure DP'
    """
    lines = source.split("\n")
    for node in reversed(ast.parse(source).body):
        if not isinstance(node, (ast.Assign, ast.AnnAssign)) or node.value is None:
            continue
        target = node.targets[0] if isinstance(node, ast.Assign) else node.target
        at = node.value
        if isinstance(target, ast.Name) and target.id in values and at.end_lineno is not None:
            default = ast.literal_eval(at)
            if values[target.id] == default:
                continue
            first, last = at.lineno - 1, at.end_lineno - 1
            head = lines[first].encode()[: at.col_offset].decode()
            tail = lines[last].encode()[at.end_col_offset :].decode()
            lines[first : last + 1] = [f"{head}{values[target.id]!r}{tail}"]
    return "\n".join(lines)


def _figure_cell(about: Mapping[str, str]) -> notebook.Notebook:
    return markdown(
        f"::::{{figure}} ../images/{about['name']}.svg\n"
        f":name: {about['name']}\n"
        f":alt: {json.dumps(about['alt'], ensure_ascii=False)}\n"
        ":class: computed-figure\n\n"
        f"{about['caption']}\n::::\n"
    )


def _file_cell(about: Mapping[str, str]) -> notebook.Notebook:
    size = f"{len(about['content'].encode()) / 1000:,.0f} kB"
    return markdown(
        f"{{download}}`{about['label']} <../downloads/{about['name']}>` ({about['name']}, {size})\n"
    )


def files(executed: notebook.Notebook) -> dict[str, str]:
    """Return the text files that an executed notebook offers for download, by name."""
    found = {}
    for cell in executed.cells:
        for output in cell.get("outputs", []):
            about = output.get("metadata", {}).get(METADATA_KEY, {}).get("file")
            if about is not None:
                found[about["name"]] = about["content"]
    return found


def _figures(executed: notebook.Notebook) -> Iterator[tuple[dict[str, str], str]]:
    for cell in executed.cells:
        for output in cell.get("outputs", []):
            ours = output.get("metadata", {}).get(METADATA_KEY, {})
            if "figure" in ours:
                yield ours["figure"], output["data"]["image/svg+xml"]


def images(executed: notebook.Notebook) -> dict[str, str]:
    """Return the pictures of an executed notebook by figure name, as SVG."""
    return {about["name"]: svg for about, svg in _figures(executed)}


def descriptions(executed: notebook.Notebook) -> dict[str, dict[str, str]]:
    """Return what is said about the figures of an executed notebook, by figure name."""
    return {about["name"]: about for about, _ in _figures(executed)}


def _table_cell(about: Mapping[str, str]) -> notebook.Notebook:
    return markdown(
        f"::::{{table}} {about['caption']}\n:name: {about['name']}\n\n{about['markdown']}\n::::\n"
    )


def _cut(text: str) -> str:
    """Shorten printed text that the site's builder would take minutes over."""
    lines = [
        line if len(line) <= LINE else f"{line[:LINE]} ... ({len(line) - LINE:,} more characters)"
        for line in text.split("\n")
    ]
    short = "\n".join(lines)
    if len(short) > PRINTED:
        short = f"{short[:PRINTED]}\n... ({len(short) - PRINTED:,} more characters)"
    return short


def _shortened(output: Any) -> Any:
    """Return an output whose text a page can hold; the executed notebook has it whole."""
    if "text" in output:
        return nbformat.from_dict({**output, "text": _cut(output["text"])})
    plain = output.get("data", {}).get("text/plain")
    if plain is None:
        return output
    return nbformat.from_dict({**output, "data": {**output["data"], "text/plain": _cut(plain)}})


def _split(cell: notebook.Notebook, name: str, found: Found) -> list[notebook.Notebook]:
    """Return a code cell followed by its figures, tables, texts and files, each as a block."""

    def linked(about: Mapping[str, str]) -> dict[str, str]:
        told = {"caption", "markdown"} & {*about}
        return {**about, **{k: with_links(about[k], name, found.terms) for k in told}}

    kept: list[Any] = []
    blocks: list[notebook.Notebook] = []
    for output in cell.get("outputs", []):
        ours = output.get("metadata", {}).get(METADATA_KEY, {})
        if "figure" in ours:
            blocks.append(_figure_cell(linked(ours["figure"])))
        elif "table" in ours:
            blocks.append(_table_cell(linked(ours["table"])))
        elif "say" in ours:
            blocks.append(markdown(with_links(ours["say"], name, found.terms)))
        elif "file" in ours:
            blocks.append(_file_cell(ours["file"]))
        elif not ours:
            kept.append(_shortened(output))
    fresh = nbformat.from_dict({k: v for k, v in cell.items() if k != "id"} | {"outputs": kept})
    return [fresh, *blocks]


def _is_solution(cell: notebook.Notebook) -> bool:
    return "solution" in notebook.tags(cell)


def _foot(name: str) -> notebook.Notebook:
    """Return the grey line under a page: that it is a notebook, and how it was computed."""
    return markdown(
        f":::{{div}} page-foot\nThis page is a notebook: {{download}}`download {name}.ipynb "
        f"<../downloads/{name}.ipynb>` with its results, or see {{ref}}`how it was computed "
        "<computed>`.\n:::\n"
    )


def page(
    name: str,
    executed: notebook.Notebook,
    values: Mapping[str, Any],
    found: Found,
    *,
    solutions: bool,
) -> notebook.Notebook:
    """Turn an executed notebook into the notebook that the site's builder reads.

    Parameters
    ----------
    name
        The notebook's name.
    executed
        As papermill left it.
    values
        The parameters' values that were used.
    found
        What all notebooks computed.
    solutions
        Whether solutions stay in.

    Raises
    ------
    BuildError
        A link that leads nowhere, or a box or fold that is not as it must be.
    """
    return _notebook(_cells(name, executed, values, found, solutions), executed)


def _notebook(cells: list[notebook.Notebook], executed: notebook.Notebook) -> notebook.Notebook:
    kernel = executed.metadata.get("kernelspec", notebook.KERNEL)
    metadata = {"kernelspec": kernel, "language_info": {"name": "python"}}
    return nbformat.from_dict(
        {"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 4}
    )


def _cells(
    name: str,
    executed: notebook.Notebook,
    values: Mapping[str, Any],
    found: Found,
    solutions: bool,
) -> list[notebook.Notebook]:
    pieces: list[Piece] = []
    levels: notebook.Notebook | None = None
    for cell in executed.cells:
        tags = notebook.tags(cell)
        if INJECTED in tags or (_is_solution(cell) and not solutions):
            continue
        if cell.cell_type == "markdown":
            staged = [markdown(text_of(cell, name, found.terms))]
        else:
            fresh = nbformat.from_dict(cell)
            if TAG in tags:
                fresh.source = shown_parameters(cell.source, values)
            staged = _split(fresh, name, found)
            if levels is not None and notebook.SETUP in tags:
                levels.source += f"\n\n{staged[0].source}"
                staged = staged[1:]
            elif TAG in tags:
                levels, staged = staged[0], []
                line = levels_line(values, FOLDERS)
                shown = {"code_prompt_show": line, "code_prompt_hide": line}
                levels.metadata = nbformat.from_dict({"tags": ["hide-input"], "mystnb": shown})
            elif {"remove-input", "remove-cell"} & {*tags} and not staged[0].outputs:
                staged = staged[1:]
        mark = notebook.difficulty(cell)
        pieces.append(Piece(notebook.role(cell), notebook.label(cell), staged, mark))
    made = assemble(name, pieces)
    return [*made, *([] if levels is None else [levels]), _foot(name)]


def _how_to_run(address: str) -> str:
    """Return the line that a downloaded notebook begins with."""
    command = f"pip install git+{address}" if address else "pip install ."
    where = "" if address else " in the folder of this project"
    return (
        f"*To run this notebook anywhere, install its package once with `{command}`{where}, then "
        "run all cells.*"
    )


_AWAY = re.compile(
    r"(?<!!)\[([^\[\]]*)\]\((?!#|https?:|mailto:)[^()\s]+\)"
    r"|<a href=\"(?!#|https?:|mailto:)[^\"]*\">([^<]*)</a>"
)
"""A link to another page, which lies nowhere beside a downloaded notebook."""


def download(
    executed: notebook.Notebook,
    values: Mapping[str, Any],
    found: Found,
    *,
    solutions: bool,
) -> notebook.Notebook:
    """Turn an executed notebook into the one that readers download: with results, runnable again.

    The arguments are as for `page`.
    """
    kept = [
        nbformat.from_dict(c)
        for c in executed.cells
        if INJECTED not in notebook.tags(c) and (solutions or not _is_solution(c))
    ]
    outputs = [cell.get("outputs", []) for cell in kept]
    for cell in kept:
        if TAG in notebook.tags(cell):
            cell.source = shown_parameters(cell.source, values)
        elif cell.cell_type == "markdown" or notebook.is_prose(cell):
            cell.source = _AWAY.sub(r"\1\2", cell.source)
    if kept and kept[0].cell_type == "markdown":
        title, _, rest = kept[0].source.partition("\n")
        kept[0].source = f"{title}\n\n{_how_to_run(found.address)}\n{rest}"
    made = notebook.strip(nbformat.from_dict({"cells": kept}))
    for cell, shown in zip(made.cells, outputs, strict=True):
        if cell.cell_type == "code":
            cell.outputs = [_standing_alone(o) for o in shown]
    return made


def _standing_alone(output: Any) -> Any:
    """Return an output without the book's own metadata, its links to other pages as words."""
    fresh = nbformat.from_dict({k: v for k, v in output.items() if k != "execution_count"})
    if fresh.output_type == "execute_result":
        fresh.execution_count = None
    if "data" in fresh:
        fresh.metadata = nbformat.from_dict({})
        text = fresh.data.get("text/markdown")
        if text is not None:
            fresh.data["text/markdown"] = _AWAY.sub(r"\1\2", text)
    return fresh
