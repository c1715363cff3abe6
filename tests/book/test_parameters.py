from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from microdata_price.book.parameters import check, coerce, declared, read_yaml
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


def test_annotated_and_plain_parameters_are_read() -> None:
    found = declared(SOURCE)
    assert list(found) == [
        "epsilon",
        "rho",
        "delta",
        "runs",
        "seed",
        "name",
        "fast",
        "epsilons",
        "ds",
    ]
    assert found["seed"].kinds == (int, type(None))
    assert (found["epsilons"].kinds, found["epsilons"].item) == ((list,), float)


@pytest.mark.parametrize(
    "line",
    [
        "x = 1 + n",
        "import os",
        "x = y = 1",
        "x, y = 1, 2",
        "x: int",
        "x: dict = {}",
        "print(1)",
        "x = []",
    ],
)
def test_anything_but_a_literal_assignment_is_refused(line: str) -> None:
    with pytest.raises(InputError):
        declared(line)


@pytest.mark.parametrize(
    ("name", "given_value", "wanted"),
    [
        ("epsilon", 1, 1.0),
        ("epsilon", "1e-3", 0.001),
        ("runs", 500.0, 500),
        ("runs", "500", 500),
        ("runs", "1e3", 1000),
        ("seed", None, None),
        ("seed", 3, 3),
        ("name", "Stair-1d", "Stair-1d"),
        ("fast", True, True),
        ("fast", "true", True),
        ("fast", "No", False),
        ("runs", "010", 10),
        ("runs", " 7 ", 7),
        ("epsilon", "010", 10.0),
        ("epsilon", ".5", 0.5),
        ("name", "010", "010"),
        ("name", "yes", "yes"),
        ("name", "1:30", "1:30"),
        ("name", "2026-01-31", "2026-01-31"),
        ("epsilons", "[0.1, 010]", [0.1, 10.0]),
        ("ds", "[5,6]", [5, 6]),
        ("epsilons", ["1e-1", 1], [0.1, 1.0]),
        ("ds", (5, 6), [5, 6]),
    ],
)
def test_values_arrive_in_the_declared_type(name: str, given_value: Any, wanted: Any) -> None:
    parameter = declared(SOURCE)[name]
    found = coerce(parameter, given_value)
    assert found == wanted
    assert type(found) is type(wanted)


@pytest.mark.parametrize(
    ("name", "bad"),
    [
        ("epsilon", "much"),
        ("epsilon", True),
        ("epsilon", None),
        ("epsilon", [0.5]),
        ("epsilon", 0),
        ("epsilon", -1),
        ("epsilon", math.inf),
        ("epsilon", math.nan),
        ("epsilon", "nan"),
        ("rho", 0),
        ("delta", 0),
        ("delta", 1),
        ("runs", 2.5),
        ("runs", 0),
        ("runs", True),
        ("runs", math.inf),
        ("runs", "many"),
        ("seed", -1),
        ("seed", "x"),
        ("name", 5),
        ("fast", 1),
        ("fast", "maybe"),
        ("fast", "on"),
        ("fast", "1"),
        *[
            (name, text)
            for name in ("runs", "epsilon")
            for text in (
                *("yes", "no", "on", "1_000", "1,000", "1:30", "0x10", "0o10", "0b1", "1e", "--1"),
                *("2026-01-31", "١", "inf", "1e400", ".inf", "1 000", "", "!!int 5"),
            )
        ],
        ("epsilons", "[1:30]"),
        ("epsilons", "[[1]]"),
        ("epsilons", "[0x10]"),
        ("epsilons", "0.1, 0.5"),
        ("epsilons", 0.5),
        ("epsilons", []),
        ("epsilons", [0.5, 0]),
        ("epsilons", [0.5, "x"]),
        ("ds", [1]),
        ("ds", [10, 2.5]),
    ],
)
def test_values_that_cannot_be_used_are_refused_by_name(name: str, bad: Any) -> None:
    with pytest.raises(InputError, match=f"^chapter: .*{name.removesuffix('s')}"):
        check(declared(SOURCE), {name: bad}, "chapter")


def test_an_unknown_name_gets_the_nearest_suggested() -> None:
    with pytest.raises(InputError, match="'epsilom'; did you mean epsilon"):
        check(declared(SOURCE), {"epsilom": 1}, "chapter")


@given(
    st.one_of(
        st.floats(), st.integers(), st.text(max_size=8), st.booleans(), st.none(), st.binary()
    ),
    st.sampled_from(list(declared(SOURCE))),
)
def test_any_value_is_either_of_the_right_type_and_range_or_an_input_error(
    value: Any, name: str
) -> None:
    parameters = declared(SOURCE)
    try:
        found = check(parameters, {name: value})[name]
    except InputError:
        return
    assert type(found) in parameters[name].kinds
    if name in ("epsilon", "rho", "delta"):
        assert 0 < found < math.inf


@pytest.mark.parametrize("text", ["a: [", "- 1", "5", "", "? [1]\n: 2"])
def test_a_parameter_file_that_is_no_mapping_of_names_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="params"):
        read_yaml(text, "params.yaml")


def test_no_second_language_reads_a_parameter_file() -> None:
    text = "delta: 1e-3\nruns: 010\nname: no\nfast: yes\nepsilons: [0.1, 010]\nseed:\n"
    assert check(declared(SOURCE), read_yaml(text)) == {
        "delta": 0.001,
        "runs": 10,
        "name": "no",
        "fast": True,
        "epsilons": [0.1, 10.0],
        "seed": None,
    }
    for wrong in ("runs: 1:30", "runs: 0x10", "runs: 1_000", "epsilon: 2026-01-31"):
        with pytest.raises(InputError, match="it must be a"):
            check(declared(SOURCE), read_yaml(wrong))
