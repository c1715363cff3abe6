"""How far the work is: a bar with the time left on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
from typing import TextIO

from tqdm import tqdm

_EVERY = 10.0
"""Seconds between two plain lines."""
_LINE = "grid: {n_fmt} of {total_fmt} blocks ({percentage:.0f} %), {elapsed}, {remaining} left\n"


def progress_bar(total: int, done: int, stream: TextIO | None) -> tqdm:
    """Return what reports finished blocks: ``update`` it with each, and close it.

    Parameters
    ----------
    total
        Blocks of the whole grid.
    done
        Blocks that were there at the start.
    stream
        Where to write; ``None`` for nowhere.

    Examples
    --------
    >>> with progress_bar(2, 0, None) as bar:
    ...     _ = bar.update()
    """
    plain = stream is not None and not stream.isatty()
    return tqdm(
        total=total,
        initial=done,
        file=stream,
        disable=stream is None,
        desc="grid",
        unit="block",
        dynamic_ncols=True,
        mininterval=_EVERY if plain else 0.1,
        bar_format=_LINE if plain else None,
    )


def standard_error() -> TextIO:
    """Return the stream for progress, looked up when it is needed."""
    return sys.stderr
