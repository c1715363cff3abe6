"""The files of a release, as bytes computed from a release alone."""

from __future__ import annotations

import io
import textwrap
from dataclasses import dataclass
from pathlib import Path

import jinja2
import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import parquet

from ..base.numbers import at_most
from ..fitting import METHODS
from ..tables.schemas import COUNT, Schema
from ..tables.workloads import query_values
from .folder import MANIFEST, README, csv_bytes, manifest_bytes, measured_files
from .intervals import Told
from .mechanism import is_total
from .plan import Measured, times, warnings_of

Array = NDArray[np.float64]

_TEMPLATES = jinja2.Environment(trim_blocks=True, undefined=jinja2.StrictUndefined)
MOST_RECORDS = 20_000_000
"""A table of more records is written as a table only."""
MISREAD = ("", "NA", "N/A", "NaN", "nan", "None", "null", "NULL", "<NA>", "n/a", "#N/A")
"""Words that common programs read as a missing value."""


@dataclass(frozen=True, eq=False)
class Release:
    """Everything that a release publishes, computed from noisy answers alone.

    ``weights`` is the fitted table, shaped as the schema, with negative cells only for OLS, and
    ``certificate`` how far it is from its optimum, relative to its scale; ``whole`` is the table of
    whole records, ``None`` for OLS, which makes no microdata; ``told`` is what the noisy answers
    tell of each query set, those asked and then the others.
    """

    measured: Measured
    method: str
    weights: Array
    certificate: float
    whole: NDArray[np.int64] | None
    told: tuple[Told, ...]

    def moved(self) -> dict[str, float]:
        """Return how far rounding moved the answers of each query set, in counts."""
        if self.whole is None:
            return {}
        off = self.whole - self.weights
        sets = self.measured.workload.query_sets
        return {q.name: float(np.abs(q.answers(off)).max()) for q in sets}


def _records(schema: Schema, table: NDArray[np.int64]) -> dict[str, bytes]:
    """Return one row a record, in the order of the cells, which tells nothing more."""
    cells, counts = schema.frame(), table.ravel()
    packed = io.BytesIO()
    places = pa.array(np.repeat(np.arange(schema.cells), counts))
    listed = pa.Table.from_pandas(cells, preserve_index=False).replace_schema_metadata()
    parquet.write_table(listed.take(places), packed)
    head, *lines = csv_bytes(cells).splitlines(keepends=True)
    repeated = [line * n for line, n in zip(lines, counts.tolist(), strict=True)]
    return {"records.csv": b"".join([head, *repeated]), "records.parquet": packed.getvalue()}


def intervals_csv(release: Release) -> bytes:
    """Return what is told of every query, and the published answer."""
    parts = []
    for told in release.told:
        rows = query_values(release.measured.schema, told.queries)
        rows.insert(0, "query_set", told.queries.name)
        rows = rows.assign(signed=told.signed, signed_variance=told.variance, **told.ends)
        if release.whole is not None:
            published = told.queries.answers(release.whole)
            rows = rows.assign(published=np.rint(published).astype(np.int64))
        parts.append(rows)
    return csv_bytes(pd.concat(parts))


def release_files(release: Release) -> dict[str, bytes]:
    """Return all files of a release by name, the manifest last.

    The same release gives the same bytes: no time, place or name of an input is in them.
    """
    schema, whole = release.measured.schema, release.whole
    cells = schema.frame()
    files = {
        README: readme_text(release).encode(),
        **measured_files(release.measured),
        "intervals.csv": intervals_csv(release),
        "table_weighted.csv": csv_bytes(cells.assign(weight=release.weights.ravel())),
    }
    if whole is not None:
        files["table_integer.csv"] = csv_bytes(cells.assign(**{COUNT: whole.ravel()}))
        if whole.sum() <= MOST_RECORDS:
            files |= _records(schema, whole)
    more = {
        "stage": "finished",
        "method": release.method,
        "certificate": release.certificate,
        "rounding": {"deviations": release.moved()},
    }
    return {**files, MANIFEST: manifest_bytes(release.measured, files, more)}


def readme_text(release: Release) -> str:
    """Return the README: one page, for any reader, from the text beside this module."""
    measured, whole = release.measured, release.whole
    mechanism, ratio = measured.mechanism, times(measured.mechanism.guarantee)
    widths: dict[tuple[int, int], list[str]] = {}
    for told in release.told:
        widths.setdefault((told.half, told.wide), []).append(told.queries.name)
    page = _TEMPLATES.from_string(Path(__file__).with_name("readme.txt").read_text("utf-8"))
    text = page.render(
        told=release.told,
        widths=widths,
        whole=whole,
        listed=whole is not None and whole.sum() <= MOST_RECORDS,
        most=MOST_RECORDS,
        warnings=warnings_of(measured.workload, mechanism),
        public=measured.known_total,
        mechanism=mechanism,
        times=at_most(ratio, 3) if ratio < 1e6 else "a million or more",
        is_total=is_total,
        example=_example(release),
        method=METHODS[release.method],
        moved=max(release.moved().values(), default=0.0),
        restricted=measured.schema.possible is not None,
        columns=_columns(measured.schema),
    )
    parts = [part.strip("\n") for part in text.split("\n\n") if part.strip()]
    wrapped = (p if p.startswith("  ") else textwrap.fill(p, 88) for p in parts)
    return "\n\n".join(wrapped) + "\n"


def _example(release: Release) -> dict[str, object]:
    """Return one line of the intervals to read aloud: the first that is not the total."""
    for told in (t for t in release.told if t.queries.size > 1):
        if release.whole is None:
            break
        row = query_values(release.measured.schema, told.queries).iloc[0]
        which = " and ".join(f"{c} = {v!r}" for c, v in row.items() if v)
        count = int(np.rint(told.queries.answers(release.whole)[0]))
        low, high = told.ends["low"][0], told.ends["high"][0]
        return {"published": count, "which": which, "low": low, "high": high}
    return {}


def _columns(schema: Schema) -> list[tuple[str, list[str]]]:
    """Say of each column what programs or readers may take it for."""
    found = []
    for name in schema.names:
        values = schema.values_of(name)
        notes = [f"{len(values)} values"]
        if name in schema.columns:
            rule = schema.rules[schema.columns.index(name)]
            notes += [f"others counted at {rule.other!r}"] * bool(rule.other)
            notes += [f"empty ones at {rule.empty!r}"] * bool(rule.empty)
        if misread := [v for v in values if v in MISREAD]:
            notes.append(f"{', '.join(misread)}: a word, not a missing value (keep_default_na)")
        if any(v.isdecimal() and v != str(int(v)) for v in values if len(v) < 400):
            notes.append("codes with leading zeros: read as text")
        found.append((name, notes))
    return found
