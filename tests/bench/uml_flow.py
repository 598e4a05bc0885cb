"""A transfer over fast paths in the virtual-time kernel: prints its goodput and the limit, in Gb/s.

The command is `python -m tests.bench.uml_flow LINK PATHS WARM_UP_S MTU`. The limit is what the paths carry of a
connection's payload, between the headers of Ethernet, IPv4, TCP and MPTCP.
"""

import dataclasses
import sys

from probes.transfers.iperf3 import Iperf3
from services.iperf3 import Iperf3Server
from topologies.links.texts import short_link
from topologies.multipath_pair import CLIENT, SERVER, MultipathPair
from topologies.sandbox import sandbox
from topologies.testbed.testbed import Testbed

_IP_TCP_TIMESTAMPS, _DSS, _ETHERNET = 52, 20, 14


def main() -> int:
    text, paths, warm_up_s, mtu = sys.argv[1], int(sys.argv[2]), float(sys.argv[3]), int(sys.argv[4])
    link, mptcp = dataclasses.replace(short_link(text), mtu_bytes=mtu), paths > 1
    with Testbed(MultipathPair(paths=paths, links=[link] * paths, mptcp=mptcp)) as testbed:
        client, server = testbed.host(CLIENT), testbed.host(SERVER)
        with Iperf3Server(server, sandbox.TEMPORARY, mptcp=mptcp):
            probe = Iperf3(seconds=1, warm_up_s=warm_up_s, mptcp=mptcp)
            goodput_bps = probe.run(client, server.address(0)).metrics["goodput"].value
    payload = mtu - _IP_TCP_TIMESTAMPS - (_DSS if mptcp else 0)
    print(goodput_bps / 1e9, paths * link.bandwidth_bps / 1e9 * payload / (mtu + _ETHERNET))
    return 0


if __name__ == "__main__":
    sys.exit(sandbox.run_inside(main))
