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
_PYTHON = re.compile(r"py|conda|venv", re.IGNORECASE)
_OTHER = re.compile(r"julia|octave|matlab|bash|sos|scala|java|ir$|r$", re.IGNORECASE)


def open_notebook(path: Path) -> Any:
    """Read a notebook of any format that Jupyter reads, in format 4."""
    try:
        data = path.read_bytes()
        text = data.decode("utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # cells get the names that they lack without a word
            document = {"metadata": {}, **json.loads(text)}
            for cell in document.get("cells", []):
                cell.setdefault("metadata", {})
            made = nbformat.reads(json.dumps(document), 4, capture_validation_error={})
            for cell in [*made.cells[:]]:  # a list can be sliced, an object not
                cell.setdefault("metadata", {})
                cell.source = cell.source if isinstance(cell.source, str) else "".join(cell.source)
                if cell.cell_type == "code":
                    cell.outputs = cell.get("outputs", [])
                    cell.execution_count = cell.get("execution_count")
                known = cell.cell_type in ("code", "markdown", "raw")
                if not known or not isinstance(cell.metadata.get("tags", []), list):
                    raise ValueError
            made.nbformat_minor = min(made.nbformat_minor, nbformat.current_nbformat_minor)
            made = nbformat.validator.normalize(made)[1]
        for part in (made.metadata, *map(made.metadata.get, ("kernelspec", "language_info"))):
            dict(part or {})
    except Exception as error:  # whatever a file may hold: nbformat raises many kinds
        kind = type(error).__name__
        raise InputError(f"{path} is not a notebook that can be read ({kind}); {_AGAIN}") from None
    return made


def check_can_run(path: Path, notebook: Any) -> None:
    """Refuse a notebook of another language than Python, and one without code."""
    spec, info = (notebook.metadata.get(name) or {} for name in ("kernelspec", "language_info"))
    names = [str(spec.get(key) or "") for key in ("name", "display_name")]
    languages = [str(said) for said in (spec.get("language"), info.get("name")) if said]
    other = [f"in {said}" for said in languages if not _PYTHON.search(said)]
    known = _PYTHON.search(" ".join(names)) or spec.get("language")
    if any(names) and not known and (not languages or _OTHER.match(names[0])):
        other.append(f"for the kernel {names[0] or names[1]!r}")
    if other:
        raise InputError(
            f"{path} is a notebook {other[0]}; only Python notebooks are run here: if it is one, "
            "choose a Python kernel in Jupyter and save it"
        )
    if not any(c.cell_type == "code" and c.source.strip() for c in notebook.cells):
        raise InputError(f"{path} has no cell with code; there is nothing to run")
