"""Each number of a theorem, lemma or remark of ours stands over one box of the book."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path

NOTEBOOKS = Path(__file__).parents[2] / "notebooks"
_BOX = re.compile(r"^\*\*[A-Z][a-z]+ (O\d+) \(")


def test_no_number_is_given_twice() -> None:
    found: Counter[str] = Counter()
    for path in sorted(NOTEBOOKS.glob("*.ipynb")):
        for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
            if cell["cell_type"] == "markdown":
                box = _BOX.match("".join(cell["source"]))
                found.update([box.group(1)] if box else [])
    assert found
    assert [number for number, times in found.items() if times > 1] == []
