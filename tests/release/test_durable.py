"""Budget that was spent is never lost: what stops a release after the measurement is taken up."""

import io
import json
import os
import re
import shlex
import signal
import stat
import subprocess
import sys
from hashlib import sha256
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pytest

from command_line import run
from microdata_price import cli
from microdata_price.exceptions import CertificateError, InputError
from microdata_price.model.privacy import PureDP
from microdata_price.release import folder as release_keep
from microdata_price.release import measure as release_measure
from microdata_price.release import run as release_module
from microdata_price.release.folder import MANIFEST, MEASUREMENTS, load_measured
from microdata_price.release.plan import plan_release
from microdata_price.release.run import release, release_again
from microdata_price.tables.read import read_table
from microdata_price.tables.schemas import parse_schema
from microdata_price.tables.workloads import parse_workload
from release_samples import SCHEMA, WORKLOAD, edited

REFUSAL = PermissionError(13, "Permission denied", "a name in passing")
FULL_DISK = OSError(28, "No space left on device")
TEMPORARY, NEEDED = (release_keep.tempfile, "mkdtemp"), 400 * 12 + 2**20  # bytes: 12 answers, a MiB


def full(path, data):
    """Write as on a disk, or under a limit, that ends a byte before what may be needed."""
    if len(data) >= NEEDED:
        raise OSError(27, "File too large")
    path.write_bytes(data)


def meanwhile(path, *more):
    """Read a table, and be too slow."""
    (path.parent / "out").mkdir()
    return read_table(path, *more)


KILLS = 30
KILLING = """
import os, random, signal, sys, time
from pathlib import Path
from microdata_price import cli
from microdata_price.commands import release  # all of it now, not anew in every child

words, out, kills = sys.argv[1:-2], Path(sys.argv[-2]), int(sys.argv[-1])

rng, whole = random.Random(7), 0.0
for k in range(-1, kills):  # the first ends by itself
    folder = out / str(k)
    child = os.fork()
    if child == 0:
        sys.stdout = sys.stderr = open(os.devnull, "w")
        try:
            cli.main([*words, "--out", str(folder)])
        finally:
            os._exit(0)
    while not folder.exists():
        time.sleep(0.0005)
    begun = time.monotonic()
    if k >= 0:
        time.sleep(rng.uniform(0, whole))
        os.kill(child, signal.SIGKILL)
    killed = os.WIFSIGNALED(os.waitpid(child, 0)[1])
    # The machine may be faster later than for the first: the moments shall lie before the end.
    whole = (whole if killed else 0.8 * whole) or time.monotonic() - begun
"""


def told_in(message):
    """The command that a message tells, as a shell reads it."""
    return [*shlex.split(re.search("microdata-price (release .*) METHOD", message)[1]), "nnls"]


def test_killed_at_thirty_random_moments_after_measuring_all_are_taken_up(inputs):
    table, schema, out = inputs
    out.mkdir()
    words = ["release", table, "--schema", schema, "--epsilon", 1, "--method", "nnls"]
    given = [*words, out, KILLS]
    subprocess.run([sys.executable, "-c", KILLING, *map(str, given)], check=True, timeout=300)
    taken_up = 0
    for k in range(KILLS):
        folder = out / str(k)
        kept, finished = load_measured(folder)
        if not finished:
            assert release_again(folder, "nnls").measured.identity == kept.identity
            assert not list(folder.glob(".unfinished-*"))
            taken_up += 1
        again, finished = load_measured(folder)
        assert (finished, (folder / "records.csv").exists()) == (True, True)
        for one, two in zip(again.answers, kept.answers, strict=True):
            np.testing.assert_array_equal(one, two)
    assert taken_up >= KILLS // 2  # the moments are spread over all that follows


@pytest.mark.parametrize(
    ("problem", "status"),
    [
        *((KeyboardInterrupt, 130), (signal.SIGTERM, 143), (MemoryError(), 1)),
        *((CertificateError("no"), 1), (FULL_DISK, 2)),
    ],
)
def test_whatever_fails_after_the_measurement_says_how_to_go_on(
    inputs, command, capsys, monkeypatch, problem, status
):
    out = inputs[2].with_name("it's $HOME")

    def failing(*_):
        if isinstance(problem, signal.Signals):
            os.kill(os.getpid(), problem)
        raise problem

    monkeypatch.setattr(release_module, "finish", failing)
    code, _, error = command("--epsilon", 1, out=out)
    assert (code, "Traceback" in error) == (status, False)
    assert f"The noisy answers are safe in {out}. Do not measure again" in error
    assert "run the same command again" not in error
    monkeypatch.undo()
    assert "Do not measure the table again" in (out / "README.txt").read_text()
    lines = (answers := out / "measurements.csv").read_bytes().replace(b"\n", b"\r\n")
    answers.write_bytes(lines)  # as another machine may write them: they stay
    sums = json.loads((out / "manifest.json").read_text())["sha256"]
    edited(out, sha256=sums | {"measurements.csv": sha256(lines).hexdigest()})
    code, printed, _ = run(capsys, *told_in(error), "--json")
    assert (code, json.loads(printed)["out"]) == (0, str(out))
    assert ((out / "records.csv").exists(), answers.read_bytes()) == (True, lines)
    with pytest.raises(InputError, match="is finished; to fit its measurements anew"):
        release_again(out, "nnls")


def test_a_measurement_is_finished_once(inputs, command, monkeypatch):
    """While one fits, another finishes; what a fit by another method left half-done goes."""
    out, inner = inputs[2], release_module.finish

    def late(measured, method):
        monkeypatch.setattr(release_module, "finish", inner)
        (out / "records.csv").write_text("of a fit that was stopped")
        (out / ".unfinished-1").mkdir()
        release_again(out, "ols")
        return inner(measured, method)

    monkeypatch.setattr(release_module, "finish", late)
    code, _, error = command("--epsilon", 1)
    assert (code, "another process was faster" in error) == (2, True)
    assert (load_measured(out)[1], (out / "records.csv").exists()) == (True, False)
    assert not list(out.glob(".*"))


@pytest.fixture
def when_written(monkeypatch):
    """Do something when a file of a release is about to be written."""
    write = release_keep._write

    def watch(name, act):
        def watched(path, data):
            if path.name == name and data:
                act()
            write(path, data)

        monkeypatch.setattr(release_keep, "_write", watched)

    return watch


@pytest.mark.parametrize(
    ("problem", "status", "message"),
    [(KeyboardInterrupt, 130, "interrupted"), (FULL_DISK, 2, "the disk has no room left")],
)
def test_an_accident_before_the_answers_are_kept_leaves_no_folder(
    inputs, command, account, when_written, problem, status, message
):
    """What a ledger counts without a release is said."""
    when_written("place", Mock(side_effect=problem))
    for ledger in ([], ["--ledger", account.path, "--name", account.name]):
        code, printed, said = command("--epsilon", 1, *ledger)
        assert (code, printed, message in said) == (status, "", True)
        assert ("the ledger counts this measurement" in said) == bool(ledger)
    assert not [p for p in inputs[2].parent.iterdir() if "out" in p.name]


def test_who_loses_a_race_for_a_folder_keeps_the_answers_under_another_name(
    inputs, command, account, when_written
):
    out = inputs[2].with_name("my out")

    def race():
        out.mkdir(exist_ok=True)
        (out / "other").write_text("somebody else's")

    when_written("place", race)
    book = ["--ledger", account.path, "--name", account.name]
    code, _, said = command("--epsilon", 1, *book, out=out)
    assert (code, "was made meanwhile" in said, "Nothing was kept" in said) == (2, True, False)
    (other,) = out.parent.glob("my out-*")
    assert told_in(said)[:3] == ["release", "--again", str(other)]
    assert load_measured(other)[0].identity == account.state()[0][0].identity
    assert [p.name for p in out.iterdir()] == ["other"]
    other.rename(left := out.with_name(".a new.unfinished-x"))  # as a kill leaves it
    told = told_in(command("--epsilon", 1, out=(new := out.with_name("a new")))[2])
    assert told[2:5] == [str(left), "--out", str(new)]


@pytest.mark.usefixtures("hangups")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_requests_to_stop_wait_until_the_answers_are_kept(inputs, command, when_written, number):
    when_written("place", lambda: os.kill(os.getpid(), number))
    code, _, said = command("--rho", 0.1)
    assert code == 128 + number
    assert f"The noisy answers are safe in {inputs[2]}" in said
    assert load_measured(inputs[2])[1] is False


@pytest.mark.parametrize(
    ("name", "book", "change", "said"),
    [
        *(("a" * 240, "", (), "too long a"), ("t/out", "", (), "does not exist; create it first")),
        *(("out", book, (), "lies where the release is to go") for book in ("out", "out/b")),
        ("out", "none/b", (), "none does not exist; create it first"),
        ("out", "", (*TEMPORARY, Mock(side_effect=REFUSAL)), "cannot be used (Permission"),
        ("out", "", (release_keep, "_write", full), "has no room left"),
        ("out", "", (release_measure, "read_table", meanwhile), "exists already and is never"),
    ],
)
def test_what_can_fail_is_tried_before_anything_is_spent(
    inputs, command, account, monkeypatch, name, book, change, said
):
    """Names, places, the system, another who takes the place: until then the table is none."""
    table, _, out = inputs
    if change:
        monkeypatch.setattr(*change)
    else:
        table.write_text("x")
    (out.parent / "t").write_text("x")
    before = {p.name for p in out.parent.rglob("*")}
    book = out.parent / book if book else account.path
    words = ["--epsilon", 1, "--ledger", book, "--name", account.name]
    code, printed, error = command(*words, out=out.parent / name)
    assert (code, printed, said in error) == (2, "", True)
    assert {p.name for p in out.parent.rglob("*")} - {"out"} == before
    assert not account.state()[0]


def test_the_room_that_is_held_is_enough_whatever_the_values_are_called(tmp_path, monkeypatch):
    schema = parse_schema(json.dumps({"columns": {"å" * 999: [k * "ñ" for k in range(1, 200)]}}))
    (tmp_path / "t.csv").write_text(f"{'å' * 999},count\n{50 * 'ñ'},3\n", encoding="utf-8")
    sizes, write = [], release_keep._write
    note = lambda path, data: sizes.append(len(data)) or write(path, data)  # noqa: E731
    monkeypatch.setattr(release_keep, "_write", note)
    planned = plan_release(schema, parse_workload(f"sum, {'å' * 999}", schema), PureDP(1.0))
    release(tmp_path / "t.csv", planned, "ols", tmp_path / "out")
    _, _, held, answers, manifest = sizes[:5]
    assert held >= answers + manifest + 400 * 200


def test_a_system_that_cannot_sync_folders_loses_nothing(inputs, command, account, monkeypatch):
    def fsync(handle, sync=os.fsync):
        if stat.S_ISDIR(os.fstat(handle).st_mode):
            raise OSError(22, "Invalid argument")
        sync(handle)

    monkeypatch.setattr(os, "fsync", fsync)
    code, _, said = command("--epsilon", 1, "--ledger", account.path, "--name", account.name)
    assert (code, said, load_measured(inputs[2])[1], len(account.state()[0])) == (0, "", True, 1)


@pytest.mark.parametrize("more", [[], ["--json"]])
def test_a_terminal_without_some_letters_does_not_undo_a_release(tmp_path, monkeypatch, more):
    table, schema, name = tmp_path / "t.csv", tmp_path / "s.json", "Gemüse-東京"
    table.write_text(f"{name},count\nñ,30\nm,4\n", encoding="utf-8")
    schema.write_text(json.dumps({"columns": {name: ["ñ", "m"]}}))
    words = ["release", table, "--schema", schema, "--epsilon", 1, "--out", tmp_path / name, *more]
    monkeypatch.setattr(sys, "stdout", out := io.TextIOWrapper(io.BytesIO(), "latin-1"))
    with pytest.raises(SystemExit) as stop:
        cli.main([str(word) for word in words])
    out.flush()
    said = out.buffer.getvalue().decode("latin-1")
    assert (stop.value.code or 0, "Gem" in said, "東京" in said) == (0, True, False)


def test_everything_is_on_the_disk_before_it_appears_as_the_umask_says(inputs, monkeypatch):
    table, _, out = inputs
    synced = []
    note = lambda path: synced.append((path.parent.name, path.name, out.exists()))  # noqa: E731
    monkeypatch.setattr(release_keep, "sync_file", note)
    monkeypatch.setattr(release_keep, "lock", lock := Mock(side_effect=OSError))  # not on all disks
    moved, replace = [], Path.replace
    monkeypatch.setattr(Path, "replace", lambda p, to: moved.append(p.name) or replace(p, to))
    mask = os.umask(0o027)
    try:
        release(table, plan_release(SCHEMA, WORKLOAD, PureDP(1.0)), "nnls", out)
        release_again(out, "nnls", again := out.with_name("again"))
    finally:
        os.umask(mask)
    before = [name for _, name, there in synced if not there]
    assert before[:4] == ["schema.json", "README.txt", MEASUREMENTS, "place"]
    assert before[4:6] == [MEASUREMENTS, "place"]
    assert before[6].startswith(".out")
    after = [(folder, name) for folder, name, there in synced if there]
    assert (after[0][1], after[-1][1]) == (out.parent.name, "out")
    assert {name for _, name in after[1:-1]} == {p.name for p in out.iterdir()} == set(moved)
    assert (moved[-1], lock.call_args.args[0].name) == (MANIFEST, str(out / MANIFEST))
    for folder in (out, again):
        assert folder.stat().st_mode & 0o777 == 0o750
        assert {p.stat().st_mode & 0o777 for p in folder.iterdir()} == {0o640}
