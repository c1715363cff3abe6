"""The explorer: a page whose sliders move without a server, on numbers computed beforehand."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ..base.colours import on_dark
from ..base.files import new_folder
from ..base.provenance import code_key, digest, digest_files, digest_json
from ..book.plan import Edition, grid_specs
from ..book.run import Report
from ..chapters.explorer.draws import draws_data
from ..chapters.explorer.plane import LEVELS, START, plane_data
from ..chapters.explorer.said import numbers_said
from ..exceptions import InputError
from ..figures.difficult import plane as plane_figure
from ..figures.picture import for_the_site
from ..figures.style import render
from ..fitting import METHODS
from ..model.privacy import ConcentratedDP, PureDP
from ..page.say import render as fill
from ..theory.lower.lower_bounds import BOUNDS

Levels = Mapping[str, Sequence[float]]  # the stops of sliders, by name


def own_colours() -> str:
    """Return the style sheet with each bound's and each method's own colour in both themes."""
    colours = {name: x.colour for known in (BOUNDS, METHODS) for name, x in known.items()}
    return "".join(
        f".{name} {{ --own: {colour}; }}\n"
        f'[data-theme="dark"] .{name} {{ --own: {on_dark(colour)}; }}\n'
        for name, colour in colours.items()
    )


def script(name: str, data: Mapping[str, Any]) -> str:
    """Write data as a script that names it; a page opened from a folder may not fetch a file."""
    text = json.dumps(data, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return f"window.{name}={text};\n"


def write_page(out: Path, sources: Path, said: Mapping[str, Any], made: Mapping[str, str]) -> None:
    """Copy a page's folder, fill its numbers in and add the made files, whole or not at all."""
    with new_folder(out, private=False) as folder:
        for path in sorted(sources.iterdir()):
            shutil.copyfile(path, folder / path.name)
        page = (sources / "index.html").read_text(encoding="utf-8")
        for name, text in {"index.html": fill(page, said) + "\n", **made}.items():
            (folder / name).write_text(text, encoding="utf-8")


def build_explorer(
    out: Path, sources: Path, edition: Edition, levels: Levels = LEVELS, **how: Any
) -> None:
    """Compute the explorer's numbers and write its folder, which must not exist.

    The edition's levels are shown first, and stops beside `levels`; the rest is for `plane_data`.
    """
    start = START | {name: v for name, v in edition.given.items() if name in levels}
    grid = grid_specs(edition)["grid_dir"]
    pure, zcdp = [PureDP(e) for e in grid.epsilons], [ConcentratedDP(r) for r in grid.rhos]
    nearest = min(pure, key=lambda g: abs(g.epsilon - start["epsilon"]))
    plane, draws = plane_data(start, levels, **how), draws_data([*pure, *zcdp], nearest)
    said = numbers_said(plane, draws)
    made = {
        "colours.css": own_colours(),
        "plane-data.js": script("EXPLORER_PLANE", plane),
        "draws-data.js": script("EXPLORER_DRAWS", draws),
        "static.svg": for_the_site(render(plane_figure(said["sums"], said["edge"], said["marks"]))),
    }
    write_page(out, sources, said, made)


def kept_folder(
    root: Path, name: str, module: str, levels: Any, cache: Path, build: Callable[[Path, Path], Any]
) -> Path:
    """Return a page's folder, named by a hash of code, files and levels; it is built once."""
    sources = root / "book" / name
    files = digest_files((p for p in sources.iterdir() if p.is_file()), sources)
    folder = cache / digest(code_key(root, [f"import {module}"]), files, digest_json(levels))
    if not folder.is_dir():
        cache.mkdir(parents=True, exist_ok=True)
        try:
            build(folder, sources)
        except InputError:
            if not folder.is_dir():  # else another build was quicker
                raise
    return folder


def explorer_folder(root: Path, edition: Edition, cache: Path, report: Report) -> Path:
    """Return the explorer of an edition of the checkout at ``root`` from the cache, or build it."""
    levels = {k: v for k, v in edition.given.items() if k != "runs"}
    kept = cache / f"{code_key(root, [f'import {plane_data.__module__}'])}.pickle"

    def build(out: Path, sources: Path) -> None:
        report("computing the explorer's numbers, which takes minutes")
        build_explorer(out, sources, edition, workers=2, kept=kept)

    return kept_folder(root, "explorer", __name__, levels, cache, build)
