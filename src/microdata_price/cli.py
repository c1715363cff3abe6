"""The command ``microdata-price``; each subcommand lives in a module of ``commands``."""

from __future__ import annotations

import importlib
import io
import os
import sys
from collections.abc import Callable
from functools import partial
from typing import Any, TextIO, cast

import click

from .exceptions import BuildError, CertificateError, GridStoppedError, InputError, system_sentence

MODULES = {"grid": "grid check-tables", "bounds": "bounds", "book": "book run"}
MODULES |= {"price": "price tabulate", "release": "release budget"}
COMMANDS = {name: module for module, names in MODULES.items() for name in names.split()}


class _Lazy(click.Group):
    """Import a subcommand only when it is asked for, so that each answers at once."""

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module = importlib.import_module(f".commands.{COMMANDS[cmd_name]}", __package__)
        return cast(click.Command, getattr(module, f"{cmd_name.replace('-', '_')}_command"))

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        """Refuse an option given twice, and an empty path: click takes the last, and ``.``."""
        name, command, rest = super().resolve_command(ctx, args)
        if command is not None and not ctx.resilient_parsing:
            inner = click.Context(command, ctx, info_name=name)
            with click.core.augment_usage_errors(inner):  # which names this command's --help
                values, _, given = command.make_parser(inner).parse_args(list(rest))
            for o in {o for o in given if given.count(o) > 1 and not getattr(o, "multiple", True)}:
                raise click.UsageError(f"{o.opts[0]} is given twice; give it once", inner)
            for o in given:
                if isinstance(o.type, click.Path) and values.get(str(o.name)) == "":
                    raise click.BadParameter("it is empty; name a file or a folder", inner, o)
        return name, command, rest


@click.command(
    cls=_Lazy,
    commands=[click.Command(name) for name in COMMANDS],  # so that click suggests the nearest
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(package_name="microdata-price")
def group() -> None:
    """Compute what differentially private microdata must pay in accuracy."""


def _outlast(act: Callable[..., object], stream: TextIO, *text: str) -> object:
    """Write where the reader may leave: no command stops, or fails, for `head` in a pipe."""
    try:
        return act(stream, *text)
    except BrokenPipeError:
        return os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
    except OSError as error:  # what it tells of is done: nobody should do it again
        raise InputError(f"{stream.name} fails ({error.strerror}); all else is done") from None


def main(argv: list[str] | None = None) -> None:
    """Run the command line; bad input is one sentence on standard error and exit status 2.

    A letter that the terminal's encoding lacks is written as its number: no command fails for it.
    """
    sys.stdout, sys.stderr = (s or io.StringIO() for s in (sys.stdout, sys.stderr))  # closed: None
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
            for name in ("write", "flush"):
                setattr(stream, name, partial(_outlast, getattr(type(stream), name), stream))
    try:
        status = group.main(args=argv, prog_name="microdata-price", standalone_mode=False)
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        status = 2
    except (Exception, click.Abort) as error:
        status, sentence = _explained(error)
        click.echo(f"microdata-price: {sentence}", err=True)
    sys.exit(status or 0)


def _explained(error: Exception) -> tuple[int, str]:
    """Return the exit status and the sentence for an error that a person can mend."""
    match error:
        case click.UsageError():
            path = error.ctx.command_path if error.ctx else "microdata-price"
            said = " ".join(error.format_message().split()).rstrip(".")
            return 2, f"{said[0].lower()}{said[1:]}; see {path} --help"
        case click.Abort():
            return 130, str(error.__cause__ or "") or "interrupted"
        case InputError() | BuildError() | CertificateError() | GridStoppedError():
            return 2 if isinstance(error, InputError) else 1, str(error)
        case MemoryError():
            return 1, "there is not enough memory; use a machine with more, or a smaller table"
        case OSError():
            return 2, system_sentence(error)
    raise error
