"""Changes of a link while it carries packets."""

import dataclasses
from abc import ABC, abstractmethod
from typing import Any, Literal

from flightpath.errors import UsageError
from topologies.links.spec import LinkSpec

Direction = Literal["a_to_b", "b_to_a"]
DIRECTIONS: tuple[Direction, ...] = ("a_to_b", "b_to_a")


class ChangeableLink(ABC):
    """What an event can change of a link.

    Attributes:
        a_to_b, b_to_a: the specification of each direction, as last asked for.
    """

    a_to_b: LinkSpec
    b_to_a: LinkSpec

    def change(self, *directions: Direction, at_ns: int | None = None, **fields: Any) -> None:
        """Changes fields of LinkSpec while the link carries packets; no packet that is inside is lost.

        Args:
            directions: which; both by default.
            at_ns: when, on CLOCK_MONOTONIC (`time.monotonic_ns()`); now by default.
            fields: as `dataclasses.replace` takes them, for example `bandwidth_bps=10_000_000`. A bandwidth ends a
                trace and the other way round.

        Raises:
            UsageError: the fields make no specification, and nothing has changed.
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
        """Puts a specification in force for one direction; see `change`."""

    @abstractmethod
    def set_carrier(self, up: bool, at_ns: int | None = None) -> None:
        """Cuts the cable or mends it. Both ends see it, and packets that are inside when it is cut are lost."""

    @abstractmethod
    def set_black_hole(self, on: bool, *directions: Direction, at_ns: int | None = None) -> None:
        """Lets all packets vanish that enter from now on, or ends that. Both interfaces stay up."""


class Rehearsal(ChangeableLink):
    """Takes changes without a link, so that a wrong one is refused before the first is made."""

    def __init__(self, a_to_b: LinkSpec, b_to_a: LinkSpec) -> None:
        self.a_to_b, self.b_to_a = a_to_b, b_to_a

    def _do_nothing(self, *_: object, **__: object) -> None:
        pass  # that a specification could be made is all that matters

    apply = set_carrier = set_black_hole = _do_nothing
