"""The page of complete results: every value has its place, every link its label."""

from __future__ import annotations

import io
import re

import numpy as np
import pandas as pd
import pytest

from microdata_price.figures.experiments_tables import at_a_glance
from microdata_price.fitting import paper_methods
from microdata_price.grid import evaluate
from microdata_price.model.benchmark import data_set
from microdata_price.model.privacy import ConcentratedDP, PureDP
from microdata_price.studies import experiments_text as text
from microdata_price.studies.experiments import QUERY_NAMES, experiments, priced


@pytest.fixture(scope="module")
def found() -> pd.DataFrame:
    rng = np.random.default_rng(2)
    pairs = [
        ("Level00-1d", PureDP(0.5)),
        ("Level00-2d", PureDP(0.5)),
        ("Stair-2d", PureDP(0.5)),
        ("PUMA0101301", ConcentratedDP(0.005)),
    ]
    frames = [evaluate(data_set(d), g, runs=10, rng=rng).errors for d, g in pairs]
    return priced(pd.concat(frames, ignore_index=True))


def test_every_link_of_the_index_leads_somewhere(found: pd.DataFrame) -> None:
    linked = set(re.findall(r"<(results-[^>]+)>", text.index(found)))
    labels: set[str] = set()
    for number, e in enumerate(experiments(found), 1):
        written = text.heading(e, number) + text.tables(e, e.rows(found))
        labels |= set(re.findall(r"^\((results-\S+)\)=", written, re.MULTILINE))
        labels |= set(re.findall(r"^:name: (results-\S+)", written, re.MULTILINE))
    assert linked <= labels
    assert len(linked) == sum(1 + len(text.query_sets(e.rows(found))) for e in experiments(found))


def test_every_value_stands_in_one_table(found: pd.DataFrame) -> None:
    count = 0
    for e in experiments(found):
        written = text.tables(e, e.rows(found))
        names = re.findall(r"^:name: (\S+)", written, re.MULTILINE)
        assert len(names) == len(set(names))
        count += sum(line.count("±") for line in written.splitlines() if line.startswith("| "))
    assert count == len(found)


def test_the_file_holds_every_row_to_six_digits(found: pd.DataFrame) -> None:
    read = pd.read_csv(io.StringIO(text.tidy_csv(found)))
    assert list(read.columns) == list(text.COLUMNS)
    assert len(read) == len(found)
    assert read["value"].to_numpy() == pytest.approx(found["value"].to_numpy(), rel=1e-5)


def test_standing_counts_every_pair_once(found: pd.DataFrame) -> None:
    standing = text.standing(found)
    pairs = found[["dataset", "privacy", "level"]].drop_duplicates()
    on_sum = standing[standing["query_set"] == "sum"]
    assert (on_sum["pairs"] == len(pairs)).all()
    assert len(on_sum) == len(paper_methods()) - 1
    # Ties are counted for each, so there are at least as many winners as pairs.
    assert on_sum["best"].sum() >= len(pairs)


def test_the_readers_table_has_every_count(found: pd.DataFrame) -> None:
    counts = text.standing(found)
    table = text.standing_table(counts)
    written = " ".join(table.drop(columns=["value", "pairs"]).to_numpy().ravel())
    assert len(table) == len(counts) // (len(paper_methods()) - 1)
    told = [tuple(map(int, p)) for p in re.findall(r"\((\d+), (?:▲ )?(\d+)\)", written)]
    assert sorted(told) == sorted(zip(counts["best"], counts["beyond"], strict=True))


def test_each_table_of_maxima_leads_to_the_chapter_on_them(found: pd.DataFrame) -> None:
    for e in experiments(found):
        captions = re.findall(
            r"^::::\{table\} (.*)\n:name: (\S+)", text.tables(e, e.rows(found)), re.M
        )
        for caption, name in captions:
            assert ("(max_bias.ipynb)" in caption) == name.endswith("-max")


def test_the_sentence_names_whom_the_marks_name(found: pd.DataFrame) -> None:
    for e in experiments(found):
        rows = e.rows(found)
        sentence = text.glance(rows)
        on_sum = sentence.split(";")[0]
        marked = rows[rows["query_set"].eq("sum") & rows["beyond"]]
        assert ("no method" in on_sum) == marked.empty


def test_a_panel_a_kind_of_value_and_one_for_the_key(found: pd.DataFrame) -> None:
    for e in experiments(found):
        axes = at_a_glance(e.rows(found)).axes
        titles = [ax.get_title(loc="left") for ax in axes if ax.get_title(loc="left")]
        assert titles[0] == QUERY_NAMES["sum"]
        assert len(titles) == (3 if e.family == "1d" else 5)
        assert len(axes) > len(titles)
