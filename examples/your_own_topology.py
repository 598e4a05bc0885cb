"""A topology as one writes it for Mininet: two sites with a slow line between them, and who gets how much of it."""

from mininet.topo import Topo

import flightpath


class TwoSites(Topo):
    """Some hosts at each of two switches, and a line between these."""

    def build(self, hosts: int = 2, rate: float = 20) -> None:
        """Mininet calls it."""
        here, there = self.addSwitch("s1"), self.addSwitch("s2")
        self.addLink(here, there, bw=rate, delay="10ms", max_queue_size=100)
        for number in range(1, hosts + 1):
            self.addLink(self.addHost(f"a{number}"), here)
            self.addLink(self.addHost(f"b{number}"), there)


with flightpath.Network(TwoSites, rate=10) as net:
    alone = net.iperf("a1", "b1").metrics["goodput"].value
    with net.popen("b2", ["iperf3", "--server"]), net.popen("a2", ["iperf3", "-c", net.address("b2"), "-t", "30"]):
        shared = net.iperf("a1", "b1").metrics["goodput"].value
    line = net.links.query("source == 's1' and target == 's2'")
    certificate = net.certificate()

print(f"a1 gets {alone / 1e6:.1f} Mbit/s alone, and {shared / 1e6:.1f} Mbit/s beside a2")
print(line[["specification", "carried_packets", "dropped_packets"]].to_string(index=False))
print(certificate.verdict, *certificate.reasons, sep="\n  ")
