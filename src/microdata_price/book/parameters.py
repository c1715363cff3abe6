"""The parameters of a notebook: which it declares, and whether given values can be used.

Papermill only warns about a name that the notebook does not declare, passes text where a number is
meant, and says nothing when a value is never read. All of that is an error here, before anything
runs.
"""

from __future__ import annotations

import ast
import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import yaml

from ..exceptions import InputError, unknown_name
from ..model.privacy import check_delta, check_epsilon, check_rho

TAG = "parameters"
_WORDS = {
    int: "a whole number",
    float: "a finite number",
    str: "text",
    bool: "true or false",
    type(None): "none",
}
_KINDS = {"None" if kind is type(None) else kind.__name__: kind for kind in _WORDS}


@dataclass(frozen=True)
class Parameter:
    """One parameter as a notebook's tagged cell declares it; `item` is the kind of list entries."""

    name: str
    default: Any
    kinds: tuple[type, ...]
    item: type | None = None


def declared(source: str, *, strict: bool = True) -> dict[str, Parameter]:
    """Read the parameters from the source of the cell tagged ``parameters``.

    Annotated ones (``x: int | None = None``), which papermill's own inspection overlooks, count. A
    line that is not a name and a plain value is an error if `strict`, and passed over otherwise.
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
                raise InputError(
                    f"the parameters cell has the line {ast.unparse(node)!r}; every line must be "
                    "'name = value' with a number, a text, True, False, None or a list of these; "
                    "types are int, float, str, bool, None, list[int] and so on, joined by |"
                ) from None
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
    for kind in sorted(parameter.kinds, key=lambda k: k is str):
        value = _list(given, parameter.item) if kind is list else _as(kind, given)
        if value is not _NO:
            return value
    each = f"a list, each entry {_WORDS[parameter.item]}" if parameter.item else ""
    words = [each if k is list else _WORDS[k] for k in parameter.kinds]
    told = "" if isinstance(given, str) else f" ({type(given).__name__})"
    default = parameter.default
    example = str(default).lower() if isinstance(default, bool) else repr(default)
    raise InputError(
        f"parameter {parameter.name!r} is {given!r}{told}; it must be {' or '.join(words)}, for "
        f"example {example}"
    )


_NO = object()
_NONE = ("", "None", "~", "null", "Null", "NULL")
_BOOLS = {"true": True, "yes": True, "false": False, "no": False}
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)


def _as(kind: type, given: Any) -> Any:
    """Return one value in a type, or `_NO`."""
    if kind is type(None):
        return None if given is None or given in _NONE else _NO
    if kind is str:
        return given if isinstance(given, str) else _NO
    if kind is bool:
        return given if isinstance(given, bool) else _BOOLS.get(str(given).strip().lower(), _NO)
    if isinstance(given, str) and _NUMBER.fullmatch(given.strip()):
        given = float(given)
    if isinstance(given, bool) or not isinstance(given, (int, float)):
        return _NO
    if not abs(given) < 1e308 or (kind is int and (given != int(given) or abs(given) >= 2**53)):
        return _NO
    return kind(given)


def _list(given: Any, item: type | None) -> Any:
    """Return the entries of a list, or of the text of one in brackets, in their type."""
    if isinstance(given, str) and given.strip().startswith("["):
        try:
            given = yaml.load(given, yaml.BaseLoader)  # entries stay text
        except (yaml.YAMLError, RecursionError):
            return _NO
    if not isinstance(given, (list, tuple)) or not given or item is None:
        return _NO
    found = [_as(item, v) for v in given]
    return _NO if any(v is _NO for v in found) else found


_LEVELS = {"epsilon": check_epsilon, "rho": check_rho, "delta": check_delta}
_LEAST = {"runs": 1, "seed": 0, "d": 2}


def _check_range(name: str, value: Any) -> None:
    """Refuse a value that its name tells to be out of range; the name may be a plural."""
    one = name if name in (*_LEVELS, *_LEAST) else name.removesuffix("s")
    for entry in value if isinstance(value, list) else [value]:
        if one in _LEVELS and entry is not None:
            _LEVELS[one](entry)
        if isinstance(entry, (int, float)) and entry < _LEAST.get(one, -math.inf):
            raise InputError(
                f"{name} is {entry}; it must be a whole number of {_LEAST[one]} or more"
            )


def check(
    parameters: Mapping[str, Parameter], given: Mapping[str, Any], where: str = "the notebook"
) -> dict[str, Any]:
    """Return given values ready to run with: known names, right types, values in range."""
    checked = {}
    for name, value in given.items():
        if not parameters:
            raise InputError(
                f"{where}: there is no parameter {name!r}, as the notebook declares none; set "
                "them, one a line, in a cell with the tag 'parameters'"
            )
        if name not in parameters:
            raise InputError(f"{where}: {unknown_name('parameter', name, parameters)}")
        try:
            checked[name] = coerce(parameters[name], value)
            _check_range(name, checked[name])
        except InputError as error:
            raise InputError(f"{where}: {error}") from None
    return checked


def split_values(text: str) -> list[str]:
    """Split several values at the commas that stand in no bracket: ``0.1, [1, 2]`` has two."""
    return [part.strip() for part in re.split(r",(?![^\[]*\])", text)]


def no_repeats(names: Iterable[str], where: str) -> None:
    """Refuse a parameter that is given two values."""
    twice = [name for name, times in Counter(names).items() if times > 1]
    if twice:
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
