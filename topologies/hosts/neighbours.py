"""Permanent neighbours of hosts, where a round trip is longer than the kernel asks for one (ARP, RFC 826; RFC 4861)."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import partial

from flightpath.commands import at_once, run
from topologies.hosts.multihomed import MultihomedHost
from topologies.links.emulated_link import EmulatedLink
from topologies.sandbox import kernel_settings

LONG_DELAY_S = 0.5
"""Delay of a link from which on neighbours are permanent: Linux asks for one three times, and gives up after 3 s.

It asks again while an entry is in use, so one that was given only at first would expire.
"""


def are_out_of_reach(links: Iterable[EmulatedLink]) -> bool:
    """Returns whether any link is too long for the kernel's questions for neighbours."""
    return any(spec.delay_s >= LONG_DELAY_S for link in links for spec in (link.a_to_b, link.b_to_a))


def make_permanent(hosts: Sequence[MultihomedHost]) -> None:
    """Gives each host the link-layer addresses of all interfaces in its subnets."""
    members: defaultdict[object, list[tuple[MultihomedHost, int, str]]] = defaultdict(list)
    for host in hosts:
        for port, interfaces in host.addresses.items():
            for interface in interfaces:
                members[interface.network].append((host, port, str(interface.ip)))
    lines: defaultdict[MultihomedHost, list[str]] = defaultdict(list)
    for subnet in members.values():
        macs = [(host, address, host.intfs[port].MAC()) for host, port, address in subnet]
        for host, port, _ in subnet:
            permanent = f"dev {host.intfs[port].name} nud permanent"
            lines[host] += [
                f"neighbour replace {address} lladdr {mac} {permanent}"
                for other, address, mac in macs
                if other is not host
            ]
    at_once(partial(_run_in, host, of_host) for host, of_host in lines.items() if of_host)


def _run_in(host: MultihomedHost, lines: Sequence[str]) -> None:
    with kernel_settings.inside(host):
        run(["ip", "-batch", "-"], stdin="\n".join(lines))
