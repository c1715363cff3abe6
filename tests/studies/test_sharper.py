from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np
import pytest
from sentences import DELTAS, EPSILONS, RHOS, cases, check_texts, numbers, says, texts

from microdata_price.studies.sharper import Findings, study

CASES = cases(epsilon=EPSILONS, rho=RHOS, delta=DELTAS, d=(1000, 2, 10**6))


@functools.cache
def at(**given: Any) -> Findings:
    return study(**given)


@pytest.mark.parametrize("given", CASES, ids=str)
def test_every_sentence_is_whole_and_its_claims_are_recomputed(given: dict[str, Any]) -> None:
    found, epsilon, d = at(**given), given["epsilon"], given["d"]
    check_texts(texts(found).values())
    signed = math.sqrt(8) / epsilon
    m = np.arange(1.0, 3000.0)
    grown = np.exp(np.minimum(epsilon * m, 600.0))
    bound = max(float((m - grown * signed / d).max()), 0.0)
    assert found.at_signed["first_moment"] == pytest.approx(bound, abs=1e-9)
    assert ("out of reach" in found.opening) == (bound > signed)
    assert found.certain >= bound
    public = max(float(((d - 1) * m / (grown + d - 1)).max()), 0.0)
    assert says(found.other_said, public, rel=0.01)
    assert (found.over >= 1 - 1e-6).all() or found.step > 1
    ours, theirs = found.slacks
    assert 1 <= ours <= theirs * (1 + 1e-9)
    says_and_excludes = found.firsts["pure", "first_moment"]
    assert says_and_excludes[0] <= says_and_excludes[1]
    m_real = math.log(1000 / math.sqrt(8))
    assert numbers(found.by_hand_said)[-1] == pytest.approx(m_real - 1, rel=1e-3)


def test_without_rounding_the_best_is_at_a_real_number() -> None:
    # ln(1000/sqrt 8) - 1, at a real m; the value at m = 6 is another number.
    assert numbers(study().by_hand_said) == pytest.approx([6, 4.859, 5.87, 4.868], rel=1e-3)
