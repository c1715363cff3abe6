"""The explorer's first view: its numbers against the package, and how they are packed."""

from __future__ import annotations

import itertools
import json
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from explorer_data import FEW, package_bounds, read_data, small_explorer
from microdata_price.exceptions import InputError
from microdata_price.explorer.bounds import (
    COUNTS,
    DRAWN,
    POINTS,
    SUMS,
    bound_nodes,
    nodes_of,
    point_errors,
)
from microdata_price.explorer.mechanisms import (
    EXPONENTS,
    KNOTS,
    Weighted,
    between_knots,
    sum_first,
    weighted_family,
)
from microdata_price.explorer.pack import SCALE as LOG_SCALE
from microdata_price.explorer.pack import pack_counts, pack_logarithms
from microdata_price.explorer.plane import compute
from microdata_price.model.privacy import ApproximateDP, ConcentratedDP, Guarantee, PureDP
from microdata_price.theory.lower.lower_bounds import (
    point_error_bound,
    sum_error_bound,
)
from microdata_price.theory.lower.single_cells import (
    channel_point_error,
    single_cell_bounds,
    single_cell_lines,
)
from microdata_price.theory.upper.one_sided import certified_split
from microdata_price.theory.upper.operating_points import (
    asymmetric,
    fitted,
    mapped,
    split,
    weighted,
)
from microdata_price.theory.upper.projection import project
from microdata_price.theory.upper.upper_bounds import certified_truncated, exact_clipping

ROUNDING = 1.01 / (2 * LOG_SCALE)


def settings() -> list[tuple[str, Guarantee, dict[str, int]]]:
    found: list[tuple[str, Guarantee, dict[str, int]]] = []
    for i, epsilon in enumerate((0.5, 3.0)):
        found.append(("pure", PureDP(epsilon), {"level": i}))
        for j, delta in enumerate((1e-6, 1e-2)):
            at = {"level": i, "delta": j}
            found.append(("approximate", ApproximateDP(epsilon, delta), at))
    return [*found, ("zcdp", ConcentratedDP(0.125), {"level": 0})]


def unpacked(table: dict[str, Any]) -> np.ndarray:
    """Undo the packing, as the page's script does."""
    parts = [int(x) if x else 0 for x in table["packed"].split(",")]
    says = np.array([x != "" for x in table["packed"].split(",")])
    return np.where(says, np.exp(np.cumsum(parts) / LOG_SCALE), 0.0).reshape(table["shape"])


def picked(table: dict[str, Any], at: dict[str, int]) -> np.ndarray:
    values: np.ndarray = unpacked(table)[tuple(at[a] for a in table["axes"] if a in at)]
    return values


@pytest.fixture(scope="module")
def plane(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return read_data(small_explorer(tmp_path_factory), "plane")


# Packing


@given(
    hnp.arrays(
        float,
        hnp.array_shapes(max_dims=3, max_side=5),
        elements=st.one_of(st.just(0.0), st.floats(1e-12, 1e12)),
    )
)
def test_packing_keeps_numbers_and_zeros(values: np.ndarray) -> None:
    table = pack_logarithms([str(i) for i in range(values.ndim)], values)
    back = unpacked(json.loads(json.dumps(table)))
    assert back.shape == values.shape
    assert ((back == 0) == (values == 0)).all()
    assert (np.abs(back - values) <= ROUNDING * values).all()


@given(hnp.arrays(float, st.integers(1, 20), elements=st.floats(-1e9, 1e9)))
def test_counts_are_kept_to_half_a_step(values: np.ndarray) -> None:
    back = np.cumsum([int(x) for x in pack_counts(values, 100)["packed"].split(",")]) / 100
    assert (np.abs(back - values) <= 0.005 + 1e-9 * np.abs(values)).all()


@pytest.mark.parametrize("bad", [-1.0, math.inf, math.nan])
def test_what_cannot_be_packed_is_refused(bad: float) -> None:
    with pytest.raises(InputError, match="0 or more"):
        pack_logarithms(["node"], [1.0, bad])
    with pytest.raises(InputError, match="equally many"):
        pack_logarithms(["a", "b"], [1.0])


# The plane


@pytest.mark.parametrize(("kind", "guarantee", "at"), settings())
def test_bounds_on_the_page_are_those_of_the_package(
    plane: dict[str, Any], kind: str, guarantee: Guarantee, at: dict[str, int]
) -> None:
    mode, unit = plane["modes"][kind], guarantee.signed_error
    assert mode["signed"][at["level"]] == pytest.approx(unit)
    tables = {
        b["key"]: (picked(b["C"], at) * unit, picked(b["D"], at) * unit) for b in mode["bounds"]
    }
    assert tuple(tables) == DRAWN[kind == "approximate" :]
    said = 0
    nodes = {b["key"]: (b["sums"], b["counts"]) for b in mode["bounds"]}
    for i in (0, 7, 12, len(POINTS) - 1):
        for D_given in (SUMS[0], SUMS[2], SUMS[9], SUMS[20], SUMS[-1]):
            now = package_bounds(guarantee, POINTS[i], sum_error=D_given * unit)
            for key, (C, _) in tables.items():
                found = C[i, nodes[key][0].index(D_given)]
                assert found == pytest.approx(now[key], rel=ROUNDING, abs=0), (key, i)
                said += found > 0
        for C_given in (COUNTS[0], 1.0, COUNTS[-1]):
            now = package_bounds(guarantee, POINTS[i], point_error=C_given * unit)
            for key, (_, D) in tables.items():
                found = D[i, nodes[key][1].index(C_given)]
                assert found == pytest.approx(now[key], rel=ROUNDING, abs=0), (key, i)
    assert said > 20


@pytest.mark.parametrize("name", DRAWN[1:])
@pytest.mark.parametrize(
    "guarantee", [PureDP(0.01), PureDP(2.0), ApproximateDP(0.2, 1e-4), ConcentratedDP(1.0)]
)
def test_no_bound_is_spared_that_says_something(name: Any, guarantee: Guarantee) -> None:
    d = np.array(POINTS[::4], dtype=float)[:, None]
    D = guarantee.signed_error * np.array(SUMS)[::3]
    all_of_them = point_error_bound(name, guarantee, d, D)
    # To the last digits; a zero stays a zero. Loops over fewer numbers may round otherwise.
    np.testing.assert_allclose(point_errors(name, guarantee, d, D), all_of_them, rtol=1e-12)
    assert (all_of_them == 0).any()
    assert (all_of_them > 0).any()


@pytest.mark.parametrize("guarantee", [PureDP(0.5), ConcentratedDP(0.125)])
def test_few_lines_prove_nearly_what_many_do_and_never_more(guarantee: Guarantee) -> None:
    unit, d = guarantee.signed_error, np.array(POINTS, dtype=float)[2::3, None]
    D = unit * np.array(SUMS)[::3]
    first = point_error_bound("first_moment", guarantee, d, D)
    few, many = (single_cell_lines(guarantee, few=x).point_error(d, D) for x in (True, False))
    assert (few <= many * (1 + 1e-12)).all()
    assert (few > 1.01 * first).any()
    seen = many > 0.25 * unit
    assert (np.maximum(few, first)[seen] >= 0.85 * np.maximum(many, first)[seen]).all()
    # No line is above the program's own value at one place.
    if isinstance(guarantee, PureDP):
        own = [channel_point_error(guarantee, 1000, x * unit, whole=False) for x in (0.5, 3.0)]
    else:
        own = [
            single_cell_bounds(guarantee, 1000, sum_error=x * unit)[0]["channel"]
            for x in (0.5, 3.0)
        ]
    lines = single_cell_lines(guarantee, few=True).point_error(1000, unit * np.array([0.5, 3.0]))
    assert (lines <= np.array(own) * 1.002).all()


def drawn_curve(name: str, C: np.ndarray, D: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Join the nodes of one bound at one d as the page does: ln D, and C straight against it."""
    sums, counts = (np.array(v) for v in nodes_of(name))
    x = np.log(np.concatenate([sums[C > 0], D[D > 0]]))
    y = np.concatenate([C[C > 0], counts[D > 0]])
    order = np.lexsort((-y, x))
    return x[order], y[order]


@pytest.mark.parametrize("guarantee", [PureDP(3.0), ApproximateDP(0.1, 1e-4), ConcentratedDP(0.5)])
def test_drawn_curves_are_near_the_true_ones(guarantee: Guarantee) -> None:
    rng, unit = np.random.default_rng(5), guarantee.signed_error
    for name in ("first_moment", "printed"):
        nodes = bound_nodes(name, guarantee)
        for i in rng.choice(len(POINTS), 6, replace=False):
            x, y = drawn_curve(name, nodes[0][i], nodes[1][i])
            seen = (y[1:] >= min(COUNTS)) & (x[:-1] >= math.log(min(SUMS)))
            for k in np.flatnonzero(seen):
                t = rng.random()
                D, C = math.exp(x[k] + t * (x[k + 1] - x[k])), y[k] + t * (y[k + 1] - y[k])
                up = point_error_bound(name, guarantee, POINTS[i], D * unit) / unit
                across = sum_error_bound(name, guarantee, POINTS[i], C * unit) / unit
                off = min(
                    abs(C / up - 1) if up > 0 else 1.0,
                    abs(D / across - 1) if across > 0 else 1.0,
                )
                assert off < 0.03, (name, POINTS[i], C, D)


def curves(mode: dict[str, Any], at: dict[str, int]) -> list[tuple[np.ndarray, np.ndarray]]:
    """The D and C that the page joins for each bound, in signed errors."""
    found = []
    for b in mode["bounds"]:
        x, y = drawn_curve(b["key"], picked(b["C"], at), picked(b["D"], at))
        found.append((np.exp(x), y))
    return found


def test_curves_fall_and_have_no_jump(plane: dict[str, Any]) -> None:
    for mode in plane["modes"].values():
        for d in (10, 10_000, 10**9):
            for D, C in curves(mode, {"level": 0, "delta": 0, "d": POINTS.index(d)}):
                assert (np.diff(D) >= -ROUNDING * D[1:]).all()
                assert (np.diff(C) <= ROUNDING * C[1:]).all()


@pytest.mark.parametrize(("kind", "guarantee", "at"), settings())
def test_mechanisms_on_the_page_are_those_of_the_package(
    plane: dict[str, Any], kind: str, guarantee: Guarantee, at: dict[str, int]
) -> None:
    unit = guarantee.signed_error
    basis = guarantee.basis
    found = {m["key"]: m for m in plane["modes"][kind]["mechanisms"]}
    for i in (0, 5, 12, len(POINTS) - 1):
        d = POINTS[i]
        here = at | {"d": i}

        def error(key: str, what: str, here: dict[str, int] = here) -> Any:
            return picked(found[key][what], here) * unit

        exact = exact_clipping(basis, d)
        assert error("counts_first", "C") == pytest.approx(float(exact.C), rel=ROUNDING)
        assert error("counts_first", "D") == pytest.approx(float(exact.D), rel=ROUNDING)
        place = mapped(basis, d)
        if place is None:
            assert error("mapped", "C") == error("mapped", "D") == 0
        else:
            assert error("mapped", "C") == pytest.approx(place.C[0], rel=ROUNDING)
            assert error("mapped", "C") == pytest.approx(
                error("counts_first", "C"), rel=2 * ROUNDING
            )
            assert error("mapped", "D") == pytest.approx(place.D[0], rel=ROUNDING)
        half = certified_split(basis, d)
        assert error("sum_first", "D") == pytest.approx(float(half.D), rel=ROUNDING)
        known, certain = fitted(basis, d)
        assert error("sum_first", "C") == pytest.approx(known.C[0], rel=ROUNDING)
        assert error("sum_first", "upper") == pytest.approx(certain.C[0], rel=ROUNDING)
        assert unit * 0.9 <= known.C[0] <= certain.C[0]
        path = split(basis, d, error("split", "C").size)
        assert error("split", "C") == pytest.approx(path.C, rel=ROUNDING)
        assert error("split", "D") == pytest.approx(path.D, rel=ROUNDING)
        if not isinstance(basis, ConcentratedDP):
            uneven = asymmetric(basis, d, error("asymmetric", "C").size)
            assert error("asymmetric", "C") == pytest.approx(uneven.C, rel=ROUNDING)
            assert error("asymmetric", "D") == pytest.approx(uneven.D, rel=ROUNDING)
        if isinstance(guarantee, ApproximateDP):
            clipped = certified_truncated(guarantee.epsilon, guarantee.delta, d)
            assert error("truncated", "C") == pytest.approx(float(clipped.C), rel=ROUNDING)
            assert error("truncated", "D") == pytest.approx(float(clipped.D), rel=ROUNDING)


@pytest.mark.parametrize("basis", [PureDP(1.0), ConcentratedDP(0.5)])
def test_the_fitted_error_is_what_simulation_finds(basis: PureDP | ConcentratedDP) -> None:
    rng, runs, d, far = np.random.default_rng(11), 40_000, 50, 1e6
    unit = basis.signed_error
    draw = rng.laplace if isinstance(basis, PureDP) else rng.normal
    noise = draw(0.0, unit / math.sqrt(2) if isinstance(basis, PureDP) else unit, (runs, d + 1))
    cells = noise[:, 1:].copy()
    cells[:, 0] += far
    squares = (project(cells, far + noise[:, 0])[:, 0] - far) ** 2
    want = (sum_first(basis, d)[0] * unit) ** 2
    assert abs(squares.mean() - want) < 5 * squares.std() / math.sqrt(runs)


@pytest.mark.parametrize("kind", ["pure", "zcdp"])
def test_the_weighted_family_is_exact_at_its_knots_and_ends_in_the_projection(
    plane: dict[str, Any], kind: str
) -> None:
    basis: PureDP | ConcentratedDP = PureDP(0.7) if kind == "pure" else ConcentratedDP(2.0)
    unit, nodes = basis.signed_error, [0, 2, 5]
    about = {m["key"]: m for m in plane["modes"][kind]["mechanisms"]}
    C, D = (unpacked(about["weighted"][what]) for what in ("C", "D"))
    for d in FEW.knots:
        path = weighted(basis, d, [0.0, *(d ** -EXPONENTS[k - 1] for k in nodes[1:])])
        assert C[POINTS.index(d), nodes] * unit == pytest.approx(path.C, rel=ROUNDING)
        assert D[POINTS.index(d), nodes] * unit == pytest.approx(path.D, rel=ROUNDING)
    assert C[:, -1] == pytest.approx(unpacked(about["sum_first"]["C"]), rel=ROUNDING)
    assert D[:, -1] == pytest.approx(1.0, rel=ROUNDING)


def test_the_knots_of_the_weighted_family_are_close_enough() -> None:
    # One weight in the middle of the family.
    basis, e, others = ConcentratedDP(0.5), EXPONENTS[2], (20, 200, 10**8)
    known = {d: weighted(basis, d, [float(d) ** -e]) for d in (*KNOTS, *others)}
    found = between_knots({d: Weighted(known[d].C, known[d].D) for d in KNOTS}, others)
    for i, d in enumerate(others):
        assert found[0][i] == pytest.approx(known[d].C, rel=0.01)
        assert found[1][i] == pytest.approx(known[d].D, rel=0.01)


def test_no_mechanism_lies_where_the_page_says_that_none_can(plane: dict[str, Any]) -> None:
    count = 0
    for mode in plane["modes"].values():
        sizes = (len(mode["levels"]), len(mode["deltas"] or [0]), len(POINTS))
        for level, delta, d in np.ndindex(*sizes):
            at = {"level": level, "delta": delta, "d": d}
            bounds = curves(mode, at)
            for m in mode["mechanisms"]:
                if m["key"] == "signed" or (m["key"] == "mapped" and not picked(m["C"], at)):
                    continue
                places = np.broadcast_arrays(*(np.atleast_1d(picked(m[w], at)) for w in "DC"))
                for (mD, mC), (D, C) in itertools.product(zip(*places, strict=True), bounds):
                    assert not (C[mD * (1 + ROUNDING) <= D] > mC * (1 + ROUNDING)).any()
                    count += 1
    assert count > 10_000


def test_the_result_does_not_depend_on_the_number_of_workers() -> None:
    bases: list[PureDP | ConcentratedDP] = [PureDP(1.0), ConcentratedDP(0.5)]
    tasks: list[tuple[Any, ...]] = [
        *((bound_nodes, name, g) for name in ("printed", "first_moment") for g in bases),
        *((sum_first, g, 2) for g in bases),
        (weighted_family, ConcentratedDP(0.5), 2),
    ]
    one, two = (compute(tasks, workers) for workers in (1, 2))
    assert list(one) == list(two) == tasks
    for task in tasks:
        assert all(np.array_equal(a, b) for a, b in zip(one[task], two[task], strict=True))
