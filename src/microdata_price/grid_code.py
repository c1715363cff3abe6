"""What a grid's numbers depend on beside its parameters: code, data and libraries."""

from __future__ import annotations

import functools
import hashlib
from importlib.metadata import version
from pathlib import Path

from .datafiles import data_path

SOURCES = (
    "benchmark.py",
    "datafiles.py",
    "error_sums.py",
    "errors.py",
    "exceptions.py",
    "files.py",
    "grid*.py",
    "known_errors.py",
    "measurement.py",
    "noise*.py",
    "privacy.py",
    "queryset.py",
    "table.py",
    "workload.py",
    "fitting/*.py",
    "optimize/*.py",
    "theory/__init__.py",
    "theory/exact_errors.py",
    "theory/extremes.py",
    "__init__.py",
)
"""The modules on which the numbers depend."""

_LIBRARIES = ("numpy", "scipy", "clarabel", "highspy", "pyarrow")


@functools.cache
def fingerprint() -> dict[str, str]:
    """Return hashes of the code and the data, and the versions of the libraries (ours).

    Examples
    --------
    >>> sorted(fingerprint())[:3]
    ['clarabel', 'code', 'data']
    """
    root = Path(__file__).parent
    code = hashlib.sha256()
    for path in sorted({p for pattern in SOURCES for p in root.glob(pattern)}):
        code.update(f"{path.relative_to(root).as_posix()}\0".encode())
        code.update(path.read_bytes())
    data = hashlib.sha256(data_path("pums2016.csv").read_bytes()).hexdigest()
    return {
        "code": code.hexdigest(),
        "data": data,
        **{library: version(library) for library in _LIBRARIES},
    }
