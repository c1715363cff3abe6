"""What teachers are given: plans that the slides keep to, an index, a quiz, two editions."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from microdata_price.book import notebook
from microdata_price.book.build import build
from microdata_price.book.pages import exercises
from microdata_price.book.plain import Piece, assemble, markdown
from microdata_price.book.plan import Edition, notebook_paths
from microdata_price.book.quote import Found, quote
from microdata_price.book.slides import Slide, read_slides
from microdata_price.book.stage import without_solutions
from microdata_price.chapters.lesson import Lesson
from microdata_price.exceptions import InputError
from tiny_book import make_notebook, make_root

ROOT = Path(__file__).parents[2]
TEACH = ROOT / "book" / "teach"


def text(name: str) -> str:
    return (TEACH / f"{name}.md").read_text(encoding="utf-8")


def slides() -> list[Slide]:
    pictures = re.findall(r"images/([\w-]+)\.svg", text("slides"))
    values = Lesson().values | {f"{p}.alt": "A picture." for p in pictures}
    real = {"nnls_total": "1.9", "reweighted_total": "0.99"}
    found = Found(quoted={"lesson": values, "benchmark": real})
    return read_slides(quote(text("slides"), "teach/slides", found))


def plan(title: str) -> list[tuple[int, int]]:
    """The minutes of a plan's rows."""
    section = text("lesson").partition(f"## {title}")[2].partition("\n## ")[0]
    return [(int(a), int(b)) for a, b in re.findall(r"^\| (\d+)–(\d+) \|", section, re.MULTILINE)]


def test_the_plans_and_the_notes_keep_to_the_slides_clock_and_leave_ten_minutes() -> None:
    shown, ends = slides(), [s.end for s in slides()]
    assert ends[-1] == 40
    for title, last in (("fifty", (40, 50)), ("seventy-five", (65, 75))):
        rows = plan(f"A lesson of {title} minutes")
        assert rows[0][0] == 0
        assert rows[-1] == last
        assert [a for a, _ in rows[1:]] == [b for _, b in rows[:-1]]
    assert {b for _, b in plan("A lesson of fifty minutes")[:-1]} <= {*ends}
    # The longer lesson has dice between the two parts of the slides.
    (_, first), (_, dice), second = rows[:3]
    assert first in ends
    assert second == (dice, 40 + dice - first)
    # The plan numbers the slides of its minutes.
    section = text("lesson").partition("## A lesson of fifty minutes")[2].partition("\n## ")[0]
    numbered = re.findall(
        r"^\| (\d+)–(\d+) \| (?:(\d+)(?: to |, )?(\d*))? *\|", section, re.MULTILINE
    )
    for begin, end, one, other in numbered[:-1]:
        now = [number for number, e in enumerate(ends, 1) if int(begin) < e <= int(end)]
        assert now == list(range(int(one), int(other or one) + 1)), (begin, end)
    minutes = [int(m) for m in re.findall(r"^\| (\d+) \|", text("lesson"), re.MULTILINE)]
    assert minutes[-1] == 40
    assert {*minutes} <= {*ends}
    notes = text("lesson").partition("**If time is short**")[2].partition("\n")[0]
    assert set(re.findall(r'"([A-Z][^"]+)"', notes)) <= {s.title for s in shown}
    for lecture in ("First", "Second"):
        (line,) = re.findall(rf"^\*\*{lecture} lecture.*$", text("lesson"), re.MULTILINE)
        assert sum(int(m) for m in re.findall(r"\((\d+)(?: minutes)?\)", line)) == 70
        assert "70 minutes" in line


def test_the_quiz_has_ten_questions_each_with_an_answer_that_students_do_not_get() -> None:
    whole = text("take_home")
    assert re.findall(r"^\*\*(\d+)\.\*\*", whole, re.MULTILINE) == [str(i) for i in range(1, 11)]
    assert whole.count("{dropdown} Answer") == 10
    theirs = without_solutions(whole)
    assert "{dropdown}" not in theirs
    assert len(re.findall(r"^\*\*\d+\.\*\*", theirs, re.MULTILINE)) == 10
    assert "give or take" not in theirs


def test_all_that_the_lesson_computes_for_other_pages_is_quoted() -> None:
    pages = "".join(p.read_text(encoding="utf-8") for p in TEACH.glob("*.md"))
    assert set(re.findall(r"\{\{ lesson\.(\w+) \}\}", pages)) == set(Lesson().values)


def asked(name: str, *tags: str, more: str = "") -> notebook.Notebook:
    return make_notebook(
        ("text", "# A chapter\n\nText."),
        ("text", f"**Exercise 1 ({name}).** Why?{more}", "exercise", "label:ex-a", *tags),
    )


def test_the_index_has_every_exercise_with_its_place_title_and_difficulty() -> None:
    page = exercises(
        {
            "one": asked("Coins", "easy", more="\n\n- (a) up\n- (b) down"),
            "two": make_notebook(("text", "# No exercise\n\nText.")),
            "three": asked("Half | a scale", "hard"),
        },
        solutions=True,
    )
    rows = [line for line in page.splitlines() if "{ref}" in line]
    assert rows == [
        "| [](../notebooks/one.ipynb) | {ref}`Exercise\N{NO-BREAK SPACE}1 <ex-a>` | Coins | easy "
        "| yes |",
        "| [](../notebooks/three.ipynb) | {ref}`Exercise\N{NO-BREAK SPACE}1 <ex-a>` | Half &#124; "
        "a scale | hard |  |",
    ]
    assert "2 exercises in 2 chapters: 1 easy, 0 medium, 1 hard" in page


def test_every_exercise_of_the_book_is_indexed_says_how_hard_it_is_and_can_be_predicted() -> None:
    books = {p.stem: notebook.read(p) for p in notebook_paths(ROOT)}
    page, labels = exercises(books, solutions=True), []
    for book in books.values():
        for i, cell in enumerate(book.cells):
            if notebook.role(cell) != "exercise":
                continue
            labels.append(notebook.label(cell))
            assert f"<{labels[-1]}>`" in page
            assert notebook.difficulty(cell), cell.source[:60]
            if "(Predict, then run)" in cell.source:
                letters = re.findall(r"^- \((\w)\) \S", cell.source, re.MULTILINE)
                assert letters == ["a", "b", "c"], cell.source[:60]
                after = [c for c in book.cells[i + 1 :] if notebook.role(c) == "solution"]
                assert "code" in [c.cell_type for c in after]
    assert 25 <= len(labels) <= 45


def test_the_difficulty_stands_in_the_boxs_title() -> None:
    cell = markdown("**Exercise 1 (Coins).** Why?")
    (box,) = assemble("a", [Piece("exercise", "ex-a", [cell], "easy")])
    assert "{admonition} Exercise 1 (Coins) · easy\n" in box.source


def test_a_site_can_hold_the_students_edition(tmp_path: Path) -> None:
    pages = {
        "a": "# A\n\n{{ book.students }}\n\n:::{dropdown} Answer\n:class-container: solution\n\n"
        "Forty-two.\n:::\n"
    }
    root = make_root(tmp_path, {}, pages)
    first = build(root, Edition(), tmp_path / "site", lambda _: None, students=True)
    whole = (first.parent / "a.html").read_text(encoding="utf-8")
    theirs = (first.parent / "students" / "a.html").read_text(encoding="utf-8")
    assert "Forty-two" in whole
    assert "Forty-two" not in theirs
    assert 'href="students/index.html"' in whole.replace("../", "")
    assert "students' edition" in theirs.replace("’", "'")
    assert (first.parent / "students" / "index.html").is_file()


def test_the_students_edition_cannot_hold_itself(tmp_path: Path) -> None:
    root = make_root(tmp_path, {}, {})
    with pytest.raises(InputError, match="give either --with-students or --no-solutions"):
        build(root, Edition(solutions=False), tmp_path / "s", lambda _: None, students=True)
