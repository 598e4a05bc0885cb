"""Conversion of users' topologies for the testbed: by name, as a class, or Mininet's own."""

import inspect
import itertools
from collections.abc import Iterator, Mapping
from typing import Any

from mininet.node import Host
from mininet.topo import Topo
from mininet.util import ipAdd

from flightpath.errors import UsageError
from flightpath.suggestions import did_you_mean
from topologies.hosts.multihomed import MultihomedHost
from topologies.mininet import catalogue
from topologies.mininet.scripts.tc_options import check_rest, link_spec, take_shape

_SPECIFICATIONS = ("spec", "a_to_b", "b_to_a")
_ENDS = ("node1", "node2", "port1", "port2", "addr1", "addr2", "intfName1", "intfName2")


def prepared(
    topology: str | Topo | type[Topo], options: Mapping[str, Any], congestion_control: str | None = None
) -> Topo:
    """Returns a copy of a topology for the testbed, which needs no class of the caller's to be sent to another process.

    Hosts that name no class get one address as in Mininet (10.0.0.1/8, 10.0.0.2/8, …, and fd00::1/64, …), on their
    first interface. Links may have the options of Mininet's `TCLink` (`bw=10, delay="5ms"`) and those of docs/links.md.

    Raises:
        UsageError: there is no such network, or it has parts that are not supported.
    """
    topo = _made(topology, options)
    ready = Topo()
    hosts = topo.hosts()
    for number, name in enumerate(hosts, start=1):
        first_port = min(topo.ports.get(name, {0: None}))
        host = _host(name, number, dict(topo.nodeInfo(name)), first_port)
        ready.addHost(name, **{**host, "congestion_control": host.get("congestion_control") or congestion_control})
    for name, dpid in zip(topo.switches(), _dpids(topo), strict=True):
        ready.addSwitch(name, **_switch(name, {"dpid": dpid, **topo.nodeInfo(name)}))
    for _, _, info in topo.links(withInfo=True):
        settings = _link(dict(info))
        ready.addLink(settings.pop("node1"), settings.pop("node2"), **settings)
    if not hosts:
        raise UsageError("the topology has no hosts")
    return ready


def _made(topology: str | Topo | type[Topo], options: Mapping[str, Any]) -> Topo:
    if isinstance(topology, Topo):
        if options:
            raise UsageError(f"{', '.join(options)}: the topology is made already", "give its options when you make it")
        return topology
    kind = _class_of(topology)
    known = inspect.signature(kind.build).parameters.values()
    names = [parameter.name for parameter in known if parameter.name != "self"]
    if not any(parameter.kind is inspect.Parameter.VAR_KEYWORD for parameter in known):
        for name in options:
            if name not in names:
                raise UsageError(f"{kind.__name__} has no option {name!r}", did_you_mean(name, names))
    return kind(**options)


def _class_of(topology: str | type[Topo]) -> type[Topo]:
    if isinstance(topology, str):
        if topology not in catalogue.names():
            raise UsageError(f"there is no network {topology!r}", did_you_mean(topology, catalogue.names()))
        return catalogue.topology(topology)
    if not (isinstance(topology, type) and issubclass(topology, Topo)):
        raise UsageError(f"{topology!r} is no topology", "give a network's name, or a subclass of mininet.topo.Topo")
    return topology


def _host(name: str, number: int, given: dict[str, Any], port: int) -> dict[str, Any]:
    kind = given.pop("cls", None) or Host
    if isinstance(kind, type) and issubclass(kind, MultihomedHost):
        return {**given, "cls": kind}
    if kind is not Host:
        raise UsageError(f"host {name}: hosts of the class {getattr(kind, '__name__', kind)} are not possible here")
    given.pop("isSwitch", None)
    address = given.pop("ip", None) or ipAdd(number, prefixLen=8, ipBaseNum=0x0A000000)
    addresses = {port: (address if "/" in address else f"{address}/8", f"fd00::{number:x}/64")}
    return {"addresses": addresses, **given, "cls": MultihomedHost}


def _dpids(topo: Topo) -> Iterator[str]:
    """Returns an ID for each switch: the number in its name, or the next free one if that is missing, 0 or taken."""
    numbers = [int("0" + "".join(filter("0123456789".__contains__, name))) for name in topo.switches()]
    taken, used = set(numbers), {0}
    free = (number for number in itertools.count(1) if number not in taken)
    for number in numbers:
        chosen = next(free) if number in used else number
        used.add(chosen)
        yield f"{chosen:016x}"


def _switch(name: str, given: dict[str, Any]) -> dict[str, Any]:
    """Returns the switch's ID; the testbed decides everything else."""
    given.pop("isSwitch", None)
    return {"dpid": given["dpid"]}


def _link(info: dict[str, Any]) -> dict[str, Any]:
    """Returns a link's ends and specifications; link classes are ignored, but not their options."""
    ends = {key: info[key] for key in _ENDS if info.get(key) is not None}
    specifications = {key: info[key] for key in _SPECIFICATIONS if info.get(key) is not None}
    shape = take_shape(info)
    check_rest(info)
    if shape and not specifications:
        specifications["spec"] = link_spec(shape)
    return {**ends, **specifications}
