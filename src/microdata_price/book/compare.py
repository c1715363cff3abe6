"""One page that shows several runs of a notebook side by side: all outputs that differ."""

from __future__ import annotations

import base64
import html
import json
from collections.abc import Mapping, Sequence
from typing import Any

from . import notebook
from .picture import for_the_site
from .plain import with_links
from .run import Run


def _shown(output: Any, name: str, files: dict[str, bytes]) -> str:
    """Return an output as Markdown; a picture goes into a file of its own."""
    data = output.get("data", {})
    for kind, end, look in (("image/svg+xml", "svg", "computed"), ("image/png", "png", "plain")):
        if kind in data:
            svg = for_the_site(data[kind]).encode() if end == "svg" else b""
            files[f"images/{name}.{end}"] = svg or base64.b64decode(data[kind])
            alt = json.dumps(str(data.get("text/plain", "a picture")), ensure_ascii=False)
            return f"```{{image}} images/{name}.{end}\n:alt: {alt}\n:class: {look}-figure\n```"
    if "text/markdown" in data:
        return with_links(str(data["text/markdown"]), "comparison")
    text = output.get("text") or data.get("text/plain") or output.get("evalue", "")
    return f"<pre>{html.escape(str(text))}</pre>"


def comparison(runs: Sequence[Run], varied: Sequence[Mapping[str, Any]]) -> dict[str, bytes]:
    """Return the files of the page that compares runs: every cell whose outputs differ."""
    code = [[c for c in run.executed.cells if c.cell_type == "code"] for run in runs]
    cells = [[c.outputs for c in cs if notebook.INJECTED not in notebook.tags(c)] for cs in code]
    title = runs[0].executed.cells[0].source.partition("\n")[0].removeprefix("# ")
    lines = [
        f"# {title}: {len(runs)} runs compared\n",
        "Each cell whose outputs differ, at several values of the parameters. The other outputs "
        f"are those of [the first run](notebooks/{runs[0].name}.ipynb).",
    ]
    files: dict[str, bytes] = {}
    for k, outputs in enumerate(zip(*cells, strict=True)):
        if all(one == outputs[0] for one in outputs):
            continue
        lines.append("\n::::{grid} 1 1 2 2\n:gutter: 2\n")
        for i, (values, one) in enumerate(zip(varied, outputs, strict=True)):
            level = ", ".join(f"{name} = {value}" for name, value in values.items())
            shown = [_shown(o, f"compare-{i}-{k}-{j}", files) for j, o in enumerate(one)]
            lines.append("\n\n".join([f":::{{grid-item}}\n**{level}**", *shown]) + "\n:::\n")
        lines.append("::::")
    return {"comparison.md": "\n".join([*lines, ""]).encode(), **files}
