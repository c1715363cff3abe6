"""The command ``microdata-price``; each subcommand lives in a module of ``commands``."""

from __future__ import annotations

import contextlib
import difflib
import importlib
import io
import os
import re
import shlex
import sys
from collections.abc import Iterator
from typing import Any, TextIO, cast

import click

from .exceptions import BuildError, CertificateError, InputError, system_sentence, unknown_name

COMMANDS = (
    "grid",
    "check-tables",
    "bounds",
    "book",
    "run",
    "price",
    "release",
    "budget",
    "tabulate",
)


class _Lazy(click.Group):
    """Import a subcommand only when it is asked for, so that ``--help`` answers at once."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module = importlib.import_module(f".commands.{cmd_name.replace('-', '_')}", __package__)
        command: click.Command = module.command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            raise unknown_name("command", args[0], COMMANDS)
        name, command, rest = super().resolve_command(ctx, args)
        if command is not None and not ctx.resilient_parsing:
            own = click.Context(command, parent=ctx, info_name=name)
            _in_words(own, rest)
            _each_once(own, rest)
        return name, command, rest


def _in_words(ctx: click.Context, args: list[str]) -> None:
    """Refuse NAME=VALUE where an option takes two words (ours)."""
    for option in (p for p in ctx.command.params if isinstance(p, click.Option) and p.nargs > 1):
        for given, word in zip(args, [*args[1:], ""], strict=True):
            name, equals, value = word.partition("=")
            if given in option.opts and equals:
                said = f"option {given} takes two words: write {given} {name} {shlex.quote(value)}"
                raise click.UsageError(said, ctx)


def _each_once(ctx: click.Context, args: list[str]) -> None:
    """Refuse an option with one value that is given twice: the parser would take the last."""
    try:
        order = ctx.command.make_parser(ctx).parse_args(list(args))[2]
    except click.BadOptionUsage as error:  # the parser does not say of which command
        error.ctx = error.ctx or ctx
        raise
    except click.UsageError:  # said again, with its remedy, when the command is run
        return
    for option in order:
        once = isinstance(option, click.Option) and not (option.is_flag or option.multiple)
        if once and order.count(option) > 1:
            raise InputError(
                f"{option.opts[0]} is given twice; only one can be meant: give it once"
            )


@click.command(cls=_Lazy, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="microdata-price")
def group() -> None:
    """Compute what differentially private microdata must pay in accuracy."""


class _Outlet:
    """A stream whose reader may leave: what is written after that goes nowhere.

    Whether the work was done does not depend on who reads about it, so `head` in a pipe neither
    stops a command nor changes its exit status.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        with self._leaving():
            return self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        with self._leaving():
            self._stream.flush()

    @contextlib.contextmanager
    def _leaving(self) -> Iterator[None]:
        try:
            yield
        except BrokenPipeError:
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, self._stream.fileno())
            os.close(nowhere)


@contextlib.contextmanager
def _readers_may_leave() -> Iterator[None]:
    out, err = (cast(TextIO, _Outlet(stream)) for stream in (sys.stdout, sys.stderr))
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            yield
        finally:
            out.flush()
            err.flush()


def main(argv: list[str] | None = None) -> None:
    """Run the command line; bad input is one sentence on standard error and exit status 2.

    A letter that the terminal's encoding lacks is written as its number: no command fails for it.

    Examples
    --------
    >>> main(["--version"])  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    SystemExit: 0
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    with _readers_may_leave():
        _run(argv)


def _run(argv: list[str] | None) -> None:
    try:
        status = group.main(args=argv, prog_name="microdata-price", standalone_mode=False)
        sys.exit(status or 0)
    except InputError as error:
        click.echo(f"microdata-price: {error}", err=True)
        sys.exit(2)
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        sys.exit(2)
    except click.UsageError as error:
        click.echo(f"microdata-price: {_usage(error)}", err=True)
        sys.exit(2)
    except click.Abort:
        click.echo("microdata-price: interrupted", err=True)
        sys.exit(130)
    except (BuildError, CertificateError) as error:
        click.echo(f"microdata-price: {error}", err=True)
        sys.exit(1)
    except MemoryError:
        click.echo(
            "microdata-price: there is not enough memory for this; use a machine with more, or a "
            "smaller table",
            err=True,
        )
        sys.exit(1)
    except OSError as error:
        click.echo(f"microdata-price: {system_sentence(error)}", err=True)
        sys.exit(2)


_PLAIN = (
    ("a valid integer range", "a whole number"),
    ("a valid integer", "a whole number"),
    ("a valid float range", "a number"),
    ("a valid float", "a number"),
    ("requires 2 arguments", "takes two words, a name and a value"),
)


def _no_option(error: click.NoSuchOption) -> str:
    """Name the options that look like the one that was given, if there are any (ours)."""
    given = error.option_name
    known = [p for p in error.possibilities or [] if p.startswith("--")]
    if error.ctx is not None:
        options = (
            p for p in error.ctx.command.get_params(error.ctx) if isinstance(p, click.Option)
        )
        known = [name for p in options for name in p.opts if name.startswith("--")]
    near = [name for name in known if name.casefold() == given.casefold()]
    near = near or [name for name in known if len(given) > 4 and name.startswith(given)]
    near = near or difflib.get_close_matches(given, known, n=2, cutoff=0.75)
    hint = f"; did you mean {' or '.join(near)}?" if near else ""
    return f"no such option {given}{hint}"


def _usage(error: click.UsageError) -> str:
    """Return one sentence about options and arguments that cannot be read."""
    path = error.ctx.command_path if error.ctx else "microdata-price"
    if isinstance(error, click.NoSuchOption):
        return f"{_no_option(error)}; see {path} --help"
    said = error.format_message().rstrip(".")
    for jargon, plain in _PLAIN:
        said = said.replace(jargon, plain)
    comma = re.search(r"'(\d+),(\d+)' is not a number", said)
    if comma is not None:
        said += f": write {comma[1]}.{comma[2]}, with a point"
    return f"{said[:1].lower()}{said[1:]}; see {path} --help"
