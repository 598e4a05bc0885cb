"""Growth of a network's processor time in virtual time with its hosts, links and packets.

Each network has a kernel of its own, which prints a word at the end of each phase (`tests.bench.network`). Then the
processor time of all processes of this sandbox is read, so other work on the machine is not counted. A star has the
hosts of a fat tree and a third of its links. A packet crosses six links of a fat tree, whatever its size, of which four
may have a rate and a delay, and two of a star. A network that took longer than ten minutes of real time is the last one
of its kind.

    python -m tests.bench virtual_growth --rounds 1 --json > growth.json
    python -m tests.bench.virtual_growth growth.json docs/pictures/virtual_growth.png

The second command draws the figure of docs/large-networks.md, and prints the rows of its table.
"""

import json
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from flightpath.project import PROJECT
from results.figures import style
from tests.bench.figures import Figure
from tests.bench.growth import HOSTS, ONCE
from tests.bench.network import BEGAN, EXCHANGED, PHASES, TRIED, UP
from tests.bench.processes import sandbox_cpu_s

SECTION = "growth in virtual time"
TREE, STAR, EMULATED = "fat tree", "star", "fat tree, emulated links"
_WORDS = {
    TREE: ("{pods}",),
    STAR: ("single,{hosts}",),
    EMULATED: ("{pods}", "--links", "bandwidth=1Gbit delay=50us"),
}
START, PACKET = "up", "a packet"
_PACKETS = 10_000
_LIMIT_S = 600.0
_GUEST = ("--seed", "1", "--memory", "8192", "--standstill-limit", "600")
_UNITS = {START: "s", PACKET: "us"}
_TITLES = {START: "Starting the network", PACKET: "A packet from the first host to the last"}
_LOOKS = {TREE: (style.BLUE, "o"), STAR: (style.VERMILLION, "s"), EMULATED: (style.GREEN, "^")}


def measure(number: int) -> Iterator[str | Figure]:
    for kind, words in _WORDS.items():
        for pods, hosts in HOSTS.items():
            if number > 1 and pods in ONCE:
                continue
            yield f"{kind}, {hosts} hosts"
            began_s = time.monotonic()
            network = [word.format(pods=pods, hosts=hosts) for word in words]
            used_s = _phases(["-m", "tests.bench.network", *network, "--packets", str(_PACKETS)])
            up_s, packet_us = used_s[UP] - used_s[BEGAN], (used_s[EXCHANGED] - used_s[TRIED]) / (2 * _PACKETS) * 1e6
            for name, value in ((START, up_s), (PACKET, packet_us)):
                yield Figure(SECTION, f"{kind}, {hosts} hosts: {name}", [value], _UNITS[name])
            if time.monotonic() - began_s > _LIMIT_S:
                break


def _phases(words: Sequence[str]) -> Mapping[str, float]:
    """Runs a program in a kernel; returns the processor time (s) of the sandbox at the end of each of its phases."""
    command = [sys.executable, "-m", "execution.virtual", *_GUEST, "--", sys.executable, *words]
    found = {}
    with subprocess.Popen(command, cwd=PROJECT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if line.strip() in PHASES:
                found[line.strip()] = sandbox_cpu_s()
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command)
    return found


def draw(found: Mapping[str, float], picture: Path) -> None:
    from matplotlib import pyplot

    with style.drawing():
        figure, plots = pyplot.subplots(1, 2, figsize=(style.WIDTH_IN, 3.2), layout="constrained")
        for plot, (name, title) in zip(plots, _TITLES.items(), strict=True):
            for kind, (colour, marker) in _LOOKS.items():
                points = {n: found[key] for n in HOSTS.values() if (key := f"{kind}, {n} hosts: {name}") in found}
                plot.plot(list(points), list(points.values()), color=colour, marker=marker, label=kind)
            plot.set(xlabel="hosts", xscale="log", ylabel=f"processor time ({_UNITS[name]})", title=title)
            plot.set_xticks(list(HOSTS.values()), [str(hosts) for hosts in HOSTS.values()])
            plot.minorticks_off()
        plots[0].set_yscale("log")
        plots[1].margins(y=0.15)
        plots[1].set_ylim(bottom=0)
        plots[1].legend(frameon=False)
        figure.savefig(picture, dpi=150)


if __name__ == "__main__":
    report = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    medians = {each["name"]: each["median"] for each in report["figures"] if each["section"] == SECTION}
    draw(medians, Path(sys.argv[2]))
    for hosts in HOSTS.values():
        cells = [medians.get(f"{kind}, {hosts} hosts: {name}") for name in (START, PACKET) for kind in _WORDS]
        print("|", hosts, *("| -" if each is None else f"| {each:.3g}" for each in cells), "|")
