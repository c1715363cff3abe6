"""Long work behaves: kills, interrupts, full disks, strangers' folders, damaged files."""

from __future__ import annotations

import contextlib
import errno
import io
import json
import multiprocessing
import os
import pickle
import re
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from microdata_price.exceptions import CertificateError, InputError
from microdata_price.grid import GridInterrupted, GridSpec, GridStoppedError, run_grid
from microdata_price.grid import folder as grid_files
from microdata_price.grid import workers as grid_workers
from microdata_price.grid.blocks import Task, blocks_code, tasks_of
from microdata_price.grid.folder import GridFolder
from microdata_price.grid.progress import Progress

ARGUMENTS = ["--family", "1d", "--epsilon", "0.5", "--methods", "nnls,reweighted", "--runs", "900"]
SPEC = GridSpec.choose("1d", epsilon=[0.5], methods=["nnls", "reweighted"], runs=900)
BLOCKS = 8 * 4
FILES = ("errors.parquet", "queries.parquet")


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return run_grid(SPEC, tmp_path_factory.mktemp("whole"), workers=1).folder


def bytes_of(folder: Path) -> list[bytes]:
    return [(folder / name).read_bytes() for name in FILES]


def start(folder: Path, workers: int) -> subprocess.Popen[str]:
    # Where the tests run in the background, interrupts may be off from the start.
    program = (
        "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler); "
        "from microdata_price.cli import main; main(sys.argv[1:])"
    )
    arguments = [*ARGUMENTS, "--out", str(folder), "--workers", str(workers)]
    return subprocess.Popen(
        [sys.executable, "-c", program, "grid", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def wait_for_blocks(folder: Path, count: int, process: subprocess.Popen[str]) -> None:
    limit = time.monotonic() + 120
    while len(list((folder / "blocks").glob("*.npz"))) < count:
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < limit
        time.sleep(0.005)


@pytest.mark.parametrize("workers", [1, 2])
def test_killed_at_any_moment_it_goes_on_to_the_last_bit(
    whole: Path, tmp_path: Path, workers: int
) -> None:
    folder = tmp_path / "killed"
    process = start(folder, workers)
    wait_for_blocks(folder, 2, process)
    children = psutil.Process(process.pid).children(recursive=True)
    process.kill()
    process.communicate()
    saved = len(list((folder / "blocks").glob("*.npz")))
    assert 2 <= saved < BLOCKS
    assert not (folder / FILES[0]).exists()
    _, alive = psutil.wait_procs(children, timeout=30)
    assert not alive, "workers outlive the process that started them"
    result = run_grid(SPEC, folder, workers=1)
    assert result.reused >= saved
    assert result.computed == BLOCKS - result.reused
    assert bytes_of(folder) == bytes_of(whole)
    assert not (folder / "blocks").exists()


@pytest.mark.parametrize("workers", [1, 2])
def test_interrupted_it_says_how_to_go_on(whole: Path, tmp_path: Path, workers: int) -> None:
    process = start(tmp_path / "stopped", workers)
    wait_for_blocks(tmp_path / "stopped", 2, process)
    os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert out == ""
    said = re.fullmatch(
        r"microdata-price: interrupted; (\d+) of 32 blocks are kept in .*: run the same command "
        r"again, and it goes on from there\n",
        "".join(t for t in err.splitlines(True) if t.strip() and not t.startswith("grid: ")),
    )
    assert said, err
    result = run_grid(SPEC, tmp_path / "stopped", workers=1)
    assert result.reused >= int(said[1]) >= 2
    assert bytes_of(tmp_path / "stopped") == bytes_of(whole)


def test_an_interrupt_between_blocks_keeps_them(
    whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    saves = []

    def stop(self: GridFolder, task: Task, result: object) -> None:
        if len(saves) == 5:
            raise KeyboardInterrupt
        saves.append(task)
        keep(self, task, result)  # type: ignore[arg-type]

    keep = GridFolder.save
    monkeypatch.setattr(GridFolder, "save", stop)
    with pytest.raises(GridInterrupted, match="interrupted; 5 of 32 blocks are kept"):
        run_grid(SPEC, tmp_path, workers=1)
    monkeypatch.setattr(GridFolder, "save", keep)
    assert run_grid(SPEC, tmp_path, workers=1).reused == 5
    assert bytes_of(tmp_path) == bytes_of(whole)


@pytest.mark.parametrize("fails_at", ["block", "queries.parquet", "errors.parquet"])
def test_a_full_disk_keeps_what_was_done(
    whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fails_at: str
) -> None:
    written = []

    def full(path: Path, data: bytes) -> None:
        if path.name == fails_at or (fails_at == "block" and len(written) > 6):
            raise OSError(errno.ENOSPC, "No space left on device")
        written.append(path)
        keep(path, data)

    keep = grid_files.write_whole
    monkeypatch.setattr(grid_files, "write_whole", full)
    with pytest.raises(InputError, match=r"the disk has no room left for .* what is finished is"):
        run_grid(SPEC, tmp_path, workers=1)
    monkeypatch.setattr(grid_files, "write_whole", keep)
    result = run_grid(SPEC, tmp_path, workers=1)
    assert result.reused == (6 if fails_at == "block" else BLOCKS)
    assert bytes_of(tmp_path) == bytes_of(whole)


def test_a_real_limit_on_the_size_of_files(tmp_path: Path) -> None:
    """The system itself refuses to write; the command says so and exits with status 2."""
    program = (
        "import resource, sys\n"
        "from microdata_price.cli import main\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (5000, 5000))\n"
        "main(sys.argv[1:])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, "grid", *ARGUMENTS, "--out", str(tmp_path), "--workers=1"],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 2, done.stderr
    assert "the disk has no room left for" in done.stderr
    assert done.stderr.count("\n") == 1
    assert [p.name for p in tmp_path.rglob("*") if p.is_file() and p.stat().st_size] == [
        "manifest.json"
    ]


def test_a_folder_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def denied(path: Path, _: bytes) -> None:
        raise PermissionError(errno.EACCES, "Permission denied", str(path))

    monkeypatch.setattr(grid_files, "write_whole", denied)
    with pytest.raises(
        InputError, match=r"cannot be written \(Permission denied\); choose another"
    ):
        run_grid(SPEC, tmp_path / "new", workers=1)


def test_a_folder_of_another_grid_is_refused(whole: Path) -> None:
    before = bytes_of(whole)
    for other, difference in (
        (
            GridSpec.choose("1d", epsilon=[0.5], methods=["nnls", "reweighted"], runs=901),
            "runs: 900",
        ),
        (
            GridSpec.choose("1d", epsilon=[0.25], methods=["nnls", "reweighted"], runs=900),
            "epsilons",
        ),
        (GridSpec.choose("1d", epsilon=[0.5], methods=["nnls"], runs=900), "methods"),
    ):
        with pytest.raises(InputError, match=f"holds the results of another grid .*{difference}"):
            run_grid(other, whole, workers=1)
    assert bytes_of(whole) == before


def test_a_folder_made_by_other_code_is_refused(tmp_path: Path) -> None:
    folder = GridFolder(tmp_path, SPEC)
    folder.open()
    manifest = json.loads((tmp_path / "manifest.json").read_text())
    manifest["made_by"]["numpy"] = "0.1"
    (tmp_path / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(InputError, match=r"that other code or data made \(numpy: 0\.1 there"):
        run_grid(SPEC, tmp_path, workers=1)


def test_folders_that_are_none(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    for place in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(InputError, match="cannot be a folder, because a file is in its place"):
            run_grid(SPEC, place, workers=1)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.tex").write_text("mine")
    with pytest.raises(InputError, match=r"holds other files \(thesis\.tex, no manifest"):
        run_grid(SPEC, tmp_path / "mine", workers=1)
    assert [p.name for p in (tmp_path / "mine").iterdir()] == ["thesis.tex"]
    for text in ("", "[]", "{}", '{"parameters": 1, "made_by": 2}'):
        (tmp_path / "odd").mkdir(exist_ok=True)
        (tmp_path / "odd" / "manifest.json").write_text(text)
        with pytest.raises(InputError, match="is not the manifest of a grid"):
            run_grid(SPEC, tmp_path / "odd", workers=1)


def test_a_folder_in_use_is_refused(tmp_path: Path) -> None:
    folder = GridFolder(tmp_path, SPEC)
    folder.open()
    with folder.locked(), pytest.raises(InputError, match="another process is computing in"):
        run_grid(SPEC, tmp_path, workers=1)


def test_damaged_and_foreign_blocks_are_computed_again(whole: Path, tmp_path: Path) -> None:
    process = start(tmp_path, 1)
    wait_for_blocks(tmp_path, 4, process)
    process.kill()
    process.communicate()
    blocks = sorted((tmp_path / "blocks").glob("*.npz"))
    saved = len(blocks)
    blocks[0].write_bytes(b"")
    blocks[1].write_bytes(blocks[1].read_bytes()[:-100])
    spoiled = bytearray(blocks[2].read_bytes())
    spoiled[len(spoiled) // 2] ^= 255
    blocks[2].write_bytes(spoiled)
    result = run_grid(SPEC, tmp_path, workers=1)
    assert result.reused == saved - 3
    assert bytes_of(tmp_path) == bytes_of(whole)


def test_a_missed_certificate_stops_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(task: Task) -> object:
        if task.block == 1:
            raise CertificateError("Level00-1d at epsilon 0.5, method nnls, run 301: 1e-3")
        return run(task)

    run = grid_workers.run_block
    monkeypatch.setattr(grid_workers, "run_block", fails)
    with pytest.raises(CertificateError, match="run 301"):
        run_grid(SPEC, tmp_path, workers=1)
    assert not (tmp_path / "errors.parquet").exists()
    assert len(list((tmp_path / "blocks").glob("*.npz"))) == 1


def test_a_worker_that_dies(whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def kill_workers(_: Progress) -> None:
        for child in multiprocessing.active_children():
            child.kill()

    with monkeypatch.context() as patch:
        patch.setattr(Progress, "advance", kill_workers)
        with pytest.raises(GridStoppedError, match="a worker process ended before its work was"):
            run_grid(SPEC, tmp_path, workers=2)
    assert not multiprocessing.active_children()
    assert run_grid(SPEC, tmp_path, workers=1).reused >= 1
    assert bytes_of(tmp_path) == bytes_of(whole)


def killed(*_: object) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def killed_within_a_file(task: Task, _: object, folder: GridFolder) -> None:
    """A worker that is killed when it has written a part of a block."""
    (folder.path / "blocks").mkdir(exist_ok=True)
    (folder.path / "blocks" / f".{task.key}.npz.half").write_bytes(bytes(1000))
    killed()


@pytest.mark.parametrize("end", [killed, killed_within_a_file])
def test_a_worker_that_is_killed_never_leaves_the_others_waiting(
    whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, end: Callable[..., None]
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(grid_workers, "work", end)
        with pytest.raises(GridStoppedError, match="a worker process ended before its work"):
            run_grid(SPEC, tmp_path, workers=2)
    assert not multiprocessing.active_children()
    run_grid(SPEC, tmp_path, workers=2)
    assert bytes_of(tmp_path) == bytes_of(whole)


def test_what_a_process_answers_fits_into_one_write(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Writes up to this size are whole or absent, whenever the writer is killed."""
    task, folder = tasks_of(SPEC.pairs[0], ("ols",), 5, 0)[0], GridFolder(tmp_path, SPEC)
    answers = [grid_workers.work(task, blocks_code(), folder)]
    answers.append(grid_workers.work(task, {"code": "another"}, folder))

    def deep(level: Task | int) -> None:
        if level == 300:
            raise CertificateError("missed")
        deep(level + 1 if isinstance(level, int) else 0)

    monkeypatch.setattr(grid_workers, "run_block", deep)
    answers.append(grid_workers.work(task, blocks_code(), folder))
    assert [type(a) for a in answers] == [type(None), InputError, CertificateError]
    assert all(len(pickle.dumps(a)) < select.PIPE_BUF - 500 for a in answers)


def test_what_a_worker_refuses_is_told_as_if_there_were_none(tmp_path: Path) -> None:
    tasks = tasks_of(SPEC.pairs[0], ("nnls",), 600, 0)
    stray = replace(tasks[1], pair=replace(tasks[1].pair, dataset="Level99"))
    asked = [tasks[0], stray, tasks[2]]
    with pytest.raises(InputError, match="there is no data set 'Level99'"):
        list(grid_workers.compute(GridFolder(tmp_path, SPEC), asked, 2))
    assert not multiprocessing.active_children()


@pytest.mark.parametrize("workers", [1, 2, 3])
@pytest.mark.parametrize("count", [0, 1, 2, 7])
def test_every_block_is_computed_once(tmp_path: Path, workers: int, count: int) -> None:
    tasks = tasks_of(SPEC.pairs[0], ("ols",), 250 * 7, 0)[:count]
    done = list(grid_workers.compute(GridFolder(tmp_path, SPEC), tasks, workers))
    assert sorted(done, key=lambda t: t.block) == list(tasks)


def test_a_worker_with_other_code_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(grid_workers, "blocks_code", lambda: {"code": "another"})
    with pytest.raises(InputError, match="a worker runs other code, data or library versions"):
        run_grid(SPEC, tmp_path, workers=2)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_progress_on_a_terminal_is_a_bar_with_the_time_left() -> None:
    stream = Terminal()
    with Progress(4, 1, stream) as progress:
        for _ in range(3):
            time.sleep(0.15)
            progress.advance()
    text = stream.getvalue()
    assert "4/4" in text
    assert re.search(r"\d\d:\d\d<\d\d:\d\d", text)


def test_progress_elsewhere_is_plain_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.StringIO()
    clock = iter(range(0, 1000, 6))
    monkeypatch.setattr(time, "monotonic", lambda: float(next(clock)))
    with Progress(6, 2, stream) as progress:
        for _ in range(4):
            progress.advance()
    assert stream.getvalue().splitlines() == [
        "grid: 2 of 6 blocks are there already",
        "grid: 4 of 6 blocks (66 %), about 12 s left",
        "grid: 6 of 6 blocks (100 %), 24 s",
    ]


def test_progress_is_silent_when_asked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    spec = GridSpec.choose(datasets=["Stair-1d"], epsilon=[0.5], methods=["ols"], runs=5)
    run_grid(spec, tmp_path, workers=1)
    assert capsys.readouterr() == ("", "")
    with contextlib.suppress(InputError):
        run_grid(spec, tmp_path / "again", workers=1, progress=True)
    assert "1 of 1 blocks (100 %)" in capsys.readouterr().err


def test_a_kill_between_the_last_file_and_tidying_up(
    whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(GridFolder, "tidy", lambda _: None)
    run_grid(SPEC, tmp_path, workers=1)
    (tmp_path / ".errors.parquet.x7").write_bytes(b"half")
    assert (tmp_path / "blocks").exists()
    monkeypatch.undo()
    assert run_grid(SPEC, tmp_path, workers=1).computed == 0
    assert {p.name for p in tmp_path.iterdir()} == {*FILES, "manifest.json", ".lock"}
    assert bytes_of(tmp_path) == bytes_of(whole)


def test_vanished_blocks_are_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def drop(self: GridFolder, task: Task, result: object) -> None:
        if task.block != 2:
            keep(self, task, result)  # type: ignore[arg-type]

    keep = GridFolder.save
    monkeypatch.setattr(GridFolder, "save", drop)
    with pytest.raises(InputError, match=r"blocks of Level00-1d at epsilon 0\.5 have vanished"):
        run_grid(SPEC, tmp_path, workers=1)
