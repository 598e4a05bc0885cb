"""Changes of a link while it carries packets."""

import dataclasses
from abc import ABC, abstractmethod
from typing import Any, Literal

from flightpath.errors import UsageError
from topologies.links.spec import LinkSpec

Direction = Literal["a_to_b", "b_to_a"]
DIRECTIONS: tuple[Direction, ...] = ("a_to_b", "b_to_a")


class ChangeableLink(ABC):
    """Interface of a link whose properties events can change.

    Attributes:
        a_to_b, b_to_a: the specification of each direction, as last requested.
    """

    a_to_b: LinkSpec
    b_to_a: LinkSpec

    def change(self, *directions: Direction, at_ns: int | None = None, **fields: Any) -> None:
        """Changes fields of LinkSpec while the link carries packets, without losing a packet that is inside.

        Args:
            directions: the directions to change; both by default.
            at_ns: time of the change on CLOCK_MONOTONIC (`time.monotonic_ns()`); now by default.
            fields: as `dataclasses.replace` takes them, for example `bandwidth_bps=10_000_000`. A bandwidth replaces a
                trace, and vice versa.

        Raises:
            UsageError: the fields make no valid specification; then nothing changes.
        """
        if "mtu_bytes" in fields:
            raise UsageError("mtu: it cannot change while the link is up")
        if fields.get("bandwidth_bps") is not None:
            fields.setdefault("trace", None)
        elif fields.get("trace") is not None:
            fields["bandwidth_bps"] = None
        changed = {way: dataclasses.replace(getattr(self, way), **fields) for way in directions or DIRECTIONS}
        for way, spec in changed.items():
            self.apply(way, spec, at_ns)
            setattr(self, way, spec)

    @abstractmethod
    def apply(self, direction: Direction, spec: LinkSpec, at_ns: int | None = None) -> None:
        """Applies a specification to one direction; see `change`."""

    @abstractmethod
    def set_carrier(self, up: bool, at_ns: int | None = None) -> None:
        """Cuts the cable or reconnects it. Both ends notice, and packets inside a cable that is cut are lost."""

    @abstractmethod
    def set_black_hole(self, on: bool, *directions: Direction, at_ns: int | None = None) -> None:
        """Starts or stops dropping all packets that enter. Both interfaces stay up."""


class DryRunLink(ChangeableLink):
    """Checks changes without a link, so that an invalid one is refused before any is made."""

    def __init__(self, a_to_b: LinkSpec, b_to_a: LinkSpec) -> None:
        self.a_to_b, self.b_to_a = a_to_b, b_to_a

    def _do_nothing(self, *_: object, **__: object) -> None:
        pass  # making the specification is the check

    apply = set_carrier = set_black_hole = _do_nothing
