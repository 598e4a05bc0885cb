"""Two hosts joined by several paths: without it there would be nothing for MPTCP, or a tunnel, to spread over."""

from collections.abc import Sequence

from mininet.topo import Topo

from flightpath.errors import UsageError
from topologies.hosts.multihomed import LARGE_TCP_BUFFERS, Endpoint, MultihomedHost
from topologies.links.spec import LinkSpec
from topologies.links.texts import LinkText, flag, link_specs, whole

CLIENT, SERVER = "h1", "h2"
MAX_PATHS = 8
"""As many addresses of a host as the kernel's path manager keeps (MPTCP_PM_ADDR_MAX)."""


class MultipathPair(Topo):
    """h1 (client) and h2 (server) with one link per path, each with properties of its own.

        h1-eth0 ═══ path 1 ═══ h2-eth0        10.0.1.1  10.0.1.2      fd00:1::1  fd00:1::2
        h1-eth1 ═══ path 2 ═══ h2-eth1        10.0.2.1  10.0.2.2      fd00:2::1  fd00:2::2
           …                                  switched:  h1-eth0 ═══ path 1 ═══ s1 ─── h2-eth0

    Every address has a routing table of its own, so that what comes from it leaves over its path. With MPTCP, h2
    announces its addresses of one family and h1 opens a subflow to each, so a connection from h1 to any of h2's
    addresses of that family uses all paths. The switch of a path stands next to h2, at the end of an ideal cable.
    """

    def build(
        self,
        paths: int | str = 2,
        links: LinkText | Sequence[LinkText] = None,
        switched: bool | int | str = False,
        mptcp: bool | int | str = True,
        family: int | str = 4,
        congestion_control: str | None = None,
    ) -> None:
        """Mininet's hook.

        Args:
            paths: how many.
            links: each path's, or one for all; a text parts them by `;`.
            switched: let each path have a switch.
            mptcp: let connections use all paths.
            family: 4 or 6: which of a path's addresses MPTCP uses. The kernel's limit is one for both families.
            congestion_control: of both hosts.
        """
        count = whole("paths", paths, 1, MAX_PATHS)
        version = whole("family", family, 4, 6)
        if version == 5:
            raise UsageError("family: 5 is unknown", "choose one of 4, 6")
        more = count - 1 if flag("mptcp", mptcp) else 0
        for number, name in enumerate((CLIENT, SERVER), start=1):
            is_server = name == SERVER
            self.addHost(
                name,
                cls=MultihomedHost,
                addresses={path: _addresses(path + 1, number) for path in range(count)},
                endpoints=_endpoints(count, number, version) if more and is_server else (),
                subflows=more,
                accepted_addresses=0 if is_server else more,
                congestion_control=congestion_control,
                sysctls=LARGE_TCP_BUFFERS,
            )
        for path, spec in enumerate(link_specs("links", links, count)):
            self._add_path(path, spec, flag("switched", switched))

    def _add_path(self, path: int, spec: LinkSpec | None, switched: bool) -> None:
        client, server = _mac(path, 1), _mac(path, 2)
        if not switched:
            self.addLink(CLIENT, SERVER, port1=path, port2=path, spec=spec, addr1=client, addr2=server)
            return
        switch = self.addSwitch(f"s{path + 1}", dpid=f"{path + 1:016x}")
        self.addLink(CLIENT, switch, port1=path, port2=1, spec=spec, addr1=client, addr2=_mac(path, 0x11))
        self.addLink(SERVER, switch, port1=path, port2=2, spec=LinkSpec(), addr1=server, addr2=_mac(path, 0x12))


def _addresses(path: int, number: int) -> tuple[str, str]:
    return f"10.0.{path}.{number}/24", f"fd00:{path}::{number}/64"


def _endpoints(paths: int, number: int, version: int) -> tuple[Endpoint, ...]:
    """All addresses of one family: the kernel announces those that a connection does not have yet."""
    texts = (_addresses(path + 1, number)[0 if version == 4 else 1] for path in range(paths))
    return tuple(Endpoint(text.partition("/")[0]) for text in texts)


def _mac(path: int, number: int) -> str:
    return f"02:00:00:00:{path + 1:02x}:{number:02x}"
