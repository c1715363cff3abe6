"""Exact intervals: they cover on every table, by enumeration, and their sums of noise are exact."""

import numpy as np
import pytest
from benchmarks.seeded import seeded
from hypothesis import given, settings
from hypothesis import strategies as st

from microdata_price.fitting import fit
from microdata_price.model.benchmark import data_set
from microdata_price.model.noise_discrete import DiscreteGaussian, DoubleGeometric
from microdata_price.model.privacy import ConcentratedDP, PureDP
from microdata_price.model.queryset import QuerySet
from microdata_price.release import intervals as room
from microdata_price.release.files import intervals_csv
from microdata_price.release.intervals import half_width
from microdata_price.release.run import finish
from microdata_price.tables.schemas import Schema
from microdata_price.tables.workloads import DEFAULT, parse_workload
from release_samples import SCHEMA, TABLE, measured, rows

LAWS = st.one_of(
    st.floats(0.05, 4.0).map(DoubleGeometric), st.floats(0.05, 60.0).map(DiscreteGaussian)
)


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


@pytest.mark.parametrize("law", [DoubleGeometric(0.1), DiscreteGaussian(90.0)])
@pytest.mark.parametrize("terms", [4, 100, 2500])
def test_where_sums_are_too_wide_the_bound_covers_as_well(law, terms, monkeypatch):
    exact = [half_width(law, terms, c) for c in (0.1, 1e-3, 1e-7)]
    monkeypatch.setattr(room, "_WIDEST", 0.0)
    bound = [half_width(law, terms, c) for c in (0.1, 1e-3, 1e-7)]
    assert all(e <= b <= 2 * e for e, b in zip(exact, bound, strict=True))


@pytest.mark.parametrize("guarantee", [PureDP(0.9), ConcentratedDP(0.3)])
def test_the_stated_chances_hold_by_enumeration(guarantee):
    """All noises of a table of two cells, each with its probability: alone, and all at once."""
    schema = Schema(("sex",), (("f", "m"),))
    workload = parse_workload("identity", schema)  # the total is not asked
    m = measured(guarantee, table=np.zeros(2), schema=schema, workload=workload)
    told = room.intervals(m, np.zeros(2), (QuerySet.sum_query((2,)),))
    law = m.mechanism.noise[0]
    reach = np.arange(-80, 81)
    first, second = np.meshgrid(reach, reach)
    weight = law.pmf(first) * law.pmf(second)
    cells, total = told
    alone = [np.abs(first) <= cells.half, np.abs(first + second) <= total.half]
    for inside, half, size in zip(alone, (cells.half, total.half), (1, 2), strict=True):
        assert weight[inside].sum() >= 0.9 - 1e-12
        narrower = np.abs(first if size == 1 else first + second) <= half - 1
        assert weight[narrower].sum() < 0.9
    together = (np.abs(first) <= cells.wide) & (np.abs(second) <= cells.wide)
    together &= np.abs(first + second) <= total.wide
    assert weight[together].sum() >= 0.9 - 1e-12


def test_all_at_once_is_the_power_of_one_where_all_is_asked():
    m = measured(PureDP(1.0))
    told = room.intervals(m, np.zeros(6), ())
    queries = sum(q.size for q in m.workload.query_sets)
    law = m.mechanism.noise[0]
    for t in told:
        inside = 1 - 2 * float(law.sf(t.wide))
        assert inside**queries >= 0.9 - 1e-12
        assert (1 - 2 * float(law.sf(t.wide - 1))) ** queries < 0.9
        assert (t.half, t.wide) == (told[0].half, told[0].wide)


@pytest.mark.parametrize(
    ("text", "more"),
    [
        ("sum, marginals, identity", []),
        ("identity", ["sum", "region", "sex"]),
        ("sum, region", []),  # nothing asked tells sexes apart
        ("region", ["sum"]),
        ("sex, identity", ["sum", "region"]),
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
        assert [float(r["signed_variance"]) for r in mine] == pytest.approx(exact, rel=1e-5)
        for r in mine:
            ends = [int(r[k]) for k in ("low_all", "low", "high", "high_all")]
            assert 0 <= ends[0] <= ends[1] <= ends[2] <= ends[3]
        if made.whole is not None:
            published = query @ made.whole.ravel()
            assert [int(r["published"]) for r in mine] == published.tolist()


def test_a_margin_comes_from_the_answers_that_add_up_to_it_with_least_noise():
    schema = Schema(("a", "b", "c"), (tuple("12"), tuple("123"), tuple("1234")))
    workload = parse_workload("a*b, identity", schema)
    m = measured(PureDP(1.0), table=np.ones((2, 3, 4)), schema=schema, workload=workload)
    made = finish(m, "nnls")
    by_name = {t.queries.name: t for t in made.told}
    law = m.mechanism.noise[0]
    assert by_name["a"].half == half_width(law, 3, 1 - room.LEVEL)  # three of a*b, not 12 cells
    assert by_name["sum"].half == half_width(law, 6, 1 - room.LEVEL)
    assert by_name["c"].half == half_width(law, 6, 1 - room.LEVEL)  # six cells
    assert by_name["a"].noisy.tolist() == m.answers[0].reshape(2, 3).sum(axis=1).tolist()
    assert by_name["c"].noisy.tolist() == m.answers[1].reshape(6, 4).sum(axis=0).tolist()


def test_a_public_total_is_exact():
    made = finish(measured(PureDP(1.0), known_total=True), "nnls")
    line = rows(intervals_csv(made))[0]
    assert line["query_set"] == "sum"
    assert {line[k] for k in ("low", "high", "low_all", "high_all", "published")} == {"63"}
    assert (float(line["signed"]), float(line["signed_variance"])) == (63.0, 0.0)
    assert made.whole.sum() == TABLE.sum()


@pytest.mark.parametrize("guarantee", [PureDP(0.1), PureDP(0.5), ConcentratedDP(0.5)])
def test_they_cover_on_the_benchmarks_tables(guarantee):
    """Over 40 measurements of a true table; the chance of a false alarm is below 1e-6 each."""
    schema = Schema(("r", "h"), (tuple(map(str, range(9))), tuple(map(str, range(24)))))
    workload = parse_workload(DEFAULT, schema)
    rng, runs = np.random.default_rng(5), 40
    alone, at_once = [], 0
    for name in ("PUMA0101301", "PUMA3603710"):
        truth = data_set(name).table
        for _ in range(runs // 2):
            m = seeded(truth, schema, workload, guarantee, rng)
            told = room.intervals(m, np.zeros(truth.size), ())
            inside = []
            for t in told:
                true, ends = t.queries.answers(truth), t.ends
                alone += ((ends["low"] <= true) & (true <= ends["high"])).tolist()
                inside += ((ends["low_all"] <= true) & (true <= ends["high_all"])).tolist()
            at_once += all(inside)
    assert np.mean(alone) >= 0.9 - 5 * np.sqrt(0.09 / len(alone))
    assert at_once >= runs * 0.9 - 5 * np.sqrt(runs * 0.09)
