"""Provenance of a computed result as one hash: code, data, parameters, versions."""

from __future__ import annotations

import ast
import hashlib
import json
import platform
import re
from collections.abc import Iterable
from functools import cache, lru_cache
from importlib.metadata import PackageNotFoundError, requires, version
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
        data = part.encode() if isinstance(part, str) else part
        total.update(f"{len(data)}:".encode())
        total.update(data)
    return total.hexdigest()[:32]


def digest_json(value: Any) -> str:
    """Return a hash of a value that JSON can write."""
    return digest(json.dumps(value, sort_keys=True))


def digest_files(paths: Iterable[Path], base: Path) -> str:
    """Return a hash of the names (relative to a folder) and contents of files."""
    parts: list[str | bytes] = []
    for path in sorted(paths):
        parts += [path.relative_to(base).as_posix(), path.read_bytes()]
    return digest(*parts)


@lru_cache(maxsize=1)
def versions() -> dict[str, str]:
    """Return the versions that results depend on: Python and the direct dependencies."""
    found = {"python": platform.python_version()}
    for requirement in requires("microdata-price") or []:
        if "extra ==" in requirement:
            continue
        match = re.match(r"[A-Za-z0-9._-]+", requirement)
        try:
            found[match.group() if match else requirement] = version(match.group() if match else "")
        except PackageNotFoundError:
            continue
    return found


def _module_files(package: Path, dotted: str) -> list[Path]:
    """Return the files that importing a module of the package runs; none if there is no such."""
    parts = dotted.split(".")[1:]
    target = package.joinpath(*parts)
    if parts and target.with_suffix(".py").is_file():
        own = target.with_suffix(".py")
    elif (target / "__init__.py").is_file():
        own = target / "__init__.py"
    else:
        return []
    above = [package.joinpath(*parts[:i]) / "__init__.py" for i in range(len(parts))]
    return [own, *(p for p in above if p.is_file())]


@cache
def _imported(source: str, module: str, is_package: bool) -> frozenset[str]:
    """Return the dotted names of the package that code names in imports, at any depth."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found |= {a.name for a in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                keep = module.split(".")
                keep = keep[: len(keep) - node.level + (1 if is_package else 0)]
                base = ".".join([*keep, base] if base else keep)
            found |= {base} | {f"{base}.{a.name}" for a in node.names}
    return frozenset(n for n in found if n == PACKAGE or n.startswith(f"{PACKAGE}."))


def module_name(package: Path, path: Path) -> str:
    """Return the dotted name of a file of the package."""
    parts = path.relative_to(package).with_suffix("").parts
    return ".".join([PACKAGE, *(parts[:-1] if parts[-1] == "__init__" else parts)])


def code_files(package: Path, sources: Iterable[str]) -> list[Path]:
    """Return the package's files that code depends on through imports, however deep."""
    todo = [name for source in sources for name in _imported(source, "", False)]
    files: set[Path] = set()
    while todo:
        for path in _module_files(package, todo.pop()):
            if path not in files:
                files.add(path)
                text = path.read_text(encoding="utf-8")
                name = module_name(package, path)
                todo += _imported(text, name, path.name == "__init__.py")
    return sorted(files)


def code_key(root: Path, sources: Iterable[str]) -> str:
    """Return the hash of everything but parameters that code's results depend on."""
    package = root / "src" / PACKAGE
    data = [p for p in (root / "data").rglob("*") if p.is_file()]
    return digest(
        digest_files(code_files(package, sources), package),
        digest_files(data, root),
        digest_json(versions()),
    )


def fingerprint(module: str, data: Iterable[Path], libraries: Iterable[str]) -> dict[str, str]:
    """Return hashes of a module's code and data, and the versions of libraries.

    Examples
    --------
    >>> sorted(fingerprint("microdata_price.exceptions", [], ["numpy"]))
    ['code', 'data', 'numpy']
    """
    return {
        "code": digest_files(code_files(FOLDER, [f"import {module}"]), FOLDER),
        "data": digest(*(path.read_bytes() for path in data)),
        **{library: version(library) for library in libraries},
    }
