"""The parameters of a notebook: what it declares, and whether what it is given can be used.

Papermill only warns about a name that the notebook does not declare, passes text where a number is
meant, and says nothing when a value is never read. All of that is an error here, before anything
runs.
"""

from __future__ import annotations

import ast
import math
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import yaml

from ..exceptions import InputError, unknown_name
from ..model.privacy import check_delta, check_epsilon, check_rho

TAG = "parameters"
_SCALARS = {"int": int, "float": float, "str": str, "bool": bool}


@dataclass(frozen=True)
class Parameter:
    """One parameter as a notebook's tagged cell declares it.

    Examples
    --------
    >>> declared("epsilon = 0.5")["epsilon"].kinds
    (<class 'float'>,)
    """

    name: str
    default: Any
    kinds: tuple[type, ...]
    item: type | None = None


def declared(source: str, needed: Collection[str] | None = None) -> dict[str, Parameter]:
    """Read the parameters from the source of the cell tagged ``parameters``.

    Annotated ones (``x: int | None = None``), which papermill's own inspection overlooks, count.

    Examples
    --------
    >>> list(declared("epsilon = 0.5  # pure DP" + chr(10) + "runs: int = 100"))
    ['epsilon', 'runs']
    """
    found: dict[str, Parameter] = {}
    for node in ast.parse(source).body:
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            continue
        target, annotation, value = None, None, None
        if isinstance(node, ast.Assign) and len(node.targets) == 1:
            target, value = node.targets[0], node.value
        elif isinstance(node, ast.AnnAssign):
            target, annotation, value = node.target, node.annotation, node.value
        name = target.id if isinstance(target, ast.Name) else ""
        try:
            if not name or value is None:
                raise ValueError
            default = ast.literal_eval(value)
        except ValueError:
            if needed is not None and name not in needed:
                found.pop(name, None)
                continue
            raise InputError(
                f"the parameters cell has the line {ast.unparse(node)!r}; every line must be "
                "'name = value' with a number, a text, True, False, None or a list of these"
            ) from None
        try:
            found[name] = _parameter(name, default, annotation)
        except InputError:
            if needed is None or name in needed:
                raise
            found.pop(name, None)
    return found


def _parameter(name: str, default: Any, annotation: ast.expr | None) -> Parameter:
    text = ast.unparse(annotation) if annotation is not None else _inferred(default)
    kinds: list[type] = []
    item = None
    for part in (p.strip() for p in text.split("|")):
        inner = part[5:-1] if part.startswith("list[") else ""
        if part == "None":
            kinds.append(type(None))
        elif part in _SCALARS:
            kinds.append(_SCALARS[part])
        elif inner in _SCALARS:
            kinds.append(list)
            item = _SCALARS[inner]
        else:
            raise InputError(
                f"parameter {name!r} is of the type {text!r}; known are int, float, str, bool, "
                "None, lists such as list[float], and these joined by |"
            )
    return Parameter(name, default, tuple(kinds), item)


def _inferred(default: Any) -> str:
    if isinstance(default, (list, tuple)) and default:
        kinds = {type(v).__name__ for v in default}
        return f"list[{'float' if kinds == {'int', 'float'} else min(kinds)}]"
    return "None" if default is None else type(default).__name__


def coerce(parameter: Parameter, given: Any) -> Any:
    """Return a given value in the parameter's type, or say why it cannot be one.

    A text is read as the declared type says, by no other language's rules: as a number it is
    decimal (``010`` is ten; ``0x10``, ``1_000`` and ``1:30`` are none), yes and no count as true
    and false, a list stands in brackets, and a text is what was typed. A whole float counts as an
    int.

    Examples
    --------
    >>> coerce(declared("delta = 1e-6")["delta"], "1e-3")
    0.001
    """
    for kind in sorted(parameter.kinds, key=lambda k: k is str):
        value = _as(kind, given, parameter.item)
        if value is not _NO:
            return value
    kind_given = "" if isinstance(given, str) else f" ({type(given).__name__})"
    wanted = " or ".join(_word(k, parameter.item) for k in parameter.kinds)
    raise InputError(
        f"parameter {parameter.name!r} is {given!r}{kind_given}; it must be {wanted}, for example "
        f"{_typed(parameter.default)}"
    )


_NO = object()


def _word(kind: type, item: type | None) -> str:
    words = {int: "a whole number", float: "a finite number", str: "text", bool: "true or false"}
    if kind is list and item is not None:
        return f"a list, each entry {words[item]}"
    return words.get(kind, "none")


def _typed(value: Any) -> str:
    """Write a value as one types it.

    Examples
    --------
    >>> _typed(True), _typed([0.1, 1]), _typed("Stair-1d")
    ('true', '[0.1, 1]', "'Stair-1d'")
    """
    return str(value).lower() if isinstance(value, bool) else repr(value)


_BOOLS = {"true": True, "yes": True, "false": False, "no": False}
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)


def _as(kind: type, given: Any, item: type | None) -> Any:
    if kind is type(None):
        return None if given is None or given in ("null", "None") else _NO
    if kind is list:
        entries = _entries(given)
        if item is None or not entries:
            return _NO
        found = [_as(item, v, None) for v in entries]
        return _NO if any(v is _NO for v in found) else found
    if kind is str:
        return given if isinstance(given, str) else _NO
    if kind is bool:
        return given if isinstance(given, bool) else _BOOLS.get(str(given).strip().lower(), _NO)
    if isinstance(given, str):
        given = float(given) if _NUMBER.fullmatch(given.strip()) else _NO
    if isinstance(given, bool) or not isinstance(given, (int, float)):
        return _NO
    try:
        number = float(given)
        if not math.isfinite(number):
            return _NO
        if kind is int:
            return int(number) if number == int(number) and abs(number) < 2**53 else _NO
    except (ValueError, OverflowError):
        return _NO
    return number


def _entries(given: Any) -> list[Any] | None:
    """Return the entries of a list, or of the text of one in brackets."""
    if isinstance(given, str) and given.strip().startswith("["):
        try:
            given = _Texts(given).get_single_data()
        except (yaml.YAMLError, RecursionError):
            return None
    return list(given) if isinstance(given, (list, tuple)) else None


def _whole(least: int) -> Callable[[str, Any], None]:
    def check(name: str, value: Any) -> None:
        if isinstance(value, (int, float)) and value < least:
            raise InputError(f"{name} is {value}; it must be a whole number of {least} or more")

    return check


_RANGES: dict[str, Callable[[str, Any], object]] = {
    "epsilon": lambda _, v: check_epsilon(v),
    "rho": lambda _, v: check_rho(v),
    "delta": lambda _, v: check_delta(v),
    "runs": _whole(1),
    "seed": _whole(0),
    "d": _whole(2),
}


def _check_range(parameter: Parameter, value: Any) -> None:
    check = _RANGES.get(parameter.name) or _RANGES.get(parameter.name.removesuffix("s"))
    if check is not None and value is not None:
        for entry in value if isinstance(value, list) else [value]:
            check(parameter.name, entry)


def check(
    parameters: Mapping[str, Parameter], given: Mapping[str, Any], where: str = "the notebook"
) -> dict[str, Any]:
    """Return given values ready to run with: known names, right types, values in range.

    Examples
    --------
    >>> check(declared("epsilon = 0.5"), {"epsilon": "1e-1"})
    {'epsilon': 0.1}
    """
    checked = {}
    for name, value in given.items():
        if name not in parameters:
            if not parameters:
                raise InputError(
                    f"{where}: there is no parameter {name!r}, as the notebook declares none; set "
                    "them, one a line, in a cell with the tag 'parameters'"
                )
            raise InputError(f"{where}: {unknown_name('parameter', name, parameters)}")
        try:
            checked[name] = coerce(parameters[name], value)
            _check_range(parameters[name], checked[name])
        except InputError as error:
            raise InputError(f"{where}: {error}") from None
    return checked


def split_values(text: str) -> list[str]:
    """Split several values at the commas that stand in no bracket.

    Examples
    --------
    >>> split_values("0.1, [1, 2],[3]")
    ['0.1', '[1, 2]', '[3]']
    """
    return [part.strip() for part in re.split(r",(?![^\[]*\])", text)]


_NULL = "tag:yaml.org,2002:null"


class _Texts(yaml.SafeLoader):
    """Takes every value that is not empty as text, which the declared type then reads.

    YAML itself reads 010 as eight, 1:30 as ninety and no as false. A name that is given twice is
    refused, where YAML would keep the last value without a word.
    """

    yaml_implicit_resolvers = {  # noqa: RUF012
        first: [rule for rule in rules if rule[0] == _NULL]
        for first, rules in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        names = [key.value for key, _ in node.value if isinstance(key, yaml.ScalarNode)]
        no_repeats(names, self.name)
        return super().construct_mapping(node, deep)


def no_repeats(names: Iterable[str], where: str) -> None:
    """Refuse a parameter that is given two values.

    Examples
    --------
    >>> no_repeats(["epsilon", "runs"], "the parameter file")
    """
    twice = [name for name, times in Counter(names).items() if times > 1]
    if twice:
        raise InputError(f"{where}: {twice[0]!r} is given twice; give it one value")


def read_yaml(text: str, where: str = "the parameter file") -> dict[str, Any]:
    """Read parameters from YAML text: a mapping of names to values, which stay text.

    Examples
    --------
    >>> read_yaml("epsilon: 0.25")
    {'epsilon': '0.25'}
    """
    try:
        loader = _Texts(text)
        loader.name = where
        content = loader.get_single_data()
    except RecursionError:
        raise InputError(f"{where} is nested too deeply; needed are names and values") from None
    except (yaml.YAMLError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{where} is not YAML: {' '.join(str(error).split())}") from None
    if not isinstance(content, dict) or not all(isinstance(k, str) for k in content):
        raise InputError(f"{where} must hold lines such as 'epsilon: 0.25', a name and a value")
    return content
