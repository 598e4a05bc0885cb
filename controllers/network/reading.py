"""Reads the description of a network from a JSON file, and explains mistakes in it."""

import json
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from controllers.network.description import Host, Interface, Link, Network, Switch, SwitchPort
from flightpath.errors import UsageError
from flightpath.suggestions import did_you_mean

_KEYS = [field.name for kind in (Network, Switch, Host, Interface, Link, SwitchPort) for field in fields(kind)]


def load(path: Path, *, is_trusted: bool = False) -> Network:
    """Reads a description from a file; a trusted one, from `Network.to_json`, without pydantic, which loads slowly."""
    try:
        text = path.read_bytes()
    except OSError as error:
        raise UsageError(f"cannot read the network description {path}: {error}") from error
    return _parse_trusted(text) if is_trusted else parse_network(text, str(path))


def parse_network(text: str | bytes, source: str) -> Network:
    """Reads a description."""
    from pydantic import TypeAdapter, ValidationError

    try:
        return TypeAdapter(Network).validate_json(text)
    except ValidationError as error:
        raise _usage_error(error.errors()[0], source) from error


def _parse_trusted(text: bytes) -> Network:
    description = json.loads(text)
    return Network(
        tuple(Switch(**switch) for switch in description["switches"]),
        tuple(
            Host(it["name"], tuple(Interface(**interface) for interface in it["interfaces"]))
            for it in description["hosts"]
        ),
        tuple(
            Link(**{**link, "a": SwitchPort(**link["a"]), "b": SwitchPort(**link["b"])})
            for link in description["links"]
        ),
    )


def _usage_error(details: Mapping[str, Any], source: str) -> UsageError:
    """Converts pydantic's error; its place is written as in `controllers.network.description`."""
    steps = list(details["loc"])
    match details["type"]:
        case "value_error":
            error = details["ctx"]["error"]
            return UsageError(f"{source}: {_place(steps, '.')}{error.args[0]}", error.hint)
        case "missing":
            key = steps.pop()
            message, hint = f"the key {key!r} is missing", ""
        case "unexpected_keyword_argument":
            key = steps.pop()
            message, hint = f"unknown key {key!r}", did_you_mean(key, _KEYS)
        case _:
            message, hint = details["msg"], ""
    return UsageError(f"{source}: {_place(steps, ': ')}{message}", hint)


def _place(steps: list[str | int], end: str) -> str:
    """Joins the steps to `hosts[0].interfaces[1]`, followed by `end`; empty for the description as a whole."""
    text = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in steps)
    return text.removeprefix(".") + end if text else ""
