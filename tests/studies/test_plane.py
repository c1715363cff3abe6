from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np
import pytest
from sentences import DELTAS, EPSILONS, RHOS, cases, check_texts, numbers, says, texts

from microdata_price.studies.plane import Findings, Plane, study

CASES = cases(epsilon=EPSILONS, rho=RHOS, delta=DELTAS, d=(1000, 2, 10**6))


@functools.cache
def at(**given: Any) -> Findings:
    return study(**given, ds=(10, 10**6))


def check_plane(plane: Plane) -> None:
    check_texts(texts(plane).values())
    cells, _ = plane.must
    for p in plane.places:
        at_D = np.interp(np.log(p.D), np.log(plane.sum_errors), plane.curves["first_moment"])
        assert (at_D <= p.C * (1 + 0.02) + 1e-9).all(), p.name
    assert cells <= float(plane.fitted[0].C[0]) <= float(plane.fitted[1].C[0])
    assert ("lies in the hatched" in plane.said) == (cells > 1)
    if plane.uneven is not None:
        assert cells <= plane.uneven
        assert plane.uneven < float(plane.fitted[1].C[0])


@pytest.mark.parametrize("given", CASES, ids=str)
def test_every_sentence_of_the_planes_is_true(given: dict[str, Any]) -> None:
    found, epsilon, d = at(**given), given["epsilon"], given["d"]
    for plane in found.planes:
        check_plane(plane)
    signed = math.sqrt(8) / epsilon
    m = np.arange(1.0, 3000.0)
    bound = float((m - np.exp(np.minimum(epsilon * m, 600.0)) * signed / d).max()) / signed
    assert found.pure.must[0] >= bound - 1e-9
    if found.pure.must[0] > 0:
        assert says(found.opening, found.pure.must[0], rel=0.01)
    assert says(found.price_said, found.pure.must[0], rel=0.01) == (found.pure.must[0] > 1)
    for _, row in found.places.iterrows():
        if row["how known"].startswith("certified"):
            stated = " ".join(plane.said for plane in found.planes)
            assert says(stated, row["$C$ in signed errors"], rel=1e-9)
    for _, known, sure in found.families:
        assert known.C[0] == pytest.approx(sure.C[0])
        assert known.D[0] == pytest.approx(sure.D[0])


@pytest.mark.parametrize("epsilon", [0.5, 10.0])
def test_what_is_said_of_many_cells(epsilon: float) -> None:
    found = study(epsilon, ds=(10, 10**4))
    check_texts(texts(found).values())
    for _, lower, upper, at_d, worst, sure in found.series:
        assert (worst <= sure * (1 + 1e-9)).all()
        assert lower[-1] <= worst[-1]
        assert upper[-1] == pytest.approx(sure[-1])
        assert at_d[-1] == found.grid[-1]
    assert numbers(found.colleague_said)[0] > 3
