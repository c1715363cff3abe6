"""The files of a release, as bytes computed from a release alone."""

from __future__ import annotations

import io
import math
import textwrap
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import jinja2
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import parquet

from ..base.numbers import at_most
from ..fitting import METHODS
from ..tables.schemas import COUNT, Rule, Schema
from ..tables.workloads import query_values
from . import folder
from .intervals import Told
from .plan import WEAK_TIMES, Array, Measured, times

_TEMPLATES = jinja2.Environment(trim_blocks=True, undefined=jinja2.StrictUndefined)
MOST_RECORDS = 20_000_000  # a table of more records is written as a table only
# Words that common programs read as a missing value.
MISREAD = ("", "NA", "N/A", "NaN", "nan", "None", "null", "NULL", "<NA>", "n/a", "#N/A")


@dataclass(frozen=True, eq=False)
class Release:
    """Everything that a release publishes, computed from noisy answers alone."""

    measured: Measured
    method: str
    weights: Array  # the fitted table, shaped as the schema; only OLS has negative cells
    certificate: float  # its distance from the optimum, relative to its scale
    whole: NDArray[np.int64] | None  # whole records; none for OLS, which makes no microdata
    told: tuple[Told, ...]  # of each query set asked, then of the others

    def moved(self) -> dict[str, float]:
        """Return how far rounding moved the answers of each query set, in counts."""
        if self.whole is None:
            return {}
        off, sets = self.whole - self.weights, [told.queries for told in self.told]
        return {q.name: float(np.abs(q.answers(off)).max()) for q in sets}

    @property
    def most_moved(self) -> str:
        """The most that rounding moved any answer by, in counts, rounded upwards."""
        return f"{math.ceil(1000 * max(self.moved().values())) / 1000:.3f}"


def _records(schema: Schema, table: NDArray[np.int64]) -> dict[str, bytes]:
    """Return one row per record, in the order of the cells, which tells nothing more."""
    counts, text, packed, listed = table.ravel(), io.BytesIO(), io.BytesIO(), {}
    for name, values in zip(schema.columns, schema.values, strict=True):
        places = np.repeat(schema.places(name).astype(np.int32), counts)
        listed[name] = pa.DictionaryArray.from_arrays(places, list(values))
    parquet.write_table(pa.table(listed), packed, store_schema=False)  # read as texts
    lines = folder.csv_bytes(schema.frame()).splitlines(keepends=True)
    text.writelines(line * n for line, n in zip(lines, [1, *counts.tolist()], strict=True))
    return {"records.csv": text.getvalue(), "records.parquet": packed.getvalue()}


def intervals_csv(release: Release) -> bytes:
    """Return what is told of every query, and the published answer."""
    parts = []
    for told in release.told:
        found = {"signed": told.signed, "signed_variance": told.variance, **told.ends}
        if release.whole is not None:
            found["published"] = np.rint(told.queries.answers(release.whole)).astype(np.int64)
        parts.append((told.queries, found))
    return folder.answers_csv(release.measured.schema, parts)


def release_files(release: Release, kept: Iterable[tuple[str, bytes]] = ()) -> dict[str, bytes]:
    """Return all files by name, the manifest last; no time, place or name of an input in them."""
    schema, whole = release.measured.schema, release.whole
    cells = schema.frame()
    files = {
        folder.README: readme_text(release).encode(),
        folder.MEASUREMENTS: folder.measurements_csv(release.measured),
        folder.SCHEMA: schema.to_json().encode(),
        "intervals.csv": intervals_csv(release),
        "table_weighted.csv": folder.csv_bytes(cells.assign(weight=release.weights.ravel())),
        **dict(kept),  # as they are: another machine's may differ in a last digit
    }
    if whole is not None:
        files["table_integer.csv"] = folder.csv_bytes(cells.assign(**{COUNT: whole.ravel()}))
        if whole.sum() <= MOST_RECORDS:
            files |= _records(schema, whole)
    more = {"stage": "finished", "method": release.method, "certificate": release.certificate}
    more["rounding"] = {"deviations": release.moved()}
    return {**files, folder.MANIFEST: folder.manifest_bytes(release.measured, files, more)}


def readme_text(release: Release) -> str:
    """Return the README: one page, for any reader, from the text beside this module."""
    measured, ratio = release.measured, times(release.measured.mechanism.guarantee)
    often = "perhaps more than a million" if ratio > WEAK_TIMES else f"at most {at_most(ratio)}"
    widths: dict[tuple[int, int], list[str]] = {}
    for told in release.told:
        widths.setdefault((told.half, told.wide), []).append(told.queries.name)
    page = _TEMPLATES.from_string(Path(__file__).with_name("readme.txt").read_text("utf-8"))
    text = page.render(
        release=release,
        widths=widths,
        most=MOST_RECORDS,
        times=often,
        example=_example(release),
        method=METHODS[release.method],
        columns=_columns(measured.schema),
    )
    parts = (part.strip("\n") for part in text.split("\n\n") if part.strip())
    return "\n\n".join(p if p.startswith("  ") else textwrap.fill(p, 88) for p in parts) + "\n"


def _example(release: Release) -> dict[str, object]:
    """Return one line of the intervals to read aloud: the first that is not the total."""
    told = next((t for t in release.told if t.queries.size > 1), None)
    if told is None or release.whole is None:
        return {}
    row = query_values(release.measured.schema, told.queries).iloc[0]
    which = " and ".join(f"{c} = {v!r}" for c, v in row.items() if v)
    count = int(np.rint(told.queries.answers(release.whole)[0]))
    return {"published": count, "which": which, **{k: v[0] for k, v in told.ends.items()}}


def _columns(schema: Schema) -> list[tuple[str, list[str]]]:
    """Say of each column what programs or readers may take it for."""
    found, rules = [], dict(zip(schema.columns, schema.rules, strict=True))
    for name in schema.names:
        values, rule = schema.values_of(name), rules.get(name, Rule())
        notes = [f"{len(values)} values", *[f"others counted at {rule.other!r}"] * bool(rule.other)]
        notes += [f"empty ones at {rule.empty!r}"] * bool(rule.empty)
        finer = [group.of for group in schema.groups if group.name == name]
        notes += [f"a group of {of}, no column of the records" for of in finer]
        if misread := [v for v in values if v in MISREAD]:
            notes.append(f"{', '.join(misread)}: a word, not a missing value (keep_default_na)")
        if any(v.isdecimal() and v[0] == "0" and v != "0" for v in values):
            notes.append("codes with leading zeros: read as text")
        found.append((name, notes))
    return found
