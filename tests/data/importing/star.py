"""A star of hosts."""

from mininet.topo import Topo


class Star(Topo):
    def build(self, n=2):
        switch = self.addSwitch("s1")
        for i in range(n):
            self.addLink(self.addHost(f"h{i + 1}"), switch, bw=10 * (i + 1), delay="2ms")


topos = {"star": Star}
