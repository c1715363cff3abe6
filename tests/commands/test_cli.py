"""What the command line makes of errors that no command explains itself."""

from __future__ import annotations

import errno
import os
import re
import subprocess
import sys

import click
import numpy as np
import pytest
from click.testing import CliRunner

from microdata_price import cli
from microdata_price.exceptions import unknown_name


def ended(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], problem: BaseException
) -> tuple[int | str | None, str]:
    """Run a command that fails so; return the exit status and the sentence."""

    @click.command()
    def failing() -> None:
        raise problem

    monkeypatch.setattr(cli, "group", failing)
    with pytest.raises(SystemExit) as stop:
        cli.main([])
    out, err = capsys.readouterr()
    assert out == ""
    return stop.value.code, err


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EFBIG])
@pytest.mark.parametrize("place", [None, "out/table.csv"])
def test_a_full_disk(monkeypatch, capsys, number, place):
    problem = OSError(number, os.strerror(number), *([place] if place else []))
    code, said = ended(monkeypatch, capsys, problem)
    assert code == 2
    assert said.startswith("microdata-price: the disk has no room left")
    assert (place or "") in said
    assert "make room" in said
    assert said.count("\n") == 1


@pytest.mark.parametrize(
    "number", [errno.EACCES, errno.EROFS, errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.EIO]
)
def test_a_place_that_cannot_be_used_is_named(monkeypatch, capsys, number):
    code, said = ended(monkeypatch, capsys, OSError(number, os.strerror(number), "some/where"))
    assert code == 2
    assert said == (
        f"microdata-price: some/where cannot be used ({os.strerror(number)}); choose a place that "
        "can be read and written\n"
    )


def test_of_two_places_the_one_written_to_is_named(monkeypatch, capsys):
    problem = OSError(errno.ENOSPC, "No space left on device", "from.csv", None, "to.csv")
    assert "for to.csv" in ended(monkeypatch, capsys, problem)[1]


def test_an_interruption(monkeypatch, capsys):
    code, said = ended(monkeypatch, capsys, KeyboardInterrupt())
    assert code == 130
    assert said.strip() == "microdata-price: interrupted"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["boundz"], "did you mean 'bounds'"),
        (["release", "--epsilon", "1,5"], "'1,5' is not a number, such as 0.5; see"),
        (["bounds", "--epsilom", "1"], "did you mean '--epsilon'"),
        (["price", "a", "-q"], "no such option '-q'"),
        (["run", "a", "-p", "b"], "'-p' requires 2 arguments"),
        (["price"], "missing argument 'TABLE'; see microdata-price price --help"),
        (["book", "--runs", "1.5"], "'1.5' is not a whole number"),
        (["book", "--runs", "1_0"], "'1_0' is not a whole number"),
        (["release", "--epsilon", "1_5"], "'1_5' is not a number"),
        (["release", "--share", "sum=0_5"], "'0_5' is not a number"),
        (["release", "--share", "sum=0.5,sum=0.5"], "needed are query sets, each once"),
        (["grid", "--epsilon", "1,1_5"], "'1_5' is not a number"),
        (["bounds"], "missing option"),
        (["price", "a", "--epsilon", "1", "--epsilon", "2"], "--epsilon is given twice; give it"),
        (
            ["run", "a", "-p", "b", "1", "-p", "c", "2", "--out", "d", "--out=e"],
            "--out is given twice",
        ),
        (["budget", "--json", "a", "--json"], "--json is given twice"),
        (["price", "none.csv", "--epsilon", "1"], "'none.csv' does not exist"),
    ],
)
def test_what_cannot_be_read_is_one_sentence(arguments, said, capsys):
    with pytest.raises(SystemExit) as stop:
        cli.main(arguments)
    out, err = capsys.readouterr()
    assert (stop.value.code, out) == (2, "")
    assert err.startswith("microdata-price: ")
    assert said.lower() in err.lower()
    assert err.count("\n") == 1


def test_without_a_command_the_commands_are_listed(capsys):
    with pytest.raises(SystemExit) as stop:
        cli.main([])
    assert stop.value.code == 2
    assert "check-tables" in capsys.readouterr().err


def test_unknown_names_list_what_is_known_in_any_plural():
    said = str(unknown_name("family", "3d", ["1d", "pums"]))
    assert said == "there is no family '3d'; did you mean 1d? Known are: 1d, pums"


@pytest.mark.parametrize("words", [["--help"], ["release"], ["price"]])
@pytest.mark.parametrize("both", [True, False])
def test_a_reader_that_leaves_changes_nothing(tmp_path, words, both):
    (tmp_path / "t.csv").write_text("sex,count\nf,30\nm,40\n")
    (tmp_path / "s.json").write_text('{"columns": {"sex": ["f", "m"]}}')
    if words == ["release"]:
        words = ["release", "t.csv", "--schema", "s.json", "--method", "nnls", "--out", "out"]
        words += ["--epsilon", "1"]
    if words == ["price"]:
        words = ["price", "t.csv", "--epsilon", "1", "--runs", "5", "--methods", "ols"]
    read, write = os.pipe()
    os.close(read)
    program = "import sys; from microdata_price.cli import main; main(sys.argv[1:])"
    done = subprocess.run(
        [sys.executable, "-c", program, *words],
        stdout=write,
        stderr=write if both else subprocess.PIPE,
        cwd=tmp_path,
        timeout=300,
        check=False,
    )
    os.close(write)
    assert done.returncode == 0
    assert both or b"Traceback" not in done.stderr
    assert both or b"BrokenPipe" not in done.stderr
    assert "release" not in words or (tmp_path / "out" / "manifest.json").is_file()


def test_a_failed_allocation_is_a_sentence(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(MemoryError) as numpys_own:
        np.zeros(2**58)
    for problem in (MemoryError(), numpys_own.value):
        status, said = ended(monkeypatch, capsys, problem)
        assert status == 1
        assert said.startswith("microdata-price: there is not enough memory")
        assert "Traceback" not in said


@pytest.mark.parametrize("name", cli.group.list_commands(click.Context(cli.group)))
def test_the_help_of_every_command_shows_an_example(name):
    told = CliRunner().invoke(cli.group, [name, "--help"], catch_exceptions=False)
    assert told.exit_code == 0
    assert re.search(rf"Examples?[^:]*:\s+microdata-price {name} [-\w]", told.output)


def test_the_package_is_a_command_too() -> None:
    asked = [sys.executable, "-m", "microdata_price", "--version"]
    done = subprocess.run(asked, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("microdata-price, version ")
    assert done.stderr == ""


@pytest.mark.parametrize("command", cli.COMMANDS)
def test_help_keeps_its_tables_and_shows_no_code_of_the_parser(command: str) -> None:
    shown = CliRunner().invoke(cli.group, [command, "--help"])
    assert shown.exit_code == 0
    assert "\\b" not in shown.output
    assert "\b" not in shown.output
