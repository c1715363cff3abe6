"""Provenance of a computed result as one hash: code, data, parameters, versions."""

from __future__ import annotations

import ast
import hashlib
import json
import platform
import re
from collections.abc import Iterable
from functools import cache
from importlib.metadata import PackageNotFoundError, requires, version
from importlib.util import resolve_name
from pathlib import Path
from typing import Any

PACKAGE = "microdata_price"
FOLDER = Path(__file__).parents[1]
"""The folder of the package."""


def digest(*parts: str | bytes) -> str:
    """Return one hash of several texts; where one ends and the next begins matters.

    Examples
    --------
    >>> digest("ab", "c") == digest("a", "bc")
    False
    """
    total = hashlib.sha256()
    for part in parts:
        data = part.encode(errors="surrogateescape") if isinstance(part, str) else part
        total.update(f"{len(data)}:".encode() + data)
    return total.hexdigest()[:32]


def digest_json(value: Any) -> str:
    """Return a hash of a value that JSON can write."""
    return digest(json.dumps(value, sort_keys=True))


def digest_files(paths: Iterable[Path], base: Path) -> str:
    """Return a hash of the names (relative to a folder) and contents of files."""
    files = [(path.relative_to(base).as_posix(), path.read_bytes()) for path in sorted(paths)]
    return digest(*(part for file in files for part in file))


@cache
def versions() -> dict[str, str]:
    """Return the versions that results depend on: Python and the direct dependencies."""
    found = {"python": platform.python_version()}
    for requirement in requires("microdata-price") or []:
        name = re.split(r"[^\w.-]", requirement, maxsplit=1)[0]
        try:
            found |= {} if "extra ==" in requirement else {name: version(name)}
        except PackageNotFoundError:
            continue
    return found


def _module_files(package: Path, dotted: str) -> list[Path]:
    """Return the files that importing a name of the package runs."""
    parts = dotted.split(".")[1:]
    places = [package.joinpath(*parts[:i]) for i in range(len(parts) + 1)]
    return [f for p in places for f in (p.with_suffix(".py"), p / "__init__.py") if f.is_file()]


@cache
def _imported(source: str, package: str) -> frozenset[str]:
    """Return the dotted names of the package that code names in imports, at any depth."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found |= {a.name for a in node.names}
        elif isinstance(node, ast.ImportFrom) and (package or not node.level):
            base = resolve_name("." * node.level + (node.module or ""), package)
            found |= {base} | {f"{base}.{a.name}" for a in node.names}
    return frozenset(name for name in found if f"{name}.".startswith(f"{PACKAGE}."))


def code_files(package: Path, sources: Iterable[str]) -> list[Path]:
    """Return the package's files that code depends on through imports, however deep."""
    todo = {name for source in sources for name in _imported(source, "")}
    files, seen = set[Path](), set[str]()
    while todo:
        seen.add(name := todo.pop())
        for path in {*_module_files(package, name)} - files:
            files.add(path)
            folder = ".".join([PACKAGE, *path.relative_to(package).parts[:-1]])
            todo |= _imported(path.read_text(encoding="utf-8"), folder) - seen
    return sorted(files)


def code_key(root: Path, sources: Iterable[str]) -> str:
    """Return the hash of everything but parameters that code's results depend on."""
    package = root / "src" / PACKAGE
    data = [p for p in (root / "data").rglob("*") if p.is_file()]
    code = code_files(package, sources)
    texts = {p for file in code for p in file.parent.iterdir() if p.suffix in (".txt", ".md")}
    return digest(
        digest_files([*code, *texts], package),
        digest_files(data, root),
        digest_json(versions()),
    )


def fingerprint(module: str, data: Iterable[Path], libraries: Iterable[str]) -> dict[str, str]:
    """Return hashes of a module's code and data, and the versions of libraries."""
    return {
        "code": digest_files(code_files(FOLDER, [f"import {module}"]), FOLDER),
        "data": digest(*(path.read_bytes() for path in data)),
        **{library: version(library) for library in libraries},
    }
