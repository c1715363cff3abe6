"""The files of a release, as bytes computed from a release alone."""

from __future__ import annotations

import csv
import hashlib
import importlib.metadata
import io
import json
import platform
from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import parquet

from ..tables.schema import Schema
from ..tables.table_text import table_text
from .budget import FORMAT, MANIFEST
from .fit import Release

WEIGHT = "weight"
"""The column of the fitted table: how many records a cell stands for, not a whole number."""
MEASUREMENTS = "measurements.csv"
"""The file of the noisy answers."""
SCHEMA = "schema.json"
"""The file of the schema."""
MOST_RECORDS = 20_000_000
"""A table of more records is written as a table only."""
_LIBRARIES = ("microdata-price", "opendp", "numpy", "scipy", "pandas", "pyarrow")


def _csv(header: list[str], rows: Iterable[tuple[Any, ...]]) -> bytes:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)
    return out.getvalue().encode()


def measurements_csv(release: Release) -> bytes:
    """Return the noisy answers with their variances; an empty field means all values."""
    measured = release.measured
    variance = measured.mechanism.noise.variance
    rows = [
        (q.name, *values, answer, variance)
        for q, answers in zip(measured.workload.query_sets, measured.answers, strict=True)
        for values, answer in zip(
            measured.schema.cell_values(q.axes), answers.tolist(), strict=True
        )
    ]
    return _csv(["query_set", *measured.schema.columns, "noisy_answer", "variance"], rows)


def weights_csv(release: Release) -> bytes:
    """Return the fitted table, one row a cell."""
    schema = release.measured.schema
    cells = zip(schema.cell_values(), release.weights.ravel().tolist(), strict=True)
    return _csv([*schema.columns, WEIGHT], [(*values, weight) for values, weight in cells])


def records_table(schema: Schema, table: NDArray[np.int64]) -> pa.Table:
    """Return one row a record, in the order of the cells, which tells nothing more.

    Examples
    --------
    >>> records_table(Schema(("sex",), (("f", "m"),)), np.array([1, 2])).to_pydict()
    {'sex': ['f', 'm', 'm']}
    """
    cell = np.repeat(np.arange(schema.cells), table.ravel())
    places = np.unravel_index(cell, schema.shape)
    return pa.table(
        {
            name: pa.array(values, pa.string()).take(pa.array(place))
            for name, values, place in zip(schema.columns, schema.values, places, strict=True)
        }
    )


def has_records(release: Release) -> bool:
    """Whether records are written: not for OLS, and not for more than twenty million."""
    return release.rounded is not None and int(release.rounded.table.sum()) <= MOST_RECORDS


def _records(release: Release) -> dict[str, bytes]:
    assert release.rounded is not None
    schema, table = release.measured.schema, release.rounded.table
    packed = io.BytesIO()
    parquet.write_table(records_table(schema, table), packed)
    head, *lines = _csv(list(schema.columns), schema.cell_values()).splitlines(keepends=True)
    repeated = [line * n for line, n in zip(lines, table.ravel().tolist(), strict=True)]
    return {"records.csv": b"".join([head, *repeated]), "records.parquet": packed.getvalue()}


def errors_text(expected: pd.DataFrame) -> str:
    """Return the expected errors as a table of plain text."""
    shown = expected.rename(
        columns={
            "query_set": "query set",
            "noisy_answers": "noisy answer",
            "ols": "signed (OLS)",
            "standard_error": "+-",
        }
    )
    return shown.to_string(index=False, float_format=lambda v: f"{v:.2f}")


def _readme(release: Release) -> bytes:
    measured = release.measured
    claim = measured.mechanism.guarantee.describe()
    lines = [
        "DIFFERENTIALLY PRIVATE RELEASE",
        "",
        f"Guarantee: {claim},",
        "between any two tables that differ by one record, for everything in this folder together.",
        "",
        "What is protected: whether any one record is in the table, and what it says. Everything",
        "here was computed from noisy answers; the true table was not used after they were drawn.",
        "What is not: the schema (columns and allowed values), the table's shape and what was",
        "asked are public. A person with k records has k times the epsilon, or k squared times",
        "the rho. Other releases about the same people add up:",
        "  microdata-price budget FOLDER FOLDER ...",
        "",
        "Files",
        "  measurements.csv     noisy answers with their variances; best for statistics",
        "  table_weighted.csv   the fitted table, records with fractions",
    ]
    if release.rounded is not None:
        lines.append("  table_integer.csv    whole records: the fitted table, rounded")
        lines.append(
            "  records.csv          the same, one row a record (records.parquet too)"
            if has_records(release)
            else f"  (no records.csv: there would be more than {MOST_RECORDS} rows)"
        )
    lines += [
        "  expected_errors.csv  how far off to expect one query of each set to be",
        "  schema.json          columns and allowed values",
        f"  {MANIFEST}        guarantee, workload, method, versions, checksums",
        "",
        "To fit the same measurements by another method, without the true table or further cost:",
        "  microdata-price release --again FOLDER --method METHOD --out FOLDER",
        "",
        "Expected error of one query (root mean square, in records)",
        errors_text(release.expected),
        "",
        "Noisy answers and signed answers: exact, whatever the true table.",
    ]
    if release.rounded is not None:
        lines += [
            "Fitted: estimated as if the published table were the true one, with standard errors.",
            "Fitted tables are biased: empty cells come out too large on average, and, where the",
            "total is kept, others too small.",
        ]
        word = (
            "every one of them less than one by a theorem"
            if release.rounded.within_one
            else f"none can be below {release.rounded.least:.3f}"
        )
        far = ", ".join(f"{k} {v:.3f}" for k, v in release.rounded.deviations.items())
        lines += ["", f"Rounding moved no answer by more than: {far} ({word})."]
    return ("\n".join(lines) + "\n").encode()


def _manifest(release: Release, files: dict[str, bytes]) -> bytes:
    measured, mechanism = release.measured, release.measured.mechanism
    rounded = release.rounded
    document = {
        "format": FORMAT,
        "measurement": measured.identity,
        "guarantee": mechanism.guarantee.fields(),
        "neighbours": "tables that differ by one record added or removed",
        "mechanism": {
            "name": mechanism.name,
            "library": "OpenDP",
            "scale": mechanism.scale,
            "sensitivity": mechanism.sensitivity,
            "variance": mechanism.noise.variance,
            "randomness": "the operating system's, without a seed",
        },
        "workload": [
            {
                "query_set": q.name,
                "columns": [measured.schema.columns[a] for a in q.axes or ()],
                "queries": q.size,
            }
            for q in measured.workload.query_sets
        ],
        "method": release.method,
        "certificate": release.certificate,
        "rounding": None
        if rounded is None
        else {
            "deviations": rounded.deviations,
            "within_one_by_theorem": rounded.within_one,
            "least_possible": rounded.least,
        },
        "versions": {
            "python": platform.python_version(),
            **{name: importlib.metadata.version(name) for name in _LIBRARIES},
        },
        "sha256": {name: hashlib.sha256(data).hexdigest() for name, data in files.items()},
    }
    return (json.dumps(document, indent=1, ensure_ascii=False) + "\n").encode()


def release_files(release: Release) -> dict[str, bytes]:
    """Return all files of a release by name, the manifest last.

    The same release gives the same bytes: no time, place or name of an input is in them.

    Parameters
    ----------
    release
        What `finish` returned.
    """
    schema = release.measured.schema
    files = {
        "README.txt": _readme(release),
        MEASUREMENTS: measurements_csv(release),
        "table_weighted.csv": weights_csv(release),
        "expected_errors.csv": release.expected.to_csv(index=False).encode(),
        SCHEMA: schema.to_json().encode(),
    }
    if release.rounded is not None:
        files["table_integer.csv"] = table_text(schema, release.rounded.table).encode()
        if has_records(release):
            files |= _records(release)
    return {**files, MANIFEST: _manifest(release, files)}
