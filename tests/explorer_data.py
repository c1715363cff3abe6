"""A small explorer, built once a session, that several test modules look at."""

import fcntl
import json
import os
from pathlib import Path
from unittest.mock import patch

from microdata_price.book.plan import Edition
from microdata_price.chapters.explorer import plane
from microdata_price.explorer.build import build_explorer
from microdata_price.model.privacy import ApproximateDP
from microdata_price.theory.lower.lower_bounds import lower_bounds
from microdata_price.theory.lower.single_cells import single_cell_lines

SOURCES = Path(__file__).parents[1] / "book" / "explorer"
EDITION = Edition(epsilon=0.5, rho=0.125)
FEW = {"epsilon": (3.0,), "rho": (), "delta": (1e-2,)}  # stops beside those of the edition
ENDS, SPLITS = (2, 10**9), 4


def read_data(folder, name):
    """Read what a script of the page hands over."""
    text = (folder / f"{name}-data.js").read_text(encoding="utf-8")
    head = f"window.EXPLORER_{name.upper()}="
    assert text.startswith(head)
    return json.loads(text.removeprefix(head).rstrip(";\n"))


def package_bounds(guarantee, d, *, sum_error=None, point_error=None):
    """Return what the package proves about one error, given the other, by the page's names."""
    found = dict(lower_bounds(guarantee, d, sum_error=sum_error, point_error=point_error).values)
    if not isinstance(guarantee, ApproximateDP):
        lines = single_cell_lines(guarantee, few=True)
        given = sum_error is not None
        other = lines.point_error(d, sum_error) if given else lines.sum_error(d, point_error)
        found["channel"] = float(other)
    return found


def small_explorer(tmp_path_factory):
    """Return the folder of the small explorer; processes that share the tests share it too."""
    base = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        base = base.parent
    folder = base / "small-explorer"
    with (base / "small-explorer.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.is_dir():
            with patch.object(plane, "SPLITS", SPLITS):
                build_explorer(folder, SOURCES, EDITION, FEW, knots=ENDS)
    return folder
