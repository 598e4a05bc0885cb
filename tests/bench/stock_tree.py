"""The fat tree of `tests.bench.network` by stock Mininet, started and ended: `python -m tests.bench.stock_tree 4`."""

import sys

from mininet.log import lg
from mininet.net import Mininet
from mininet.node import OVSSwitch
from mininet.topo import Topo

from topologies.fat_tree import FatTree
from topologies.sandbox import sandbox
from topologies.testbed.openvswitch import PrivateOpenVSwitch


def main(pods: int) -> int:
    sandbox.prepare_network()
    Mininet.inited = True
    lg.setLogLevel("critical")
    with PrivateOpenVSwitch():
        net = Mininet(
            _plain(FatTree(pods=pods)),
            switch=lambda name, **params: OVSSwitch(name, datapath="user", failMode="secure", **params),
            controller=None,
        )
        try:
            net.start()
        finally:
            net.stop()
    return 0


def _plain(topology: Topo) -> Topo:
    """The same nodes and links without what only our classes take."""
    plain = Topo()
    for name in topology.hosts():
        plain.addHost(name)
    for name in topology.switches():
        plain.addSwitch(name, dpid=topology.nodeInfo(name)["dpid"])
    for *_, info in topology.links(withInfo=True):
        plain.addLink(info["node1"], info["node2"], port1=info["port1"], port2=info["port2"])
    return plain


if __name__ == "__main__":
    sys.exit(sandbox.run_inside(lambda: main(int(sys.argv[1]))))
