"""The files on which a release's guarantee rests: few, short, and changed by decision only."""

import hashlib
import re
from pathlib import Path

import microdata_price

SOURCES = Path(microdata_price.__file__).parent
CHECKSUMS = {
    "tables/read.py": "9fa612afa425cce3",
    "release/measure.py": "7fe8d7cb4e2740f3",
    "release/mechanism.py": "002b5dd23576ecc3",
    "release/budget.py": "a10d0b5c97b8f677",
    "release/ledger.py": "617a548f1a1a7cca",
}
"""Who changes one of these files reads the whole of it, runs tests/release, and writes down the new
checksum (the first 16 digits of its SHA-256) in the same commit."""


def test_the_core_is_as_it_was_decided_small_and_listed():
    files = {name: (SOURCES / name).read_bytes() for name in CHECKSUMS}
    assert {n: hashlib.sha256(data).hexdigest()[:16] for n, data in files.items()} == CHECKSUMS
    assert len(files) <= 7
    assert sum(data.count(b"\n") for data in files.values()) <= 900
    page = (SOURCES.parents[1] / "docs" / "architecture.md").read_text()
    section = page.split("## The trusted core")[1].split("\n## ")[0]
    assert re.findall(r"^\| `([\w/]+\.py)` \|", section, flags=re.M) == list(files)


def test_arrow_reads_no_object_of_python_but_one_that_is_waited_for():
    """A thread of Arrow's that lets go of it while Python ends would crash the program."""
    sources = "".join(path.read_text(encoding="utf-8") for path in SOURCES.rglob("*.py"))
    read = re.findall(r"arrow_csv\.(?:read|open)_csv\((\w\S*),", sources)
    assert sorted(read) == ["pa.BufferReader(text.getvalue())", "quoted"]
