"""Long work behaves: kills, interrupts, full disks, strangers' folders, damaged files."""

import contextlib
import errno
import io
import json
import multiprocessing
import os
import pickle
import re
import select
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace

import psutil
import pytest
from tblib import pickling_support

from microdata_price.exceptions import CertificateError, InputError
from microdata_price.grid import GridInterrupted, GridSpec, GridStoppedError, run_grid
from microdata_price.grid import folder as grid_files
from microdata_price.grid import run as grid_run
from microdata_price.grid import workers as grid_workers
from microdata_price.grid.blocks import blocks_code, tasks_of
from microdata_price.grid.folder import GridFolder

ASKED = "grid --family 1d --epsilon 0.5 --methods nnls,reweighted --runs 900"
GRID = [sys.executable, "-m", "microdata_price", *ASKED.split()]
SPEC = GridSpec.choose("1d", epsilon=[0.5], methods=["nnls", "reweighted"], runs=900)
BLOCKS = 8 * 4
FILES = ("errors.parquet", "queries.parquet")


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    return run_grid(SPEC, tmp_path_factory.mktemp("whole"), workers=1).folder


def bytes_of(folder):
    return [(folder / name).read_bytes() for name in FILES]


def saved(folder):
    return sorted((folder / "blocks").glob("*.npz"))


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
@pytest.mark.parametrize("workers", [1, 2])
def test_killed_or_stopped_at_any_moment_it_goes_on_to_the_last_bit(whole, tmp_path, workers, how):
    folder, pipes = tmp_path / "stopped", dict.fromkeys(("stdout", "stderr"), subprocess.PIPE)
    command = [*GRID, "--out", str(folder), "--workers", str(workers)]
    process = subprocess.Popen(command, **pipes, text=True, start_new_session=True)
    limit = time.monotonic() + 120
    while len(saved(folder)) < 2:
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < limit
        time.sleep(0.005)
    children = psutil.Process(process.pid).children(recursive=True)
    # Ctrl-C goes to the whole group, as from a terminal.
    (os.kill if how is signal.SIGKILL else os.killpg)(process.pid, how)
    out, err = process.communicate(timeout=60)
    kept = len(saved(folder))
    assert 2 <= kept < BLOCKS
    assert not (folder / FILES[0]).exists()
    _, alive = psutil.wait_procs(children, timeout=30)
    assert not alive, "workers outlive the process that started them"
    if how is signal.SIGINT:
        assert (process.returncode, out) == (130, ""), err
        said = [line for line in err.splitlines() if line.strip() and not line.startswith("grid: ")]
        said = re.fullmatch(r"microdata-price: interrupted; (\d+) of 32 blocks .*", *said)
        assert 2 <= int(said[1]) <= kept
    result = run_grid(SPEC, folder, workers=1)
    assert result.reused >= kept
    assert (result.computed, bytes_of(folder)) == (BLOCKS - result.reused, bytes_of(whole))
    assert not (folder / "blocks").exists()


FULL = OSError(errno.ENOSPC, "No space left on device")
NO_ROOM = r"the disk has no room left for .*/grid \(No space.* what is finished is kept"


@pytest.mark.parametrize(
    ("at", "problem", "said", "kept"),
    [
        (6, KeyboardInterrupt(), "interrupted; 5 of 32 blocks are kept", 5),
        *((2, CertificateError("run 301: 1e-3"), "run 301", 1), (6, FULL, NO_ROOM, 5)),
        ("queries.parquet", FULL, NO_ROOM, BLOCKS),
        *(("errors.parquet", FULL, NO_ROOM, BLOCKS), ("manifest.json", FULL, NO_ROOM, 0)),
        ("manifest.json", PermissionError(13, "Denied"), r"grid cannot be used \(Denied\)", 0),
    ],
)
def test_what_an_error_finds_written_is_kept(whole, tmp_path, monkeypatch, at, problem, said, kept):
    written = []

    def failing(path, data):
        if at in (path.name, len(written)):
            raise problem
        written.append(path)
        write(path, data)

    write = grid_files.write_whole
    monkeypatch.setattr(grid_files, "write_whole", failing)
    with pytest.raises((InputError, GridInterrupted, CertificateError), match=said):
        run_grid(SPEC, tmp_path / "grid", workers=1)
    assert not (tmp_path / "grid" / "errors.parquet").exists()
    monkeypatch.undo()
    if kept:
        assert run_grid(SPEC, tmp_path / "grid", workers=1).reused == kept
        assert bytes_of(tmp_path / "grid") == bytes_of(whole)


def test_a_folder_of_another_grid_or_other_code_is_refused(whole, tmp_path):
    before = bytes_of(whole)
    for change in ({"runs": 901}, {"epsilons": (0.25,)}, {"methods": ("nnls",)}):
        with pytest.raises(InputError, match=f"results of another grid .*{next(iter(change))}: "):
            run_grid(replace(SPEC, **change), whole, workers=1)
    assert bytes_of(whole) == before
    with GridFolder(tmp_path, SPEC).claimed():
        manifest = json.loads((tmp_path / "manifest.json").read_text())
    manifest["made_by"]["numpy"] = "0.1"
    (tmp_path / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(InputError, match=r"that other code or data made \(numpy: 0\.1 there"):
        run_grid(SPEC, tmp_path, workers=1)


def test_folders_that_are_none_or_in_use(tmp_path):
    (tmp_path / "file").write_text("mine")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.tex").write_text("mine")
    places = {"file": "cannot be a folder", "file/below": "cannot be a folder", "mine": "is not"}
    for k, text in enumerate(("", "[]", "{}", '{"parameters": 1, "made_by": 2}')):
        (tmp_path / f"odd{k}").mkdir()
        (tmp_path / f"odd{k}" / "manifest.json").write_text(text)
        places[f"odd{k}"] = "is not the manifest of a grid"
    for place, said in places.items():
        with pytest.raises(InputError, match=said):
            run_grid(SPEC, tmp_path / place, workers=1)
    assert [p.name for p in (tmp_path / "mine").iterdir()] == ["thesis.tex"]
    used = tmp_path / "used"
    with GridFolder(used, SPEC).claimed():
        (used / "manifest.json").unlink()  # as before the first of two has written its own
        with pytest.raises(InputError, match="another process is computing in"):
            run_grid(replace(SPEC, runs=901), used, workers=1)
    with GridFolder(used, SPEC).claimed():
        assert json.loads((used / "manifest.json").read_text())["parameters"]["runs"] == SPEC.runs


def test_damaged_blocks_are_made_again_and_lost_ones_an_error(whole, tmp_path, monkeypatch):
    load, tmp_path = GridFolder.load, tmp_path / "h\udcff"  # a name that is not UTF-8
    with monkeypatch.context() as patch:
        patch.setattr(GridFolder, "load", lambda f, t: None if t.block == 2 else load(f, t))
        with pytest.raises(InputError, match=r"blocks of Level00-1d at epsilon 0\.5 have vanished"):
            run_grid(SPEC, tmp_path, workers=1)
    blocks = saved(tmp_path)
    blocks[0].write_bytes(b"")
    blocks[1].write_bytes(blocks[1].read_bytes()[:-100])
    spoiled = bytearray(blocks[2].read_bytes())
    spoiled[len(spoiled) // 2] ^= 255
    blocks[2].write_bytes(spoiled)
    blocks[4].write_bytes(blocks[7].read_bytes())  # of 150 runs, not 250
    with monkeypatch.context() as patch:  # a kill between the last file and tidying up
        patch.setattr(GridFolder, "tidy", lambda _: None)
        assert run_grid(SPEC, tmp_path, workers=1).reused == BLOCKS - 4
    (tmp_path / ".errors.parquet.x7").write_bytes(b"half")
    assert (len(saved(tmp_path)), run_grid(SPEC, tmp_path, workers=1).computed) == (BLOCKS, 0)
    assert {p.name for p in tmp_path.iterdir()} == {*FILES, "manifest.json", ".manifest.json.lock"}
    assert bytes_of(tmp_path) == bytes_of(whole)
    for name in ("errors.parquet", "queries.parquet"):
        (tmp_path / name).write_bytes((whole / name).read_bytes()[:300])
        with pytest.raises(InputError, match=f"{name} is damaged; remove the folder"):
            run_grid(SPEC, tmp_path, workers=1)
        shutil.copy(whole / name, tmp_path)


def killed_within_a_file(task, _, folder):
    """A worker that is killed when it has written a part of a block."""
    (folder.path / "blocks").mkdir(exist_ok=True)
    (folder.path / "blocks" / f".{task.key}.npz.half").write_bytes(bytes(1000))
    os.kill(os.getpid(), signal.SIGKILL)


@contextlib.contextmanager
def kills_workers(*_):
    """Progress that kills all workers when the first block is done."""
    yield lambda: [child.kill() for child in multiprocessing.active_children()]


@pytest.mark.parametrize("end", [killed_within_a_file, kills_workers])
def test_a_worker_that_is_killed_never_leaves_the_others_waiting(whole, tmp_path, monkeypatch, end):
    with monkeypatch.context() as patch:
        place = (grid_run, "progress") if end is kills_workers else (grid_workers, "work")
        patch.setattr(*place, end)
        with pytest.raises(GridStoppedError, match="a worker process ended before its work"):
            run_grid(SPEC, tmp_path, workers=2)
    assert not multiprocessing.active_children()
    assert run_grid(SPEC, tmp_path, workers=1).reused >= (end is kills_workers)
    assert bytes_of(tmp_path) == bytes_of(whole)


def test_what_a_process_answers_fits_into_one_write(tmp_path, monkeypatch):
    """Writes up to this size are whole or absent, whenever the writer is killed."""
    pickling_support.install(InputError, CertificateError)  # as importing Dask does
    task, folder = tasks_of(SPEC.pairs[0], ("ols",), 5, 0)[0], GridFolder(tmp_path, SPEC)
    answers = [grid_workers.work(task, blocks_code(), folder)]
    answers.append(grid_workers.work(task, {"code": "another"}, folder))

    def deep(level):
        if level == 300:
            raise CertificateError("missed")
        deep(level + 1 if isinstance(level, int) else 0)

    monkeypatch.setattr(grid_workers, "run_block", deep)
    answers.append(grid_workers.work(task, blocks_code(), folder))
    assert [type(a) for a in answers] == [type(None), InputError, CertificateError]
    assert "a worker runs other code, data or library versions" in str(answers[1])
    assert all(len(pickle.dumps(a)) < select.PIPE_BUF - 500 for a in answers)


def test_what_a_worker_refuses_is_told_as_if_there_were_none(tmp_path):
    tasks = tasks_of(SPEC.pairs[0], ("nnls",), 600, 0)
    stray = replace(tasks[1], pair=replace(tasks[1].pair, dataset="Level99"))
    asked = [tasks[0], stray, tasks[2]]
    with pytest.raises(InputError, match="there is no data set 'Level99'"):
        list(grid_workers.compute(GridFolder(tmp_path, SPEC), asked, 2))
    assert not multiprocessing.active_children()


def test_progress_is_a_bar_on_a_terminal_and_plain_lines_elsewhere(monkeypatch):
    terminal = io.StringIO()
    terminal.isatty = lambda: True
    with grid_run.progress(4, 1, terminal) as advance:
        for _ in range(3):
            advance()
    assert re.search(r"4/4 \[\d\d:\d\d<\d\d:\d\d", terminal.getvalue())
    stream, clock = io.StringIO(), iter(range(0, 1000, 6))
    monkeypatch.setattr(time, "monotonic", lambda: float(next(clock)))
    with grid_run.progress(6, 2, stream) as advance:
        for _ in range(4):
            advance()
    assert stream.getvalue().splitlines() == [
        "grid: 2 of 6 blocks are there already",
        "grid: 4 of 6 blocks (66 %), about 12 s left",
        "grid: 6 of 6 blocks (100 %), 24 s",
    ]
