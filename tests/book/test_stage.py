from __future__ import annotations

import json
import re
from pathlib import Path

import nbformat
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from microdata_price.base.numbers import format_number
from microdata_price.book import build as book
from microdata_price.book import notebook
from microdata_price.book.plan import Edition
from microdata_price.book.quote import Found, collect, quote
from microdata_price.book.run import Run
from microdata_price.book.stage import (
    download,
    files,
    images,
    page,
    shown_parameters,
    without_solutions,
)
from microdata_price.exceptions import BuildError, InputError
from microdata_price.page.output import offer, show, table_markdown
from microdata_price.page.style import METADATA_KEY
from tiny_book import ROOT, make_notebook

SVG = '<svg viewBox="0 0 10 10" xmlns="http://www.w3.org/2000/svg"/>'
CSV = {"file": {"name": "errors.csv", "content": "a,b\n1,2\n", "label": "All errors"}}


def display(data: dict[str, str], metadata: dict[str, object]) -> nbformat.NotebookNode:
    return nbformat.v4.new_output("display_data", data=data, metadata=metadata)


def ours(**about: object) -> nbformat.NotebookNode:
    return display({"text/plain": "shown"}, {METADATA_KEY: about})


def figure(name: str = "a-figure") -> list[nbformat.NotebookNode]:
    about = {
        "name": name,
        "alt": 'Says "what": it shows.',
        "caption": "The finding $x$.",
        "drawn_by": "microdata_price.figures.difficult.histograms",
    }
    return [
        display({"image/svg+xml": SVG}, {METADATA_KEY: {"figure": about}}),
        display({"text/markdown": "**Figure.**"}, {METADATA_KEY: {"caption_of": name}}),
    ]


def executed() -> nbformat.NotebookNode:
    nb = make_notebook(
        ("text", "# Title\n\nWhat it is about."),
        ("code", "epsilon = 0.5  # level", "parameters"),
        ("code", 'epsilon = 0.25\ngrid_dir = "/somewhere"', "injected-parameters"),
        ("code", "import math", "setup"),
        ("code", "show()"),
        ("text", "**Exercise 1 (Try).** Why?", "exercise"),
        ("text", "**Solution.** secret", "solution"),
        ("code", "secret = 1", "solution"),
    )
    said = ours(say="The error is 1.5 ± 0.1.")
    nb.cells[4].outputs = [*figure(), said, ours(**CSV), *figure("second-figure")]
    return nb


def staged(solutions: bool = True) -> tuple[nbformat.NotebookNode, nbformat.NotebookNode]:
    nb, found = executed(), Found()
    collect("chapter", nb, found)
    values = {"epsilon": 0.25}
    made = page("chapter", nb, values, found, solutions=solutions)
    return made, download(nb, values, found, solutions=solutions)


def test_a_page_shows_numbers_figures_and_the_values_that_were_used() -> None:
    made, copy = staged()
    sources = [c.source for c in made.cells]
    assert sources[-2].startswith("epsilon = 0.25  # level")
    assert "download chapter.ipynb" in sources[-1]
    assert "The error is 1.5 ± 0.1." in sources
    assert any("{download}`All errors <../downloads/errors.csv>`" in s for s in sources)
    both = "\n".join(sources)
    assert "/somewhere" not in both + json.dumps(copy)
    assert both.count("{figure}") == 2
    assert ':alt: "Says \\"what\\": it shows."' in both
    assert all(not c.outputs for c in made.cells if c.cell_type == "code")
    assert images(executed()) == {"a-figure": SVG, "second-figure": SVG}


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("", "`pip install .` in the folder"),
        ("https://x.org/y", "`pip install git+https://x.org/y`"),
    ],
)
def test_a_download_says_in_one_line_how_it_is_run(address: str, said: str) -> None:
    found = Found(address=address)
    collect("chapter", executed(), found)
    copy = download(executed(), {}, found, solutions=True)
    title, _, line, *_ = copy.cells[0].source.split("\n")
    assert title == "# Title"
    assert said in line


def test_a_download_has_its_results_and_reads_whole_alone() -> None:
    nb, found = executed(), Found()
    nb.cells[0].source += " See [the plane](plane.ipynb#x), [here](#y), [home](https://x.org)."
    nb.cells[0].source += ' Roll <a href="../dice/index.html">dice</a>.'
    collect("chapter", nb, found)
    copy = download(nb, {"epsilon": 0.25}, found, solutions=True)
    nbformat.validate(copy)
    assert copy.cells[0].source.endswith(
        "See the plane, [here](#y), [home](https://x.org). Roll dice."
    )
    assert copy.cells[1].source == "epsilon = 0.25  # level"
    shown = [o for c in copy.cells if c.cell_type == "code" for o in c.outputs]
    assert len(shown) == len([o for c in nb.cells if c.cell_type == "code" for o in c.outputs])
    assert all(o.metadata == {} for o in shown)


@pytest.mark.parametrize("which", [0, 1])
def test_without_solutions_neither_page_nor_download_has_any(which: int) -> None:
    assert "secret" in json.dumps(staged(solutions=True)[which])
    assert "secret" not in json.dumps(staged(solutions=False)[which])
    assert "solution" not in json.dumps(staged(solutions=False)[which])


@pytest.mark.parametrize("text", ["x" * 3_000_000, "y\n" * 1_000_000, "short\n"])
@pytest.mark.parametrize("kind", ["printed", "value"])
def test_a_page_holds_the_beginning_of_what_is_printed_and_says_how_much_is_left_out(
    text: str, kind: str
) -> None:
    nb = make_notebook(("text", "# Title\n\nText."), ("code", "f()"))
    output = (
        nbformat.v4.new_output("stream", name="stdout", text=text)
        if kind == "printed"
        else nbformat.v4.new_output("execute_result", {"text/plain": text}, execution_count=1)
    )
    nb.cells[1].outputs = [output]
    (shown,) = page("chapter", nb, {}, Found(), solutions=True).cells[1].outputs
    said = shown["text"] if kind == "printed" else shown["data"]["text/plain"]
    if len(text) < 100:
        assert said == text
    else:
        begin, _, left = said.rpartition("... (")
        assert text.startswith(begin.strip())
        assert int(left.split()[0].replace(",", "")) + len(begin.strip()) == len(text.strip())
        assert len(said) < 600_000
    # The executed notebook keeps all of it.
    assert nb.cells[1].outputs == [output]


def test_an_undefined_quote_names_page_and_name() -> None:
    with pytest.raises(BuildError, match=r"'notes' quotes '{{ a.x }}'.*'a' does not"):
        quote("{{ a.x }}", "notes", Found({"a": {"y": "1"}}))


def test_unused_names_are_found_and_one_use_on_any_page_is_enough() -> None:
    found = Found({"a": {"x": "1", "y": "2"}, "b": {"x": "3"}})
    assert quote("{{ a.x }} {{b.x}}", "a", found) == "1 3"
    assert found.unused() == ["a/y"]


def test_a_name_defined_twice_is_an_error() -> None:
    nb = make_notebook(("code", "1"))
    nb.cells[0].outputs = [ours(record={"x": "1"}), ours(record={"x": "2"})]
    with pytest.raises(BuildError, match="'x' twice"):
        collect("a", nb, Found())


def test_files_are_written_where_the_page_links(tmp_path: Path) -> None:
    assert files(executed()) == {"errors.csv": "a,b\n1,2\n"}
    notebook.write(executed(), tmp_path / "executed.ipynb")
    run = Run("chapter", tmp_path / "executed.ipynb", 1.0, "2026-01-01", {}, {})
    book.stage_notebooks(ROOT, Edition(), [run], Found(), tmp_path / "staged")
    assert (tmp_path / "staged" / "downloads" / "errors.csv").read_text() == "a,b\n1,2\n"


@pytest.mark.parametrize("name", ["", "errors", "Errors.csv", "../errors.csv", "a b.csv"])
def test_bad_file_names_are_refused(name: str) -> None:
    with pytest.raises(InputError, match="file's name"):
        offer(name, "a", "the errors")


def test_nothing_is_no_file() -> None:
    with pytest.raises(InputError, match="empty"):
        offer("a.csv", "", "the errors")


@pytest.mark.parametrize("fence", ["```", "````", ":::", "::::"])
def test_solutions_leave_prose_pages_whatever_their_fences(fence: str) -> None:
    asked = "before\n:::{dropdown} A question\nQ\n:::\nafter\n"
    inner = f"{fence[0] * 3}{{note}}\nsecret\n{fence[0] * 3}\n" if len(fence) == 4 else ""
    answer = f"{fence}{{dropdown}} A\n:class-container: solution\n{inner}secret\n{fence}\n"
    assert without_solutions(asked) == asked
    assert without_solutions(f"{asked}{answer}end\n") == f"{asked}end\n"


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["a", "b", "c"]),
            st.one_of(
                st.integers(), st.floats(allow_nan=False, allow_infinity=False), st.text(max_size=5)
            ),
        ),
        unique_by=lambda pair: pair[0],
    ),
    st.sampled_from([0.25, 7, "x # y", "é'\"", [1, 2.5], None, True]),
)
def test_the_shown_cell_has_exactly_the_values_that_were_used(
    defaults: list[tuple[str, object]], value: object
) -> None:
    lines = [f"{name} = {default!r}  # about «{name}»" for name, default in defaults]
    used = {name: value for name, _ in defaults[::2]}
    namespace: dict[str, object] = {}
    shown = shown_parameters("\n".join(lines), used)
    exec(shown, namespace)
    for name, default in defaults:
        assert namespace[name] == used.get(name, default)
    assert shown.count("# about") >= len(defaults)


def test_parameters_over_several_lines_are_replaced_whole() -> None:
    source = "a = [\n    1,\n    2,\n]  # list\nb: float = 0.5"
    assert shown_parameters(source, {"a": [3], "b": 2.0}) == "a = [3]  # list\nb: float = 2.0"


@given(st.floats(-1e300, 1e300), st.integers(1, 8))
def test_written_numbers_are_near_what_they_stand_for(value: float, digits: int) -> None:
    written = format_number(value, digits).replace("−", "-").replace(",", "")
    bare = re.match(r"(-?)10([⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+)$", written)
    mantissa, _, power = (f"{bare[1]}1", "", bare[2]) if bare else written.partition(" × 10")
    up = power.translate(str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789"))
    read = float(f"{mantissa}e{up or 0}")
    assert read == pytest.approx(value, rel=0.51 * 10.0 ** (1 - digits), abs=5e-324)


@given(st.floats(-1e9, 1e9), st.floats(1e-9, 1e9))
def test_a_value_with_its_standard_error_is_written_to_the_errors_second_digit(
    value: float, se: float
) -> None:
    first, second = format_number(value, se=se).replace("−", "-").replace(",", "").split(" ± ")
    assert float(second) == pytest.approx(se, rel=0.051)
    assert abs(float(first) - value) <= 0.051 * se * 1.0001 + 1e-9 * abs(value)


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_what_is_no_number_is_never_written_as_one(bad: float) -> None:
    with pytest.raises(InputError):
        format_number(bad)
    with pytest.raises(InputError):
        format_number(1.0, se=bad)


def test_tables_align_numbers_and_keep_missing_values_visible() -> None:
    frame = pd.DataFrame({"who|": ["a|b", "c"], "n": [1.5, float("nan")]})
    lines = table_markdown(frame).splitlines()
    assert lines[1:] == ["| :--- | ---: |", "| a\\|b | 1.5 |", "| c | – |"]
    small = table_markdown(pd.DataFrame({"n": [3e-7], "said": ["at most 2 × 10⁻⁷"]}))
    assert small.splitlines()[2].split(" | ") == [
        "| 3\u00a0×\u00a010⁻⁷",
        "at most 2\u00a0×\u00a010⁻⁷ |",
    ]
    with pytest.raises(InputError, match="no rows"):
        show(frame.iloc[:0], "a-table", "A caption that is a sentence.")
