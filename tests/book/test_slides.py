"""What teachers are given: slides that keep to the plans, an index, a quiz, two editions."""

import re

import pytest
from bs4 import BeautifulSoup

from microdata_price.book.slides import slides
from microdata_price.book.stage import SOLUTION, exercises
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
    assert (len(CLOCK), [a for a, _ in CLOCK]) == (len(titles), [0, *ENDS[:-1]])
    assert (all(a < b for a, b in CLOCK), ENDS[-1]) == (True, 40)
    fifty, longer = (plan(f"A lesson of {n} minutes") for n in ("fifty", "seventy-five"))
    for rows in (fifty, longer):
        assert [a for a, *_ in rows] == [0, *(b for _, b, *_ in rows[:-1])]
    assert (fifty[-1][:2], longer[-1][:2]) == ((40, 50), (65, 75))
    for begin, end, first, last in fifty[:-1]:
        shown = [number for number, e in enumerate(ENDS, 1) if begin < e <= end]
        assert (shown, end in ENDS) == (list(range(first, last + 1)), True), (begin, end)
    # The second part of the slides, moved on by the dice.
    (_, half, *_), (begin, end, *_), moved, *_ = longer
    assert (half, half in ENDS, moved[:2]) == (24, True, (24 + end - begin, 40 + end - begin))
    noted = [int(m) for m in re.findall(r"^\| (\d+) \|", text("lesson"), re.MULTILINE)]
    assert ({*noted} <= {*ENDS}, noted[-1]) == (True, 40)
    short = text("lesson").partition("**If time is short**")[2].partition("\n")[0]
    assert {*re.findall(r'"([A-Z][^"]+)"', short)} <= {*titles}


def test_students_get_the_quiz_and_none_of_its_answers():
    page = (ROOT / "book" / "explorer" / "index.html").read_text(encoding="utf-8")
    assert ("Answers" in page, "Answers" in SOLUTION.sub("", page)) == (True, False)
    whole, theirs = text("take_home"), SOLUTION.sub("", text("take_home"))
    asked = re.findall(r"^\*\*\d+\.\*\*", theirs, re.MULTILINE)
    assert (whole.count("{dropdown} Answer"), theirs.count("{dropdown}"), len(asked)) == (10, 0, 10)


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
