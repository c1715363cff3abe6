"""A release: measure a true table once, keep the answers, forget the table, publish the rest."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np

from ..base.files import check_new, new_folder
from ..exceptions import InputError
from ..fitting import CONTROL, METHODS, check_methods, fit
from .files import Release, release_files
from .folder import MEASUREMENTS, SCHEMA, complete, draft_for, entry_of, load_measured
from .intervals import intervals
from .ledger import Account
from .measure import measure_file
from .plan import Measured, not_asked
from .rounding import round_table


def finish(measured: Measured, method: str) -> Release:
    """Fit, round to whole records, and compute intervals, all from the noisy answers."""
    m = measured.measurements()
    fitted = fit(m, method)
    signed = fitted if method == CONTROL else fit(m, CONTROL)
    weights, whole, total = fitted.tables[0], None, measured.known_total
    if not METHODS[method].signed:
        # A solver's last digits may lie below zero; a record's weight may not.
        weights = np.maximum(weights, 0)
        if total is not None:  # which none is known to have is spread evenly
            weights = weights + (weights.sum() == 0)
            weights = weights * (total / weights.sum())
        whole = round_table(weights, measured.workload)
    told = intervals(measured, signed.cells[0], not_asked(measured.schema, measured.workload))
    return Release(measured, method, weights, fitted.certificate.worst, whole, tuple(told))


def publish(measured: Measured, method: str, out: Path) -> Release:
    """Write the folder ``out``, whole or not at all, from noisy answers (`measure_privately`)."""
    with new_folder(out, private=False) as folder:
        for name, data in release_files(result := finish(measured, method)).items():
            (folder / name).write_bytes(data)
    return result


def release(
    path: Path,
    planned: Measured,
    method: str,
    out: Path,
    account: Account | None = None,
    where: Mapping[str, str] | None = None,
    told: Callable[[str], object] = str,
) -> Release:
    """Release a table for real: vetted noise, no seed, and nothing written that is not private.

    ``where``, as in `read_table`, is published. Answers are kept before a fit; if it fails,
    `release_again` costs nothing. ``told`` is called of both steps, "counted" and "kept".
    """
    check_methods([method])
    planned = replace(planned, where={n: str(v) for n, v in (where or {}).items()})
    if account is not None:
        account.check_ready(out)

    def spend(named: Measured) -> str:
        check_new(out)
        line = "" if account is None else account.spend(entry_of(out, named))
        told("counted")
        return line

    with draft_for(planned, out, lambda: told("kept")) as keep:
        measured = measure_file(path, planned, spend, keep)
    complete(out, release_files(result := finish(measured, method)))
    return result


def release_again(folder: Path, method: str, out: Path | None = None) -> Release:
    """Fit an earlier release's noisy answers; no true table, no further cost.

    A measurement that was not fitted yet is completed in its ``folder`` where ``out`` is ``None``.
    """
    measured, finished = load_measured(folder)
    if out is not None:
        return publish(measured, method, out)
    if finished:
        raise InputError(f"{folder} is finished; to fit its measurements anew, add --out NEW")
    kept = [(name, (folder / name).read_bytes()) for name in (SCHEMA, MEASUREMENTS)]
    complete(folder, release_files(result := finish(measured, method), kept))
    return result
