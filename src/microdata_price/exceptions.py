"""Errors that are meant to be read by people."""

from __future__ import annotations

import difflib
import errno
from collections.abc import Iterable, Mapping
from typing import TypeVar

T = TypeVar("T")


class InputError(ValueError):
    """Unusable input; the message says what was given, what is needed, what to do.

    Commands turn it into one sentence on standard error and exit status 2; a notebook shows it
    alone.
    """

    def _render_traceback_(self) -> list[str]:  # IPython asks for it before it shows a trace
        return [f"{type(self).__name__}: {self}"]


class CertificateError(RuntimeError):
    """A fit whose optimality certificate misses the tolerance; the message names the run."""


class GridStoppedError(RuntimeError):
    """A grid that could not go on for a reason outside it; finished blocks are kept."""


class BuildError(RuntimeError):
    """The book cannot be built; the message names the page or the notebook and its cell."""


def system_sentence(error: OSError) -> str:
    """Say what the system refused, and what to do."""
    reason = error.strerror or str(error) or type(error).__name__
    place = error.filename2 or error.filename
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        where = f" for {place}" if place else ""
        return (
            f"the disk has no room left{where} ({reason}); make room, or choose a place on another "
            "disk, and run the same command again"
        )
    if place:
        return f"{place} cannot be used ({reason}); choose a place that can be read and written"
    return f"the system refused to go on ({reason}); mend that and run the same command again"


def unknown_name(kind: str, given: str, known: Iterable[str]) -> InputError:
    """Build the error for a name of some kind that is not known, with the nearest ones suggested.

    Examples
    --------
    >>> str(unknown_name("method", "nlns", ["ols", "nnls"]))
    "there is no method 'nlns'; did you mean nnls or ols? Known are: ols, nnls"
    """
    names = list(known)
    near = [name for name in names if name.casefold() == str(given).casefold()]
    near = near or difflib.get_close_matches(str(given), names, n=3, cutoff=0.5)
    hint = f"; did you mean {' or '.join(near)}?" if near else "."
    return InputError(f"there is no {kind} {given!r}{hint} Known are: {', '.join(names)}")


def find(kind: str, name: str, known: Mapping[str, T]) -> T:
    """Look a name up, or refuse it as an `unknown_name`."""
    if name not in known:
        raise unknown_name(kind, name, known)
    return known[name]
