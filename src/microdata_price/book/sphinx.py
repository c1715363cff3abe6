"""A Sphinx extension: a site that needs no network and that everyone can read."""

from __future__ import annotations

import importlib.util
import shutil
from pathlib import Path
from typing import Any

from .finish import finish

# What the site uses of MathJax: the one bundle that the configuration names, with all of TeX.
# It draws with paths, so it needs no font file, and adds MathML for screen readers.
_MATHJAX = "tex-svg-full.js"


def mathjax_folder() -> Path:
    """Return the folder of the installed MathJax; its package's name is no Python identifier."""
    spec = importlib.util.find_spec("sphinx-mathjax-offline")
    if spec is None or spec.origin is None:
        raise RuntimeError("sphinx-mathjax-offline is not installed; run make install")
    return Path(spec.origin).parent / "static" / "mathjax"


def _copy_mathjax(app: Any, error: Exception | None) -> None:
    if error is None and app.builder.format == "html":
        target = Path(app.outdir) / "_static" / "mathjax"
        target.mkdir(parents=True, exist_ok=True)
        shutil.copy2(mathjax_folder() / _MATHJAX, target / _MATHJAX)


def _is_remote(script: Any) -> bool:
    filename = getattr(script, "filename", None) or ""
    body = (getattr(script, "attributes", None) or {}).get("body") or ""
    return str(filename).startswith(("http:", "https:", "//")) or "THEBE_JS_URL" in body


def _local_only(_app: Any, _page: str, _template: str, context: dict[str, Any], _tree: Any) -> None:
    """Drop scripts that a theme or extension would fetch from elsewhere, and thebe's."""
    for kind in ("script_files", "css_files"):
        if kind in context:
            context[kind] = [
                f
                for f in context[kind]
                if not _is_remote(f) and "thebe" not in str(getattr(f, "filename", ""))
            ]


_LEFTOVERS = (
    "webpack-macros.html",
    "sbt-webpack-macros.html",
    "sphinx-thebe.js",
    "sphinx-thebe.css",
    "scripts/fontawesome.js",
)
# A page opened from a folder may not read other pages, so search shows titles without excerpts.
_SEARCH = (
    'if (location.protocol === "file:") { DOCUMENTATION_OPTIONS.SHOW_SEARCH_SUMMARY = false; }'
)


def _finish(app: Any, error: Exception | None) -> None:
    if error is not None or app.builder.format != "html":
        return
    out = Path(app.outdir)
    for name in _LEFTOVERS:
        (out / "_static" / name).unlink(missing_ok=True)
    finish(out, app.config.html_title, app.config.html_baseurl)


def setup(app: Any) -> dict[str, Any]:
    """Register with Sphinx."""
    app.add_js_file(None, body=_SEARCH, priority=250)
    app.connect("html-page-context", _local_only, priority=900)
    app.connect("build-finished", _copy_mathjax)
    app.connect("build-finished", _finish, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
