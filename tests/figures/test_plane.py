"""The plane's names lie over no other name and inside the axes, at any level."""

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg

from microdata_price.figures.operating import plane
from microdata_price.model.privacy import ApproximateDP, ConcentratedDP, PureDP
from microdata_price.theory.lower.lower_bounds import point_error_bound
from microdata_price.theory.upper import operating_points as points
from microdata_price.theory.upper.redrawn import redrawn

SHOWN = ("first_moment", "printed")


def assert_names_are_apart(figure):
    figure.draw_without_rendering()
    renderer = FigureCanvasAgg(figure).get_renderer()  # type: ignore[no-untyped-call]
    for ax in figure.axes:
        boxes = {t.get_text(): t.get_window_extent(renderer) for t in ax.texts if t.get_text()}
        assert len(boxes) >= 2
        for (one, a), (other, b) in combinations(boxes.items(), 2):
            assert not a.overlaps(b), (one, other)
        room = ax.get_window_extent(renderer)
        for name, box in boxes.items():
            assert room.x0 <= box.x0, name
            assert room.y0 <= box.y0, name
            assert box.x1 <= room.x1, name
            assert box.y1 <= room.y1, name


@pytest.mark.parametrize(
    "guarantee",
    [
        *(PureDP(0.5), PureDP(10.0), PureDP(1000.0)),
        *(ApproximateDP(0.5, 1e-6), ApproximateDP(10.0, 0.3), ApproximateDP(1000.0, 0.3)),
        *(ConcentratedDP(0.125), ConcentratedDP(10.0)),
    ],
    ids=str,
)
@pytest.mark.parametrize("d", [2, 1000, 10**12])
def test_names_are_apart_at_any_level(guarantee, d):
    unit = guarantee.signed_error
    marks = [points.clipping(guarantee, d), *points.fitted(guarantee, d)]
    mapped = points.mapped(guarantee, d)
    marks += [mapped] if mapped is not None else []
    if isinstance(guarantee, ApproximateDP) and guarantee.epsilon <= 20:
        made = redrawn(guarantee.epsilon, guarantee.delta, d, unit)
        told = (np.array([x]) for x in (made.C, unit))
        marks.append(points.Operating("redrawn noise", "certified", *told, np.zeros(1)))
    path = points.split if isinstance(guarantee, ConcentratedDP) else points.asymmetric
    scaled = [replace(p, C=p.C / unit, D=p.D / unit) for p in [*marks, path(guarantee, d, 17)]]
    sums = np.geomspace(0.3, 3 * max(4.0, *(float(p.D.max()) for p in scaled)), 60)
    curves = {n: point_error_bound(n, guarantee, d, unit * sums) / unit for n in SHOWN}
    curves = {"channel": 1.02 * curves["first_moment"], **curves}
    assert_names_are_apart(plane(sums, curves, scaled[:-1], scaled[-1]))
