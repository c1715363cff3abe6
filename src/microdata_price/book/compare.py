"""One page that shows several runs of a notebook side by side."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from . import notebook
from . import stage as book_stage
from .quote import Found, collect, quote
from .run import Run


def _level(values: Mapping[str, Any]) -> str:
    return ", ".join(
        f"{k} = {v:g}" if isinstance(v, float) else f"{k} = {v}" for k, v in values.items()
    )


def comparison(
    runs: Sequence[Run], varied: Sequence[Mapping[str, Any]]
) -> tuple[str, dict[str, str]]:
    """Write the page that compares runs: every quoted number and sentence, then every figure.

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
        about = book_stage.descriptions(executed)
        texts = {
            name: quote(text, run.name, one)
            for name, text in one.quoted[run.name].items()
            if name.rpartition(".")[0] not in about
        }
        found.append((texts, about))
        pictures |= {f"compare-{i}-{name}": svg for name, svg in svgs.items()}
    levels = [_level(v) for v in varied]
    title = notebook.read(runs[0].path).cells[0].source.partition("\n")[0].removeprefix("# ")
    lines = [
        f"# {title}: {len(runs)} runs compared",
        "",
        "The same notebook at several values of its parameters. The other parameters are those on "
        f"[its own page](notebooks/{runs[0].name}.ipynb), which shows the first of these runs.",
    ]
    names = list(dict.fromkeys(name for texts, _ in found for name in texts))
    short = [n for n in names if all(len(texts.get(n, "")) < 32 for texts, _ in found)]
    kinds = (
        ("Numbers", short, "---:"),
        ("Sentences", [n for n in names if n not in short], ":---"),
    )
    for heading, chosen, align in kinds:
        if not chosen:
            continue
        lines += ["", f"## {heading}", "", f"| name | {' | '.join(levels)} |"]
        lines.append(f"| :--- |{f' {align} |' * len(levels)}")
        for name in chosen:
            cells = [texts.get(name, "–").replace("|", "\\|") for texts, _ in found]
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
