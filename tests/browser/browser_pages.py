"""What the browser tests go through."""

from __future__ import annotations

from pathlib import Path

from microdata_price.book.plan import toc_entries

ROOT = Path(__file__).parents[2]
PAGES = [*toc_entries(ROOT), "search"]
