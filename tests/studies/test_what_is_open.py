from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np
import pytest
from sentences import DELTAS, EPSILONS, RHOS, cases, check_texts, says, texts

from microdata_price.base.numbers import at_most
from microdata_price.exceptions import InputError
from microdata_price.studies.what_is_open import Findings, study

CASES = cases(epsilon=EPSILONS, rho=RHOS, delta=DELTAS, d=(1000, 2, 10**9), lam=(3.0, 2.1, 4.9))


@functools.cache
def at(**given: Any) -> Findings:
    return study(**given)


@pytest.mark.parametrize("given", CASES, ids=str)
def test_each_question_has_two_sides(given: dict[str, Any]) -> None:
    found = at(**given)
    check_texts(texts(found).values())
    for q in found.questions:
        assert 0 < q.lower <= q.upper, q.name
    assert says(found.opening, max(q.upper / q.lower for q in found.questions), rel=0.01)
    assert found.moments <= found.channel * (1 + 1e-6) <= found.clipping * (1 + 1e-5)
    sigma = 1 - 1 / math.sqrt(given["lam"] - 1)
    # An upper end is rounded up, in the text as in the table.
    upper = at_most(1 / (2 * sigma), 4)
    assert float(upper) >= 1 / (2 * sigma)
    assert f"between 1 and {upper}." in found.constant_said


def test_the_ends_beside_good_cells_are_those_of_first_moments_and_clipping() -> None:
    epsilon = 0.02
    found = study(epsilon)
    m = np.arange(1, 4000)
    C = math.sqrt(2 * math.exp(-epsilon)) / (1 - math.exp(-epsilon))
    assert found.moments == pytest.approx(epsilon * (np.exp(-epsilon * m) * (m - C)).max())
    assert found.moments == pytest.approx(math.exp(-1 - math.sqrt(2)), rel=1e-2)
    assert found.clipping == pytest.approx(0.5, rel=1e-3)


def test_the_factor_of_the_ceiling_tends_to_two() -> None:
    far = study(0.5, delta=1e-200).questions[2]
    assert 2 < far.upper / far.lower < 2.2


def test_bad_input() -> None:
    with pytest.raises(InputError, match="lambda"):
        study(lam=2.0)
