"""A release: measure a true table once, keep the answers, forget the table, publish the rest."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from ..base.files import check_new, new_folder
from ..fitting import check_methods
from ..model.privacy import ConcentratedDP, PureDP
from ..model.workload import Workload
from ..tables.schema import Schema
from .files import release_files
from .fit import Release, finish
from .keep import check_unfinished, complete, draft_for, load_measured
from .ledger import Account
from .manifest import entry_of
from .measure import Measured, measure_file, plan_release
from .report import Progress


@dataclass(frozen=True)
class Options:
    """What may be said of a release beside what, how private, and by which method.

    Parameters
    ----------
    shares, known_total, weak
        As for `mechanism_for`.
    account
        Where the spending is written down, and refused beyond a cap; ``None`` for nowhere.
    draws
        As for `finish`.
    progress
        As for `finish`.
    tell
        As for `read_table`.
    """

    shares: Mapping[str, float] | None = None
    known_total: bool = False
    weak: bool = False
    account: Account | None = None
    draws: int | None = None
    progress: Progress | None = None
    tell: Callable[[str], None] | None = None


NO_OPTIONS = Options()


def publish(
    measured: Measured,
    method: str,
    out: Path,
    draws: int | None = None,
    progress: Progress | None = None,
) -> Release:
    """Write the folder of a release from a frozen measurement; the true table plays no part.

    Parameters
    ----------
    measured
        The frozen measurement.
    method
        The method of fitting.
    out
        The folder to make; it must not exist. It appears whole or not at all.
    draws, progress
        As for `finish`.

    Raises
    ------
    InputError
        An unknown method, or a folder that exists.
    CertificateError
        A fit or a rounding that misses; nothing is written.
    """
    files = release_files(result := finish(measured, method, draws, progress))
    with new_folder(out, private=False) as folder:
        for name, data in files.items():
            (folder / name).write_bytes(data)
    return result


def release(
    path: Path,
    schema: Schema,
    workload: Workload,
    guarantee: PureDP | ConcentratedDP,
    method: str,
    out: Path,
    options: Options = NO_OPTIONS,
    measured_now: Callable[[], None] | None = None,
) -> Release:
    """Release a table for real: vetted noise, no seed, and nothing written that is not private.

    The noisy answers are on the disk, in the folder, before anything is fitted; if a later step
    fails, `release_again` goes on from there at no cost.

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
    options
        What else may be said.
    measured_now
        Called once the answers are safe.

    Returns
    -------
    Release
        What was published.

    Raises
    ------
    InputError
        Bad input; checked before the table is read as far as possible.
    CertificateError
        A fit or a rounding that misses; the measurement is kept.
    """
    check_methods([method])
    check_new(out)
    plan = plan_release(
        schema,
        workload,
        guarantee,
        options.shares,
        known_total=options.known_total,
        weak=options.weak,
    )
    if options.account is not None:
        options.account.check_apart(out)

    def spend() -> None:
        check_new(out)
        if options.account is not None:
            options.account.spend(entry_of(out, plan.identity, plan.mechanism))

    with draft_for(plan, out) as keep:

        def safe(measured: Measured) -> None:
            keep(measured)
            if measured_now is not None:
                measured_now()

        measured = measure_file(path, plan, spend, safe, options.tell)
    result = finish(measured, method, options.draws, options.progress)
    complete(out, release_files(result))
    return result


def release_again(
    folder: Path,
    method: str,
    out: Path | None = None,
    draws: int | None = None,
    progress: Progress | None = None,
) -> Release:
    """Fit an earlier release's measurements; no true table, no further cost.

    Parameters
    ----------
    folder
        The earlier release, or a measurement that was not fitted yet.
    method
        The method of fitting.
    out
        The folder to make; ``None`` completes a measurement where it is.
    draws, progress
        As for `finish`.

    Raises
    ------
    InputError
        An unknown method, a damaged release, or a folder that exists.
    CertificateError
        A fit or a rounding that misses; nothing is written.
    """
    check_methods([method])
    if out is not None:
        check_new(out)
        return publish(load_measured(folder)[0], method, out, draws, progress)
    measured, finished = load_measured(folder)
    check_unfinished(folder, finished)
    result = finish(measured, method, draws, progress)
    complete(folder, release_files(result))
    return result
