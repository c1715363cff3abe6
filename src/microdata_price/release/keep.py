"""Noisy answers on disk, before anything is fitted: whole or not at all, and read back."""

from __future__ import annotations

import contextlib
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import csv as arrow_csv

from ..base.files import check_new, naming, sync_file, usual_permissions
from ..exceptions import InputError
from .manifest import MANIFEST, SCHEMA, check_file, damaged, load_claim, manifest_bytes
from .measure import Measured, Plan, split_answers
from .text import csv_bytes, query_columns

MEASUREMENTS = "measurements.csv"
"""The file of the noisy answers."""
README = "README.txt"
"""The file for people."""
STAGE = "stage"
"""The manifest's field that tells a measurement from a finished release."""
MEASURED, FINISHED = "measured", "finished"
_DRAFT = ".unfinished-"
_BYTES_AN_ANSWER = 400
"""Room that one answer may take in all files together, generously."""


def measurements_csv(measured: Measured) -> bytes:
    """Return the noisy answers with their variances; an empty field means all values."""
    parts: list[bytes] = []
    sets = zip(
        measured.workload.query_sets,
        measured.columns,
        measured.answers,
        measured.mechanism.variances,
        strict=True,
    )
    for queries, columns, answers, variance in sets:
        named = query_columns(measured.schema, queries, columns)
        parts.append(
            csv_bytes(
                {
                    "query_set": pa.array([queries.name] * queries.size, pa.string()),
                    **named,
                    "noisy_answer": answers,
                    "variance": np.full(queries.size, variance),
                },
                header=not parts,
            )
        )
    return b"".join(parts)


def measured_files(measured: Measured) -> dict[str, bytes]:
    """Return the files that hold a measurement; any later step can start from them."""
    return {
        MEASUREMENTS: measurements_csv(measured),
        SCHEMA: measured.schema.to_json().encode(),
    }


_UNFINISHED = """\
NOISY ANSWERS, NOT YET A RELEASE

The privacy budget is spent and these answers are safe, but they were not yet fitted. Go on from
here; it costs no more privacy, and the true table is not needed:

  microdata-price release --again FOLDER --method METHOD

Do not measure the table again: that would spend the budget a second time.
"""


@contextlib.contextmanager
def draft_for(plan: Plan, out: Path) -> Iterator[Callable[[Measured], None]]:
    """Make the folder of a release under a passing name, and give a function that keeps answers.

    Whatever could fail is tried before any noise is drawn: the folder is made and written. What is
    kept appears whole, as ``out``; without it the draft is removed.

    Parameters
    ----------
    plan
        What will be measured.
    out
        The folder to make; it must not exist.

    Raises
    ------
    InputError
        The folder exists, cannot be made, or there is too little room.
    """
    check_new(out)
    check_room(plan, out)
    parent = out.absolute().parent
    with naming(parent):
        draft = Path(tempfile.mkdtemp(prefix=f".{out.name}{_DRAFT}", dir=parent))
    first = {SCHEMA: plan.schema.to_json().encode(), README: _UNFINISHED.encode()}

    def keep(measured: Measured) -> None:
        files = {**first, MEASUREMENTS: measurements_csv(measured)}
        files[MANIFEST] = manifest_bytes(measured, files, {STAGE: MEASURED})
        for name in (MEASUREMENTS, MANIFEST):
            _write(draft / name, files[name])
        sync_file(draft)
        draft.rename(out)
        sync_file(parent)

    try:
        usual_permissions(draft)
        for name, data in first.items():
            _write(draft / name, data)
        yield keep
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def _write(path: Path, data: bytes) -> None:
    path.write_bytes(data)
    usual_permissions(path)
    sync_file(path)


def check_room(plan: Plan, out: Path) -> None:
    """Refuse to measure where the disk could not hold the answers; nothing is spent yet.

    Raises
    ------
    InputError
        It says how much room is needed.
    """
    needed = _BYTES_AN_ANSWER * sum(q.size for q in plan.workload.query_sets) + (1 << 20)
    free = shutil.disk_usage(out.absolute().parent).free
    if free < needed:
        raise InputError(
            f"the disk of {out} has {free >> 20} MiB free and the release may need "
            f"{needed >> 20} MiB; make room first: nothing was measured yet"
        )


def complete(folder: Path, files: Mapping[str, bytes]) -> None:
    """Add files to the folder of a measurement; each appears whole, the manifest last.

    Until the manifest is replaced the folder is the measurement that it was.

    Parameters
    ----------
    folder
        What `keep` made.
    files
        All files of the release by name.
    """
    for old in folder.glob(f"{_DRAFT}*"):
        shutil.rmtree(old)
    draft = Path(tempfile.mkdtemp(prefix=_DRAFT, dir=folder))
    try:
        for name, data in files.items():
            _write(draft / name, data)
        for name in sorted(files, key=lambda n: n == MANIFEST):
            (draft / name).replace(folder / name)
        sync_file(folder)
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def load_measured(folder: Path) -> tuple[Measured, bool]:
    """Read the frozen measurement back from its folder, and whether it was finished.

    Its files must be as they were written, and the guarantee that the manifest states must be what
    the mechanism gives (see `load_claim`).

    Parameters
    ----------
    folder
        What `keep` or `release` made.

    Raises
    ------
    InputError
        No release, or a file that has been changed.
    """
    document, schema, workload, mechanism, identity = load_claim(folder)
    path = check_file(folder, document, MEASUREMENTS)
    strings = arrow_csv.ConvertOptions(
        include_columns=["noisy_answer"], column_types={"noisy_answer": pa.int64()}
    )
    vector = arrow_csv.read_csv(path, convert_options=strings)["noisy_answer"].to_numpy()
    if vector.size != sum(q.size for q in workload.query_sets):
        raise damaged(folder, f"{MEASUREMENTS} has another number of answers than its workload")
    columns = tuple(
        tuple(k for k, c in enumerate(schema.columns) if c in part["columns"])
        for part in document["workload"]
    )
    answers = split_answers(workload, vector.astype(np.int64))
    measured = Measured(identity, schema, workload, columns, answers, mechanism)
    return measured, document.get(STAGE) == FINISHED


def check_unfinished(folder: Path, finished: bool) -> None:
    """Refuse to write into the folder of a release that is finished.

    Raises
    ------
    InputError
        It says what to do.
    """
    if finished:
        raise InputError(
            f"{folder} is finished; to fit its measurements anew, name a new folder with --out"
        )
