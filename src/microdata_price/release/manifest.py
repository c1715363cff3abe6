"""The manifest of a release: what it states, and how that is checked against its mechanism."""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import platform
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..exceptions import InputError
from ..model.privacy import ConcentratedDP, PureDP
from ..model.workload import Workload
from ..tables.schema import Schema, load_schema
from ..tables.workload_text import named_query_set
from .budget import REPLACED, Entry, guarantee_from
from .mechanism import Mechanism, mechanism_like
from .strength import warnings_of

if TYPE_CHECKING:
    from .measure import Measured

MANIFEST = "manifest.json"
"""The file of a release that states its guarantee."""
FORMAT = "microdata-price release 2"
"""The form of that file."""
SCHEMA = "schema.json"
"""The file of the schema."""
CHECKSUM = "checksum"
"""The manifest's field with its own checksum."""
_LIBRARIES = ("microdata-price", "opendp", "numpy", "scipy", "pandas", "pyarrow")


def digest(data: bytes) -> str:
    """Return the SHA-256 checksum of bytes.

    Examples
    --------
    >>> digest(b"")[:8]
    'e3b0c442'
    """
    return hashlib.sha256(data).hexdigest()


def _own_checksum(document: Mapping[str, Any]) -> str:
    rest = {k: v for k, v in document.items() if k != CHECKSUM}
    return digest(json.dumps(rest, sort_keys=True, ensure_ascii=False).encode())


def mechanism_fields(mechanism: Mechanism, names: tuple[str, ...]) -> dict[str, Any]:
    """Return what a manifest says of the noise."""
    return {
        "name": mechanism.name,
        "library": "OpenDP",
        "scales": dict(zip(names, mechanism.scales, strict=True)),
        "variances": dict(zip(names, mechanism.variances, strict=True)),
        "randomness": "the operating system's, without a seed",
    }


def manifest_bytes(
    measured: Measured, files: Mapping[str, bytes], more: Mapping[str, Any]
) -> bytes:
    """Return the manifest of a measurement and what was made of it, closed by its own checksum.

    Parameters
    ----------
    measured
        The frozen measurement.
    files
        Every other file by name.
    more
        What later steps add, for example the method.
    """
    mechanism, schema = measured.mechanism, measured.schema
    workload = measured.workload
    document = {
        "format": FORMAT,
        "measurement": measured.identity,
        "guarantee": mechanism.guarantee.fields(),
        "neighbours": f"tables that differ by {mechanism.neighbours}",
        "replacing_one_record": {
            **mechanism.replacement.fields(),
            "at_most": True,
        },
        "weak_protection": bool(warnings_of(workload, mechanism)),
        "mechanism": mechanism_fields(mechanism, workload.names),
        "workload": [
            {
                "query_set": q.name,
                "columns": [schema.columns[a] for a in axes],
                "queries": q.size,
            }
            for q, axes in zip(workload.query_sets, measured.columns, strict=True)
        ],
        **more,
        "versions": {
            "python": platform.python_version(),
            **{name: importlib.metadata.version(name) for name in _LIBRARIES},
        },
        "sha256": {name: digest(data) for name, data in files.items()},
    }
    document[CHECKSUM] = _own_checksum(document)
    return (json.dumps(document, indent=1, ensure_ascii=False) + "\n").encode()


def damaged(folder: Path, what: str) -> InputError:
    """Return the error for a release that is not as it was written."""
    return InputError(f"{folder} is damaged: {what}; take an untouched copy of what release wrote")


def load_manifest(folder: Path) -> dict[str, Any]:
    """Read the manifest of a release and check it against its own checksum.

    Raises
    ------
    InputError
        No folder, no manifest that this package wrote in it, or one that was changed.
    """
    path = folder / MANIFEST
    if not path.is_file():
        raise InputError(
            f"{folder} is not the folder of a release: it has no {MANIFEST}; give the folders that "
            "release wrote"
        )
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError):
        raise InputError(f"{path} is damaged: it is not a JSON document") from None
    made = document.get("format") if isinstance(document, dict) else None
    if made != FORMAT and isinstance(made, str) and made.startswith(FORMAT.rstrip("0123456789")):
        raise InputError(
            f"{path} was written by another version of this package ({made!r}; this one reads "
            f"{FORMAT!r}): use that version"
        )
    if not isinstance(document, dict) or made != FORMAT:
        raise InputError(f"{path} was not written by release; its format must be {FORMAT!r}")
    if document.get(CHECKSUM) != _own_checksum(document):
        raise damaged(folder, f"{MANIFEST} is not as its own checksum says")
    return document


def check_file(folder: Path, document: Mapping[str, Any], name: str) -> Path:
    """Return the path of a file that is as the manifest's checksum says.

    Raises
    ------
    InputError
        It is missing or was changed.
    """
    path, sums = folder / name, document.get("sha256")
    stated = sums.get(name) if isinstance(sums, Mapping) else None
    if not path.is_file() or digest(path.read_bytes()) != stated:
        raise damaged(folder, f"{name} is missing or not as the manifest's checksum says")
    return path


def _workload(folder: Path, document: Mapping[str, Any], schema: Schema) -> Workload:
    sets = []
    asked = document.get("workload")
    for part in asked if isinstance(asked, list) else []:
        if not isinstance(part, Mapping) or not isinstance(part.get("query_set"), str):
            raise damaged(folder, f"{MANIFEST} does not describe its workload")
        sets.append(named_query_set(schema, part["query_set"], part.get("columns")))
    if not sets:
        raise damaged(folder, f"{MANIFEST} does not describe its workload")
    return Workload(tuple(sets))


def load_claim(folder: Path) -> tuple[dict[str, Any], Schema, Workload, Mechanism, str]:
    """Read what a release states and check that its mechanism gives it.

    The guarantee is computed anew from the schema, the workload and the scales of the noise.

    Parameters
    ----------
    folder
        What `release` wrote.

    Raises
    ------
    InputError
        As for `load_manifest`, a changed schema, or a guarantee that the mechanism does not give.
    """
    document = load_manifest(folder)
    schema = load_schema(check_file(folder, document, SCHEMA))
    workload = _workload(folder, document, schema)
    fields = document.get("mechanism")
    scales = fields.get("scales") if isinstance(fields, Mapping) else None
    if (
        not isinstance(fields, Mapping)
        or not isinstance(scales, Mapping)
        or list(scales) != list(workload.names)
        or not all(isinstance(s, float) for s in scales.values())
    ):
        raise damaged(folder, f"{MANIFEST} does not describe its mechanism")
    mechanism = mechanism_like(workload, str(fields.get("name")), list(scales.values()))
    try:
        guarantee = guarantee_from(document.get("guarantee"))
    except InputError as error:
        raise InputError(f"{folder / MANIFEST} is damaged: {error}") from None
    if (
        mechanism.guarantee != guarantee
        or document.get("neighbours") != f"tables that differ by {mechanism.neighbours}"
    ):
        raise damaged(folder, f"{MANIFEST} states a guarantee that its mechanism does not give")
    identity = document.get("measurement")
    if not isinstance(identity, str) or not identity:
        raise InputError(f"{folder / MANIFEST} is damaged: it does not name its measurement")
    return document, schema, workload, mechanism, identity


def entry_of(folder: Path, identity: str, mechanism: Mechanism) -> Entry:
    """Return what a measurement spends, for adding up."""
    return Entry(
        folder,
        identity,
        mechanism.guarantee,
        mechanism.replacement,
        mechanism.neighbours == REPLACED,
    )


def load_entry(folder: Path) -> Entry:
    """Read a release's identity and guarantee from its folder, checked by `load_claim`.

    Raises
    ------
    InputError
        As for `load_claim`.
    """
    _, _, _, mechanism, identity = load_claim(folder)
    return entry_of(folder, identity, mechanism)


Guarantee = PureDP | ConcentratedDP
