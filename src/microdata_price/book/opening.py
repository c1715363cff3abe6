"""Opening notebooks that people bring, or saying in a sentence why a file is none."""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import nbformat

from ..exceptions import InputError

_AGAIN = "open it in Jupyter and save it again, or take it anew from where it came from"
_KINDS = {list: "a list", str: "a text", bool: "a truth value", int: "a number", float: "a number"}
_FORMATS = (2, 3, 4)
_PYTHON = re.compile(r"py|conda|venv", re.IGNORECASE)
_OTHERS = re.compile(
    r"julia|octave|matlab|bash|sos|scala|toree|spylon|java|deno|tslab|kotlin|net-|powershell|"
    r"gonb|gopher|rust|evcxr|haskell|ruby|perl|php|sas|stata|cling|fortran|lua|maxima|ir$|r$|sql|"
    r"sage|wolfram",
    re.IGNORECASE,
)
"""Kernels of other languages, where a notebook does not say its language."""


def open_notebook(path: Path) -> Any:
    """Read a notebook of any format that Jupyter reads, in format 4.

    Raises
    ------
    InputError
        A file that is none; the sentence says what it is and what to do.
    """
    document = _document(path)
    number = document.get("nbformat")
    if type(number) is not int:
        raise InputError(
            f"{path} is no notebook that can be read: it does not say its format (nbformat, a "
            f"number); {_AGAIN}"
        )
    if number not in _FORMATS:
        raise InputError(
            f"{path} is a notebook of format {number}; formats {_FORMATS[0]} to {_FORMATS[-1]} are "
            "read here: save it in format 4"
        )
    if document.get("metadata") is None:
        document["metadata"] = {}
    if not isinstance(document["metadata"], dict):
        raise InputError(f"{path} is a damaged notebook: its metadata are no object; {_AGAIN}")
    sheets = [document] if number == 4 else document.get("worksheets")
    if not isinstance(sheets, list) or not all(isinstance(s, dict) for s in sheets):
        raise InputError(f"{path} is a notebook without cells; {_AGAIN}")
    for sheet in sheets:
        cells = sheet.get("cells")
        if not isinstance(cells, list):
            raise InputError(f"{path} is a notebook without a list of cells; {_AGAIN}")
        for k, cell in enumerate(cells, 1):
            _check_cell(f"{path}, cell {k}", cell, number)
    try:
        # Without nbformat's check, which speaks of schemas; what is used here is checked above.
        made = nbformat.convert(nbformat.reader.reads(json.dumps(document)), 4)
        made.nbformat_minor = min(made.nbformat_minor, nbformat.current_nbformat_minor)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # cells get the names that they lack without a word
            return nbformat.validator.normalize(made)[1]
    except Exception as error:
        said = " ".join(str(error).split())
        raise InputError(f"{path} is a damaged notebook ({said}); {_AGAIN}") from None


def _document(path: Path) -> dict[str, Any]:
    data = path.read_bytes()
    if not data.strip():
        raise InputError(f"{path} is empty; a notebook is the .ipynb file that Jupyter saves")
    try:
        marked = data[:2] in (b"\xff\xfe", b"\xfe\xff")
        text = data.decode("utf-16" if marked else "utf-8-sig")
    except UnicodeDecodeError:
        raise InputError(
            f"{path} is not a text file in UTF-8, as notebooks are; {_AGAIN}"
        ) from None
    if re.search(r"^(<{7}|>{7}) ", text, re.MULTILINE):
        raise InputError(
            f"{path} holds the marks of a merge that is not settled (<<<<<<<); settle it first"
        )
    try:
        document = json.loads(text)
    except json.JSONDecodeError as error:
        if not text.lstrip().startswith("{"):
            raise InputError(
                f"{path} holds text that is no notebook; a notebook is the .ipynb file that "
                "Jupyter saves"
            ) from None
        raise InputError(
            f"{path} is a damaged notebook, or a part of one: it is not JSON from line "
            f"{error.lineno} on; {_AGAIN}"
        ) from None
    except (RecursionError, ValueError):
        raise InputError(f"{path} is no notebook that can be read; {_AGAIN}") from None
    if not isinstance(document, dict):
        raise InputError(
            f"{path} holds {_KINDS.get(type(document), 'nothing')}, which is no notebook; a "
            "notebook is the .ipynb file that Jupyter saves"
        )
    return document


def _check_cell(place: str, cell: object, number: int) -> None:
    if not isinstance(cell, dict) or not isinstance(cell.get("cell_type"), str):
        raise InputError(f"{place}: it does not say its type; {_AGAIN}")
    kind = cell["cell_type"]
    if number == 4 and kind not in ("code", "markdown", "raw"):
        raise InputError(
            f"{place}: its type is {kind!r}; cells are code, markdown or raw: {_AGAIN}"
        )
    source = cell.get("input" if number < 4 and kind == "code" else "source")
    lines = source if isinstance(source, list) else [source]
    if not all(isinstance(line, str) for line in lines):
        raise InputError(f"{place}: its source is no text; {_AGAIN}")
    if not isinstance(cell.setdefault("metadata", {}), dict):
        raise InputError(f"{place}: its metadata are no object; {_AGAIN}")
    tags = cell["metadata"].get("tags", [])
    if not isinstance(tags, list) or not all(isinstance(tag, str) for tag in tags):
        raise InputError(
            f"{place}: its tags are no list of texts; write for example "
            '"metadata": {"tags": ["parameters"]}'
        )
    if kind == "code":
        cell.setdefault("outputs", [])
        cell.setdefault("execution_count", None)
        language = cell.get("language") if number < 4 else None
        if isinstance(language, str) and not _PYTHON.search(language):
            raise _other(place, f"a cell in {language}")


def check_can_run(path: Path, notebook: Any) -> None:
    """Refuse a notebook of another language than Python, and one without code.

    Raises
    ------
    InputError
        It says which language, or which kernel.
    """
    spec, info = (_part(path, notebook, name) for name in ("kernelspec", "language_info"))
    for said in (spec.get("language"), info.get("name")):
        if said and not _PYTHON.search(str(said)):
            raise _other(str(path), f"a notebook in {said}")
    kernel = str(spec.get("name") or spec.get("display_name") or "")
    told = bool(info.get("name") or spec.get("language"))
    known = _PYTHON.search(kernel) or _PYTHON.search(str(spec.get("display_name", "")))
    if kernel and not known and (not told or (_OTHERS.match(kernel) and not spec.get("language"))):
        raise _other(str(path), f"a notebook for the kernel {kernel!r}")
    if not any(c.cell_type == "code" and c.source.strip() for c in notebook.cells):
        raise InputError(f"{path} has no cell with code; there is nothing to run")


def _part(path: Path, notebook: Any, name: str) -> Mapping[str, Any]:
    found = notebook.metadata.get(name) or {}
    if not isinstance(found, Mapping):
        raise InputError(f"{path} is a damaged notebook: its {name} is no object; {_AGAIN}")
    return found


def _other(place: str, what: str) -> InputError:
    return InputError(
        f"{place} is {what}; only Python notebooks are run here: if it is one, choose a Python "
        "kernel in Jupyter and save it"
    )
