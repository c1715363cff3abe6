"""Budget that was spent is never lost: what stops a release after the measurement is taken up."""

import json
import os
import signal
import subprocess
import sys

import numpy as np
import pytest

from command_line import refused, run
from microdata_price.exceptions import CertificateError, InputError
from microdata_price.model.privacy import PureDP
from microdata_price.release import folder as release_keep
from microdata_price.release import run as release_module
from microdata_price.release.folder import load_measured
from microdata_price.release.ledger import Account
from microdata_price.release.plan import plan_release
from microdata_price.release.run import release, release_again
from release_samples import SCHEMA, WORKLOAD

KILLS = 30
KILLING = """
import os, random, signal, sys, time
from pathlib import Path
from microdata_price import cli
from microdata_price.commands import release  # all of it now, not anew in every child

words, out, kills = sys.argv[1:-2], Path(sys.argv[-2]), int(sys.argv[-1])

def started(folder):
    child = os.fork()
    if child == 0:
        sys.stdout = sys.stderr = open(os.devnull, "w")
        try:
            cli.main([*words, "--out", str(folder)])
        finally:
            os._exit(0)
    while not folder.exists():
        time.sleep(0.0005)
    return child, time.monotonic()

child, begun = started(out / "whole")
os.waitpid(child, 0)
whole = time.monotonic() - begun
rng = random.Random(7)
for k in range(kills):
    child, _ = started(out / str(k))
    time.sleep(rng.uniform(0, whole))
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
"""


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
            made = release_again(folder, "nnls")
            assert made.measured.identity == kept.identity
            assert not list(folder.glob(".unfinished-*"))
            taken_up += 1
        again, finished = load_measured(folder)
        assert finished
        for one, two in zip(again.answers, kept.answers, strict=True):
            np.testing.assert_array_equal(one, two)
        assert (folder / "records.csv").exists()
    assert taken_up >= KILLS // 2  # the moments are spread over all that follows


@pytest.mark.parametrize(
    ("problem", "status"),
    [
        (KeyboardInterrupt, 130),
        (CertificateError("no"), 1),
        (OSError(28, "No space left on device"), 2),
        (MemoryError(), 1),
        (signal.SIGTERM, 143),
    ],
)
def test_whatever_fails_after_the_measurement_says_how_to_go_on(
    inputs, capsys, monkeypatch, problem, status
):
    table, schema, out = inputs

    def failing(*_):
        if isinstance(problem, signal.Signals):
            os.kill(os.getpid(), problem)
        raise problem

    monkeypatch.setattr(release_module, "finish", failing)
    words = ["release", table, "--schema", schema, "--epsilon", 1, "--out", out]
    code, _, error = run(capsys, *words)
    assert code == status
    assert f"The noisy answers are safe in {out}. Do not measure again" in error
    assert "Traceback" not in error
    assert "run the same command again" not in error
    monkeypatch.undo()
    assert "Do not measure the table again" in (out / "README.txt").read_text()
    code, printed, _ = run(capsys, "release", "--again", out, "--method", "nnls", "--json")
    assert (code, json.loads(printed)["out"]) == (0, str(out))
    assert (out / "records.csv").exists()
    with pytest.raises(InputError, match="is finished; to fit its measurements anew"):
        release_again(out, "nnls")


@pytest.mark.parametrize(
    ("problem", "status", "message"),
    [
        (KeyboardInterrupt, 130, "interrupted"),
        (OSError(28, "No space left on device"), 2, "the disk has no room left"),
    ],
)
def test_an_accident_before_the_answers_are_kept_leaves_no_folder(
    inputs, capsys, monkeypatch, problem, status, message
):
    """What a ledger counts without a release is said."""
    table, schema, out = inputs
    write = release_keep._write

    def failing(path, data):
        if path.name == "manifest.json":
            raise problem
        write(path, data)

    monkeypatch.setattr(release_keep, "_write", failing)
    words = ["release", table, "--schema", schema, "--epsilon", 1, "--out", out]
    book = ["--ledger", out.parent / "ledger.jsonl", "--name", "p"]
    Account(book[1], "p").limit(PureDP(9.0))
    for ledger in ([], book):
        code, printed, said = run(capsys, *words, *ledger)
        assert (code, printed, message in said) == (status, "", True)
        assert ("the ledger counts this measurement" in said) == bool(ledger)
    assert not [p for p in out.parent.iterdir() if "out" in p.name]


def test_who_loses_a_race_for_a_folder_keeps_the_answers_under_another_name(
    inputs, capsys, monkeypatch
):
    table, schema, out = inputs
    write = release_keep._write

    def slow(path, data):
        write(path, data)
        if path.name == "manifest.json" and not out.exists():
            out.mkdir()
            (out / "other").write_text("somebody else's")

    monkeypatch.setattr(release_keep, "_write", slow)
    account = Account(out.parent / "ledger.jsonl", "p")
    account.limit(PureDP(9.0))
    words = ["release", table, "--schema", schema, "--epsilon", 1, "--out", out]
    said = refused(capsys, *words, "--ledger", account.path, "--name", "p")
    assert "was made meanwhile" in said
    assert "Nothing was kept" not in said
    (other,) = out.parent.glob("out-*")
    assert f"release --again {other}" in said
    assert load_measured(other)[0].identity == account.state()[0][0].identity
    assert [p.name for p in out.iterdir()] == ["other"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_requests_to_stop_wait_until_the_answers_are_kept(inputs, monkeypatch, capsys, number):
    table, schema, out = inputs
    write = release_keep._write

    def interrupted(path, data):
        if path.name == "measurements.csv":
            os.kill(os.getpid(), number)
        write(path, data)

    monkeypatch.setattr(release_keep, "_write", interrupted)
    code, _, said = run(capsys, "release", table, "--schema", schema, "--rho", 0.1, "--out", out)
    assert code == 128 + number
    assert f"The noisy answers are safe in {out}" in said
    assert load_measured(out)[1] is False


@pytest.mark.parametrize(
    ("name", "book"),
    [("a" * 300, "b"), ("t/out", "b"), ("out", "out"), ("out", "out/b"), ("out", "none/b")],
)
def test_what_can_fail_is_tried_before_anything_is_spent(tmp_path, inputs, capsys, name, book):
    """A name too long, a file as the folder, a ledger in the release's place or in no folder."""
    table, schema, _ = inputs
    (tmp_path / "t").write_text("x")
    Account(tmp_path / "b", "p").limit(PureDP(9.0))
    before = sorted(p.name for p in tmp_path.rglob("*"))
    words = ["release", table, "--schema", schema, "--epsilon", 1, "--out", tmp_path / name]
    refused(capsys, *words, "--ledger", tmp_path / book, "--name", "p")
    assert sorted(p.name for p in tmp_path.rglob("*")) == before
    assert not Account(tmp_path / "b", "p").state()[0]


def test_a_folder_that_takes_nothing_is_found_before_anything_is_spent(inputs, capsys, monkeypatch):
    table, schema, out = inputs

    def closed(**_):
        raise PermissionError(13, "Permission denied", "a name in passing")

    monkeypatch.setattr(release_keep.tempfile, "mkdtemp", closed)
    account = Account(out.parent / "book", "p")
    account.limit(PureDP(9.0))
    words = ["release", table, "--schema", schema, "--epsilon", 1, "--out", out]
    said = refused(capsys, *words, "--ledger", account.path, "--name", "p")
    assert f"{out.parent} cannot be used (Permission denied)" in said
    assert not account.state()[0]


def test_the_table_is_opened_once_and_may_be_gone_by_the_end(inputs, monkeypatch, capsys):
    table, schema, out = inputs
    finish = release_module.finish

    def gone(measured, *more):
        table.unlink()
        return finish(measured, *more)

    monkeypatch.setattr(release_module, "finish", gone)
    assert run(capsys, "release", table, "--schema", schema, "--rho", 0.1, "--out", out)[0] == 0
    assert (out / "records.csv").exists()


def test_a_terminal_without_some_letters_does_not_undo_a_release(tmp_path):
    table, schema = tmp_path / "t.csv", tmp_path / "s.json"
    name = "Gemüse-東京"
    table.write_text(f"{name},count\nñ,30\nm,4\n", encoding="utf-8")
    schema.write_text(json.dumps({"columns": {name: ["ñ", "m"]}}))
    words = ["release", table, "--schema", schema, "--epsilon", 1, "--out", tmp_path / f"o-{name}"]
    environment = {**os.environ, "PYTHONIOENCODING": "latin-1"}
    for more in ([], ["--json"]):
        code = "from microdata_price import cli; cli.main()"
        given = [*words[:-1], f"{words[-1]}{len(more)}", *more]
        ran = subprocess.run(
            [sys.executable, "-c", code, *map(str, given)],
            env=environment,
            capture_output=True,
            timeout=120,
        )
        assert (ran.returncode, ran.stderr) == (0, b"")
        assert "東京" not in (said := ran.stdout.decode("latin-1"))
        assert "Gem" in said


def test_a_disk_without_room_is_refused_before_anything_is_spent(inputs, monkeypatch):
    table, _, out = inputs
    monkeypatch.setattr(
        "microdata_price.release.folder.shutil.disk_usage",
        lambda _: type("Usage", (), {"free": 1000}),
    )
    with pytest.raises(InputError, match="nothing was measured yet"):
        release(table, plan_release(SCHEMA, WORKLOAD, PureDP(1.0)), "nnls", out)
    assert not out.exists()


def test_permissions_follow_the_umask(inputs):
    table, _, out = inputs
    before = os.umask(0o027)
    try:
        release(table, plan_release(SCHEMA, WORKLOAD, PureDP(1.0)), "nnls", out)
    finally:
        os.umask(before)
    assert out.stat().st_mode & 0o777 == 0o750
    assert {p.stat().st_mode & 0o777 for p in out.iterdir()} == {0o640}
