"""Cell magics for prose with computed numbers, written where it is read: say, figure and table.

One line of a notebook's setup cell makes them known, in Jupyter, VS Code and Colab alike::

    %load_ext microdata_price.page.say

    %%say
    With {{ d|n }} cells a sum as good as a signed answer's costs {{ at_signed.moment|low }}.

    %%figure sharper-bounds sharper.bounds(curves, at_signed)
    Lower bounds on $C$ at $d = {{ d|n }}$.
    ALT: Falling curves of the smallest allowed cell error.

A text is Markdown with Jinja's ``{{ }}``: ``{{ x|n }}`` writes a number, ``{{ x|low }}`` a lower
bound rounded down, ``{{ x|high }}`` an upper bound rounded up; ``|n(2)`` keeps two digits. Names
are the notebook's variables and the attributes of its ``found``; an unknown one is an error. After
%%figure and %%table come the label that links lead to and an expression; after %%say there may be
a name by which prose pages quote the text.
"""

from __future__ import annotations

import ast
import dis
import re
import warnings
from collections.abc import Mapping
from contextlib import suppress
from types import CodeType
from typing import Any

import jinja2
import jinja2.meta
from IPython.core.magic import no_var_expand

from ..base.numbers import at_least, at_most, format_number, percentage
from ..exceptions import InputError
from . import output

MAGIC = re.compile(r"\A%%(say|figure|table)\b[ \t]*(\S*)[ \t]*([^\n]*)\n?(.*)\Z", re.DOTALL)
"""A cell of prose: which magic, its label, its expression, its text."""

_ENGINE = jinja2.Environment(
    undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True, autoescape=False
)
_WRITERS = {"n": format_number, "low": at_least, "high": at_most, "percent": percentage}
_ENGINE.filters |= {
    name: lambda value, digits=3, write=write: write(float(value), digits)
    for name, write in _WRITERS.items()
}


class _Names(dict[str, Any]):
    """A notebook's names, and the attributes of its ``found``, each computed when asked for."""

    def __missing__(self, name: str) -> Any:
        found = self.get("found")
        if name.startswith("_") or name not in dir(found):
            raise KeyError(name)
        return getattr(found, name)


def names_of(source: str) -> set[str]:
    """Return the names that a cell of prose reads; of one that is in disorder, every word."""
    _, _, expression, text = MAGIC.match(source).groups()  # type: ignore[union-attr]
    try:
        names = jinja2.meta.find_undeclared_variables(_ENGINE.parse(text))
        return names | global_names(expression.strip())[0]
    except (jinja2.TemplateSyntaxError, SyntaxError):
        return set(re.findall(r"[^\W\d]\w*", source))


def global_names(python: str) -> tuple[set[str], set[str]]:
    """Return the global names that code reads and those that it writes, imports or deletes."""
    with warnings.catch_warnings(action="ignore"):  # which the cell has when it runs
        codes = [compile(python, "cell", "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, True)]
    used: dict[str, set[str]] = {"LOAD": set(), "STORE": set(), "DELETE": set(), "IMPORT": set()}
    for code in codes:  # which grows by the scopes inside
        codes += [part for part in code.co_consts if isinstance(part, CodeType)]
        for step in dis.get_instructions(code):
            does, _, kind = step.opname.partition("_")
            own = code is codes[0] or does == "LOAD"  # what a class writes is its own
            if kind.endswith(("GLOBAL", "GLOBALS")) or (kind == "NAME" and own):
                used[does].add(step.argval)
    return used["LOAD"], used["STORE"] | used["DELETE"]


def render(text: str, names: Mapping[str, Any]) -> str:
    """Fill the numbers of a text in; refuse an unknown name and a mark that Jinja cannot read.

    Examples
    --------
    >>> render("{{ d|n }} cells, at least {{ x|low(2) }}", {"d": 1000, "x": 2.39})
    '1,000 cells, at least 2.3'
    """
    known, filled = _Names(names), {}
    try:
        for name in jinja2.meta.find_undeclared_variables(_ENGINE.parse(text)):
            with suppress(KeyError):  # Jinja says which name is unknown
                filled[name] = known[name]
        return _ENGINE.from_string(text).render(filled).strip()
    except jinja2.TemplateError as error:
        start = " ".join(text.split())[:60]
        raise InputError(f"the text {start!r} cannot be filled in: {error.message}") from None


def perform(source: str, names: Mapping[str, Any]) -> str:
    """Say or show what a cell of prose asks for, and return its text."""
    kind, label, expression, text = MAGIC.match(source).groups()  # type: ignore[union-attr]
    said = render(text, names)
    if kind == "say":
        output.say(said, name=label)
        return said
    caption, _, alt = said.partition("\nALT: ")
    output.show(eval(expression, {}, _Names(names)), label, caption, alt)
    return said


def load_ipython_extension(shell: Any) -> None:
    """Make the magics known to a notebook; IPython calls this for ``%load_ext``."""
    for kind in ("say", "figure", "table"):

        def magic(line: str, cell: str, kind: str = kind) -> None:
            perform(f"%%{kind} {line}\n{cell}", shell.user_ns)

        # IPython would put variables in the place of $C$ and {...} in an expression.
        shell.register_magic_function(no_var_expand(magic), "cell", kind)
