"""The explorer: a page whose sliders move without a server, on numbers computed beforehand."""

from __future__ import annotations

import html
import json
import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..base.colours import on_dark
from ..base.files import new_folder
from ..base.provenance import code_key, digest, digest_files, digest_json
from ..book.picture import for_the_site
from ..book.plan import Edition
from ..exceptions import BuildError
from ..fitting import METHODS, Method
from ..model.privacy import ConcentratedDP, PureDP
from ..page.style import render
from ..theory.lower.lower_bounds import BOUNDS, Bound
from .draws import draws_data
from .picture import static_picture
from .plane import Levels, Setting, plane_data
from .text import placeholders, setting_title
from .values import shown

_ALL = Levels()
_PLACEHOLDER = re.compile(r"@([A-Z_]+)@")


def setting_of(edition: Edition) -> Setting:
    """Return what the explorer of an edition shows first: its levels where they were given.

    Examples
    --------
    >>> setting_of(Edition(epsilon=0.25)).epsilon
    0.25
    """
    given = {k: v for k, v in edition.given.items() if k in ("epsilon", "rho", "delta")}
    return Setting(**given)  # type: ignore[arg-type]


def fill(page: str, texts: Mapping[str, str]) -> str:
    """Put computed texts at the places of a page that wait for them.

    Parameters
    ----------
    page
        HTML with places written ``@NAME@``.
    texts
        Plain text by name.

    Raises
    ------
    BuildError
        A place without a text, or a text without a place.

    Examples
    --------
    >>> fill("<p>@WHAT@</p>", {"WHAT": "C < D"})
    '<p>C &lt; D</p>'
    """
    wanted = set(_PLACEHOLDER.findall(page))
    if wanted != set(texts):
        odd = ", ".join(sorted(wanted ^ set(texts)))
        raise BuildError(f"the explorer's page and its computed texts disagree about {odd}")
    return _PLACEHOLDER.sub(lambda m: html.escape(texts[m.group(1)]), page)


def own_colours() -> str:
    """Return the style sheet that gives each bound and each method its own colour in both themes.

    Examples
    --------
    >>> own_colours().splitlines()[0]
    '.printed { --own: #1a1a1a; }'
    """
    rules = []
    named: list[Bound | Method] = [*BOUNDS.values(), *METHODS.values()]
    for what in named:
        rules.append(f".{what.name} {{ --own: {what.colour}; }}")
        rules.append(f'[data-theme="dark"] .{what.name} {{ --own: {on_dark(what.colour)}; }}')
    return "\n".join(rules) + "\n"


def _script(name: str, data: Mapping[str, Any]) -> str:
    text = json.dumps(data, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return f"window.{name}={text};\n"


def build_explorer(
    out_dir: Path,
    sources: Path,
    edition: Edition,
    *,
    levels: Levels = _ALL,
    workers: int = 2,
) -> Path:
    """Compute the explorer's numbers and write its folder, whole or not at all.

    Parameters
    ----------
    out_dir
        The folder to make; it must not exist.
    sources
        The folder with the page, its style and its scripts.
    edition
        Its levels become stops of the sliders and the setting that is shown first.
    levels
        The sliders' other stops.
    workers
        Processes to share the work among.

    Returns
    -------
    Path
        The page.

    Raises
    ------
    InputError
        ``out_dir`` exists already.
    BuildError
        A place of the page for which there is no text.
    CertificateError
        A fit of the second view that misses its certificate.
    """
    start = setting_of(edition)
    pure = [PureDP(e) for e in edition.epsilons]
    given: list[PureDP | ConcentratedDP]
    given = [*pure, *(ConcentratedDP(r) for r in edition.rhos)]
    with new_folder(out_dir, private=False) as folder:
        for path in sorted(sources.iterdir()):
            shutil.copyfile(path, folder / path.name)
        plane = plane_data(start, levels, workers=workers)
        draws = draws_data(given, min(pure, key=lambda g: abs(g.epsilon - start.epsilon)))
        page = (sources / "index.html").read_text(encoding="utf-8")
        texts = placeholders(plane, draws)
        (folder / "index.html").write_text(fill(page, texts), encoding="utf-8")
        (folder / "colours.css").write_text(own_colours(), encoding="utf-8")
        (folder / "plane-data.js").write_text(_script("EXPLORER_PLANE", plane), encoding="utf-8")
        (folder / "draws-data.js").write_text(_script("EXPLORER_DRAWS", draws), encoding="utf-8")
        picture = static_picture(shown(plane, plane["start"]), setting_title(plane["start"]))
        (folder / "static.svg").write_text(for_the_site(render(picture)), encoding="utf-8")
    return out_dir / "index.html"


def explorer_folder(root: Path, edition: Edition, cache: Path) -> Path:
    """Return the explorer of an edition, computed only if code, page, data or levels changed.

    Parameters
    ----------
    root
        The checkout.
    edition
        Its levels.
    cache
        The folder that keeps one folder an explorer.

    Returns
    -------
    Path
        A folder with ``index.html``; its name is the hash of all that it depends on.
    """
    sources = root / "book" / "explorer"
    key = digest(
        code_key(root, ["import microdata_price.explorer.build"]),
        digest_files((p for p in sources.iterdir() if p.is_file()), sources),
        digest_json({k: v for k, v in edition.given.items() if k != "runs"}),
    )
    folder = cache / key
    if not folder.is_dir():
        cache.mkdir(parents=True, exist_ok=True)
        build_explorer(folder, sources, edition)
    return folder
