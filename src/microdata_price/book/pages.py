"""What is written from results: how everything was computed, and the list of exercises."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence

from ..base.provenance import versions
from . import notebook
from .plain import head_of
from .plan import Edition
from .quote import Found
from .run import Run

NO_BREAK = "\N{NO-BREAK SPACE}"
_CHOICE = re.compile(r"^- \(a\) ", re.MULTILINE)
"""How the list begins of which a reader chooses a prediction; the page's script knows it too."""


def _value(value: object) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(_value, value))}]"
    if isinstance(value, float) or (isinstance(value, int) and value >= 10**6):
        return f"{value:g}"
    return repr(value)


_COMMANDS = (
    "# this book, in a .venv of its own",
    "make book",
    "# another edition, beside it",
    "make book EPSILON=0.25 RHO=0.03 DELTA=1e-8",
    "# fewer simulated runs: sooner, and less exact",
    "make book RUNS=100",
    "# the students' edition",
    "make book SOLUTIONS=no",
    "# the book with that edition inside, and a link to it",
    "make book STUDENTS=yes",
    "# one chapter alone, or at several levels side by side",
    ".venv/bin/microdata-price run difficult_table -p epsilon 0.25",
    ".venv/bin/microdata-price run difficult_table --param-grid epsilon=0.1,1",
    "# the experiments, or a part of them",
    ".venv/bin/microdata-price grid --help",
)


def computed(
    edition: Edition,
    runs: Sequence[Run],
    pages: Collection[str],
    found: Found,
    grid: Mapping[str, str],
) -> str:
    """Write the page that says how and when each notebook was computed."""
    levels = edition.levels or "each notebook's own values"
    lines = [
        "(computed)=",
        "# How and when everything was computed",
        "",
        "Every number, sentence and picture that depends on a result was computed by the notebook "
        f"that shows it. This edition was computed at: {levels}. A notebook is run again when its "
        "text, its parameters, the code it imports, the data or the versions below have changed. "
        "Otherwise the earlier result is used, which would be the same.",
        "",
        "## Compute it yourself",
        "",
        "From the top of the project, on Linux or macOS with Python 3.11, 3.12 or 3.13 and make:",
        "",
        "```bash",
        *_COMMANDS,
        "```",
        "",
        "A level that is out of range, or a name that no notebook knows, is an error before "
        "anything runs. A chapter's foot links to its notebook, which runs in Jupyter and in plain "
        "papermill too. One with a parameter `grid_dir` or `published_dir` computes the part of "
        "the grid that it needs, if it is given no folder of one.",
        "",
        "## Notebooks",
        "",
        "The worst certificate is the largest relative optimality violation of all fits of the "
        "notebook; a fit that misses 1e-7 would have stopped the build. "
        '"None reported" is said of a notebook without fits of its own, or that draws on the '
        "grid's, each certified when the grid was computed. It is said, too, of one whose fits "
        "are not kept: they are checked as well, and one that misses is an error.",
        "",
        "| notebook | computed | seconds | parameters | worst certificate |",
        "| :--- | :--- | ---: | :--- | ---: |",
    ]
    for run in runs:
        values = ", ".join(f"`{k} = {_value(v)}`" for k, v in run.values.items())
        worst = found.certificates.get(run.name)
        page = f"[](../notebooks/{run.name}.ipynb)" if run.name in pages else run.name
        lines.append(
            f"| {page} | {run.when} | {run.seconds:.1f} | {values} | "
            f"{'none reported' if worst is None else f'{worst:.1e}'} |"
        )
    total = sum(run.seconds for run in runs)
    lines += ["", f"The seconds add up to {total:.0f}; two notebooks run at a time.", ""]
    if grid:
        lines += ["## The experiment grid", "", "| what | value |", "| :--- | :--- |"]
        lines += [f"| {k} | {v} |" for k, v in grid.items()] + [""]
    lines += ["## Versions", "", "| software | version |", "| :--- | :--- |"]
    lines += [f"| {name} | {number} |" for name, number in versions().items()]
    return "\n".join(lines) + "\n"


def exercises(notebooks: Mapping[str, notebook.Notebook], *, solutions: bool) -> str:
    """Write the list of every exercise of the book's chapters, as a paragraph and a table."""
    rows: list[str] = []
    counts = dict.fromkeys(notebook.DIFFICULTIES, 0)
    chapters = 0
    for name, content in notebooks.items():
        asked = [c for c in content.cells if notebook.role(c) == "exercise"]
        chapters += bool(asked)
        for i, cell in enumerate(asked):
            called, title, _ = head_of(name, cell)
            words = title.removeprefix(called).strip().removeprefix("(").removesuffix(")")
            link = f"{{ref}}`{called.replace(' ', NO_BREAK)} <{notebook.label(cell)}>`"
            hard = notebook.difficulty(cell)
            counts[hard] = counts.get(hard, 0) + 1
            run = "yes" if _CHOICE.search(cell.source) else ""
            chapter = f"[](../notebooks/{name}.ipynb)" if i == 0 else ""
            rows.append(f"| {chapter} | {link} | {words.replace('|', '&#124;')} | {hard} | {run} |")
    if not rows:
        return "The book has no exercises."
    then = "it shows what happens" if solutions else "then run its notebook"
    how_many = ", ".join(f"{count} {hard}" for hard, count in counts.items() if hard)
    return "\n".join(
        [
            f"The book has {sum(counts.values())} exercises in {chapters} chapters: {how_many}. "
            "*Easy* takes minutes and no more than the chapter itself; *medium* asks for a "
            "computation or a short argument; *hard* for a proof or an idea. Where the last column "
            f"says yes, choose your prediction in the page; {then}.",
            "",
            "| chapter | exercise | about | difficulty | predict here |",
            "| :--- | :--- | :--- | :--- | :--- |",
            *rows,
        ]
    )
