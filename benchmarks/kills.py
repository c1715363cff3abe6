"""Kill long work at random moments and take it up again: the same bytes, and nothing half-written.

``python -m benchmarks.kills`` kills a small grid, a release and a comparison of runs, each again
and again, with signals that cannot be held; ``--keep`` puts the counts into ``data/checks.csv``.
"""

from __future__ import annotations

import hashlib
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import click
import psutil

from .checks import keep
from .fuzz import COUNTS, SCHEMA

COMMAND = (sys.executable, "-m", "microdata_price")
SECONDS = 20
"""In which all that a command started must have ended with it."""
GRID = ("grid", "--family", "1d", "--epsilon", "0.5", "--runs", "40", "--quiet", "--workers", "2")


def bytes_of(folder: Path, *names: str) -> list[str]:
    return [hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in names]


def whole(*words: object) -> tuple[float, str]:
    """Run a command to its end; return its seconds and what it says on standard error."""
    begun = time.monotonic()
    done = subprocess.run([*COMMAND, *map(str, words)], check=True, capture_output=True, text=True)
    return time.monotonic() - begun, done.stderr


def killed(after: float, *words: object, told: Path = Path(os.devnull)) -> int | None:
    """Kill a command after some seconds; return how many processes outlive it, if it was killed.

    What it says on standard error goes into a file.
    """
    with told.open("w") as stream:
        process = subprocess.Popen(
            [*COMMAND, *map(str, words)],
            stdout=subprocess.DEVNULL,
            stderr=stream,
            start_new_session=True,
        )
    try:
        process.wait(after)
    except subprocess.TimeoutExpired:
        family = psutil.Process(process.pid).children(recursive=True)
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        return len(psutil.wait_procs(family, SECONDS)[1])
    return None


def grids(folder: Path, rng: random.Random, number: int) -> tuple[int, int]:
    """Kill a grid, and go on until it is done: its two files are those of one that was let be."""
    names = ("errors.parquet", "queries.parquet")
    seconds, _ = whole(*GRID, "--out", folder / "whole")
    right = bytes_of(folder / "whole", *names)
    kills = same = finished = outlived = 0
    while kills < number:
        finished += 1
        out = folder / str(finished)
        while kills < number:
            left = killed(rng.uniform(0, seconds), *GRID, "--out", out)
            if left is None:
                break
            kills, outlived = kills + 1, outlived + left
        whole(*GRID, "--out", out)
        same += bytes_of(out, *names) == right
    return kills, kills if same == finished and not outlived else -1


def releases(folder: Path, rng: random.Random, number: int) -> tuple[int, int]:
    """Kill a release: there is no folder, or one that goes on with the answers it holds."""
    table, schema = folder / "t.csv", folder / "t.schema.json"
    table.write_text(COUNTS)
    schema.write_text(SCHEMA)
    words = ("release", table, "--schema", schema, "--epsilon", 0.5)
    seconds, _ = whole(*words, "--out", folder / "whole")
    kills = fine = 0
    while kills < number:
        out = folder / str(kills)
        left = killed(rng.uniform(0, seconds), *words, "--out", out)
        if left is None:
            continue
        kills += 1
        if left:
            continue
        if not out.exists() or (out / "records.csv").exists():
            fine += 1  # not begun, or done
            continue
        answers = bytes_of(out, "measurements.csv")
        whole("release", "--again", out)
        fine += (out / "records.csv").exists() and bytes_of(out, "measurements.csv") == answers
    return kills, fine


def runs(folder: Path, rng: random.Random, number: int) -> tuple[int, int]:
    """Kill a comparison of a chapter's runs: no process or folder of it is left, it goes on.

    The same command takes every run that had finished, and does the others.
    """
    new, log = time.time_ns() // 1000, folder / "told.txt"  # seeds that no earlier run has had

    def compared(first: int) -> tuple[str, ...]:
        return "run", "dice", "--param-grid", f"seed={first},{first + 1}", "--out"

    seconds, _ = whole(*compared(new), folder / "whole")
    kills = fine = 0
    while kills < number:
        new += 2
        out = folder / str(new)
        left = killed(rng.uniform(0, seconds), *compared(new), out, told=log)
        if left is None:
            continue
        kills += 1
        stay = [*folder.glob(".unfinished-*")]
        finished = log.read_text().count("notebook dice: ")
        _, said = whole(*compared(new), out)
        went_on = said.count("taken from an earlier run") >= finished
        fine += went_on and not left and not stay and len([*out.glob("*.ipynb")]) == 2
    return kills, fine


WORK: tuple[Callable[[Path, random.Random, int], tuple[int, int]], ...] = (grids, releases, runs)


@click.command()
@click.option("--number", default=10, show_default=True, help="Kills of each kind.")
@click.option("--seed", default=1, show_default=True)
@click.option("--keep", "kept", is_flag=True, help="Put the counts into data/checks.csv.")
def main(number: int, seed: int, kept: bool) -> None:
    """Print how many kills of each kind were survived; status 1 if any was not."""
    told = {}
    for work in WORK:
        with tempfile.TemporaryDirectory() as folder:
            kills, fine = work(Path(folder), random.Random(seed), number)
        told[work.__name__] = kills, fine
        click.echo(f"{work.__name__}: {fine} of {kills} survived")
    if kept:
        keep("kills", told)
    sys.exit(any(kills != fine for kills, fine in told.values()))


if __name__ == "__main__":
    main()
