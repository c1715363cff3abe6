"""The files of a release, as bytes computed from a release alone."""

from __future__ import annotations

import io

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import parquet

from ..tables.schema import COUNT, Schema
from .fit import Release
from .keep import FINISHED, README, STAGE, measured_files
from .manifest import MANIFEST, manifest_bytes
from .plain_words import ends
from .readme import dictionary_text, readme_text, warnings_of
from .text import cell_columns, csv_bytes, query_columns

WEIGHT = "weight"
"""The column of the fitted table: how many records a cell stands for, not a whole number."""
MOST_RECORDS = 20_000_000
"""A table of more records is written as a table only."""


def records_table(schema: Schema, table: NDArray[np.int64]) -> pa.Table:
    """Return one row a record, in the order of the cells, which tells nothing more.

    Examples
    --------
    >>> records_table(Schema(("sex",), (("f", "m"),)), np.array([1, 2])).to_pydict()
    {'sex': ['f', 'm', 'm']}
    """
    cell = pa.array(np.repeat(np.arange(schema.cells), table.ravel()))
    return pa.table({name: values.take(cell) for name, values in cell_columns(schema).items()})


def has_records(release: Release) -> bool:
    """Whether records are written: not for OLS, and not for more than twenty million."""
    return release.rounded is not None and int(release.rounded.table.sum()) <= MOST_RECORDS


def _records(release: Release) -> dict[str, bytes]:
    assert release.rounded is not None
    schema, table = release.measured.schema, release.rounded.table
    packed = io.BytesIO()
    parquet.write_table(records_table(schema, table), packed)
    named = cell_columns(schema)
    head = csv_bytes({name: values[:0] for name, values in named.items()})
    lines = csv_bytes(named, header=False).splitlines(keepends=True)
    repeated = [line * n for line, n in zip(lines, table.ravel().tolist(), strict=True)]
    return {"records.csv": b"".join([head, *repeated]), "records.parquet": packed.getvalue()}


def intervals_csv(release: Release) -> bytes:
    """Return every query's signed answer with its intervals, and the published answer.

    A count is a whole number of 0 or more, so the ends of intervals are moved inwards to such.
    """
    measured, report = release.measured, release.report
    assert report is not None
    assert report.halves is not None
    assert report.joint is not None
    parts: list[bytes] = []
    sets = measured.workload.query_sets
    for k, (queries, columns) in enumerate(zip(sets, measured.columns, strict=True)):
        signed = report.signed[k][0]
        variance = np.zeros(queries.size) if report.variances is None else report.variances[k]
        shown_ends = {}
        for suffix, half in (("", report.halves[k]), ("_all", report.joint[k])):
            if measured.mechanism.scales[k] == 0:
                signed, half = measured.answers[k].astype(float), np.zeros(queries.size)
            shown_ends[f"low{suffix}"], shown_ends[f"high{suffix}"] = ends(signed, half)
        shown = {
            "query_set": pa.array([queries.name] * queries.size, pa.string()),
            **query_columns(measured.schema, queries, columns),
            "signed": signed,
            "signed_variance": variance,
            **shown_ends,
        }
        if release.rounded is not None:
            shown["published"] = np.rint(queries.answers(release.rounded.table)).astype(np.int64)
        parts.append(csv_bytes(shown, header=not parts))
    return b"".join(parts)


def _manifest_fields(release: Release) -> dict[str, object]:
    rounded, report = release.rounded, release.report
    return {
        STAGE: FINISHED,
        "warnings": warnings_of(release),
        "method": release.method,
        "certificate": release.certificate,
        "rounding": None
        if rounded is None
        else {
            "deviations": rounded.deviations,
            "within_one_by_theorem": rounded.within_one,
            "least_possible": rounded.least,
        },
        "report": None
        if report is None
        else {"imitated_measurements": report.draws, "left_out": report.left_out},
    }


def release_files(release: Release) -> dict[str, bytes]:
    """Return all files of a release by name, the manifest last.

    The same release gives the same bytes: no time, place or name of an input is in them.

    Parameters
    ----------
    release
        What `finish` returned.
    """
    schema = release.measured.schema
    named = cell_columns(schema)
    files = {
        README: readme_text(release, has_records(release), MOST_RECORDS),
        **measured_files(release.measured),
        "data_dictionary.txt": dictionary_text(release),
        "table_weighted.csv": csv_bytes({**named, WEIGHT: release.weights.ravel()}),
    }
    report = release.report
    if report is not None:
        files["expected_errors.csv"] = report.expected.to_csv(index=False).encode()
        if report.halves is not None:
            files["intervals.csv"] = intervals_csv(release)
    if release.rounded is not None:
        counts = release.rounded.table.ravel()
        files["table_integer.csv"] = csv_bytes({**named, COUNT: counts})
        if has_records(release):
            files |= _records(release)
    return {**files, MANIFEST: manifest_bytes(release.measured, files, _manifest_fields(release))}
