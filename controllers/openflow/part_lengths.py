"""Refuses parts of messages that say that they have no length.

os-ken reads lists (of rules, instructions, actions, buckets, …) by going on behind the part that it has just read. A
part of length 0 would be read for ever, and each time kept: a faulty or hostile switch could stop the controller.
"""

from collections.abc import Callable
from types import ModuleType
from typing import Any


def refuse_parts_without_length(parsers: ModuleType) -> None:
    """Makes every `parser` of the module's classes raise a ValueError for such a part, or for one of unknown type."""
    for kind in vars(parsers).values():
        parse = vars(kind).get("parser") if isinstance(kind, type) else None
        if isinstance(parse, classmethod):
            kind.parser = classmethod(_checked(parse.__func__))


def _checked(parse: Callable[..., Any]) -> Callable[..., Any]:
    def parser(kind: type, *arguments: Any) -> Any:
        part = parse(kind, *arguments)
        if part is None or getattr(part, "len", getattr(part, "length", None)) == 0:
            raise ValueError(f"{kind.__name__}: a part of a message has no length, or an unknown type")
        return part

    return parser
