"""Exact intervals: they cover on every table, by enumeration, and their sums of noise are exact."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize

from microdata_price.fitting import fit
from microdata_price.model.noise_discrete import DiscreteGaussian, DoubleGeometric
from microdata_price.model.privacy import ConcentratedDP, PureDP
from microdata_price.model.queryset import QuerySet
from microdata_price.release import intervals as room
from microdata_price.release.files import intervals_csv
from microdata_price.release.intervals import half_width
from microdata_price.release.run import finish
from microdata_price.tables.schemas import Group, Schema
from microdata_price.tables.workloads import parse_workload
from release_samples import SCHEMA, TABLE, measured, rows

LAWS = st.one_of(st.floats(0.05, 4).map(DoubleGeometric), st.floats(0.05, 60).map(DiscreteGaussian))


def law_of_sum(law, terms):
    """The law of a sum by plain convolution, and where its middle is."""
    reach = int(60 * law.std + 20)
    one = law.pmf(np.arange(-reach, reach + 1.0))
    found = np.ones(1)
    for _ in range(terms):
        found = np.convolve(found, one)
    return found, terms * reach


@settings(max_examples=40)
@given(LAWS, st.integers(1, 7), st.floats(1e-7, 0.5))
def test_a_half_width_is_the_smallest_that_covers(law, terms, chance):
    t = half_width(law, terms, chance)
    chances, middle = law_of_sum(law, terms)
    outside = [2 * float(chances[middle + 1 + w :].sum()) for w in (t, t - 1)]
    assert outside[0] <= chance * (1 + 1e-6) + 1e-14
    assert t == 0 or outside[1] > chance * (1 - 1e-6) - 1e-14
    for rare in (1e-12, 1e-20):  # below what a transform rounds by
        assert 2 * chances[middle + 1 + half_width(law, terms, rare) :].sum() <= rare


@pytest.mark.parametrize("law", [DoubleGeometric(0.1), DiscreteGaussian(900.0)])
@pytest.mark.parametrize("terms", [4, 100, 2500])
@pytest.mark.parametrize("chance", [0.1, 1e-3, 1e-7])
def test_where_sums_are_too_wide_chernoffs_bound_covers_as_well(law, terms, chance, monkeypatch):
    """The best that the law's own moments give, of the Gaussian those of the continuous one."""
    exact = half_width(law, terms, chance)
    monkeypatch.setattr(room, "_WIDEST", 1.5 * law.std)
    bound = half_width(law, terms, chance)
    reach = np.arange(-6000, 6001)

    def at(s):
        return (np.log(2 / chance) + terms * np.log(law.pmf(reach) @ np.exp(s * reach))) / s

    best = optimize.minimize_scalar(at, bounds=(1e-4, 0.0998), method="bounded").fun
    assert exact < best <= bound <= 1.0003 * best + 1


@pytest.mark.parametrize("guarantee", [PureDP(0.9), ConcentratedDP(0.3)])
def test_the_stated_chances_hold_by_enumeration(guarantee):
    """All noises of a table of two cells, each with its probability: alone, and all at once."""
    schema = Schema(("sex",), (("f", "m"),))
    workload = parse_workload("identity", schema)  # the total is not asked
    m = measured(guarantee, table=np.zeros(2), schema=schema, workload=workload)
    cells, total = room.intervals(m, np.zeros(2), (QuerySet.sum_query((2,)),))
    law = m.mechanism.noise[0]
    reach = np.arange(-80, 81)
    first, second = np.meshgrid(reach, reach)
    weight = law.pmf(first) * law.pmf(second)
    for noise, half in ((first, cells.half), (first + second, total.half)):
        assert weight[np.abs(noise) <= half].sum() >= 0.9 - 1e-12
        assert weight[np.abs(noise) <= half - 1].sum() < 0.9
    together = (np.abs(first) <= cells.wide) & (np.abs(second) <= cells.wide)
    together &= np.abs(first + second) <= total.wide
    assert weight[together].sum() >= 0.9 - 1e-12
    # As it is proved: independent noises of what was asked, and a union bound for the rest.
    missed = weight[np.abs(first + second) > total.wide].sum()
    assert (1 - 2 * float(law.sf(cells.wide))) ** 2 - missed >= 0.9 - 1e-12


def test_all_at_once_is_the_power_of_one_where_all_is_asked():
    m = measured(PureDP(1.0))
    told = room.intervals(m, np.zeros(6), ())
    queries = sum(q.size for q in m.workload.query_sets)
    law = m.mechanism.noise[0]
    for t, answers in zip(told, m.answers, strict=True):
        np.testing.assert_array_equal(t.noisy, answers.ravel())
        inside, less = ((1 - 2 * float(law.sf(w))) ** queries for w in (t.wide, t.wide - 1))
        assert less < 0.9 <= inside + 1e-12
        assert (t.half, t.wide) == (told[0].half, told[0].wide)


@pytest.mark.parametrize("impossible", [(), ((("a", ("0",)), ("b", ("1",))),)])
def test_variances_of_counts_not_asked_are_exact_beside_groups(impossible):
    sides = (tuple("0123456"),) * 2
    group = Group("g", "b", ("one", "two"), (sides[1][:2], sides[1][2:]))
    schema = Schema(("a", "b"), sides, groups=(group,), impossible=impossible)
    workload = parse_workload("g, a*g, identity", schema)
    m = measured(table=np.full(schema.shape, 7.0), schema=schema, workload=workload)
    pairs = zip(workload.query_sets, m.mechanism.variances, strict=True)
    normal = np.linalg.inv(sum((q.matrix.T @ q.matrix).toarray() / v for q, v in pairs))
    told = finish(m, "ols").told
    assert len(told) == 6
    for one in told:
        query = one.queries.matrix.toarray()
        exact = np.einsum("qc,cd,qd->q", query, normal, query)
        np.testing.assert_allclose(one.variance, exact, rtol=1e-7)


@pytest.mark.parametrize(
    ("text", "more"),
    [
        *(("sum, marginals, identity", []), ("identity", ["sum", "region", "sex"])),
        ("sum, region", []),  # nothing asked tells sexes apart
        *(("region", ["sum"]), ("sex, identity", ["sum", "region"])),
    ],
)
@pytest.mark.parametrize("method", ["nnls", "ols"])
def test_the_file_has_what_was_asked_the_total_and_each_column(text, more, method):
    workload = parse_workload(text, SCHEMA)
    m = measured(PureDP(1.0), workload=workload)
    made = finish(m, method)
    lines = rows(intervals_csv(made))
    assert list(dict.fromkeys(r["query_set"] for r in lines)) == [*workload.names, *more]
    columns = ["query_set", *SCHEMA.columns, "signed", "signed_variance", "low", "high"]
    columns += ["low_all", "high_all"] + (["published"] if made.whole is not None else [])
    assert list(lines[0]) == columns
    cells = fit(m.measurements(), "ols").cells[0]
    matrix = np.vstack([q.matrix.toarray() for q in workload.query_sets])
    noise = np.repeat(m.mechanism.variances, [q.size for q in workload.query_sets])
    normal = np.linalg.pinv(matrix.T @ (matrix / noise[:, None]))
    for told in made.told:
        mine = [r for r in lines if r["query_set"] == told.queries.name]
        query = told.queries.matrix.toarray()
        assert [float(r["signed"]) for r in mine] == pytest.approx(query @ cells, abs=1e-8)
        exact = np.einsum("qc,cd,qd->q", query, normal, query)
        assert [float(r["signed_variance"]) for r in mine] == pytest.approx(exact, rel=1e-8)
        ends = [[int(r[k]) for k in ("low_all", "low", "high", "high_all")] for r in mine]
        by = np.array([-told.wide, -told.half, told.half, told.wide])
        np.testing.assert_array_equal(ends, np.maximum(told.noisy[:, None] + by, 0))
        assert told.half <= told.wide
        if made.whole is not None:
            published = query @ made.whole.ravel()
            assert [int(r["published"]) for r in mine] == published.tolist()


def test_a_margin_comes_from_the_answers_that_add_up_to_it_with_least_noise():
    schema = Schema(("a", "b", "c"), (tuple("12"), tuple("123"), tuple("1234")))
    workload = parse_workload("identity, a*b", schema)
    m = measured(PureDP(1.0), table=np.ones((2, 3, 4)), schema=schema, workload=workload)
    by_name = {t.queries.name: t for t in finish(m, "nnls").told}
    law = m.mechanism.noise[0]
    assert by_name["a"].half == half_width(law, 3, 1 - room.LEVEL)  # three of a*b, not 12 cells
    six = half_width(law, 6, 1 - room.LEVEL)  # cells, or counts of a*b
    assert (by_name["sum"].half, by_name["c"].half) == (six, six)
    assert by_name["a"].noisy.tolist() == m.answers[1].reshape(2, 3).sum(axis=1).tolist()
    assert by_name["c"].noisy.tolist() == m.answers[0].reshape(6, 4).sum(axis=0).tolist()
    # Twelve cells of little noise are better than three answers of much.
    shares = {"shares": {"identity": 0.9}}
    m = measured(PureDP(1.0), table=np.ones((2, 3, 4)), schema=schema, workload=workload, **shares)
    half = {t.queries.name: t.half for t in finish(m, "nnls").told}
    assert half["a"] == half_width(m.mechanism.noise[0], 12, 1 - room.LEVEL)
    # Of as many cells as the largest sum has, where some have fewer.
    schema = Schema(("a", "b"), (tuple("12"),) * 2, impossible=((("a", ("1",)), ("b", ("2",))),))
    workload = parse_workload("identity", schema)
    m = measured(PureDP(1.0), table=np.ones(3), schema=schema, workload=workload)
    half = {t.queries.name: t.half for t in finish(m, "nnls").told}
    assert half["a"] == half["b"] == half_width(m.mechanism.noise[0], 2, 1 - room.LEVEL)


@pytest.mark.parametrize("table", [TABLE, TABLE // 12, 0 * TABLE])
def test_a_public_total_is_exact_and_the_most_that_a_count_can_be(table):
    made = finish(measured(PureDP(0.1), table=table, known_total=True), "nnls")
    line, total = rows(intervals_csv(made))[0], int(table.sum())
    assert (line["query_set"], made.whole.sum()) == ("sum", total)
    assert {line[k] for k in ("low", "high", "low_all", "high_all", "published")} == {str(total)}
    assert (float(line["signed"]), float(line["signed_variance"])) == (total, 0.0)
    for told in made.told:
        for name, by in (("low", -told.half), ("high_all", told.wide)):
            assert told.ends[name].tolist() == np.clip(told.noisy + by, 0, total).tolist()
