"""The code of figure functions, for the page that shows it."""

from __future__ import annotations

import importlib
import inspect


def source_of(drawn_by: str) -> str:
    """Return the source text of a function marked by `drawn`, from its full name.

    Examples
    --------
    >>> source_of("microdata_price.figures.style.render").splitlines()[0]
    'def render(figure: Figure) -> str:'
    """
    module, _, function = drawn_by.rpartition(".")
    return inspect.getsource(inspect.unwrap(getattr(importlib.import_module(module), function)))
