"""A run whose parent is gone ends with it, and leaves nothing of a confidential table."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from microdata_price.book import notebook
from microdata_price.book.one import _names
from tiny_book import make_notebook, make_root, ordinary


def wait(done: object, seconds: float = 60) -> None:
    """Wait until something holds; a machine may be slow."""
    end = time.monotonic() + seconds
    while time.monotonic() < end and not done():  # type: ignore[operator]
        time.sleep(0.2)


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGKILL])
def test_workers_and_kernels_end_with_the_command(tmp_path: Path, number: signal.Signals) -> None:
    root = make_root(tmp_path, {"chapter": ordinary()}, {})
    mark = tmp_path / "started"
    body = f"print(open(table).read())\nopen({str(mark)!r}, 'w').close()\nimport time"
    own = make_notebook(
        ("text", "# Own\n\nText."),
        ("code", 'table = ""', "parameters"),
        ("code", body),
        ("code", "time.sleep(600)"),
    )
    notebook.write(own, root / "notebooks" / "own.ipynb")
    (root / "true.csv").write_text("SECRET", encoding="utf-8")
    command = "from microdata_price.cli import main; main()"
    arguments = ["run", "notebooks/own.ipynb", "-p", "table", "true.csv"]
    with subprocess.Popen(
        [sys.executable, "-c", command, *arguments],
        cwd=root,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": str(root / "src")},
    ) as process:
        wait(mark.exists)
        assert mark.exists()
        family = psutil.Process(process.pid).children(recursive=True)
        assert family
        process.send_signal(number)
    wait(lambda: not any(p.is_running() and p.status() != "zombie" for p in family))
    assert [p for p in family if p.is_running() and p.status() != "zombie"] == []
    generated = root / "book" / "_generated"
    wait(lambda: not list(generated.glob(".run-*")))
    assert list(generated.glob(".run-*")) == []
    assert not (root / "results").exists()


def test_values_that_are_written_alike_have_files_of_their_own() -> None:
    rows = [{"name": "a/b"}, {"name": "a_b"}, {"name": "x" * 300}, {"name": "x" * 301}]
    names = _names("own", rows)
    assert len({*names}) == len(rows)
    assert all(len(name) < 100 and "/" not in name for name in names)
    assert _names("own", [{"x": 0.1}, {"x": 0.10000001}]) == ["own-x-0.1", "own-x-0.10000001"]
