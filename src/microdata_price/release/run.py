"""A release: measure a true table once, forget it, publish what follows from the measurement."""

from __future__ import annotations

from pathlib import Path

from ..base.files import check_new, new_folder
from ..fitting import check_methods
from ..model.privacy import ConcentratedDP, PureDP
from ..model.workload import Workload
from ..tables.schema import Schema
from .again import load_measured
from .files import release_files
from .fit import Release, finish
from .measure import Measured, measure_file, mechanism_for


def publish(measured: Measured, method: str, out: Path) -> Release:
    """Write the folder of a release from a frozen measurement; the true table plays no part.

    Parameters
    ----------
    measured
        The frozen measurement.
    method
        The method of fitting.
    out
        The folder to make; it must not exist. It appears whole or not at all.

    Raises
    ------
    InputError
        An unknown method, or a folder that exists.
    CertificateError
        A fit or a rounding that misses; nothing is written.
    """
    result = finish(measured, method)
    files = release_files(result)
    with new_folder(out, private=False) as folder:
        for name, data in files.items():
            (folder / name).write_bytes(data)
            (folder / name).chmod(0o644)
    return result


def release(
    path: Path,
    schema: Schema,
    workload: Workload,
    guarantee: PureDP | ConcentratedDP,
    method: str,
    out: Path,
) -> Release:
    """Release a table for real: vetted noise, no seed, and nothing written that is not private.

    Parameters
    ----------
    path
        The true table (see `read_table` for its forms).
    schema
        Columns and allowed values; public.
    workload
        What to ask, highest priority first.
    guarantee
        What the release shall satisfy.
    method
        One of `fitting.METHODS`.
    out
        The folder to make.

    Returns
    -------
    Release
        What was published.

    Raises
    ------
    InputError
        Bad input; checked before the table is read as far as possible.
    CertificateError
        A fit or a rounding that misses; nothing is written.
    """
    check_methods([method])
    check_new(out)
    mechanism_for(workload, guarantee)
    return publish(measure_file(path, schema, workload, guarantee), method, out)


def release_again(folder: Path, method: str, out: Path) -> Release:
    """Fit an earlier release's measurements by another method; no true table, no further cost.

    Parameters
    ----------
    folder
        The earlier release.
    method
        The method of fitting.
    out
        The folder to make.

    Raises
    ------
    InputError
        An unknown method, a damaged release, or a folder that exists.
    CertificateError
        A fit or a rounding that misses; nothing is written.
    """
    check_new(out)
    return publish(load_measured(folder), method, out)
