"""Notebooks that people bring: read in any format that Jupyter reads, Python only."""

from __future__ import annotations

import json
import re
import warnings
from pathlib import Path
from typing import Any

import nbformat

from ..exceptions import InputError

_AGAIN = "open it in Jupyter and save it again, or take it anew from where it came from"
_ABOUT = ("kernelspec", "language_info")
_PYTHON = re.compile(r"py|conda|venv", re.IGNORECASE)
_OTHERS = re.compile(
    r"julia|octave|matlab|bash|sos|scala|toree|java|deno|kotlin|powershell|rust|haskell|ruby|perl|"
    r"sas|stata|fortran|lua|maxima|ir$|r$|sql|sage|wolfram",
    re.IGNORECASE,
)
"""Kernels of other languages, where a notebook does not say its language."""


def open_notebook(path: Path) -> Any:
    """Read a notebook of any format that Jupyter reads, in format 4."""
    faults: dict[str, Any] = {}
    try:
        data = path.read_bytes()
        text = data.decode("utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # cells get the names that they lack without a word
            document = {"metadata": {}, **json.loads(text)}
            for cell in document.get("cells", []):
                cell.setdefault("metadata", {})
            made = nbformat.reads(json.dumps(document), 4, capture_validation_error=faults)
            made.metadata = made.get("metadata") or nbformat.from_dict({})
            for cell in [*made.cells[:]]:  # a list can be sliced, an object not
                _check(cell)
            made.nbformat_minor = min(made.nbformat_minor, nbformat.current_nbformat_minor)
            made = nbformat.validator.normalize(made)[1]
            for part in (made.metadata, *(made.metadata.get(name) or {} for name in _ABOUT)):
                part.keys()
    except RecursionError:
        raise InputError(f"{path} is not a notebook that can be read; {_AGAIN}") from None
    except Exception as error:  # whatever a file may hold: nbformat raises many kinds
        kind = type(error).__name__
        raise InputError(f"{path} is not a notebook that can be read ({kind}); {_AGAIN}") from None
    return made


def _check(cell: Any) -> None:
    """Fill in what a cell may leave out; a cell that is none raises."""
    cell.setdefault("metadata", {})
    if not isinstance(cell.source, str):
        cell.source = "".join(cell.source)
    tags = cell.metadata.get("tags", [])
    if cell.cell_type not in ("code", "markdown", "raw") or not isinstance(tags, list):
        raise ValueError
    if cell.cell_type == "code":
        cell.setdefault("outputs", [])
        cell.setdefault("execution_count", None)


def check_can_run(path: Path, notebook: Any) -> None:
    """Refuse a notebook of another language than Python, and one without code."""
    spec, info = (notebook.metadata.get(name) or {} for name in _ABOUT)
    for said in (spec.get("language"), info.get("name")):
        if said and not _PYTHON.search(str(said)):
            raise _other(path, f"a notebook in {said}")
    kernel = str(spec.get("name") or spec.get("display_name") or "")
    told = bool(info.get("name") or spec.get("language"))
    known = _PYTHON.search(kernel) or _PYTHON.search(str(spec.get("display_name", "")))
    if kernel and not known and (not told or (_OTHERS.match(kernel) and not spec.get("language"))):
        raise _other(path, f"a notebook for the kernel {kernel!r}")
    if not any(c.cell_type == "code" and c.source.strip() for c in notebook.cells):
        raise InputError(f"{path} has no cell with code; there is nothing to run")


def _other(path: Path, what: str) -> InputError:
    return InputError(
        f"{path} is {what}; only Python notebooks are run here: if it is one, choose a Python "
        "kernel in Jupyter and save it"
    )
