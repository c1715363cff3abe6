"""The folder of a grid: manifest, finished blocks, the two results; everything whole or absent."""

from __future__ import annotations

import contextlib
import io
import json
import shutil
from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import IO, Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from ..base.files import claim_folder, command, write_whole
from ..errors.sums import ErrorSums
from ..exceptions import InputError, system_sentence
from ..fitting import CONTROL
from .blocks import BlockResult, Task, blocks_code
from .spec import GridSpec

ERRORS, QUERIES, MANIFEST = "errors.parquet", "queries.parquet", "manifest.json"
_LOCK = f".{MANIFEST}.lock"  # in a folder without a manifest a draft of one, to `claim_folder`


def manifest_of(spec: GridSpec) -> dict[str, Any]:
    """Return the grid's parameters and what made it, for its folder."""
    parameters = {k: list(v) if isinstance(v, tuple) else v for k, v in asdict(spec).items()}
    return {"parameters": parameters, "made_by": blocks_code()}


def _differences(there: dict[str, Any], here: dict[str, Any]) -> str:
    def short(value: object) -> str:
        text = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
        return text if len(text) <= 60 else f"{text[:57]}..."

    keys = [k for k in {**here, **there} if there.get(k) != here.get(k)]
    return "; ".join(f"{k}: {short(there.get(k))} there, {short(here.get(k))} here" for k in keys)


def _lock(stream: IO[str], folder: Path) -> None:
    """Keep other processes out of a folder while a file in it is open, where a system can."""
    try:
        import fcntl

        fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise InputError(
            f"another process is computing in the folder {folder}; run the same command again when "
            "it is done, or choose another folder with --out"
        ) from None
    except (ImportError, OSError):  # two processes would then do the work twice
        return


_SUMS = tuple(field.name for field in fields(ErrorSums))


@dataclass(frozen=True)
class GridFolder:
    """A folder that belongs to one grid."""

    path: Path  # the folder
    spec: GridSpec  # the grid

    @contextlib.contextmanager
    def claimed(self) -> Iterator[None]:
        """Keep the folder for the grid, and others out while one computes; or say why not."""
        claim_folder(self.path, MANIFEST, "that of a grid")
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            with (self.path / _LOCK).open("w") as stream:
                _lock(stream, self.path)
                self.check_manifest()
                yield
        except OSError as error:
            error.filename, error.filename2 = str(self.path), None
            raise InputError(f"{system_sentence(error)}; what is finished is kept") from error

    def check_manifest(self) -> None:
        """Write the folder's manifest, or refuse that of another grid."""
        manifest, wanted = self.path / MANIFEST, manifest_of(self.spec)
        if not manifest.exists():
            write_whole(manifest, json.dumps(wanted, indent=1) + "\n")
            return
        try:
            found = json.loads(manifest.read_text())
            parameters, made_by = dict(found["parameters"]), dict(found["made_by"])
        except (ValueError, KeyError, TypeError, RecursionError):
            raise InputError(
                f"{manifest} is not the manifest of a grid; choose another folder with --out"
            ) from None
        for there, part, what in (
            (parameters, "parameters", "the results of another grid"),
            (made_by, "made_by", "results of this grid that other code or data made"),
        ):
            if other := _differences(there, wanted[part]):
                raise InputError(
                    f"the folder {self.path} holds {what} ({other}); choose another folder with "
                    "--out, or remove this one"
                )

    @property
    def complete(self) -> bool:
        """True if both results are there; they are written after all blocks, the errors last."""
        return (self.path / ERRORS).exists() and (self.path / QUERIES).exists()

    def _block(self, task: Task) -> Path:
        return self.path / "blocks" / f"{task.key}.npz"

    def save(self, task: Task, result: BlockResult) -> None:
        """Save a finished block."""
        parts: dict[str, Any] = {"methods": list(result.sums)}
        for name in _SUMS:
            parts[name] = np.stack([getattr(sums, name) for sums in result.sums.values()])
        for name in ("certificates", "conic"):
            parts[name] = [getattr(result, name)[method] for method in result.sums]
        buffer = io.BytesIO()
        np.savez(buffer, **parts)
        path = self._block(task)
        path.parent.mkdir(exist_ok=True)
        write_whole(path, buffer.getvalue())

    def load(self, task: Task) -> BlockResult | None:
        """Load a finished block; none if it is missing or damaged."""
        try:
            # From memory: a damaged file would stay open.
            with np.load(io.BytesIO(self._block(task).read_bytes())) as file:
                whole = file.zip.testzip() is None
                parts = {key: file[key] for key in file.files if whole}
            methods = [str(m) for m in parts["methods"]]
            if set(methods) != {CONTROL, *task.methods} or parts["runs"][0].sum() != task.runs:
                return None
        except Exception:  # NumPy and zipfile have many, and what is damaged is computed again
            return None
        sums = {m: ErrorSums(*(parts[k][i] for k in _SUMS)) for i, m in enumerate(methods)}
        certificates, conic = (
            dict(zip(methods, parts[k].tolist(), strict=True)) for k in ("certificates", "conic")
        )
        return BlockResult(sums, certificates, conic)

    def finished(self, tasks: list[Task]) -> set[Task]:
        """Return which tasks' blocks are there."""
        return {task for task in tasks if self.load(task) is not None}

    def write_results(self, errors: pd.DataFrame, queries: pd.DataFrame) -> None:
        """Write both results, the errors last."""
        about = json.dumps(manifest_of(self.spec)).encode()
        for name, frame in ((QUERIES, queries), (ERRORS, errors)):
            table = pa.Table.from_pandas(frame, preserve_index=False)
            told = {**(table.schema.metadata or {}), b"microdata-price": about}
            buffer = io.BytesIO()
            pq.write_table(table.replace_schema_metadata(told), buffer, compression="zstd")
            write_whole(self.path / name, buffer.getvalue())

    def tidy(self) -> None:
        """Drop what a complete grid no longer needs: its blocks, and drafts that a kill left."""
        shutil.rmtree(self.path / "blocks", ignore_errors=True)
        for draft in [p for n in (ERRORS, QUERIES, MANIFEST) for p in self.path.glob(f".{n}.*")]:
            if draft.name != _LOCK:
                draft.unlink(missing_ok=True)


def read_result(folder: str | Path, name: str) -> pd.DataFrame:
    """Read one of the two results of a finished grid."""
    if folder == "":
        raise InputError(
            "this notebook needs a computed grid: microdata-price grid --out results/grid, then "
            "-p grid_dir /absolute/path/results/grid, or -p published_dir where that is the "
            "parameter's name (make book and microdata-price run pass both by themselves)"
        )
    path = Path(folder) / name
    if not path.is_file():
        again = command("grid", "--out", folder)
        raise InputError(f"there is no {name} in {folder}; compute it with: {again}")
    try:
        return pd.read_parquet(pa.OSFile(bytes(path)))  # by a name that Arrow takes as it is
    except Exception:
        raise InputError(
            f"{path} is damaged; remove the folder {folder}, and compute it again"
        ) from None
