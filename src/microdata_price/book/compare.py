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


def _level(values: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} = {value}" for name, value in values.items())


def _outputs(run: Run) -> list[list[Any]]:
    """Return the outputs of each code cell; where values were put in, there are none."""
    cells = [c for c in notebook.read(run.path).cells if c.cell_type == "code"]
    return [c.outputs for c in cells if "injected-parameters" not in notebook.tags(c)]


def _shown(output: Any, name: str, pictures: dict[str, bytes]) -> str:
    """Return an output as Markdown; a picture goes into a file of its own."""
    data = output.get("data", {})
    alt = json.dumps(str(data.get("text/plain", "a picture")), ensure_ascii=False)
    for kind, end in (("image/svg+xml", "svg"), ("image/png", "png")):
        if kind in data:
            svg = end == "svg"
            body = for_the_site(data[kind]).encode() if svg else base64.b64decode(data[kind])
            pictures[f"{name}.{end}"] = body
            look = "computed-figure" if svg else "plain-figure"
            return f"```{{image}} images/{name}.{end}\n:alt: {alt}\n:class: {look}\n```"
    if "text/markdown" in data:
        return with_links(str(data["text/markdown"]), "comparison", {})
    text = str(output.get("text") or data.get("text/plain") or output.get("evalue", ""))
    return f"<pre>{html.escape(text)}</pre>"


def comparison(
    runs: Sequence[Run], varied: Sequence[Mapping[str, Any]]
) -> tuple[str, dict[str, bytes]]:
    """Write the page that compares runs: every cell whose outputs differ, run beside run."""
    title = notebook.read(runs[0].path).cells[0].source.partition("\n")[0].removeprefix("# ")
    lines = [
        f"# {title}: {len(runs)} runs compared",
        "",
        "Each cell whose outputs differ, at several values of the parameters. The other outputs "
        f"are those of [the first run](notebooks/{runs[0].name}.ipynb).",
    ]
    pictures: dict[str, bytes] = {}
    for k, outputs in enumerate(zip(*map(_outputs, runs), strict=True)):
        if all(one == outputs[0] for one in outputs):
            continue
        lines += ["", "::::{grid} 1 1 2 2", ":gutter: 2", ""]
        for i, (values, one) in enumerate(zip(varied, outputs, strict=True)):
            lines += [":::{grid-item}", f"**{_level(values)}**", ""]
            for j, output in enumerate(one):
                lines += [_shown(output, f"compare-{i}-{k}-{j}", pictures), ""]
            lines += [":::", ""]
        lines.append("::::")
    return "\n".join(lines) + "\n", pictures
