"""Progress of a grid: a bar with the time left on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
import time
from typing import TextIO

from tqdm import tqdm

_EVERY = 10.0
"""Seconds between two plain lines."""


class Progress:
    """Reports finished blocks on standard error."""

    def __init__(self, total: int, done: int, stream: TextIO | None) -> None:
        self._total = total
        self._done = self._before = done
        self._stream = stream
        self._start = self._said = time.monotonic()
        self._bar: tqdm | None = None

    def __enter__(self) -> Progress:
        if self._stream is None:
            return self
        if self._stream.isatty():
            self._bar = tqdm(
                total=self._total,
                initial=self._done,
                file=self._stream,
                unit="block",
                desc="grid",
                dynamic_ncols=True,
            )
        elif self._before:
            self._say(f"{self._before} of {self._total} blocks are there already")
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.close()

    def _say(self, text: str) -> None:
        print(f"grid: {text}", file=self._stream, flush=True)

    def advance(self) -> None:
        """Report one more finished block."""
        self._done += 1
        if self._bar is not None:
            self._bar.update(1)
        elif self._stream is not None:
            now = time.monotonic()
            last = self._done == self._total
            if last or now - self._said >= _EVERY:
                self._said = now
                elapsed = now - self._start
                left = elapsed / (self._done - self._before) * (self._total - self._done)
                tail = f"{elapsed:.0f} s" if last else f"about {left:.0f} s left"
                share = 100 * self._done // self._total
                self._say(f"{self._done} of {self._total} blocks ({share} %), {tail}")


def standard_error() -> TextIO:
    """Return the stream for progress, looked up when it is needed."""
    return sys.stderr
