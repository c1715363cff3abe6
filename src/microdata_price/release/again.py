"""Fitting a release's measurements anew: a second method costs no more privacy."""

from __future__ import annotations

import csv
import hashlib
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from ..exceptions import InputError
from ..tables.schema import load_schema
from ..tables.workload_text import parse_workload
from .budget import MANIFEST, load_entry, load_manifest
from .files import MEASUREMENTS, SCHEMA
from .measure import Measured, Mechanism, mechanism_like, split_answers


def _damaged(folder: Path, what: str) -> InputError:
    return InputError(f"{folder} is damaged: {what}; take an untouched copy of what release wrote")


def _mechanism(folder: Path, fields: object) -> Mechanism:
    if isinstance(fields, Mapping):
        name, scale, far = (fields.get(k) for k in ("name", "scale", "sensitivity"))
        if isinstance(name, str) and isinstance(scale, float) and isinstance(far, float):
            return mechanism_like(name, scale, far)
    raise _damaged(folder, f"{MANIFEST} does not describe its mechanism")


def load_measured(folder: Path) -> Measured:
    """Read the frozen measurement back from the folder of a release.

    Its files must be as they were written (the manifest has their checksums), and the guarantee,
    computed anew by OpenDP, the one that the manifest states.

    Parameters
    ----------
    folder
        What `publish` made.

    Raises
    ------
    InputError
        No release, or a file that has been changed.
    """
    document, entry = load_manifest(folder), load_entry(folder)
    sums = document.get("sha256")
    for name in (MEASUREMENTS, SCHEMA):
        path = folder / name
        stated = sums.get(name) if isinstance(sums, Mapping) else None
        if not path.is_file() or hashlib.sha256(path.read_bytes()).hexdigest() != stated:
            raise _damaged(folder, f"{name} is missing or not as the manifest's checksum says")
    mechanism = _mechanism(folder, document.get("mechanism"))
    if mechanism.guarantee != entry.guarantee:
        raise _damaged(folder, f"{MANIFEST} states a guarantee that its mechanism does not give")
    schema = load_schema(folder / SCHEMA)
    with (folder / MEASUREMENTS).open(newline="", encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    workload = parse_workload(", ".join(dict.fromkeys(r["query_set"] for r in rows)), schema)
    vector = np.array([int(r["noisy_answer"]) for r in rows], dtype=np.int64)
    return Measured(entry.identity, schema, workload, split_answers(workload, vector), mechanism)
