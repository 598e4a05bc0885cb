#!/usr/bin/env python
"""A script as courses on Mininet write them: nothing in it knows of Flightpath."""

# ruff: noqa: UP031 - as such scripts are

import sys

from mininet.cli import CLI
from mininet.link import TCLink
from mininet.log import info, setLogLevel
from mininet.net import Mininet
from mininet.node import Controller, OVSKernelSwitch
from mininet.topo import Topo
from mininet.util import dumpNodeConnections


class MyTopo(Topo):
    def build(self, bw=10):
        s1, s2 = [self.addSwitch("s%d" % n) for n in (1, 2)]
        self.addLink(self.addHost("h1"), s1, bw=100)
        self.addLink(self.addHost("h2"), s2, bw=100)
        self.addLink(s1, s2, bw=bw, delay="5ms", loss=0, max_queue_size=100, use_htb=True)


def run(bw):
    net = Mininet(topo=MyTopo(bw=bw), link=TCLink, switch=OVSKernelSwitch, controller=Controller, waitConnected=True)
    net.start()
    info("*** Connections\n")
    dumpNodeConnections(net.hosts)
    lost = net.pingAll()
    net.iperf((net["h1"], net["h2"]), seconds=3)
    print("round trip", net["h1"].cmd("ping -c 5 -i 0.2 %s | tail -1" % net["h2"].IP()))
    CLI(net)
    net.stop()
    return lost


if __name__ == "__main__":
    setLogLevel("info")
    sys.exit(3 if run(bw=int(sys.argv[1])) else 0)
