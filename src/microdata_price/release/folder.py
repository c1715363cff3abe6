"""The folder of a release: noisy answers on disk before anything is fitted, and read back."""

from __future__ import annotations

import contextlib
import csv
import io
import json
import math
import platform
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from pyarrow import csv as arrow_csv

from ..base.files import check_new, command, naming, stopping_politely, sync_file, usual_permissions
from ..exceptions import InputError
from ..model.queryset import QuerySet
from ..tables.schemas import Schema, parse_schema, require
from ..tables.workloads import parse_workload, query_values
from .budget import REPLACED, Entry, guarantee_from
from .ledger import lock
from .mechanism import mechanism_like
from .plan import Measured

Files = Mapping[str, bytes]
Keep = Callable[[Measured], None]

MANIFEST, MEASUREMENTS = "manifest.json", "measurements.csv"
SCHEMA, README = "schema.json", "README.txt"
FORMAT, EARLIER = "microdata-price release 3", "microdata-price release 2"  # which is read, too
_DRAFT, _PLACE = ".unfinished-", "place"  # of a manifest that is not written yet
_UNFINISHED = Path(__file__).with_name("unfinished.txt")
_BYTES_AN_ANSWER = 400  # beside its line: the manifest, and what is made later, generously
_NEAR = 1e-9  # numbers that other machines and versions of libraries compute differ by no more
_LIBRARIES = ("microdata-price", "opendp", "numpy", "scipy", "pandas", "pyarrow")


def csv_bytes(frame: pd.DataFrame) -> bytes:
    """Return a table as CSV text in UTF-8; texts are quoted where one needs it."""
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


def answers_csv(schema: Schema, told: Iterable[tuple[QuerySet, Mapping[str, Any]]]) -> bytes:
    """Return what is told of each query, one row each; an empty field means all values."""
    parts = {q.name: query_values(schema, q).assign(**columns) for q, columns in told}
    return csv_bytes(pd.concat(parts, names=["query_set"]).reset_index("query_set"))


def measurements_csv(measured: Measured) -> bytes:
    """Return the noisy answers with their variances."""
    found = zip(measured.answers, measured.mechanism.variances, strict=True)
    columns = ({"noisy_answer": a, "variance": v} for a, v in found)
    return answers_csv(measured.schema, zip(measured.workload.query_sets, columns, strict=True))


def sealed(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return a manifest closed by its own checksum."""
    rest = {k: v for k, v in document.items() if k != "checksum"}
    text = json.dumps(rest, sort_keys=True, ensure_ascii=False)
    return {**rest, "checksum": sha256(text.encode()).hexdigest()}


def manifest_bytes(measured: Measured, files: Files, more: Mapping[str, Any]) -> bytes:
    """Return the manifest of a measurement, of the other files, and of what later steps add."""
    mechanism, workload = measured.mechanism, measured.workload
    document = {
        "format": FORMAT,
        "measurement": measured.identity,
        "guarantee": mechanism.guarantee.fields(),
        "neighbours": f"tables that differ by {mechanism.neighbours}",
        "replacing_one_record_at_most": mechanism.replacement.fields(),
        "warnings": measured.warnings,
        "mechanism": {
            "name": mechanism.name,
            "library": "OpenDP",
            "scales": dict(zip(workload.names, mechanism.scales, strict=True)),
            "variances": dict(zip(workload.names, mechanism.variances, strict=True)),
            "randomness": "OpenSSL's generator, seeded by the operating system; no seed is kept",
        },
        "workload": {q.name: q.size for q in workload.query_sets},
        "ledger": measured.ledger,
        "where": measured.where,
        **more,
        "versions": {"python": platform.python_version(), **{n: version(n) for n in _LIBRARIES}},
        "sha256": {name: sha256(data).hexdigest() for name, data in files.items()},
    }
    return (json.dumps(sealed(document), indent=1, ensure_ascii=False) + "\n").encode()


@contextlib.contextmanager
def draft_for(planned: Measured, out: Path, kept: Callable[[], object]) -> Iterator[Keep]:
    """Make the folder of a release under a passing name, and give a function that keeps answers.

    All that could fail is tried before any noise is drawn; what is kept appears whole, as ``out``.
    """
    check_new(out)
    low = tuple(np.full(q.size, np.iinfo(np.int64).min) for q in planned.workload.query_sets)
    largest = replace(planned, answers=low)
    needed = len(measurements_csv(largest)) + len(manifest_bytes(largest, {}, {})) + (1 << 20)
    needed += sum(_BYTES_AN_ANSWER * a.size for a in low)
    parent = out.absolute().parent
    for left in parent.glob(f"*{_DRAFT}*/{MANIFEST}"):
        if left.parent.name.startswith(f".{out.name}{_DRAFT}"):
            again = command("release", "--again", left.parent, "--out", out, "--method", "METHOD")
            said = f"{out} was measured by a run that was killed: go on with {again}"
            raise InputError(f"{said}, or remove that folder")
    with naming(parent):
        draft = Path(tempfile.mkdtemp(prefix=f".{out.name}{_DRAFT}", dir=parent))
    files = {SCHEMA: planned.schema.to_json().encode(), README: _UNFINISHED.read_bytes()}

    def keep(measured: Measured) -> None:
        files[MEASUREMENTS] = measurements_csv(measured)
        files[MANIFEST] = manifest_bytes(measured, files, {"stage": "measured"})
        _write(draft / MEASUREMENTS, files[MEASUREMENTS])
        _write(draft / _PLACE, files[MANIFEST])
        (draft / _PLACE).rename(draft / MANIFEST)
        sync_file(draft)
        try:
            draft.rename(out)
        except OSError:  # somebody else was faster
            other = draft.rename(out.with_name(f"{out.name}-{measured.identity}"))
            said = f"{out} was made meanwhile by somebody else; the answers are safe in {other}"
            again = command("release", "--again", other, "--method", "METHOD")
            raise InputError(f"{said}: go on with {again}") from None
        finally:
            sync_file(parent)
        kept()

    try:
        usual_permissions(draft)
        with naming(parent):  # zeros hold the place of what is measured
            for name, data in {**files, MEASUREMENTS: bytes(needed), _PLACE: b""}.items():
                _write(draft / name, data)
        yield keep
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def _write(path: Path, data: bytes) -> None:
    path.write_bytes(data)
    sync_file(path)


def complete(folder: Path, files: Files) -> None:
    """Add files, whole, to a measurement's folder, in place of a fit cut short; manifest last."""
    with stopping_politely(), (folder / MANIFEST).open("r+b") as held:
        with contextlib.suppress(OSError):  # of a disk without locks
            lock(held)
        done = f"{folder} is finished: another process was faster; its fit is kept"
        require(not load_measured(folder)[1], done)
        for old in folder.glob(f"{_DRAFT}*"):
            shutil.rmtree(old)
        with tempfile.TemporaryDirectory(prefix=_DRAFT, dir=folder) as draft:
            for name, data in files.items():
                _write(Path(draft, name), data)
            for name in {"table_integer.csv", "records.csv", "records.parquet"} - {*files}:
                (folder / name).unlink(missing_ok=True)
            for name in sorted(files, key=lambda n: n == MANIFEST):
                Path(draft, name).replace(folder / name)
            sync_file(folder)


def _damaged(folder: Path, what: str) -> InputError:
    return InputError(f"{folder} is damaged: {what}; take an untouched copy of what release wrote")


def _checked(folder: Path, document: Mapping[str, Any], name: str) -> bytes:
    """Read a file that must be as the manifest's checksum says."""
    path, sums = folder / name, document.get("sha256")
    data = path.read_bytes() if path.is_file() else b""
    if not isinstance(sums, Mapping) or not data or sha256(data).hexdigest() != sums.get(name):
        raise _damaged(folder, f"{name} is missing or not as the manifest's checksum says")
    return data


def load_measured(folder: Path) -> tuple[Measured, bool]:
    """Read a measurement back, checked against what its folder states, and if it was finished."""
    path = folder / MANIFEST
    require(path.is_file(), f"{folder} is not the folder of a release: it has no {MANIFEST}")
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError):
        raise _damaged(folder, f"{MANIFEST} is not a JSON document") from None
    made = document.get("format") if isinstance(document, dict) else None
    said = f"this version of release (it says {made!r}, not {FORMAT!r}): use the version that"
    require(made in (FORMAT, EARLIER), f"{path} was not written by {said} wrote it")
    if document != sealed(document):
        raise _damaged(folder, f"{MANIFEST} is not as its own checksum says")
    schema = parse_schema(_checked(folder, document, SCHEMA).decode())
    try:
        fields, asked, identity = (document[k] for k in ("mechanism", "workload", "measurement"))
        earlier = isinstance(asked, list)
        names = [str(part["query_set"]) for part in asked] if earlier else list(asked)
        told = (fields[k].items() for k in ("scales", "variances"))
        scales, noted = ({str(n): float(v) for n, v in items} for items in told)
        workload = parse_workload(", ".join(names), schema)
        mechanism = mechanism_like(workload, str(fields["name"]), [scales[n] for n in names])
        stated, where = guarantee_from(document["guarantee"]), dict(document.get("where", {}))
        same = isinstance(identity, str) and list(scales) == list(noted) == names
    except (KeyError, TypeError, AttributeError, ValueError, ArithmeticError) as error:
        raise _damaged(folder, f"{MANIFEST} does not describe a measurement ({error})") from None
    derived, said = mechanism.guarantee, f"tables that differ by {mechanism.neighbours}"
    # Of a public total the earlier form may state too little; what is derived here counts.
    stale = earlier and mechanism.neighbours == REPLACED
    close = stale or math.isclose(stated.level, derived.level, rel_tol=_NEAR)
    if stated.kind != derived.kind or not close or document.get("neighbours") != said or not same:
        raise _damaged(folder, f"{MANIFEST} states a guarantee that its mechanism does not give")
    text = pa.BufferOutputStream()  # not an object of Python, which Arrow may hold at its end
    text.write(_checked(folder, document, MEASUREMENTS))
    kinds = {"noisy_answer": pa.int64(), "variance": pa.float64()}
    options = arrow_csv.ConvertOptions(include_columns=list(kinds), column_types=kinds)
    try:
        read = arrow_csv.read_csv(pa.BufferReader(text.getvalue()), convert_options=options)
    except (pa.ArrowInvalid, KeyError):
        raise _damaged(folder, f"{MEASUREMENTS} cannot be read") from None
    answers, variances = (column.to_numpy() for column in read.columns)
    sizes = [q.size for q in workload.query_sets]
    stated_all = np.concatenate([list(noted.values()), variances])
    exact = np.concatenate([mechanism.variances, np.repeat(mechanism.variances, sizes)])
    if stated_all.size != exact.size or not np.allclose(stated_all, exact, rtol=_NEAR, atol=0):
        raise _damaged(folder, "it states variances that its scales do not give")
    made = tuple(part.copy() for part in np.split(answers, np.cumsum(sizes)[:-1]))
    line, finished = str(document.get("ledger", "")), document.get("stage") == "finished"
    return Measured(identity, schema, workload, mechanism, made, line, where), finished


def entry_of(folder: Path, measured: Measured) -> Entry:
    """Return what a measurement spends, for adding up."""
    m = measured.mechanism
    return Entry(folder, measured.identity, m.guarantee, m.neighbours == REPLACED)
