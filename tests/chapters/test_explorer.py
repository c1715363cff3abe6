"""The explorer's first view: its numbers against the package, and how they are packed."""

import itertools
import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from explorer_data import ENDS, SPLITS, package_bounds, read_data, small_explorer
from microdata_price.chapters.explorer import bounds
from microdata_price.chapters.explorer import mechanisms as family
from microdata_price.chapters.explorer.bounds import COUNTS, DRAWN, POINTS, SUMS
from microdata_price.chapters.explorer.pack import SCALE, pack_counts, pack_logarithms
from microdata_price.chapters.explorer.plane import compute
from microdata_price.model.privacy import ApproximateDP, ConcentratedDP, PureDP
from microdata_price.theory.lower.lower_bounds import point_error_bound, sum_error_bound
from microdata_price.theory.upper import operating_points as places
from microdata_price.theory.upper.one_sided import certified_split
from microdata_price.theory.upper.upper_bounds import certified_truncated, exact_clipping

ROUNDING = 1.01 / (2 * SCALE)
SETTINGS = [
    *(("pure", PureDP(0.5), {"level": 0}), ("pure", PureDP(3.0), {"level": 1})),
    ("approximate", ApproximateDP(0.5, 1e-6), {"level": 0, "delta": 0}),
    ("approximate", ApproximateDP(0.5, 1e-2), {"level": 0, "delta": 1}),
    ("approximate", ApproximateDP(3.0, 1e-6), {"level": 1, "delta": 0}),
    ("zcdp", ConcentratedDP(0.125), {"level": 0}),
]


def unpacked(table):
    """Undo the packing, as the page's script does."""
    parts = [int(x) if x else 0 for x in table["packed"].split(",")]
    says = np.array([x != "" for x in table["packed"].split(",")])
    return np.where(says, np.exp(np.cumsum(parts) / SCALE), 0.0).reshape(table["shape"])


def picked(table, at):
    return unpacked(table)[tuple(at[a] for a in table["axes"] if a in at)]


@pytest.fixture(scope="module")
def plane(tmp_path_factory):
    return read_data(small_explorer(tmp_path_factory), "plane")


SIZES = st.one_of(st.just(0.0), st.floats(1e-12, 1e12))


@given(hnp.arrays(float, hnp.array_shapes(max_dims=3, max_side=5), elements=SIZES))
def test_packing_keeps_numbers_and_zeros_and_no_others_become_numbers(values):
    table = pack_logarithms(" ".join("abc"[: values.ndim]), values)
    back = unpacked(json.loads(json.dumps(table)))
    assert back.shape == values.shape
    assert ((back == 0) == (values == 0)).all()
    assert (np.abs(back - values) <= ROUNDING * values).all()
    counts = np.cumsum([int(x) for x in pack_counts(-values, 100)["packed"].split(",")]) / 100
    assert (np.abs(counts + values.ravel()) <= 0.005 + 1e-9 * values.ravel()).all()
    for bad in (-1.0, math.inf, math.nan):
        with pytest.raises((ValueError, OverflowError)):
            pack_logarithms("node", [1.0, bad])


@pytest.mark.parametrize(("kind", "guarantee", "at"), SETTINGS)
def test_bounds_on_the_page_are_those_of_the_package(plane, kind, guarantee, at):
    mode, unit = plane["modes"][kind], guarantee.signed_error
    assert mode["signed"][at["level"]] == pytest.approx(unit)
    assert tuple(b["key"] for b in mode["bounds"]) == DRAWN[kind == "approximate" :]
    said = 0
    sides = [("C", "sum", "sums", SUMS[::9]), ("D", "point", "counts", COUNTS[::5])]
    for i, (what, error, side, nodes) in itertools.product((0, 7, len(POINTS) - 1), sides):
        for node in nodes:
            now = package_bounds(guarantee, POINTS[i], **{f"{error}_error": node * unit})
            for b in mode["bounds"]:
                found, proved = picked(b[what], at)[i, b[side].index(node)] * unit, now[b["key"]]
                assert (1 - 2 * ROUNDING) * proved <= found <= (1 + 1e-9) * proved, (b, i)
                said += found > 0
    assert said > 12


@pytest.mark.parametrize("name", DRAWN[1:])
@pytest.mark.parametrize("guarantee", [PureDP(0.01), ApproximateDP(2, 1e-4), ConcentratedDP(1.0)])
def test_no_bound_is_spared_that_says_something(name, guarantee):
    d = np.array(POINTS[::4], dtype=float)[:, None]
    D = guarantee.signed_error * np.array(SUMS)[::3]
    all_of_them = point_error_bound(name, guarantee, d, D)
    # To the last digits; a zero stays a zero. Loops over fewer numbers may round otherwise.
    np.testing.assert_allclose(bounds.point_errors(name, guarantee, d, D), all_of_them, rtol=1e-12)
    assert 0 < np.count_nonzero(all_of_them) < all_of_them.size


def drawn_curve(name, C, D):
    """Join the nodes of one bound at one d as the page does: ln D, and C straight against it."""
    sums, counts = (np.array(v) for v in bounds.nodes_of(name))
    x = np.log(np.concatenate([sums[C > 0], D[D > 0]]))
    y = np.concatenate([C[C > 0], counts[D > 0]])
    order = np.lexsort((-y, x))
    return x[order], y[order]


@pytest.mark.parametrize("guarantee", [PureDP(3.0), ApproximateDP(0.1, 1e-4), ConcentratedDP(0.5)])
def test_drawn_curves_are_near_the_true_ones(guarantee):
    rng, unit = np.random.default_rng(5), guarantee.signed_error
    for name in ("first_moment", "printed", "packing_empty"):
        nodes = bounds.bound_nodes(name, guarantee)
        for i in rng.choice(len(POINTS), 6, replace=False):
            x, y = drawn_curve(name, nodes[0][i], nodes[1][i])
            seen = (y[1:] >= min(COUNTS)) & (x[:-1] >= math.log(min(SUMS)))
            for k in np.flatnonzero(seen):
                t = rng.random()
                D, C = math.exp(x[k] + t * (x[k + 1] - x[k])), y[k] + t * (y[k + 1] - y[k])
                up = point_error_bound(name, guarantee, POINTS[i], D * unit) / unit
                across = sum_error_bound(name, guarantee, POINTS[i], C * unit) / unit
                off = [abs(z / w - 1) for z, w in ((C, up), (D, across)) if w > 0]
                assert C / up < 1.1, (name, POINTS[i], C, D)
                assert min(off) < 0.03 or name == "packing_empty", (name, POINTS[i], C, D)


def test_curves_fall_and_no_mechanism_lies_where_the_page_says_that_none_can(plane):
    count = 0
    for mode in plane["modes"].values():
        sizes = (len(mode["levels"]), len(mode["deltas"] or [0]), len(POINTS))
        for level, delta, d in np.ndindex(*sizes):
            at = {"level": level, "delta": delta, "d": d}
            known = []
            for b in mode["bounds"]:
                x, C = drawn_curve(b["key"], picked(b["C"], at), picked(b["D"], at))
                known.append((D := np.exp(x), C))
                assert (np.diff(D) >= -ROUNDING * D[1:]).all()
                assert (np.diff(C) <= ROUNDING * C[1:]).all()
            for m in mode["mechanisms"]:
                if m["key"] == "signed" or (m["key"] == "mapped" and not picked(m["C"], at)):
                    continue
                errors = np.broadcast_arrays(*(np.atleast_1d(picked(m[w], at)) for w in "DC"))
                for (mD, mC), (D, C) in itertools.product(zip(*errors, strict=True), known):
                    assert not (C[mD * (1 + ROUNDING) <= D] > mC * (1 + ROUNDING)).any()
                    count += 1
    assert count > 5_000


@pytest.mark.parametrize(("kind", "guarantee", "at"), SETTINGS)
def test_mechanisms_on_the_page_are_those_of_the_package(plane, kind, guarantee, at):
    basis, unit = guarantee.basis, guarantee.signed_error
    about = {m["key"]: m for m in plane["modes"][kind]["mechanisms"]}
    for i in (0, 5, len(POINTS) - 1):
        d, here = POINTS[i], at | {"d": i}
        known, certain = places.fitted(basis, d)
        wanted = {
            "counts_first": exact_clipping(basis, d),
            "sum_first": known,
            "split": places.split(basis, d, SPLITS),
            "mapped": places.mapped(basis, d),
        }
        if isinstance(basis, PureDP):
            wanted["asymmetric"] = places.asymmetric(basis, d, SPLITS)
        if isinstance(guarantee, ApproximateDP):
            wanted["truncated"] = certified_truncated(guarantee.epsilon, guarantee.delta, d)
        for key, place in wanted.items():
            down = 1e-9 if about[key]["sure"] == "certified" else ROUNDING  # or it is no bound
            for what in "CD":  # zero stands for no such mechanism
                found = picked(about[key][what], here)
                want = np.squeeze(getattr(place, what, 0)) / unit
                assert (want * (1 - down) <= found).all(), key
                assert (found <= want * (1 + 2 * ROUNDING - down)).all(), key
        upper = picked(about["sum_first"]["upper"], here) * unit
        assert 1 - 1e-9 <= upper / certain.C[0] <= 1 + 2 * ROUNDING
        half = float(certified_split(basis, d).D) / unit
        assert picked(about["sum_first"]["D"], at) == pytest.approx(half, rel=ROUNDING)


@pytest.mark.parametrize(("kind", "basis"), [("pure", PureDP(0.7)), ("zcdp", ConcentratedDP(2.0))])
def test_the_weighted_family_is_exact_at_its_knots_and_ends_in_the_projection(plane, kind, basis):
    nodes = [0, 2, 5]
    about = {m["key"]: m for m in plane["modes"][kind]["mechanisms"]}
    C, D = (unpacked(about["weighted"][what]) for what in ("C", "D"))
    for d in ENDS:
        path = places.weighted(basis, d, [0.0, *(d ** -family.EXPONENTS[k - 1] for k in nodes[1:])])
        for found, want in ((C, path.C), (D, path.D)):
            at = found[POINTS.index(d), nodes] * basis.signed_error
            # Half of the digits are quadrature's, of fewer nodes.
            assert at == pytest.approx(want, rel=2 * ROUNDING)
    assert C[:, -1] == pytest.approx(unpacked(about["sum_first"]["C"]), rel=ROUNDING)
    assert D[:, -1] == pytest.approx(1.0, rel=ROUNDING)


def test_the_knots_of_the_weighted_family_are_close_enough():
    # One weight in the middle of the family.
    basis, e, others = ConcentratedDP(0.5), family.EXPONENTS[2], (20, 200, 10**8)
    known = {d: places.weighted(basis, d, [d**-e], order=4) for d in (*family.KNOTS, *others)}
    found = family.between_knots({d: (known[d].C, known[d].D) for d in family.KNOTS}, others)
    want = [[known[d].C for d in others], [known[d].D for d in others]]
    np.testing.assert_allclose(found, want, rtol=0.01)


def test_the_result_depends_neither_on_the_workers_nor_on_what_was_kept(tmp_path):
    tasks = [(family.sum_first, g, 2) for g in (PureDP(1.0), ConcentratedDP(0.5))]
    tasks += [(bounds.bound_nodes, "printed", PureDP(1.0))]
    kept = tmp_path / "kept"
    one, two, part = compute(tasks, 1), compute(tasks, 2), compute(tasks[:2], 1, kept)
    rest = compute([*tasks[1:], tasks[0]], 1, kept)  # reads the first two
    assert list(one) == list(two) == tasks
    for task, other in itertools.product(tasks, (two, rest | part, part | rest)):
        assert all(np.array_equal(a, b) for a, b in zip(one[task], other[task], strict=True))
