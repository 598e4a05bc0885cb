"""Variations of real inputs: of bytes, of texts, and of JSON values without making them something else than JSON.

Several byte strings in one input are records, each with a number (a port, a kind) and its length before it.
"""

import json
import random
import struct
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from tests.support.stored_runs import HOSTILE
from tests.support.tcp_frames import varied

WORDS = (
    *("", "0", "-1", "1e309", "nan", "inf", "-0", "9" * 400, "9" * 5000, "0x10", "1_000"),
    *("\u0663", "\u00b2", "true", "null"),
    *("\0", "\x1b[2J", "\u202e", "\ud800", "\U0001f600", "\r\n", "a\tb", " ", "%s%n", "{}", "../../x", "=1+1"),
    *(HOSTILE, "2026-11-21T10:00:00+00:00", "9999-12-31T23:59:59-14:00", "latest"),
)
"""Texts that a reader may take for something else, or that change what a page or terminal shows."""

_NUMBERS = (0, 1, -1, 2**31, 2**63, 2**64, -(2**70), 10**400, 0.0, -0.0, 5e-324, 1e308, -1e308)
_NO_NUMBERS = (float("nan"), float("inf"), float("-inf"))
_HEADER = struct.Struct("!BH")


def pack(records: Iterable[tuple[int, bytes]]) -> bytes:
    return b"".join(_HEADER.pack(number, len(content)) + content for number, content in records)


def unpack(data: bytes) -> Iterator[tuple[int, bytes]]:
    """The records in any bytes."""
    at = 0
    while at + _HEADER.size <= len(data):
        number, length = _HEADER.unpack_from(data, at)
        at += _HEADER.size
        yield number, data[at : at + length]
        at += length


def vary_bytes(chance: random.Random, seeds: Sequence[bytes]) -> bytes:
    """One of some inputs: as it is, damaged, or with a part of another."""
    data = chance.choice(seeds)
    match chance.randrange(4):
        case 0:
            return data
        case 1:
            other, at = chance.choice(seeds), chance.randrange(len(data) + 1)
            return data[:at] + other[chance.randrange(len(other) + 1) :]
        case _:
            for _ in range(chance.randint(1, 3)):
                data = varied(data, chance)
            return data


def vary_text(chance: random.Random, seeds: Sequence[str]) -> str:
    """One of some texts with some of its words replaced, repeated or left out, or damaged as bytes."""
    text = chance.choice(seeds)
    for _ in range(chance.randint(0, 4)):
        begin = chance.randrange(len(text) + 1)
        end = min(len(text), begin + chance.choice((0, 1, 2, 8, 40)))
        replacement = chance.choice((chance.choice(WORDS), text[begin:end] * 2, "", chr(chance.randrange(0x300))))
        text = text[:begin] + replacement + text[end:]
    return text


def vary_json(chance: random.Random, value: Any, *, changes: int = 3) -> Any:
    """A copy of a JSON value with some of its parts replaced, moved, renamed or left out."""
    document = json.loads(json.dumps(value))
    for _ in range(chance.randint(1, changes)):
        places = _places(document)
        if not places:
            return _leaf(chance)
        holder, key = chance.choice(places)
        _change(chance, holder, key, places)
    return document


def dump(value: Any) -> bytes:
    """JSON as strict or as lax as Python writes it: NaN, and surrogates, where a variation has put them."""
    return json.dumps(value).encode()


def json_or_bytes(chance: random.Random, documents: Sequence[Any]) -> bytes:
    """One of some documents, more often with other values than with damaged bytes."""
    document = chance.choice(documents)
    if chance.random() < 0.8:
        return dump(vary_json(chance, document))
    return vary_bytes(chance, [dump(document)])


def _places(value: Any) -> list[tuple[Any, Any]]:
    """Each part of a value, as its holder and its key there; with a bias to the outer ones, for inner ones are many."""
    found: list[tuple[Any, Any]] = []
    waiting = [value]
    while waiting:
        holder = waiting.pop()
        keys = list(holder) if isinstance(holder, dict) else range(len(holder)) if isinstance(holder, list) else ()
        found += [(holder, key) for key in keys[:12]]
        waiting += [holder[key] for key in keys[:12]]
    return found


def _change(chance: random.Random, holder: Any, key: Any, places: Sequence[tuple[Any, Any]]) -> None:
    other_holder, other = chance.choice(places)
    kinds: list[Callable[[], object]] = [
        lambda: holder.__setitem__(key, _leaf(chance)),
        lambda: holder.__setitem__(key, _like(chance, holder[key])),
        lambda: holder.__setitem__(key, json.loads(json.dumps(other_holder[other]))),
        lambda: holder.__setitem__(key, _nested(chance, holder[key])),
        lambda: holder.__delitem__(key),
        lambda: _rename(holder, key, chance.choice(WORDS)),
    ]
    chance.choice(kinds)()


def _rename(holder: Any, key: Any, name: str) -> None:
    if isinstance(holder, dict):
        holder[name] = holder.pop(key)
    else:
        holder.append(holder[key])


def _like(chance: random.Random, value: Any) -> Any:
    """Another value of the same type."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, (int, float)):
        return chance.choice((*_NUMBERS, value + 1, value // 3, -value))
    return vary_text(chance, [value]) if isinstance(value, str) else _leaf(chance)


def _leaf(chance: random.Random) -> Any:
    numbers = (*_NUMBERS, *_NO_NUMBERS) if chance.random() < 0.2 else _NUMBERS
    return chance.choice((chance.choice(WORDS), chance.choice(numbers), None, True, [], {}, [[]], {"": {}}))


def _nested(chance: random.Random, value: Any) -> Any:
    for _ in range(chance.choice((1, 2, 50))):
        value = [value] if chance.random() < 0.5 else {chance.choice(WORDS): value}
    return value
