"""Paths of the project's data files: beside the sources, or where the package was installed."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, files
from pathlib import Path

from ..exceptions import InputError

_CHECKOUT = Path(__file__).resolve().parents[3] / "data"
_INSTALLED = "share/microdata-price/data/"


def data_path(name: str) -> Path:
    """Return the path of a data file, from a checkout or from an installed package."""
    if (checkout := _CHECKOUT / name).is_file():
        return checkout
    try:
        recorded = files("microdata-price") or []
    except PackageNotFoundError:
        recorded = []
    ends = _INSTALLED + name
    installed = [Path(str(f.locate())).resolve() for f in recorded if f.as_posix().endswith(ends)]
    if path := next(filter(Path.is_file, installed), None):
        return path
    said = f"the data file {name!r} is neither in {_CHECKOUT} nor among the installed package's"
    raise InputError(f"{said} files (…/{_INSTALLED}); run from a checkout, or install it again")
