"""Shortest paths between all switches of a network, computed once; without networkx, which loads slowly."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from controllers.network.description import Link


class NextHops:
    """The ports of each switch where shortest paths to the others begin; every link counts as one."""

    def __init__(self, links: Iterable["Link"]) -> None:
        self._neighbours: dict[str, list[tuple[int, str]]] = {}
        for link in links:
            for here, there in ((link.a, link.b), (link.b, link.a)):
                self._neighbours.setdefault(here.switch, []).append((here.port, there.switch))
        for neighbours in self._neighbours.values():
            neighbours.sort()
        self._adjacent = {
            switch: {neighbour for _, neighbour in neighbours} for switch, neighbours in self._neighbours.items()
        }
        self._distances: dict[str, dict[str, int]] = {}

    def link_ports(self, switch: str) -> list[int]:
        """Returns the ports of a switch that lead to other switches, lowest first."""
        return [port for port, _ in self._neighbours.get(switch, ())]

    def ports(self, switch: str, target: str) -> list[int]:
        """Returns the ports where a shortest path to another switch begins, lowest first; empty if there is none."""
        distance = self._distances_to(target)
        if switch not in distance:
            return []
        return [port for port, neighbour in self._neighbours[switch] if distance[neighbour] < distance[switch]]

    def _distances_to(self, target: str) -> dict[str, int]:
        """Returns the number of links between a switch and each that can reach it."""
        if target not in self._distances:
            distance: dict[str, int] = {}
            ring, links = {target}, 0
            while ring:
                distance |= dict.fromkeys(ring, links)
                ring = {there for here in ring for there in self._adjacent.get(here, ())} - distance.keys()
                links += 1
            self._distances[target] = distance
        return self._distances[target]
