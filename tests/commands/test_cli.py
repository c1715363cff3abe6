"""What the command line makes of what it is given and of errors, and what it leaves behind."""

import errno
import os
import re
import subprocess
import sys

import click
import pytest
from click.testing import CliRunner

from command_line import refused, run
from microdata_price import __version__, cli

FULL, PLACE = "the disk has no room left", "some/where"
UNUSABLE = "some/where cannot be used ({}); choose a place that can be read and written\n"
PROBLEMS = [
    *((OSError(n, "No"), 2, f"{FULL} (") for n in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)),
    # Of two places the one that is written to is named.
    (OSError(errno.ENOSPC, "No", "from.csv", None, "to.csv"), 2, f"{FULL} for to.csv ("),
    *(
        (OSError(n, os.strerror(n), PLACE), 2, UNUSABLE.format(os.strerror(n)))
        for n in (errno.EACCES, errno.EROFS, errno.ENOENT, errno.EISDIR, errno.EIO)
    ),
    (KeyboardInterrupt(), 130, "interrupted\n"),
    (MemoryError(), 1, "there is not enough memory"),
]


@pytest.mark.parametrize(("problem", "status", "said"), PROBLEMS)
def test_what_the_system_refuses_is_one_sentence(monkeypatch, capsys, problem, status, said):
    @click.command()
    def failing():
        raise problem

    monkeypatch.setattr(cli, "group", failing)
    code, out, error = run(capsys)
    assert (code, out, error.strip().count("\n")) == (status, "", 0)
    assert error.lstrip().startswith(f"microdata-price: {said}")
    assert ("make room" in error) == (FULL in error)


PURE, GRID = "bounds --privacy pure --epsilon 1 --points", "grid --runs 5"
WITH_OUT = "book", "run a", GRID, "check-tables", "price t", "tabulate t", "release t"
REFUSED = [
    *(("boundz", "did you mean 'bounds'"), (f"{GRID} --dataset PUMA0101300", "did you mean puma")),
    *(("release --share a=b=0_5", "'0_5' is not a number"), (f"{PURE} 9", "either the sum error")),
    *(("run a -p b", "'-p' requires 2 arguments"), (f"{GRID} --methods=", "there is no method ''")),
    ("bounds --epsilom 1", "did you mean '--epsilon'"),
    *((f"{c} --out=", "'--out': it is empty; name a file or a folder") for c in WITH_OUT),
    *(("book --runs 1.5", "'1.5' is not a whole number"), (f"{PURE} 1 --sum-error 1", "2 or more")),
    ("price", "missing argument 'TABLE'; see microdata-price price --help"),
    ("price none.csv --epsilon 1", "'none.csv' does not exist"),
    ("price a --epsilon 1 --epsilon 2", "--epsilon is given twice; give it"),
    ("run a -p b 1 -p c 2 --out d --out=e", "--out is given twice"),
    ("release --epsilon 1,5", "'1,5' is not a number, such as 0.5; see"),
    ("release --share sum=0.5,sum=0.5", "'sum' is given twice"),
    ("release --share sum", "needed is SET=SHARE,..., not 'sum'"),
    ("release --where a=\udcff", "COLUMN=VALUE, not 'a=\\udcff', which is not in UTF-8"),
    ("bounds --privacy renyi", "'pure', 'approximate', 'zcdp'"),
    ("bounds --privacy pure --points 9 --sum-error 1", "needs --epsilon and no other"),
    (f"{PURE} 9 --rho 1 --sum-error 1", "and no other level"),
    ("bounds --privacy approximate --epsilon 1 --points 9", "needs --epsilon and --delta"),
    (f"{PURE} 1e301 --sum-error 1", "at most 1e+250"),
    (f"{PURE} 9 --sum-error 1e-16", "between 1e-15 and 1e+30"),
    (f"{GRID} --epsilon 1,", "'' is not a number"),
    (f"{GRID} --epsilon 1e-320", "epsilon is 9.99989e-321; it must be at least 1e-30"),
    (f"{GRID} --rho 0.5,1e20", "rho is 1e+20: beside a count of 10,000 its noise, 1e-10 counts"),
    (f"{GRID} --scheduler nowhere", "the scheduler is 'nowhere'"),
    ("check-tables --runs 99", "standard errors that can be compared need 100 or more"),
]


@pytest.mark.parametrize(("arguments", "said"), REFUSED)
def test_what_is_wrong_is_one_sentence_and_no_file(arguments, said, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    error = refused(capsys, *arguments.split())
    assert (error[:17], error.count("\n")) == ("microdata-price: ", 1)
    assert said.lower() in error.lower()
    assert not list(tmp_path.iterdir())


def test_without_a_command_the_commands_are_listed_or_the_version(capsys):
    assert "check-tables" in refused(capsys)
    assert run(capsys, "--version") == (0, f"microdata-price, version {__version__}\n", "")


def test_a_reader_that_leaves_changes_nothing(tmp_path):
    (tmp_path / "t.csv").write_text("sex,count\nf,30\nm,40\n")
    (tmp_path / "s.json").write_text('{"columns": {"sex": ["f", "m"]}}')
    read, write = os.pipe()
    os.close(read)
    program = [sys.executable, "-m", "microdata_price"]
    cases = ("release --method nnls --out out", write), ("price --methods ols", subprocess.PIPE)
    for words, error in cases:
        asked = [*program, *words.split(), "t.csv", "--schema", "s.json", "--epsilon", "1"]
        done = subprocess.run(asked, stdout=write, stderr=error, cwd=tmp_path, timeout=300)
        assert done.returncode == 0
    os.close(write)
    assert not re.search(b"Traceback|BrokenPipe", done.stderr)
    assert (tmp_path / "out" / "manifest.json").is_file()
    again = [*program, "release", "--again", "out", "--out", "two"]
    with open("/dev/full", "w") as full:
        done = subprocess.run(again, stdout=full, stderr=subprocess.PIPE, cwd=tmp_path, timeout=300)
    assert done.stderr.startswith(b"microdata-price: <stdout> fails (No space left on device); all")
    assert (done.returncode, (tmp_path / "two" / "manifest.json").is_file()) == (2, True)


def test_where_messages_go_nowhere_the_result_comes(tmp_path, monkeypatch, capsys):
    (tmp_path / "t.csv").write_text(",f,m\nA,3,4\nB,1,7\n")
    monkeypatch.setattr(sys, "stderr", None)  # as where a shell says 2>&-
    asked = f"price {tmp_path}/t.csv --epsilon 1 --runs 5 --methods ols --json"
    code, printed, _ = run(capsys, *asked.split())
    assert (code, printed[:10]) == (0, '{"notice":')


@pytest.mark.parametrize("name", cli.COMMANDS)
def test_help_shows_an_example_keeps_its_tables_and_shows_no_code_of_the_parser(name):
    told = CliRunner().invoke(cli.group, [name, "--help"], catch_exceptions=False)
    assert (told.exit_code, "\\b" in told.output, "\b" in told.output) == (0, False, False)
    assert re.search(rf"Examples?[^:]*:\s+microdata-price {name} [-\w]", told.output)
    default = "[default: TABLE's name, .schema.json for .csv]"
    assert (default in " ".join(told.output.split())) == (name == "price")
