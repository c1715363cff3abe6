"""Notebooks as files: read in any format that Jupyter reads, kept in one form in the repository.

``python -m microdata_price.book.notebook strip FILES`` puts notebooks into that form (`strip`).
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import sys
import warnings
from collections.abc import Collection, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

import nbformat
from IPython.core.inputtransformer2 import TransformerManager

from ..base.files import write_whole
from ..exceptions import InputError
from ..page.say import MAGIC, global_names, names_of
from .parameters import TAG, Parameter, declared

Notebook = Any  # nbformat's, which has no types of its own

METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}
# Tags of cells: text that the site frames, what it folds, what it shows one at a time.
BOXES = {"algorithm", "corollary", "definition", "exercise"}
BOXES |= {"lemma", "proposition", "remark", "theorem"}
FOLDS = ("proof", "solution", "fold")
SWITCH = "switch"
DIFFICULTIES = ("easy", "medium", "hard")  # each exercise has one of them
SETUP = "setup"  # imports: the site folds them, with the parameters, into one line
INJECTED = "injected-parameters"  # with which papermill replaces the values of parameters
LABEL = "label:"  # begins a tag that names a cell, so that links can lead to it
_FENCED = re.compile(r"(?ms)^ {0,3}(`{3,}(?=[^`\n]*$)|~{3,}).*?(?:^ {0,3}\1[`~]*[ \t]*$|\Z)")
HIDDEN = {"hide-input", "remove-input", "remove-cell", "hide-cell"}


def read(path: Path) -> Notebook:
    """Read a notebook of any version that Jupyter reads, in format 4, or say why it is none."""
    if re.search("[\ud800-\udfff]", path.name):
        raise InputError(f"the name of the notebook {path} is not UTF-8; give it another")
    if path.suffix != ".ipynb" or not os.path.isfile(path):
        raise InputError(f"there is no notebook {str(path)!r}; give the path of an .ipynb file")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # cells get the names that they lack without a word
            told = json.loads(path.read_text(encoding="utf-8-sig"))
            told["metadata"] = {k: v for k, v in told["metadata"].items() if v is not None}
            whole = json.dumps(told, ensure_ascii=False).encode()  # half a letter cannot be written
            made = nbformat.reads(whole, 4, capture_validation_error={})
            made.nbformat_minor = nbformat.current_nbformat_minor  # in which each cell has a name
            made = nbformat.validator.normalize(made)[1]
            nbformat.validate(made := nbformat.from_dict(made))  # of format 3 it is another kind
    except Exception as error:  # whatever a file may hold: nbformat raises many kinds
        said = f"{path} is not a notebook that can be read ({type(error).__name__}); open it in"
        raise InputError(f"{said} Jupyter and save it again, or take it anew") from None
    return made


def check_can_run(path: Path, notebook: Notebook) -> None:
    """Refuse a notebook of another language than Python, one without code, an executed copy."""
    spec, info = (notebook.metadata.get(name, {}) for name in ("kernelspec", "language_info"))
    languages = [str(said) for said in (spec.get("language"), info.get("name")) if said]
    told = languages or [str(spec[name]) for name in ("name", "display_name") if name in spec]
    if told and not re.search("py|conda|venv", " ".join(told), re.IGNORECASE):
        said = f"{path} is a notebook for {told[0]!r}; only Python notebooks are run here"
        raise InputError(f"{said}: if it is one, choose a Python kernel in Jupyter and save it")
    if not any(c.cell_type == "code" and c.source.strip() for c in notebook.cells):
        raise InputError(f"{path} has no cell with code; there is nothing to run")
    if any(INJECTED in tags(c) for c in notebook.cells):
        said = f"{path} is an executed copy, which has its values in a cell of its own"
        raise InputError(f"{said}; give the notebook that it was made from")


def text(notebook: Notebook) -> str:
    """Return a notebook as the text of its file."""
    return str(nbformat.writes(notebook)).rstrip("\n") + "\n"


def write(notebook: Notebook, path: Path) -> None:
    """Write a notebook whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, text(notebook))


def tags(cell: Notebook) -> list[str]:
    """Return a cell's tags."""
    return list(cell.metadata.get("tags", []))


def label(cell: Notebook) -> str:
    """Return the name by which links lead to a cell; empty without one."""
    return next((t.removeprefix(LABEL) for t in tags(cell) if t.startswith(LABEL)), "")


def headings(cells: Iterable[Notebook]) -> list[str]:
    """Return the headings of cells of text; a comment in a fence of code is none."""
    texts = [_FENCED.sub("", c.source) for c in cells if c.cell_type == "markdown"]
    return re.findall(r"^ {0,3}#{1,6}[ \t]+(.+)", "\n\n".join(texts), re.MULTILINE)


def role(cell: Notebook) -> str:
    """Return the box, fold or switch that a cell belongs to; empty for what stands free."""
    return next((tag for tag in tags(cell) if tag in (*FOLDS, *BOXES, SWITCH)), "")


def difficulty(cell: Notebook) -> str:
    """Return the difficulty of an exercise; empty for one without that tag."""
    return next((tag for tag in tags(cell) if tag in DIFFICULTIES), "")


def is_hidden(cell: Notebook) -> bool:
    """Say whether neither the site nor Jupyter shows a cell's code at once."""
    return cell.cell_type == "code" and bool(HIDDEN & {*tags(cell)})


def is_prose(cell: Notebook) -> bool:
    """Say whether a cell is a text with computed numbers: %%say, %%figure or %%table."""
    return cell.cell_type == "code" and MAGIC.match(cell.source) is not None


def parameters(
    notebook: Notebook, where: str = "the notebook", given: Collection[str] | None = None
) -> dict[str, Parameter]:
    """Return the parameters that a notebook declares and reads, or say what is wrong with them.

    With names that are `given`, as to a notebook that somebody brings, only those must be in order
    and there may be no cell of parameters.
    """
    code = [c for c in notebook.cells if c.cell_type == "code"]
    tagged = [i for i, c in enumerate(code) if TAG in tags(c)]
    if given is not None and not tagged:
        return {}
    if len(tagged) != 1:
        raise InputError(f"{where} has {len(tagged)} cells tagged '{TAG}'; it must have one")
    source = code[tagged[0]].source
    try:
        found = declared(python_only(source) or source, strict=given is None)
    except (InputError, SyntaxError) as error:
        what = "the parameters cell is not Python: " if isinstance(error, SyntaxError) else ""
        raise InputError(f"{where}: {what}{error}") from None
    (early, _), *uses = [names_in(c.source) for c in code[tagged[0] :]]
    loads, stores = (set[str]().union(*(use[k] for use in uses)) for k in (0, 1))
    for name in found if given is None else [n for n in found if n in given]:
        if name not in loads:
            said = f"{where} declares the parameter {name!r} and never reads it: a value given for"
            raise InputError(f"{said} it would change nothing; use it or remove it")
        if name in stores:
            said = f"{where} overwrites its parameter {name!r} in a later cell"
            raise InputError(f"{said}; give that value another name")
        if name in early:
            said = f"{where} uses {name!r} in its parameters cell, before a given value is there"
            raise InputError(f"{said}; move that line into the next cell")
    return found


def python_only(source: str) -> str:
    """Return the Python of a cell: magics as calls, the body of ``%%time``; perhaps nothing."""
    if MAGIC.match(source):
        return ""
    if source.lstrip().startswith("%%"):
        source = source.lstrip().partition("\n")[2]
    for transform in (str, TransformerManager().transform_cell):  # what is Python stays as it is
        with suppress(SyntaxError):
            global_names(plain := str(transform(source)))  # finds more faults than ast does
            return plain if source.endswith("\n") else plain.removesuffix("\n")
    return ""


def names_in(source: str) -> tuple[set[str], set[str]]:
    """Return the global names that a cell reads and writes; what is no Python reads all words."""
    if MAGIC.match(source):
        return names_of(source), set()
    plain = python_only(source)
    loads, stores = global_names(plain)
    python = {line.strip() for line in plain.split("\n")}
    other = [line for line in source.split("\n") if line.strip() not in python]
    return loads | set(re.findall(r"[^\W\d]\w*", "\n".join(other))), stores


def strip(notebook: Notebook) -> Notebook:
    """Return a notebook in its one form: no outputs, no counts, names of cells by their content."""
    used: set[str] = set()
    cells = []
    for cell in notebook.cells:
        source = cell.source.rstrip()
        name = hashlib.sha256(f"{cell.cell_type}\n{source}".encode()).hexdigest()[:8]
        while name in used:
            name = hashlib.sha256(name.encode()).hexdigest()[:8]
        used.add(name)
        fresh = nbformat.from_dict({"cell_type": cell.cell_type, "id": name, "source": source})
        kept = tags(cell)
        if is_prose(cell) and "remove-input" not in kept:
            kept.insert(0, "remove-input")
        fresh.metadata = nbformat.from_dict({"tags": kept} if kept else {})
        if is_hidden(fresh):
            fresh.metadata["jupyter"] = {"source_hidden": True}
        if cell.cell_type == "code":
            fresh.outputs, fresh.execution_count = [], None
        cells.append(fresh)
    return nbformat.v4.new_notebook(cells=cells, metadata=METADATA)


if __name__ == "__main__":
    try:
        for file in map(Path, sys.argv[2:]):
            write(strip(read(file)), file)
    except InputError as fault:
        sys.exit(str(fault))
