"""A Sphinx extension: a site that needs no network and that everyone can read."""

from __future__ import annotations

import importlib.util
import shutil
from pathlib import Path
from typing import Any

from .finish import finish
from .slides import write_deck

# What the site uses of MathJax: the one bundle that the configuration names, with all of TeX.
# It draws with paths, so it needs no font file, and adds MathML for screen readers.
_MATHJAX = "static/mathjax/tex-svg-full.js"
_LEFTOVERS = ("webpack-macros.html", "sbt-webpack-macros.html", "scripts/fontawesome.js")
# A page opened from a folder may not read other pages, so search shows titles without excerpts.
_SEARCH = (
    'if (location.protocol === "file:") { DOCUMENTATION_OPTIONS.SHOW_SEARCH_SUMMARY = false; }'
)


def folder_of(package: str) -> Path:
    """Return the folder of an installed package, whose name need be no Python identifier."""
    spec = importlib.util.find_spec(package)
    if spec is None or spec.origin is None:
        raise RuntimeError(f"{package} is not installed; run make install")
    return Path(spec.origin).parent


def _finish(app: Any, error: Exception | None) -> None:
    if error is not None or app.builder.format != "html":
        return
    static = Path(app.outdir) / "_static"
    for name in _LEFTOVERS:
        (static / name).unlink(missing_ok=True)
    (static / "mathjax").mkdir(exist_ok=True)
    shutil.copy2(folder_of("sphinx-mathjax-offline") / _MATHJAX, static / "mathjax")
    finish(static.parent, app.config.html_title, app.config.html_baseurl)
    reveal = folder_of("sphinx_revealjs") / "_static" / "revealjs"
    write_deck(static.parent, Path(app.srcdir) / "slides", reveal)


def setup(app: Any) -> dict[str, Any]:
    """Register with Sphinx."""
    app.add_js_file(None, body=_SEARCH, priority=250)
    app.connect("build-finished", _finish, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
