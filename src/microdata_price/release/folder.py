"""The folder of a release: noisy answers on disk before anything is fitted, and read back."""

from __future__ import annotations

import contextlib
import csv
import hashlib
import importlib.metadata
import io
import json
import math
import platform
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import csv as arrow_csv

from ..base.files import check_new, naming, sync_file, usual_permissions
from ..exceptions import InputError
from ..tables.schemas import parse_schema
from ..tables.workloads import parse_workload, query_values
from .budget import REPLACED, Entry, guarantee_from
from .mechanism import mechanism_like
from .plan import Measured, warnings_of

MANIFEST, MEASUREMENTS, SCHEMA = "manifest.json", "measurements.csv", "schema.json"
README = "README.txt"
FORMAT, EARLIER = "microdata-price release 3", "microdata-price release 2"
"""The form of a manifest; one of the earlier form is read, too."""
_DRAFT = ".unfinished-"
_BYTES_AN_ANSWER = 400
"""Room that one answer may take in all files together, generously."""
_NEAR = 1e-9
"""Numbers that other machines and versions of libraries computed may differ by so much."""
_LIBRARIES = ("microdata-price", "opendp", "numpy", "scipy", "pandas", "pyarrow")
_UNFINISHED = """\
NOISY ANSWERS, NOT YET A RELEASE

The privacy budget is spent and these answers are safe, but they were not yet fitted. Go on from
here; it costs no more privacy, and the true table is not needed:

  microdata-price release --again FOLDER --method METHOD

Do not measure the table again: that would spend the budget a second time.
"""


def csv_bytes(frame: pd.DataFrame) -> bytes:
    r"""Return a table as CSV text in UTF-8; texts are quoted where one needs it.

    Examples
    --------
    >>> csv_bytes(pd.DataFrame({"a": ["x", "y,z"], "n": [1.5, np.nan]}))
    b'a,n\n"x",1.5\n"y,z",\n'
    """
    table = pa.Table.from_pandas(frame, preserve_index=False)
    head, out = io.StringIO(), io.BytesIO()
    csv.writer(head, lineterminator="\n").writerow(frame.columns)
    plain = arrow_csv.WriteOptions(include_header=False, quoting_style="none")
    try:  # "needed" quotes every text; most texts need none
        arrow_csv.write_csv(table, out, plain)
    except pa.ArrowInvalid:
        out = io.BytesIO()
        arrow_csv.write_csv(table, out, arrow_csv.WriteOptions(include_header=False))
    return head.getvalue().encode() + out.getvalue()


def measurements_csv(measured: Measured) -> bytes:
    """Return the noisy answers with their variances; an empty field means all values."""
    parts = []
    for queries, answers, variance in zip(
        measured.workload.query_sets, measured.answers, measured.mechanism.variances, strict=True
    ):
        told = query_values(measured.schema, queries)
        told.insert(0, "query_set", queries.name)
        parts.append(told.assign(noisy_answer=answers, variance=variance))
    return csv_bytes(pd.concat(parts))


def digest(data: bytes) -> str:
    """Return the SHA-256 checksum of bytes."""
    return hashlib.sha256(data).hexdigest()


def sealed(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return a manifest closed by its own checksum."""
    rest = {k: v for k, v in document.items() if k != "checksum"}
    text = json.dumps(rest, sort_keys=True, ensure_ascii=False)
    return {**rest, "checksum": digest(text.encode())}


def manifest_bytes(
    measured: Measured, files: Mapping[str, bytes], more: Mapping[str, Any]
) -> bytes:
    """Return the manifest of a measurement, of the other files, and of what later steps add."""
    mechanism, workload = measured.mechanism, measured.workload
    loud = warnings_of(workload, mechanism)
    document = {
        "format": FORMAT,
        "measurement": measured.identity,
        "guarantee": mechanism.guarantee.fields(),
        "neighbours": f"tables that differ by {mechanism.neighbours}",
        "replacing_one_record_at_most": mechanism.replacement.fields(),
        "warnings": loud,
        "mechanism": {
            "name": mechanism.name,
            "library": "OpenDP",
            "scales": dict(zip(workload.names, mechanism.scales, strict=True)),
            "variances": dict(zip(workload.names, mechanism.variances, strict=True)),
            "randomness": "OpenSSL's generator, seeded by the operating system; no seed is kept",
        },
        "workload": {q.name: q.size for q in workload.query_sets},
        "ledger": measured.ledger,
        **more,
        "versions": {
            "python": platform.python_version(),
            **{name: importlib.metadata.version(name) for name in _LIBRARIES},
        },
        "sha256": {name: digest(data) for name, data in files.items()},
    }
    return (json.dumps(sealed(document), indent=1, ensure_ascii=False) + "\n").encode()


def measured_files(measured: Measured) -> dict[str, bytes]:
    """Return the files that hold a measurement; any later step can start from them."""
    return {
        MEASUREMENTS: measurements_csv(measured),
        SCHEMA: measured.schema.to_json().encode(),
    }


@contextlib.contextmanager
def draft_for(planned: Measured, out: Path) -> Iterator[Callable[[Measured], None]]:
    """Make the folder of a release under a passing name, and give a function that keeps answers.

    Whatever could fail is tried before any noise is drawn: the folder is made and written. What is
    kept appears whole, as ``out``; without it the draft is removed.
    """
    check_new(out)
    needed = _BYTES_AN_ANSWER * sum(q.size for q in planned.workload.query_sets) + (1 << 20)
    parent = out.absolute().parent
    if (free := shutil.disk_usage(parent).free) < needed:
        raise InputError(
            f"the disk of {out} has {free >> 20} MiB free and the release may need "
            f"{needed >> 20} MiB; make room first: nothing was measured yet"
        )
    with naming(parent):
        draft = Path(tempfile.mkdtemp(prefix=f".{out.name}{_DRAFT}", dir=parent))
    first = {SCHEMA: planned.schema.to_json().encode(), README: _UNFINISHED.encode()}

    def keep(measured: Measured) -> None:
        files = {**first, MEASUREMENTS: measurements_csv(measured)}
        files[MANIFEST] = manifest_bytes(measured, files, {"stage": "measured"})
        for name in (MEASUREMENTS, MANIFEST):
            _write(draft / name, files[name])
        sync_file(draft)
        try:
            draft.rename(out)
        except OSError:  # somebody else was faster
            other = out.with_name(f"{out.name}-{measured.identity}")
            draft.rename(other)
            raise InputError(
                f"{out} was made meanwhile by somebody else; the answers are safe in {other}: "
                f"go on with microdata-price release --again {other} --method METHOD"
            ) from None
        finally:
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


def complete(folder: Path, files: Mapping[str, bytes]) -> None:
    """Add files to the folder of a measurement; each appears whole, the manifest last.

    Until the manifest is replaced the folder is the measurement that it was.
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


def _damaged(folder: Path, what: str) -> InputError:
    return InputError(f"{folder} is damaged: {what}; take an untouched copy of what release wrote")


def load_manifest(folder: Path) -> dict[str, Any]:
    """Read the manifest of a release and check it against its own checksum."""
    path = folder / MANIFEST
    if not path.is_file():
        raise InputError(
            f"{folder} is not the folder of a release: it has no {MANIFEST}; give the folders that "
            "release wrote"
        )
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError):
        raise _damaged(folder, f"{MANIFEST} is not a JSON document") from None
    made = document.get("format") if isinstance(document, dict) else None
    if made not in (FORMAT, EARLIER):
        raise InputError(
            f"{path} was not written by this version of release (it says {made!r}, not "
            f"{FORMAT!r}): use the version that wrote it"
        )
    if document != sealed(document):
        raise _damaged(folder, f"{MANIFEST} is not as its own checksum says")
    return dict(document)


def _checked(folder: Path, document: Mapping[str, Any], name: str) -> bytes:
    """Read a file that must be as the manifest's checksum says."""
    path, sums = folder / name, document.get("sha256")
    data = path.read_bytes() if path.is_file() else b""
    if not isinstance(sums, Mapping) or not data or digest(data) != sums.get(name):
        raise _damaged(folder, f"{name} is missing or not as the manifest's checksum says")
    return data


def load_measured(folder: Path) -> tuple[Measured, bool]:
    """Read the measurement of a release back from its folder, and whether it was finished.

    The guarantee is computed anew from the workload, the law of the noise and its scales; what the
    folder states of guarantee, neighbours and variances must agree, or an `InputError` says so.
    """
    document = load_manifest(folder)
    schema = parse_schema(_checked(folder, document, SCHEMA).decode())
    try:
        fields, asked, identity = (document[k] for k in ("mechanism", "workload", "measurement"))
        earlier = isinstance(asked, list)
        names = [str(part["query_set"]) for part in asked] if earlier else list(asked)
        scales, noted = (
            {str(n): float(v) for n, v in fields[k].items()} for k in ("scales", "variances")
        )
        workload = parse_workload(", ".join(names), schema)
        mechanism = mechanism_like(workload, str(fields["name"]), [scales[n] for n in names])
        stated = guarantee_from(document["guarantee"])
        same = isinstance(identity, str) and list(scales) == list(noted) == names
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise _damaged(folder, f"{MANIFEST} does not describe a measurement ({error})") from None
    derived = mechanism.guarantee
    # Of a public total the earlier form may state too little; what is derived here counts.
    stale = earlier and mechanism.neighbours == REPLACED
    close = stale or math.isclose(stated.level, derived.level, rel_tol=_NEAR)
    said = f"tables that differ by {mechanism.neighbours}"
    if stated.kind != derived.kind or not close or document.get("neighbours") != said or not same:
        raise _damaged(folder, f"{MANIFEST} states a guarantee that its mechanism does not give")
    answers, variances = _columns(folder, _checked(folder, document, MEASUREMENTS))
    sizes = [q.size for q in workload.query_sets]
    told = np.concatenate([list(noted.values()), variances])
    exact = np.concatenate([mechanism.variances, np.repeat(mechanism.variances, sizes)])
    if told.size != exact.size or not np.allclose(told, exact, rtol=_NEAR, atol=0):
        raise _damaged(folder, "it states variances that its scales do not give")
    split = np.split(answers, np.cumsum(sizes)[:-1])
    made = tuple(part.copy() for part in split)
    ledger = str(document.get("ledger", ""))
    measured = Measured(identity, schema, workload, mechanism, made, ledger)
    return measured, document.get("stage") == "finished"


def _columns(folder: Path, data: bytes) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    kinds = {"noisy_answer": pa.int64(), "variance": pa.float64()}
    options = arrow_csv.ConvertOptions(include_columns=list(kinds), column_types=kinds)
    try:
        told = arrow_csv.read_csv(io.BytesIO(data), convert_options=options)
    except (pa.ArrowInvalid, KeyError):
        raise _damaged(folder, f"{MEASUREMENTS} cannot be read") from None
    return told["noisy_answer"].to_numpy(), told["variance"].to_numpy()


def entry_of(folder: Path, measured: Measured) -> Entry:
    """Return what a measurement spends, for adding up."""
    mechanism = measured.mechanism
    return Entry(folder, measured.identity, mechanism.guarantee, mechanism.neighbours == REPLACED)
