import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from microdata_price.book.parameters import beyond_reading, check, coerce, declared, read_yaml
from microdata_price.exceptions import InputError

SOURCE = """\
epsilon = 0.5  # pure
rho: float = 0.125
delta = 1e-6
runs = 1000
seed: int | None = None
name = "Level00-1d"
fast = False
epsilons = [1, 0.5]
ds: list[int] = [10, 100]
"""
NAMES = ["epsilon", "rho", "delta", "runs", "seed", "name", "fast", "epsilons", "ds"]
DECLARED = declared(SOURCE)


@pytest.mark.parametrize(
    "line",
    [
        *("x = 1 + n", "import os", "x = y = 1", "x, y = 1, 2", "x: int", "x: dict = {}"),
        *("print(1)", "x = []", "x: list[dict] = [{}]", "x += 1", "x = {'a': 1}"),
    ],
)
def test_anything_but_a_literal_assignment_is_refused_or_passed_over(line):
    with pytest.raises(InputError, match="the parameters cell has the line"):
        declared(line)
    assert list(declared(f"x = 3\n{line}\nz = 1", strict=False)) in (["z"], ["x", "z"])
    assert list(DECLARED) == NAMES  # the annotated ones, too


@pytest.mark.parametrize(
    ("name", "given_value", "wanted"),
    [
        *[("epsilon", v, w) for v, w in ((1, 1.0), ("1e-3", 0.001), ("010", 10.0), (".5", 0.5))],
        *[("runs", v, w) for v, w in ((500.0, 500), ("500", 500), ("1e3", 1000), ("010", 10))],
        *[("runs", " 7 ", 7), ("seed", f"{2**53 - 1}", 2**53 - 1), ("seed", 3, 3)],
        *[("seed", text, None) for text in (None, "", "None", "~", "null", "Null", "NULL")],
        *[("name", text, text) for text in ("Stair-1d", "010", "yes", "1:30", "2026-01-31", "")],
        *[("fast", v, w) for v, w in ((True, True), ("true", True), ("No", False))],
        *[("epsilons", v, [0.1, w]) for v, w in (("[0.1, 010]", 10.0), (["1e-1", 1], 1.0))],
        *[("ds", v, [5, 6]) for v in ("[5,6]", (5, 6))],
    ],
)
def test_values_arrive_in_the_declared_type(name, given_value, wanted):
    found = coerce(DECLARED[name], given_value)
    assert (found, type(found)) == (wanted, type(wanted))


NO_NUMBERS = ("yes", "no", "on", "1_000", "1,000", "1:30", "0x10", "0o10", "0b1", "1e", "--1")
NO_NUMBERS += ("2026-01-31", "\u0661", "inf", "nan", "1e400", ".inf", "1 000", "", "!!int 5", "x")
NO_LISTS = ("[1:30]", "[[1]]", "[0x10]", "0.1, 0.5", "[1", "[" * 700)


@pytest.mark.parametrize(
    ("name", "bad"),
    [
        *[("epsilon", v) for v in (True, None, [0.5], 0, -1, math.inf, math.nan, *NO_NUMBERS)],
        *[("runs", v) for v in (2.5, 0, 1, True, math.inf, 10**400, *NO_NUMBERS)],
        *[("epsilons", v) for v in (0.5, [], [0.5, 0], [0.5, "x"], [3, 1, 3.0], *NO_LISTS)],
        *[("rho", 0), ("delta", 0), ("delta", 1), ("seed", -1), ("seed", "x"), ("name", 5)],
        *[("fast", v) for v in (1, "maybe", "on", "1")],
        *[("ds", v) for v in ([1], [10, 2.5])],
    ],
)
def test_values_that_cannot_be_used_are_refused_by_name(name, bad):
    with pytest.raises(InputError, match=f"^chapter: .*{name.removesuffix('s')}"):
        check(DECLARED, {name: bad}, "chapter")


@pytest.mark.parametrize("large", [2**53, "9007199254740992", "-1e300", "1e400", 10**400])
@pytest.mark.parametrize("name", ["runs", "seed", "ds"])
def test_of_too_large_a_whole_number_the_most_is_told(name, large):
    with pytest.raises(InputError, match="whole number of size 9,007,199,254,740,991 at most"):
        check(DECLARED, {name: [5, large] if name == "ds" else large})


ANYTHING = st.floats() | st.integers() | st.text(max_size=8) | st.booleans() | st.none()


@given(ANYTHING | st.binary(), st.sampled_from(NAMES))
def test_any_value_is_either_of_the_right_type_and_range_or_an_input_error(value, name):
    try:
        found = check(DECLARED, {name: value})[name]
    except InputError:
        return
    assert type(found) in DECLARED[name].kinds
    if name in ("epsilon", "rho", "delta"):
        assert 0 < found < math.inf


@pytest.mark.parametrize("text", ["a: [", "- 1", "5", "", "? [1]\n: 2", "[" * 700, "a: 1\na: 2"])
def test_a_parameter_file_is_a_mapping_of_names_whose_values_stay_text(text):
    with pytest.raises(InputError, match="params"):
        read_yaml(text, "params.yaml")
    whole = "delta: 1e-3\nruns: 010\nname: no\nepsilons: [0.1, 010]\nseed:\n"
    told = {"delta": "1e-3", "runs": "010", "name": "no", "epsilons": ["0.1", "010"], "seed": ""}
    assert read_yaml(whole) == told


def test_a_page_computed_at_levels_at_which_nobody_read_its_sentences_says_so():
    near = {"epsilon": 0.05, "rho": None, "runs": 20, "d": 10, "epsilons": [5, 1]}
    far = {"epsilon": 5.1, "rho": 9e-4, "delta": 0.1, "runs": 19, "d": 9, "rhos": [1, 4], "seed": 1}
    said = [beyond_reading(near | {name: value}).split(" from ")[0] for name, value in far.items()]
    assert said == [*(f"Sentences were read for {n}" for n in [*[*far][:5], "rho"]), ""]
