"""Mininet's shaped link (`TCLink`) on our emulators: its options, and changes by `interface.config(bw=…)`."""

from typing import Any

from mininet.link import Intf
from mininet.node import Node

from flightpath.overrides import override
from topologies.links.changes import Direction
from topologies.links.emulated_link import EmulatedInterface, EmulatedLink
from topologies.links.emulators import choose_emulator, link_class
from topologies.links.spec import LinkSpec
from topologies.mininet.scripts.tc_options import check_rest, link_spec, take_shape


class ShapedInterface(EmulatedInterface):
    """An end of a ShapedLink: `config(bw=10, delay="5ms")` replaces the specification of what it sends."""

    @override
    def config(self, **params: Any) -> dict[str, Any]:
        if self.link is None or not self.link.is_complete:
            return super().config(**params)
        shape = take_shape(params)
        check_rest(params)
        if shape:
            self.link.set_shape(self, link_spec(shape))
        return Intf.config(self, **params)


class _ShapedLink(EmulatedLink):
    """Mininet's `TCLink` with the same options; `params1` and `params2` may set them for each end.

    Options of our links (`docs/links.md`) work too: `queue="1bdp"`, `corruption="0.1%"`.
    """

    interface = ShapedInterface

    def __init__(self, node1: Node, node2: Node, **params: Any) -> None:
        shape = take_shape(params)
        for specification, own in (("a_to_b", "params1"), ("b_to_a", "params2")):
            params[own] = dict(params.get(own) or {})
            params.setdefault(specification, link_spec({**shape, **take_shape(params[own])}))
            check_rest(params[own])
        check_rest(params)
        super().__init__(node1, node2, **params)

    def set_shape(self, interface: Intf, spec: LinkSpec) -> None:
        """Applies a specification to the direction in which an interface sends."""
        way: Direction = "a_to_b" if interface is self.intf1 else "b_to_a"
        self.apply(way, spec)
        setattr(self, way, spec)


ShapedLink: type[EmulatedLink] = type("ShapedLink", (_ShapedLink, link_class(choose_emulator())), {})
"""Mininet's `TCLink` over the emulator that works here."""
