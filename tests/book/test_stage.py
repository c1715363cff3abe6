"""Plain Markdown, tags, links and outputs, and what the builder and downloads get of them."""

import base64
import json
import re
from pathlib import Path

import nbformat
import pytest
from hypothesis import given
from hypothesis import strategies as st

from microdata_price.book import notebook, stage
from microdata_price.book.one import comparison
from microdata_price.book.plain import with_links
from microdata_price.book.run import Run
from microdata_price.book.stage import SOLUTION, collect, quote
from microdata_price.exceptions import BuildError
from microdata_price.page.output import METADATA_KEY
from tiny_book import make_notebook

SVG = '<svg viewBox="0 0 10 10" xmlns="http://www.w3.org/2000/svg"/>'
ABOUT = {"name": "a-figure", "alt": 'Says "what": it shows.', "caption": "The finding $x$."}
START = (
    ("text", "# Title\n\nWhat it is about."),
    ("code", "epsilon = 0.5  # level\ngrid_dir = ''", "parameters"),
    ("code", "import math", "setup"),
)
THEOREM = ("text", "**Theorem 3.1 (Of $x$ (ours)).** It holds.", "theorem", "label:thm")
SHOWS = ("code", "say(x)", "remove-input")


def ours(data=None, **about):
    shown = data or {"text/plain": "shown"}
    return nbformat.v4.new_output("display_data", shown, metadata={METADATA_KEY: about})


PICTURE = ours({"image/svg+xml": SVG, "text/plain": "x"}, figure=ABOUT)


def chapter(*cells, outputs=()):
    """A chapter as papermill leaves it; its last cell has the outputs."""
    nb = make_notebook(*START, *cells)
    put_in = ("code", "epsilon = 0.25\ngrid_dir = '/secret'", "injected-parameters")
    nb.cells[2:2] = [make_notebook(put_in).cells[0], nbformat.v4.new_raw_cell("raw")]
    if outputs:
        nb.cells[-1].outputs = list(outputs)
    return nb


def staged(nb, solutions=True, address=""):
    """The cells that the builder reads, without levels and foot, and those of the download."""
    values, before = {"epsilon": 0.25, "grid_dir": "/secret"}, json.dumps(nb)
    made = stage.page("chapter", nb, values, solutions)
    copy = stage.download(nb, values, address, solutions)
    assert json.dumps(nb) == before
    nbformat.validate(copy)
    *shown, levels, foot = made.cells
    assert levels.source == "epsilon = 0.25  # level\ngrid_dir = '/secret'\n\nimport math"
    assert levels.metadata["mystnb"]["code_prompt_show"] == "Levels used: epsilon = 0.25"
    assert "download chapter.ipynb" in foot.source
    return shown, copy.cells


FILE = {"name": "errors.csv", "content": "a,b\n1,2\n", "label": "All errors", "size": "0 kB"}
TABLE = {"name": "a-table", "caption": "See [Table](#a-table).", "markdown": "| a |\n| --- |"}
SAID = {"say": "The error is 1.5 ± 0.1; see [Figure](#a-figure)."}
WHOLE = [
    (SHOWS, PICTURE, ours({"text/markdown": "**Figure.**"}, caption_of="a-figure")),
    (SHOWS, ours(**SAID), ours(table=TABLE), ours(file=FILE)),
    (("code", "f()"), nbformat.v4.new_output("stream", text="printed")),
    (("text", "Let\n\n$$ x = 1 \\tag{1} $$\n\nSee [(1)](#eq-1).", "label:here"),),
    *((THEOREM,), (("text", "**Theorem 4 (B).** Too.\n\n~~~\n# one\n~~~", "theorem"),)),
    (("text", "*Proof of (a), $x < y$.* Trivial.", "proof"),),
    (("text", "**Exercise 1 (Coins).** Why?", "exercise", "easy", "label:ex"),),
    (("code", "say(x)", "exercise", "remove-input"), ours(say="It is 7.")),
    *((("text", "**Solution.** Because.", "solution"),), (("code", "assert 1", "solution"),)),
    *((("text", "**Step 2.** So it is.", "solution"),), (("text", "Free text."),)),
    (("text", "**Tables of the lists.** All of them.", "fold"),),
    *((("text", "**Tables of the squares.**", "fold"),), (("code", "assert 2", "fold"),)),
    *((("text", "**Pure DP.** One level.", "switch"),), (("text", "**zCDP.**", "switch"),)),
    (("text", "Gaussian noise.", "switch"),),
    (("code", "say(x)", "switch", "remove-input"), ours(say="It is 8.")),
]


def test_tags_outputs_links_and_equations_become_what_the_builder_reads():
    """Boxes, folds, tabs, sentences, figures, tables, files: staged.md has all, as agreed."""
    nb = chapter(*(cell for cell, *_ in WHOLE))
    for cell, (_, *outputs) in zip(nb.cells[-len(WHOLE) :], WHOLE, strict=True):
        cell.update({"outputs": outputs} if outputs else {})
    shown = [[c.source, *(o.text for o in c.get("outputs", []))] for c in staged(nb)[0]]
    made = "\n=====\n".join("\n-----\n".join(parts) for parts in shown)
    assert made == (Path(__file__).parent / "staged.md").read_text(encoding="utf-8")
    found = stage.Found()
    collect("chapter", nb, found)
    assert found.files["downloads/errors.csv"] == "a,b\n1,2\n"
    assert "<svg" in found.files["images/a-figure.svg"]


def test_a_download_has_its_results_and_reads_whole_alone():
    nb = chapter(SHOWS, outputs=(ours(say="x"), ours({"text/markdown": "[a](b.ipynb#c)"})))
    nb.cells[0].source += " See [the plane](plane.ipynb#x), [here](#y), [home](https://x.org)."
    pasted = {"a.png": "cG5n\n", "a.png.jpg": "anBn", "é (1).png": "w6k="}
    links = (*pasted, "%C3%A9%20(1).png", "%C3%A9%20%281%29.png")
    nb.cells[0].attachments = {name: {"image/png": data} for name, data in pasted.items()}
    nb.cells[0].source += ' Roll <a href="../dice/index.html">dice</a>. '
    nb.cells[0].source += " ".join(f"![](<attachment:{link}>)" for link in links)
    (page, *_), (text, parameters, setup, shows) = staged(nb, address="https://x.org/y")
    assert re.findall("image/png;base64,(.*?)>", page.source) == ["cG5n", "anBn", *["w6k="] * 3]
    begin, command, *_ = text.source.split("`")
    assert (begin[:12], command) == ("# Title\n\n*To", "pip install git+https://x.org/y")
    assert "`pip install .` in the folder" in staged(nb)[1][0].source
    assert "See the plane, [here](#y), [home](https://x.org). Roll dice. ![](<data:" in text.source
    assert parameters.source.startswith("epsilon = 0.25  # level")
    assert (setup.source, shows.outputs[1].data["text/markdown"]) == ("import math", "a")
    assert [o.metadata for o in shows.outputs] == [{}, {}]


@pytest.mark.parametrize(
    ("cells", "why"),
    [
        ([("text", "It holds.", "theorem")], r"begin '\*\*Theorem\.\*\*'"),
        ([("text", "**Lemma 3 (A).** It holds.", "theorem")], "begin '..Theorem"),
        ([("text", "**Solution.** It holds.", "proof")], "begin '..Proof"),
        ([("code", "1 + 1", "solution")], "must be text"),
        ([("code", "1 + 1", "fold")], "'..Its title"),
        ([(*SHOWS[:2], "switch", "remove-input")], "'..Its title"),
        ([("text", "**Proof.** So\n```\n```\n## A part", "proof")], "not hold a heading"),
        ([("text", "**Proof.** So\n```x``` is\n## A part", "proof")], "not hold a heading"),
        ([THEOREM, ("code", "1 + 1", "theorem")], "not hold code"),
        ([("text", "**zCDP.** x", "switch"), ("code", "1 + 1", "switch")], "not hold code"),
    ],
)
def test_a_box_or_fold_that_is_not_as_it_must_be_is_an_error(cells, why):
    with pytest.raises(BuildError, match=why):
        staged(chapter(*cells))


@pytest.mark.parametrize("fence", ["```", "````", ":::", "::::"])
def test_solutions_leave_prose_pages_whatever_their_fences(fence):
    asked = "before\n:::{dropdown} A question\nQ\n:::\nafter\n"
    inner = f"{fence[0] * 3}{{note}}\nsecret\n{fence[0] * 3}\n" if len(fence) == 4 else ""
    answer = f"{fence}{{dropdown}} A\n:class-container: solution\n{inner}secret\n{fence}\n"
    assert SOLUTION.sub("", f"{asked}{answer}{asked}end\n") == f"{asked}{asked}end\n"


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("[Theorem 3.1](lower.ipynb#thm)", "[Theorem 3.1](#thm)"),
        ("[Figure](lower.ipynb#fig), [table](#t)", "{numref}`fig`, {numref}`t`"),
        ("[this picture](lower.ipynb#fig)", "[this picture](#fig)"),
        ("[(1)](lower.ipynb#eq-1), [(2)](#eq-2)", "[(1)](#lower-eq-1), [(2)](#chapter-eq-2)"),
        ("[there](../book/teach/lessons.md#here)", "[there](#here)"),
        ("[them](../book/teach/lessons.md)", "[them](../teach/lessons.md)"),
        ("[Q](../book/reference/notation.md#point-query)", "{term}`Q <point query>`"),
        ("[A. (2021)](../book/references.bib#abowd2021)", "{cite:t}`abowd2021`"),
        ("[(A. 2021)](../book/references.bib#abowd2021)", "{cite:p}`abowd2021`"),
        *[(x, x) for x in ("[pages](lower.ipynb)", "[x](https://example.org/a#b)")],
        ("![x](a.ipynb#b) $f[x](y)$", "![x](a.ipynb#b) $f[x](y)$"),
    ],
)
def test_links_become_references(written, read):
    assert with_links(written, "notebooks/chapter") == read


def test_prose_pages_quote_what_notebooks_record():
    found = stage.Found()
    outputs = (ours(record={"bias": "7 ± 1"}), PICTURE, ours(certificate=1e-9))
    collect("chapter", chapter(SHOWS, outputs=outputs), found)
    text = "{{ chapter.bias }} {{chapter.a-figure.alt}}"
    assert quote(text, "intro", found) == "7 ± 1 Says 'what': it shows."
    assert found.certificates == {"chapter": 1e-9}
    with pytest.raises(BuildError, match=r"'notes' quotes '{{ a.x }}'.*'a' does not"):
        quote("{{ a.x }}", "notes", found)
    with pytest.raises(BuildError, match="'x' twice"):
        collect("a", chapter(SHOWS, outputs=[ours(record={"x": x}) for x in "12"]), found)


VALUES = st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5)


@given(
    st.dictionaries(st.sampled_from(["a", "b", "c"]), VALUES),
    st.sampled_from([0.25, 7, "x # y", "é'\"", [1, 2.5], None, True]),
)
def test_the_shown_cell_has_exactly_the_values_that_were_used(defaults, value):
    lines = [f"{name} = {default!r}  # about «{name}»" for name, default in defaults.items()]
    used = dict.fromkeys([*defaults][::2], value)
    namespace = {}
    shown = stage.shown_parameters("\n".join(lines), used)
    exec(shown, namespace)
    assert {name: namespace[name] for name in defaults} == {**defaults, **used}
    assert shown.count("# about") >= len(defaults)
    for cell in ("%%time\nb = {0}", "\n!ls\nb = {0}  # x\nx?", "b = {0}\n%pylab\nb = {0}"):
        for own, used in (("0.5", 0.5), ("0.5", 2.0), ("len('a')", 2.0)):
            assert stage.shown_parameters(cell.format(own), {"b": used}) == cell.format(used)
    shown = stage.shown_parameters("b = 0.5\n!ls \\\n -l", {"b": 2.0})
    assert shown == "b = 2.0\nget_ipython().system('ls   -l')"
    source = "a = [\n    1,\n    2,\n]  # list\nb: float = 0.5"
    assert stage.shown_parameters(source, {"a": [3], "b": 2.0}) == "a = [3]  # list\nb: float = 2.0"


def test_runs_are_compared_by_their_pictures_and_their_words(tmp_path):
    runs = []
    for i in (0, 1):
        nb = make_notebook(("code", "# f\nf()"), ("text", "# Own *x*\n" * (1 - i)), ("code", "g()"))
        nb.cells[0].outputs = [nbformat.v4.new_output("stream", text="the same")]
        shown = [
            {"image/svg+xml": SVG.replace("10", f"1{i}"), "text/plain": f"picture {i}"},
            {"image/png": base64.b64encode(b"png%d" % i).decode()},
            {"text/plain": f"a < {i}\n:::\nb"},
            {"text/html": f"<b>{i}</b>\n\n```", "text/plain": "<HTML object>"},
            {"text/latex": f"$x_{i}$", "text/plain": "<Latex object>"},
        ]
        nb.cells[2].outputs = [nbformat.v4.new_output("display_data", data) for data in shown]
        nb.cells[2].outputs.append(ours({"text/plain": f"worst {i}"}, certificate=i))
        notebook.write(nb, tmp_path / f"{i}.ipynb")
        runs.append(Run(f"o #{i}`", tmp_path / f"{i}.ipynb", 1.0, "today", {"s": "a|`"}))
    pictures = comparison(runs, [{"size": 5}, {"size": "``\n\n1"}])
    text = pictures.pop("comparison.md").decode()
    assert text.startswith("# Own *x*: 2 runs compared\n")
    told = {key: {} for key in ("certificates", "grid", "versions", "levels")}
    table = stage.filled("computed.md", runs=runs, pages={runs[0].name}, **told)
    link, row = 'notebooks/o%20%230%60.html">', " | today | 1.0 | `` s = a\\|` `` | none"
    assert all(f"| {w}{row}" in table for w in (f'<a href="../{link}Own *x*</a>', "`` o #1` ``"))
    said = f'"{link}the first run</a>', "**` size = 5 `**", "**``` size = ``  1 ```**"
    assert not [word for word in ("the same", "worst") if word in text]
    kinds = [(i, j, end) for i in (0, 1) for j, end in ((0, "svg"), (1, "png"))]
    assert [*pictures] == [f"images/compare-{i}-2-{j}.{end}" for i, j, end in kinds]
    assert all(f"{{image}} {name}\n" in text for name in pictures)
    assert pictures["images/compare-1-2-1.png"] == b"png1"
    assert b"prefers-color-scheme" in pictures["images/compare-1-2-0.svg"]
    raw = "<pre>a &lt; 1\n&#58;::\nb</pre>", "```{raw} html\n<b>1</b>\n\n&#96;``\n```"
    assert all(w in text for w in (*said, ':alt: "picture 1"', "$x_1$", *raw))
