"""What teachers are given: slides that keep to the plans, an index, a quiz, two editions."""

import re

import pytest
from bs4 import BeautifulSoup

from microdata_price.book import notebook
from microdata_price.book.plan import notebook_paths
from microdata_price.book.slides import slides
from microdata_price.book.stage import exercises, without_solutions
from microdata_price.chapters.lesson import Lesson
from microdata_price.exceptions import BuildError
from tiny_book import ROOT, make_notebook

TEACH = ROOT / "book" / "teach"


def text(name):
    return (TEACH / f"{name}.md").read_text(encoding="utf-8")


def test_a_gap_in_the_clock_is_an_error():
    fold = "<section><details><summary>Say, minutes {} to {}</summary></details></section>"
    for begin in (1, 3):
        page = f'<article class="bd-article">{fold.format(0, 2)}{fold.format(begin, 4)}</article>'
        with pytest.raises(BuildError, match=f"minutes {begin} to 4' follows minute 2"):
            list(slides(BeautifulSoup(page, "html.parser")))


SAID = re.findall(r"\{dropdown\} Say, minutes (\d+) to (\d+)$", text("slides"), re.MULTILINE)
CLOCK = [(int(a), int(b)) for a, b in SAID]
ENDS = [end for _, end in CLOCK]


def plan(title):
    """A plan's rows: minutes, and the first and last slide where the plan numbers them."""
    section = text("lesson").partition(f"## {title}")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| (\d+)–(\d+) \|(?: (\d+)?(?: to |, )?(\d*) *\|)?", section, re.M)
    return [(int(a), int(b), int(i or 0), int(j or i or 0)) for a, b, i, j in rows]


def test_the_slides_keep_to_the_clock_to_both_plans_and_to_the_notes():
    titles = re.findall(r"^#+ (.*)$", text("slides"), re.MULTILINE)
    assert len(CLOCK) == len(titles)
    assert [a for a, _ in CLOCK] == [0, *ENDS[:-1]]
    assert all(a < b for a, b in CLOCK)
    assert ENDS[-1] == 40
    fifty, longer = (plan(f"A lesson of {n} minutes") for n in ("fifty", "seventy-five"))
    for rows in (fifty, longer):
        assert [a for a, *_ in rows] == [0, *(b for _, b, *_ in rows[:-1])]
    assert (fifty[-1][:2], longer[-1][:2]) == ((40, 50), (65, 75))
    for begin, end, first, last in fifty[:-1]:
        shown = [number for number, e in enumerate(ENDS, 1) if begin < e <= end]
        assert shown == list(range(first, last + 1)), (begin, end)
        assert end in ENDS
    # The second part of the slides, moved on by the dice.
    (_, half, *_), (begin, end, *_), moved, *_ = longer
    assert half == 24
    assert half in ENDS
    assert moved[:2] == (24 + end - begin, 40 + end - begin)
    noted = [int(m) for m in re.findall(r"^\| (\d+) \|", text("lesson"), re.MULTILINE)]
    assert noted[-1] == 40
    assert {*noted} <= {*ENDS}
    short = text("lesson").partition("**If time is short**")[2].partition("\n")[0]
    assert {*re.findall(r'"([A-Z][^"]+)"', short)} <= {*titles}
    lectures = re.findall(r"^\*\*(?:First|Second) lecture.*70 minutes.*$", text("lesson"), re.M)
    sums = [sum(map(int, re.findall(r"\((\d+)(?: minutes)?\)", line))) for line in lectures]
    assert sums == [70, 70]


def test_the_quiz_has_ten_answers_that_students_do_not_get_and_all_computed_is_quoted():
    whole = text("take_home")
    theirs = without_solutions(whole)
    for shown in (whole, theirs):
        numbers = re.findall(r"^\*\*(\d+)\.\*\*", shown, re.MULTILINE)
        assert numbers == [str(i) for i in range(1, 11)]
    assert (whole.count("{dropdown} Answer"), theirs.count("{dropdown}")) == (10, 0)
    assert "give or take" not in theirs
    pages = "".join(p.read_text(encoding="utf-8") for p in TEACH.glob("*.md"))
    assert set(re.findall(r"\{\{ lesson\.(\w+) \}\}", pages)) == set(Lesson().values)


def asked(name, *tags, more=""):
    exercise = f"**Exercise 1 ({name}).** Why?{more}"
    return make_notebook(("text", "# A"), ("text", exercise, "exercise", "label:ex-a", *tags))


def test_the_index_has_every_exercise_with_its_place_title_and_difficulty():
    one = asked("Coins", "easy", more="\n\n- (a) up\n- (b) down")
    two = make_notebook(("text", "# No exercise\n\nText."))
    page = exercises({"one": one, "two": two, "three": asked("A | b", "hard")}, solutions=True)
    place = "{ref}`Exercise\N{NO-BREAK SPACE}1 <ex-a>`"
    assert [line for line in page.splitlines() if "{ref}" in line] == [
        f"| [](../notebooks/one.ipynb) | {place} | Coins | easy | yes |",
        f"| [](../notebooks/three.ipynb) | {place} | A &#124; b | hard |  |",
    ]
    assert "2 exercises in 2 chapters: 1 easy, 0 medium, 1 hard" in page


def test_the_books_exercises_are_in_the_index_and_predictions_can_be_chosen():
    books = {p.stem: notebook.read(p) for p in notebook_paths(ROOT)}
    page, count = exercises(books, solutions=True), 0
    for content in books.values():
        for i, cell in enumerate(content.cells):
            if notebook.role(cell) != "exercise":
                continue
            count += 1
            assert f"<{notebook.label(cell)}>`" in page
            if "(Predict, then run)" in cell.source:
                letters = re.findall(r"^- \((\w)\) \S", cell.source, re.MULTILINE)
                assert letters == ["a", "b", "c"], cell.source[:60]
                after = [c for c in content.cells[i + 1 :] if notebook.role(c) == "solution"]
                assert "code" in [c.cell_type for c in after]
    assert 25 <= count <= 45
