"""Processor time of the book against another version: from nothing, a rebuild, another level."""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pandas as pd

_SUBREAPER = 36  # Linux: processes whose parent is gone become this one's children


def _build(root: Path, python: Path, *levels: str) -> float:
    """Build a book; return user and system time of all processes that this starts."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [str(python), "-m", "microdata_price", "book", *levels]
    subprocess.run(command, cwd=root, env=os.environ | {"PYTHONPATH": f"{root}/src"}, check=True)
    with contextlib.suppress(ChildProcessError):
        while True:
            os.wait()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _add_sentence(root: Path) -> None:
    """Change the text of one notebook."""
    path = root / "notebooks" / "dice.ipynb"
    made = json.loads(path.read_text(encoding="utf-8"))
    source = made["cells"][0]["source"]
    made["cells"][0]["source"] = ["".join(source) + " One sentence more."]
    path.write_text(json.dumps(made, indent=1), encoding="utf-8")


def book(base: Path) -> pd.DataFrame:
    """Build copies of this version's book and another's, with the packages that each has.

    Parameters
    ----------
    base
        The other version's ``src`` folder, in a checkout; its ``.venv`` is used where there is one.

    Returns
    -------
    DataFrame
        One line for a build from nothing, one after a sentence was added to one notebook, and one
        at another level: processor seconds ``now`` and ``before``, and their ``ratio``.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_SUBREAPER, 1, 0, 0, 0)
    found = {}
    built = shutil.ignore_patterns("_build", "_generated", ".venv", ".git", "results")
    for name, checkout in {"now": Path(__file__).parents[1], "before": base.parent}.items():
        own = checkout / ".venv" / "bin" / "python"
        python = own.absolute() if own.exists() else Path(sys.executable)
        with tempfile.TemporaryDirectory() as home:
            root = Path(home) / "checkout"
            shutil.copytree(checkout, root, ignore=built)
            seconds = {"from nothing": _build(root, python)}
            _add_sentence(root)
            seconds["a sentence more"] = _build(root, python)
            seconds["other levels"] = _build(root, python, "--epsilon", "0.25", "--rho", "0.03")
        found[name] = seconds
    frame = pd.DataFrame(found).rename_axis("build").reset_index()
    return frame.assign(ratio=frame["now"] / frame["before"])
