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

from command_line import refused, run
from microdata_price import cli
from microdata_price.exceptions import unknown_name

with pytest.raises(MemoryError) as NUMPYS_OWN:
    np.zeros(2**58)

FULL = "the disk has no room left"
UNUSABLE = "some/where cannot be used ({}); choose a place that can be read and written\n"
PROBLEMS = [
    *(
        (OSError(number, os.strerror(number), *place), 2, said)
        for number in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
        for place, said in (((), f"{FULL} ("), (("out/table.csv",), f"{FULL} for out/table.csv ("))
    ),
    *(
        (
            OSError(number, os.strerror(number), "some/where"),
            2,
            UNUSABLE.format(os.strerror(number)),
        )
        for number in (errno.EACCES, errno.EROFS, errno.ENOENT, errno.EISDIR, errno.EIO)
    ),
    # Of two places the one that is written to is named.
    (OSError(errno.ENOSPC, "No space", "from.csv", None, "to.csv"), 2, f"{FULL} for to.csv"),
    (KeyboardInterrupt(), 130, "interrupted\n"),
    (MemoryError(), 1, "there is not enough memory"),
    (NUMPYS_OWN.value, 1, "there is not enough memory"),
]


@pytest.mark.parametrize(("problem", "status", "said"), PROBLEMS)
def test_what_the_system_refuses_is_one_sentence(monkeypatch, capsys, problem, status, said):
    @click.command()
    def failing() -> None:
        raise problem

    monkeypatch.setattr(cli, "group", failing)
    code, out, error = run(capsys)
    assert (code, out, error.strip().count("\n")) == (status, "", 0)
    assert error.lstrip().startswith(f"microdata-price: {said}")
    assert ("make room" in error) == (FULL in error)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("boundz", "did you mean 'bounds'"),
        ("release --epsilon 1,5", "'1,5' is not a number, such as 0.5; see"),
        ("bounds --epsilom 1", "did you mean '--epsilon'"),
        ("price a -q", "no such option '-q'"),
        ("run a -p b", "'-p' requires 2 arguments"),
        ("price", "missing argument 'TABLE'; see microdata-price price --help"),
        ("book --runs 1.5", "'1.5' is not a whole number"),
        ("book --runs 1_0", "'1_0' is not a whole number"),
        ("release --epsilon 1_5", "'1_5' is not a number"),
        ("release --share sum=0_5", "'0_5' is not a number"),
        ("release --share sum=0.5,sum=0.5", "'sum' is given twice"),
        ("grid --epsilon 1,1_5", "'1_5' is not a number"),
        ("bounds", "missing option"),
        ("price none.csv --epsilon 1", "'none.csv' does not exist"),
        ("price a --epsilon 1 --epsilon 2", "--epsilon is given twice; give it"),
        ("run a -p b 1 -p c 2 --out d --out=e", "--out is given twice"),
        ("budget --json a --json", "--json is given twice"),
    ],
)
def test_what_cannot_be_read_is_one_sentence(arguments, said, capsys):
    error = refused(capsys, *arguments.split())
    assert error.startswith("microdata-price: ")
    assert said.lower() in error.lower()
    assert error.count("\n") == 1


def test_without_a_command_the_commands_are_listed(capsys):
    assert "check-tables" in refused(capsys)


def test_unknown_names_list_what_is_known_in_any_plural():
    said = str(unknown_name("family", "3d", ["1d", "pums"]))
    assert said == "there is no family '3d'; did you mean 1d? Known are: 1d, pums"


RELEASE = "release t.csv --schema s.json --method nnls --epsilon 1 --out out"
PRICE = "price t.csv --epsilon 1 --runs 5 --methods ols"


@pytest.mark.parametrize(
    ("words", "both"), [("--help", True), ("--help", False), (RELEASE, True), (PRICE, False)]
)
def test_a_reader_that_leaves_changes_nothing(tmp_path, words, both):
    (tmp_path / "t.csv").write_text("sex,count\nf,30\nm,40\n")
    (tmp_path / "s.json").write_text('{"columns": {"sex": ["f", "m"]}}')
    read, write = os.pipe()
    os.close(read)
    program = "import sys; from microdata_price.cli import main; main(sys.argv[1:])"
    done = subprocess.run(
        [sys.executable, "-c", program, *words.split()],
        stdout=write,
        stderr=write if both else subprocess.PIPE,
        cwd=tmp_path,
        timeout=300,
        check=False,
    )
    os.close(write)
    assert done.returncode == 0
    assert both or not re.search(b"Traceback|BrokenPipe", done.stderr)
    assert words != RELEASE or (tmp_path / "out" / "manifest.json").is_file()


@pytest.mark.parametrize("name", cli.COMMANDS)
def test_help_shows_an_example_keeps_its_tables_and_shows_no_code_of_the_parser(name):
    told = CliRunner().invoke(cli.group, [name, "--help"], catch_exceptions=False)
    assert told.exit_code == 0
    assert re.search(rf"Examples?[^:]*:\s+microdata-price {name} [-\w]", told.output)
    assert "\\b" not in told.output
    assert "\b" not in told.output


def test_the_package_is_a_command_too() -> None:
    asked = [sys.executable, "-m", "microdata_price", "--version"]
    done = subprocess.run(asked, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("microdata-price, version ")
    assert done.stderr == ""
