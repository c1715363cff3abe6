"""Texts of the chapters whose claims are tested apart: whole, at many levels; none in the code."""

import ast
import re
from pathlib import Path

import pytest
from chapter_texts import DELTAS, EPSILONS, NOTEBOOKS, RHOS, SAMPLED, cases, filled

import microdata_price.chapters
from microdata_price.book import notebook

ZCDP = {"privacy": ["zcdp"]}
WHOLE = {
    "all_results": [{}, {"epsilon": 10.0, "rho": 50.0}],
    "algorithms_in_detail": [
        *cases(runs=[20], epsilon=EPSILONS)[1:],
        *cases(runs=[20], **ZCDP, rho=[4.5, 50.0], dataset=["PUMA1304600", "Level32-2d"]),
        {"runs": 2, "dataset": "Level32-1d", "epsilon": 3.0},
        {"runs": 5, "dataset": "Level00-2d", "epsilon": 0.1},
    ],
    "better_method": cases(runs=[3], epsilons=([0.05], [10.0], []), rhos=([], [], [0.005])),
    "benchmark": [{"runs": 8, "epsilon": e} for e in (10.0, 0.05)],
    "dice": [{"students": 1}, {"students": 1000}],
    "five_methods": [
        *cases(runs=[40], epsilon=EPSILONS)[1:],
        *cases(runs=[40], **ZCDP, rho=[5e-3, 0.01], dataset=["PUMA1304600", "Level01-2d"]),
        {"runs": 40, "dataset": "Level32-1d", "epsilon": 3.0},
        {"runs": 2, "dataset": "Stair-2d"},
        *cases(runs=[20], dataset=["PUMA0800803"], epsilon=[0.1, 0.05]),
        *cases(runs=[20], **ZCDP, rho=[0.5, 0.125], dataset=["Level16-2d", "Level01-1d"]),
    ],
    "how_checked": [{}, {"epsilon": 3.0, "rho": 0.5, "delta": 1e-9}],
    "lesson": [{}, {"epsilon": 0.05}, {"epsilon": 20.0}, {"d": 2, "students": 1}],
    "plane": [{}, {"epsilon": 50.0, "rho": 50.0, "d": 2}, {"epsilon": 3.0, "rho": 4.5, "d": 2}],
    "proofs_of_the_paper": cases(
        runs=[60], epsilon=EPSILONS, rho=RHOS, delta=DELTAS, d=(1000, 2, 10**4)
    ),
    "scorecard": cases(runs=(10, 4), repeats=[2], epsilon=(0.05, 2.0)),
}


@pytest.mark.parametrize(("chapter", "levels"), [(c, v) for c in WHOLE for v in WHOLE[c]], ids=str)
def test_texts_are_whole_at_any_level(chapter, levels):
    filled(chapter, **levels)


def test_every_text_that_must_tell_its_standard_errors_is_there():
    """Else a text that begins anew would no longer be asked for them."""
    sources = [c.source for p in NOTEBOOKS.glob("*.ipynb") for c in notebook.read(p).cells]
    said = re.sub(r"{{.*?}}", "1", "\n".join(sources))
    starts = SAMPLED.split("|")
    assert [s for s in starts if not re.search(rf"^(ALT: )?\**{s}", said, re.M)] == []


def test_chapters_compute_and_hold_no_prose():
    """No string of more than eight words that is no docstring."""
    for path in Path(microdata_price.chapters.__file__).parent.rglob("*.py"):
        nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
        documents = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
        texts = [n for n in nodes if isinstance(n, ast.Constant) and isinstance(n.value, str)]
        found = [n.value for n in texts if id(n) not in documents and len(n.value.split()) > 8]
        assert found == [], path.name
