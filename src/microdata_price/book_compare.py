"""One page that shows several runs of a notebook side by side."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from . import book_stage, notebook
from .book_quote import Found, collect
from .book_run import Run


def _level(values: Mapping[str, Any]) -> str:
    return ", ".join(
        f"{k} = {v:g}" if isinstance(v, float) else f"{k} = {v}" for k, v in values.items()
    )


def comparison(
    runs: Sequence[Run], varied: Sequence[Mapping[str, Any]]
) -> tuple[str, dict[str, str]]:
    """Write the page that compares runs: every quoted number in one table, then every figure.

    Parameters
    ----------
    runs
        Executed notebooks, one a combination of values.
    varied
        What differs, in the same order.

    Returns
    -------
    str
        MyST text.
    dict
        Pictures by file name, without ending.
    """
    found = []
    pictures: dict[str, str] = {}
    for i, run in enumerate(runs):
        executed = notebook.read(run.path)
        one = Found()
        collect(run.name, executed, one)
        svgs = book_stage.images(executed)
        found.append((one.quoted[run.name], book_stage.descriptions(executed)))
        pictures |= {f"compare-{i}-{name}": svg for name, svg in svgs.items()}
    levels = [_level(v) for v in varied]
    names = list(dict.fromkeys(name for quoted, _ in found for name in quoted))
    lines = [
        f"# {runs[0].name}: {len(runs)} runs compared",
        "",
        "The same notebook at several values of its parameters. The other parameters are those on "
        f"[its own page](notebooks/{runs[0].name}.ipynb), which shows the first of these runs.",
        "",
        "## What the text quotes",
        "",
        f"| name | {' | '.join(levels)} |",
        f"| :--- |{' ---: |' * len(levels)}",
    ]
    for name in names:
        cells = [quoted.get(name, "–").replace("|", "\\|") for quoted, _ in found]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    figures = list(dict.fromkeys(name for _, about in found for name in about))
    for name in figures:
        lines += ["", f"## Figure {name}", "", "::::{grid} 1 1 2 2", ":gutter: 2", ""]
        for i, (level, (_, about)) in enumerate(zip(levels, found, strict=True)):
            if name in about:
                alt = json.dumps(f"{level}: {about[name]['alt']}", ensure_ascii=False)
                lines += [
                    ":::{grid-item}",
                    f"**{level}**",
                    "",
                    f"```{{image}} images/compare-{i}-{name}.svg",
                    f":alt: {alt}",
                    ":class: computed-figure",
                    "```",
                    "",
                    about[name]["caption"],
                    ":::",
                    "",
                ]
        lines.append("::::")
    return "\n".join(lines) + "\n", pictures
