"""Damage what a user may give, at random, and see that each answer is right or a refusal.

``make fuzz`` runs it for a minute, ``python -m benchmarks.fuzz --minutes 60`` for an hour, the same
time for each reader; ``--keep`` puts the counts into ``data/checks.csv``.
"""

from __future__ import annotations

import csv
import io
import json
import os
import random
import signal
import sys
import tempfile
import time
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path

import click
import numpy as np
import pandas as pd

from microdata_price import cli
from microdata_price.book import notebook
from microdata_price.exceptions import InputError
from microdata_price.release.folder import load_measured
from microdata_price.tables.read import read_matrix, read_table
from microdata_price.tables.schemas import load_schema, parse_schema

from .checks import keep

HANG, WAIT = 10, 60  # seconds of processor time and by the clock, as others may be at work
REGIONS, SEXES = ("north", "south", "west"), ("f", "m")
SCHEMA = json.dumps({"columns": {"region": list(REGIONS), "sex": list(SEXES)}})
COUNTS = "region,sex,count\n" + "".join(
    f"{r},{s},{7 * i + 3 * j}\n" for i, r in enumerate(REGIONS) for j, s in enumerate(SEXES)
)
RECORDS = "region,sex\n" + "".join(f"{r},{s}\n" for r in REGIONS for s in (*SEXES, "f"))
MATRIX = "area,f,m\nnorth,1,2\nsouth,30,4\nwest,0,16\n"
PIECES = (
    *(
        b",",
        b";",
        b"\t",
        b"\n",
        b"\r\n",
        b"\r",
        b'"',
        b"'",
        b"\0",
        b" ",
        b"\xef\xbb\xbf",
        b"\xff\xfe",
    ),
    *(b"-1", b"1.5", b"1e3", b"NaN", b"inf", b"99999999999999999999", b"+7", b"0x1F", b"1_000"),
    *("٣".encode(), "é".encode(), "\u00a0".encode(), "\u2028".encode(), b"\xed\xa0\x80", b"=1+1"),
    *(b"north", b"count", b"f,m", b"#", b"{", b"}", b"[", b"]", b":", b"null", b"true", b"\\u0000"),
)
WORDS = (
    *("0", "-1", "1e400", "nan", "inf", "1,5", "", " ", "0.5", "1000", "10**6", "ten", "١", "-0.0"),
    *("1e-320", "--epsilon", "--rho", "--points", "--json", "--privacy", "pure", "zcdp", "5.66"),
    *("--point-error", "--sum-error", "approximate", "--delta", "--nothing", "1e-6", "--help"),
)


def damaged(data: bytes, rng: random.Random) -> bytes:
    """Return the bytes with a few random changes."""
    for _ in range(rng.choice((1, 1, 2, 4))):
        a, b = sorted(rng.randrange(len(data) + 1) for _ in range(2))
        b = min(b, a + rng.choice((1, 1, 3, 20, 10**6)))
        piece = rng.choice(PIECES)
        middle = rng.choice((piece, data[a:b] * 2, bytes([rng.randrange(256)]), b""))
        data = data[:a] + middle + data[rng.choice((a, b)) :]
    return data


@contextmanager
def in_time() -> Iterator[None]:
    """Raise a TimeoutError where an answer takes longer than ``HANG`` seconds."""

    def late(*_: object) -> None:
        raise TimeoutError(f"no answer in {HANG} s")

    clocks = (
        (signal.SIGPROF, signal.ITIMER_PROF, HANG),
        (signal.SIGALRM, signal.ITIMER_REAL, WAIT),
    )
    before = [signal.signal(kind, late) for kind, _, _ in clocks]
    try:
        for _, clock, most in clocks:
            signal.setitimer(clock, most)
        yield
    finally:
        for (kind, clock, _), handler in zip(clocks, before, strict=True):
            signal.setitimer(clock, 0)
            signal.signal(kind, handler)


def fields(data: bytes) -> list[list[str]]:
    """Read a file with the standard library alone, without empty lines."""
    marked = data[:2] in (b"\xff\xfe", b"\xfe\xff")
    text = data.decode("utf-16" if marked else "utf-8-sig", errors="replace")
    mark = max(",;\t", key=text.split("\n")[0].count)
    return [row for row in csv.reader(io.StringIO(text, newline=""), delimiter=mark) if row]


def plain(text: str) -> str:
    return unicodedata.normalize("NFC", text).strip()


def counted(data: bytes) -> np.ndarray:
    """Count a file with the standard library alone; each row as its own text says."""
    rows = [[plain(field) for field in row] for row in fields(data)]
    table = np.zeros((len(REGIONS), len(SEXES)))
    for row in rows[1:]:
        given = dict(zip(rows[0], row, strict=True))
        table[REGIONS.index(given["region"]), SEXES.index(given["sex"])] += int(
            given.get("count", 1)
        )
    return table


def tables(folder: Path, rng: random.Random) -> tuple[bytes, Callable[[], object]]:
    """A damaged table of counts or records is refused, or counted as anyone would count it."""
    data, path = damaged(rng.choice((COUNTS, RECORDS)).encode(), rng), folder / "table.csv"
    path.write_bytes(data)

    def right() -> None:
        table = read_table(path, parse_schema(SCHEMA))
        np.testing.assert_array_equal(table, counted(data))

    return data, right


def formats(folder: Path, rng: random.Random) -> tuple[bytes, Callable[[], object]]:
    """A damaged table in a format of another program is refused, or has counts of its shape."""
    suffix = rng.choice((".parquet", ".dta", ".xlsx", ".csv.gz", ".csv.xz", ".zip"))
    path, whole = folder / f"table{suffix}", folder / f"whole{suffix}"
    if not whole.exists():
        frame = pd.read_csv(io.StringIO(COUNTS))
        if suffix == ".parquet":
            frame.to_parquet(whole)
        elif suffix == ".dta":
            frame.to_stata(whole, write_index=False)
        elif suffix == ".xlsx":
            frame.to_excel(whole, index=False)
        else:
            frame.to_csv(whole, index=False)
    data = damaged(whole.read_bytes(), rng)
    path.write_bytes(data)

    def right() -> None:
        table = read_table(path, parse_schema(SCHEMA))
        assert table.shape == (len(REGIONS), len(SEXES)), table
        assert (np.abs(np.floor(table)) == table).all(), table

    return data, right


def matrices(folder: Path, rng: random.Random) -> tuple[bytes, Callable[[], object]]:
    """A damaged matrix is refused, or has the counts that stand in it."""
    data, path = damaged(MATRIX.encode(), rng), folder / "matrix.csv"
    path.write_bytes(data)

    def right() -> None:
        _, table = read_matrix(path)
        stated = [[int(field.strip()) for field in row[1:]] for row in fields(data)[1:]]
        np.testing.assert_array_equal(np.ravel(table), np.ravel(stated))

    return data, right


def schemas(folder: Path, rng: random.Random) -> tuple[bytes, Callable[[], object]]:
    """A damaged schema is refused, or says again what it says."""
    data, path = damaged(SCHEMA.encode(), rng), folder / "schema.json"
    path.write_bytes(data)

    def right() -> None:
        schema = load_schema(path)
        assert parse_schema(schema.to_json()) == schema
        stated = {plain(n): v for n, v in json.loads(data.decode("utf-8-sig")).items()}["columns"]
        assert list(schema.columns) == [plain(name) for name in stated]

    return data, right


def releases(folder: Path, rng: random.Random) -> tuple[bytes, Callable[[], object]]:
    """A damaged release is refused, or is the same measurement."""
    whole = folder / "release"
    if not whole.exists():
        (folder / "t.csv").write_text(COUNTS)
        (folder / "t.schema.json").write_text(SCHEMA)
        words = [
            "release",
            folder / "t.csv",
            "--schema",
            folder / "t.schema.json",
            "--epsilon",
            0.5,
        ]
        status, _, error = said(*words, "--workload", "sum, identity", "--out", whole)
        assert not status, error
    first, _ = load_measured(whole)
    name = rng.choice(("manifest.json", "measurements.csv", "schema.json"))
    path, kept = whole / name, (whole / name).read_bytes()
    data = damaged(kept, rng)

    def right() -> None:
        try:
            path.write_bytes(data)
            again, _ = load_measured(whole)
        finally:
            path.write_bytes(kept)
        assert again.mechanism.guarantee == first.mechanism.guarantee
        for one, two in zip(first.answers, again.answers, strict=True):
            np.testing.assert_array_equal(one, two)

    return data, right


def ledgers(folder: Path, rng: random.Random) -> tuple[bytes, Callable[[], object]]:
    """A damaged ledger is refused, or is the ledger up to its last line, which no other seals."""
    path = folder / "ledger.jsonl"
    if not (folder / "kept").exists():
        for level in (1, 2):
            said("budget", "--ledger", path, "--name", f"table {level}", "--cap-epsilon", level)
        (folder / "kept").write_bytes(path.read_bytes())
    kept = (folder / "kept").read_bytes()
    data = damaged(kept, rng)
    path.write_bytes(data)

    def right() -> None:
        status, printed, error = said("budget", "--ledger", path, "--name", "table 1")
        if status:
            raise InputError(error)
        assert kept.startswith(data[: data[:-1].rfind(b"\n") + 1]), printed

    return data, right


def notebooks(folder: Path, rng: random.Random) -> tuple[bytes, Callable[[], object]]:
    """A damaged notebook is refused, or has parameters and a form that can be written."""
    source = rng.choice(sorted(Path("notebooks").glob("*.ipynb")))
    data, path = damaged(source.read_bytes(), rng), folder / "notebook.ipynb"
    path.write_bytes(data)

    def right() -> None:
        made = notebook.read(path)
        notebook.text(notebook.strip(made))
        notebook.parameters(made, str(path))

    return data, right


def options(_: Path, rng: random.Random) -> tuple[bytes, Callable[[], object]]:
    """Odd options are refused, or give finite bounds."""
    words = ["bounds"]
    for name in (
        "--privacy",
        "--epsilon",
        "--points",
        rng.choice(("--point-error", "--sum-error")),
    ):
        usual = {"--privacy": "pure", "--points": "1000"}.get(name, "0.5")
        words += [name, usual if rng.random() < 0.6 else rng.choice(WORDS)]
    words += ["--json", *rng.sample(WORDS, rng.randint(0, 2))]

    def right() -> None:
        status, printed, error = said(*words)
        if status:
            raise InputError(error)
        if "--help" not in words:
            json.loads(printed, parse_constant=int)  # no NaN, no Infinity

    return " ".join(words).encode(), right


def said(*words: object) -> tuple[int, str, str]:
    """Run the command as a person types it; a traceback is raised."""
    out, error = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(error):
        try:
            cli.main([str(word) for word in words])
        except SystemExit as stop:
            return int(stop.code or 0), out.getvalue(), error.getvalue()
    raise AssertionError("the command did not end with a status")


READERS = (tables, formats, matrices, schemas, releases, ledgers, notebooks, options)


@click.command()
@click.option(
    "--minutes",
    type=click.FloatRange(0, min_open=True),
    default=7,
    show_default=True,
    help="For all readers together.",
)
@click.option("--seed", default=1, show_default=True)
@click.option("--reader", "chosen", multiple=True, help="Only this one; repeat it.")
@click.option("--keep", "kept", is_flag=True, help="Put the counts into data/checks.csv.")
def main(minutes: float, seed: int, chosen: tuple[str, ...], kept: bool) -> None:
    """Print how many inputs were answered, refused, or went wrong; status 1 if any did."""
    told, bad = {}, 0
    readers = [r for r in READERS if not chosen or r.__name__ in chosen]
    for reader in readers:
        ended = time.monotonic() + 60 * minutes / len(readers)
        rng, counts, begun = random.Random(seed), Counter(), time.process_time()
        with tempfile.TemporaryDirectory() as folder:
            while time.monotonic() < ended:
                data, right = reader(Path(folder), rng)
                try:
                    with in_time():
                        right()
                    counts["answered"] += 1
                except (InputError, MemoryError):  # a damaged length; the command says so
                    counts["refused"] += 1
                except Exception as error:
                    counts["wrong"] += 1
                    click.echo(f"{reader.__name__}: {error!r}\n  {data[:400]!r}", err=True)
        tried = sum(counts.values())
        told[reader.__name__] = tried, tried - counts["wrong"]
        bad += counts["wrong"]
        used = time.process_time() - begun
        click.echo(f"{reader.__name__}: {dict(counts)} in {used:,.0f} processor seconds")
    if kept:
        keep("inputs", told)
    sys.exit(bool(bad))


if __name__ == "__main__":
    os.environ.setdefault("COLUMNS", "100")
    main()
