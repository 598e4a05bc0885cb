"""Fat trees as the controller sees them."""

from controllers.network.description import Host, Interface, Link, Network, Switch, SwitchPort
from topologies.fat_tree import FatTree


def fat_tree(pods: int) -> Network:
    """The description that the testbed makes of this network."""
    topology = FatTree(pods=pods)
    hosts, links = [], []
    for a, b, info in topology.links(withInfo=True):
        if topology.isSwitch(a) and topology.isSwitch(b):
            links.append(Link(*(SwitchPort(info[f"node{end}"], info[f"port{end}"]) for end in (1, 2))))
        else:
            host, switch = info["node1"], info["node2"]
            addresses = tuple(text.partition("/")[0] for text in topology.nodeInfo(host)["addresses"][0])
            hosts.append(Host(host, (Interface(f"{host}-eth0", info["addr1"], addresses, switch, info["port2"]),)))
    switches = tuple(Switch(name, int(topology.nodeInfo(name)["dpid"], 16)) for name in topology.switches())
    return Network(switches, tuple(hosts), tuple(links))
