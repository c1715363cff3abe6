"""Texts of the chapters whose claims are tested apart: whole, at many levels."""

import pytest
from chapter_texts import DELTAS, EPSILONS, RHOS, cases, filled

WHOLE = {
    "algorithms_in_detail": [
        *cases(runs=[20], epsilon=EPSILONS),
        {"runs": 20, "privacy": "zcdp", "rho": 4.5},
        {"runs": 2, "dataset": "Level32-1d", "epsilon": 3.0},
        {"runs": 5, "dataset": "Level00-2d", "epsilon": 0.1},
    ],
    "better_method": [
        *cases(runs=[3], epsilons=[[e] for e in EPSILONS], rhos=[[]]),
        {"runs": 3, "epsilons": [], "rhos": [0.005]},
    ],
    "five_methods": [
        *cases(runs=[40], epsilon=EPSILONS),
        {"runs": 40, "privacy": "zcdp", "rho": 0.005},
        {"runs": 40, "dataset": "Level32-1d", "epsilon": 3.0},
        {"runs": 2, "dataset": "Stair-2d"},
    ],
    "lesson": [{}, {"epsilon": 0.05}, {"epsilon": 10.0}, {"d": 2}],
    "proofs_of_the_paper": cases(
        runs=[60], epsilon=EPSILONS, rho=RHOS, delta=DELTAS, d=(1000, 2, 10**4)
    ),
}


@pytest.mark.parametrize(("chapter", "levels"), [(c, v) for c in WHOLE for v in WHOLE[c]], ids=str)
def test_texts_are_whole_at_any_level(chapter, levels):
    filled(chapter, **levels)
