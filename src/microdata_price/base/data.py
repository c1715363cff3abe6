"""Paths of the project's data files: beside the sources, or where the package was installed."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, files
from pathlib import Path

from ..exceptions import InputError

_CHECKOUT = Path(__file__).resolve().parents[3] / "data"
_INSTALLED = "share/microdata-price/data/"


def data_path(name: str) -> Path:
    """Return the path of a data file, from a checkout or from an installed package.

    Examples
    --------
    >>> data_path("pums2016.csv").name
    'pums2016.csv'
    """
    for path in (_CHECKOUT / name, *_installed(name)):
        if path.is_file():
            return path
    raise InputError(
        f"the data file {name!r} is neither in {_CHECKOUT} nor among the installed package's files "
        f"(…/{_INSTALLED}); run from a checkout, or install microdata-price again"
    )


def _installed(name: str) -> list[Path]:
    """List where the installed package's record says that the file is."""
    try:
        recorded = files("microdata-price") or []
    except PackageNotFoundError:
        return []
    wanted = _INSTALLED + name
    return [Path(str(f.locate())).resolve() for f in recorded if f.as_posix().endswith(wanted)]
