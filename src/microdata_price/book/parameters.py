"""The parameters of a notebook: which it declares, and whether given values can be used.

Papermill only warns of an unknown name, passes text where a number is meant, and says nothing when
a value is never read. All of that is an error here, before anything runs.
"""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import yaml

from ..base.numbers import format_number, listed
from ..exceptions import InputError, find
from ..model.privacy import check_delta, check_epsilon, check_rho

TAG = "parameters"
Values = Mapping[str, Any]  # of parameters, by name
_WORDS = {int: "a whole number", float: "a finite number", bool: "true or false"}
_WORDS |= {type(None): "none", str: "text"}
_MOST = 2**53 - 1  # of whole numbers: from the next on doubles, as which texts are read, skip some
_KINDS = {"None" if kind is type(None) else kind.__name__: kind for kind in _WORDS}


@dataclass(frozen=True)
class Parameter:
    """One parameter as a notebook's tagged cell declares it; `item` is the kind of list entries."""

    name: str
    default: Any
    kinds: tuple[type, ...]
    item: type | None = None


def declared(source: str, *, strict: bool = True) -> dict[str, Parameter]:
    """Read the parameters of a cell; what is none is an error if `strict`, else passed over.

    Annotated ones (``x: int | None = None``), which papermill's own inspection overlooks, count.
    """
    found: dict[str, Parameter] = {}
    for node in ast.parse(source).body:
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            continue
        targets = getattr(node, "targets", [getattr(node, "target", None)])
        name = targets[0].id if len(targets) == 1 and isinstance(targets[0], ast.Name) else ""
        found.pop(name, None)
        try:
            if not name or not isinstance(node, ast.Assign | ast.AnnAssign) or node.value is None:
                raise ValueError
            default = ast.literal_eval(node.value)
            annotation = getattr(node, "annotation", None)
            text = ast.unparse(annotation) if annotation else _inferred(default)
            parts = re.findall(r"(list\[)?(\w+)\]?", text)
            kinds = tuple(list if many else _KINDS[kind] for many, kind in parts)
            items = [_KINDS[kind] for many, kind in parts if many]
        except (ValueError, KeyError):
            if strict:
                said = f"the parameters cell has the line {ast.unparse(node)!r}; every line must be"
                said += " 'name = value' with a number, a text, True, False, None or a list of them"
                types = "types are int, float, str, bool, None, list[int] and so on, joined by |"
                raise InputError(f"{said}; {types}") from None
        else:
            found[name] = Parameter(name, default, kinds, items[0] if items else None)
    return found


def _inferred(default: Any) -> str:
    if isinstance(default, (list, tuple)) and default:
        kinds = {type(v).__name__ for v in default}
        return f"list[{'float' if kinds == {'int', 'float'} else min(kinds)}]"
    return "None" if default is None else type(default).__name__


def coerce(parameter: Parameter, given: Any) -> Any:
    """Return a given value in the parameter's type, or say why it cannot be one.

    A text is read as the declared type says: as a number it is decimal (``010`` is ten), yes and
    no count as true and false, a list stands in brackets. A whole float counts as an int.
    """
    wanted = _WORDS
    for kind in sorted(parameter.kinds, key=lambda k: k is str):
        try:
            return _as(kind, given, parameter.item)
        except OverflowError:
            wanted = _WORDS | {int: f"a whole number of size {_MOST:,} at most"}
        except (ValueError, RecursionError, yaml.YAMLError):
            continue
    each = f"a list, each entry {wanted[parameter.item]}" if parameter.item else ""
    words = [each if k is list else wanted[k] for k in parameter.kinds]
    told = "" if isinstance(given, str) else f" ({type(given).__name__})"
    default = parameter.default
    example = str(default).lower() if isinstance(default, bool) else repr(default)
    said = f"parameter {parameter.name!r} is {given!r}{told}; it must be {' or '.join(words)}"
    raise InputError(f"{said}, for example {example}")


_NONE = ("", "None", "none", "~", "null", "Null", "NULL")
_BOOLS = {"true": True, "yes": True, "false": False, "no": False}
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)


def _as(kind: Any, given: Any, item: Any = None) -> Any:
    """Return a value in a type, or raise a `ValueError`, of too large an int an `OverflowError`."""
    if kind is list:
        if isinstance(given, str) and given.strip().startswith("["):
            given = yaml.load(given, yaml.BaseLoader)  # entries stay text
        if isinstance(given, (list, tuple)) and given:
            return [_as(item, entry) for entry in given]
    elif kind is type(None) and (given is None or given in _NONE):
        return None
    elif kind in (str, bool) and isinstance(given, kind):
        return given
    elif kind is bool and str(given).strip().lower() in _BOOLS:
        return _BOOLS[str(given).strip().lower()]
    elif kind in (int, float) and not isinstance(given, bool):
        if isinstance(given, str) and _NUMBER.fullmatch(given.strip()):
            given = float(given)
        size = abs(given) if isinstance(given, (int, float)) else math.nan
        if kind is int and size > _MOST:
            raise OverflowError
        if size < 1e308 and (kind is float or given == int(given)):
            return kind(given)
    raise ValueError


LEVELS = {"epsilon": check_epsilon, "rho": check_rho, "delta": check_delta}
_LEAST = {"runs": 2, "seed": 0, "d": 2, "repeat": 2, "count": 0, "students": 1}
# Between these the book's sentences were read; its numbers are computed and certified anywhere.
_READ = {"epsilon": (0.05, 5), "rho": (0.001, 3), "delta": (1e-12, 0.01), "runs": (20, 10**5)}
_READ |= {"d": (10, 10**12)}


def beyond_reading(values: Values) -> str:
    """Return a note for a page computed at levels at which its sentences were not read."""
    found = [
        f"{n} from {format_number(low)} to {format_number(high)}"
        for n, (low, high) in _READ.items()
        if any(not low <= (v or low) <= high for v in (values.get(n), *values.get(f"{n}s", ())))
    ]
    return f"Sentences were read for {listed(found)}: some may not fit here." if found else ""


def _check_range(name: str, value: Any) -> None:
    """Refuse a value that its name tells to be out of range; the name may be a plural."""
    one = name if name in (*LEVELS, *_LEAST) else name.removesuffix("s")
    for entry in value if isinstance(value, list) else [value]:
        if one in LEVELS and entry is not None:
            LEVELS[one](entry)
        if isinstance(entry, (int, float)) and entry < _LEAST.get(one, -math.inf):
            raise InputError(f"{name} is {entry}; it must be {_LEAST[one]} or more")
    if one in LEVELS and isinstance(value, list) and len({*value}) < len(value):
        raise InputError(f"{name} is {value}, which repeats a level; give each level once")


def check(
    parameters: Mapping[str, Parameter], given: Mapping[str, Any], where: str = "the notebook"
) -> dict[str, Any]:
    """Return given values ready to run with: known names, right types, values in range."""
    checked = {}
    for name, value in given.items():
        if not parameters:
            said = "the notebook declares none; set them, one a line, in a cell with the tag"
            raise InputError(f"{where}: there is no parameter {name!r}, as {said} 'parameters'")
        try:
            checked[name] = coerce(find("parameter", name, parameters), value)
            _check_range(name, checked[name])
        except InputError as error:
            raise InputError(f"{where}: {error}") from None
    return checked


def split_values(text: str) -> list[str]:
    """Split several values at the commas that stand in no bracket: ``0.1, [1, 2]`` has two."""
    return [part.strip() for part in re.split(r",(?![^\[]*\])", text)]


def no_repeats(names: Sequence[str], where: str) -> None:
    """Refuse a parameter that is given two values."""
    if twice := [name for name in names if names.count(name) > 1]:
        raise InputError(f"{where}: {twice[0]!r} is given twice; give it one value")


def read_yaml(text: str, where: str = "the parameter file") -> dict[str, Any]:
    """Read parameters from YAML text: a mapping of names to values, which stay text.

    YAML itself reads 010 as eight, 1:30 as ninety and no as false.
    """
    try:
        node = yaml.compose(text, yaml.BaseLoader)
        content = yaml.load(text, yaml.BaseLoader)
    except RecursionError:
        raise InputError(f"{where} is nested too deeply; needed are names and values") from None
    except (yaml.YAMLError, ValueError) as error:
        raise InputError(f"{where} is not YAML: {' '.join(str(error).split())}") from None
    if not isinstance(node, yaml.MappingNode) or not isinstance(content, dict):
        raise InputError(f"{where} must hold lines such as 'epsilon: 0.25', a name and a value")
    no_repeats([str(key.value) for key, _ in node.value], where)
    return content
