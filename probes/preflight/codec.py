"""Frozen dataclasses to JSON values and back by their types: without it every record would write its own reader."""

import dataclasses
import types
import typing
from collections.abc import Mapping
from enum import Enum
from typing import Any, TypeVar

_Record = TypeVar("_Record")


def encode(value: Any) -> Any:
    """A record, and all inside it, as JSON values."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: encode(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {key: encode(each) for key, each in value.items()}
    if isinstance(value, (tuple, list)):
        return [encode(each) for each in value]
    return value.value if isinstance(value, Enum) else value


def decode(kind: type[_Record], told: Any) -> _Record:
    """The record of this class that `encode` made these JSON values of.

    Raises:
        TypeError: a field is missing or unknown, or a value has the wrong type.
        ValueError: a value is none of those that its type has.
    """
    if not isinstance(told, dict):
        raise TypeError(f"{kind.__name__} is not an object")
    hints = typing.get_type_hints(kind)
    if unknown := set(told) - set(hints):
        raise TypeError(f"{kind.__name__} has no {', '.join(sorted(unknown))}")
    return kind(**{name: _decode(hints[name], value, f"{kind.__name__}.{name}") for name, value in told.items()})


def _decode(hint: Any, value: Any, where: str) -> Any:
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin in (types.UnionType, typing.Union):
        if value is None:
            return _none_of(arguments, where)
        return _decode(next(each for each in arguments if each is not type(None)), value, where)
    if origin is tuple:
        return _tuple(arguments, value, where)
    if dataclasses.is_dataclass(hint):
        return decode(hint, value)
    if isinstance(hint, type) and issubclass(hint, Enum):
        return hint(value)
    if hint in (bool, int, float, str) and not _fits(hint, value):
        raise TypeError(f"{where} is {value!r}, not {hint.__name__}")
    return value


def _tuple(arguments: tuple[Any, ...], value: Any, where: str) -> tuple[Any, ...]:
    if not isinstance(value, list):
        raise TypeError(f"{where} is not a list")
    if arguments[1:] == (Ellipsis,):
        return tuple(_decode(arguments[0], each, where) for each in value)
    return tuple(_decode(hint, each, where) for hint, each in zip(arguments, value, strict=True))


def _none_of(arguments: tuple[Any, ...], where: str) -> None:
    if type(None) not in arguments:
        raise TypeError(f"{where} is missing")


def _fits(hint: type, value: Any) -> bool:
    if hint is float:
        return isinstance(value, (int, float)) and not isinstance(value, bool)
    return isinstance(value, hint) and not (hint is int and isinstance(value, bool))
