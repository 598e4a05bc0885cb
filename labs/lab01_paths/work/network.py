"""Your network, for `flightpath mn --custom network.py --topo paths`. The code decides what is wrong with it."""

from labs.lab01_paths.network import Paths

topos = {"paths": lambda: Paths(code="{{ code }}", net="{{ net }}")}
