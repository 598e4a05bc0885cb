"""MPTCP against MPT-GRE over two paths that are not alike, by scheduler: where each one breaks.

No paper's experiment, so the claims are ours: they say what each scheduler is for.
"""

import statistics
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Mapping, Sequence
from pathlib import Path

from matplotlib.figure import Figure

from results.figures import style
from results.figures.bar_groups import Bar, stacked_bars
from results.figures.charts import bars, looks_of, save_all
from results.figures.style import Look
from results.records import Cell, CellResult, Claim, Measurement, Verdict
from results.statistics.estimates import group, usable
from scenarios import fidelity
from scenarios.framework import runner
from scenarios.framework.claims import Finding, cells_note, claim
from scenarios.framework.plan import Plan
from scenarios.framework.scenario import Context
from scenarios.multipath.multipath import Configuration, MultipathScenario, means
from topologies.links.spec import LinkSpec
from topologies.links.texts import link_specs
from topologies.testbed.testbed import Testbed
from topologies.testbed.tunnel import TunnelSpec

PATHS: Mapping[str, tuple[str, str]] = {
    "equal": ("bw=50 delay=10ms queue=50ms", "bw=50 delay=10ms queue=50ms"),
    "bandwidth": ("bw=80 delay=10ms queue=50ms", "bw=20 delay=10ms queue=50ms"),
    "delay": ("bw=50 delay=5ms queue=50ms", "bw=50 delay=50ms queue=50ms"),
    "loss": ("bw=50 delay=10ms queue=50ms", "bw=50 delay=10ms queue=50ms loss=0.5"),
}
"""What is unequal, and both paths; the first is the better one, and 100 Mb/s the sum."""

BEST_SHARE: Mapping[str, float] = {"equal": 0.5, "bandwidth": 0.8, "delay": 0.5, "loss": 0.5}
"""Of the sum, on the better path."""

TUNNELS: Mapping[str, TunnelSpec] = {
    "round robin": TunnelSpec(),
    "weighted": TunnelSpec(),
    "adaptive": TunnelSpec(weights="adaptive"),
    "least RTT": TunnelSpec(scheduler="rtt"),
    "redundant": TunnelSpec(scheduler="redundant"),
    "flow hash": TunnelSpec(scheduler="flowhash"),
    "no reordering": TunnelSpec(reordering="off"),
}
"""Transports in a tunnel. `weighted` knows the bandwidths; `no reordering` is round robin without the buffer."""

FULL = ("tcp", "mptcp", *TUNNELS)
QUICK = tuple(name for name in FULL if name not in ("tcp", "flow hash"))
"""Both take one path."""

GOOD_SHARE = 0.85
NO_GAIN = 1.1


class MultipathUnequal(MultipathScenario):
    """The scenario; see its description."""

    name = "multipath_unequal"
    summary = "MPTCP against MPT-GRE, by scheduler, over paths of different bandwidth, delay or loss: where each breaks"
    description = f"""\
One connection over two paths that are not alike (and over two that are, to compare), 100 Mb/s together.

{chr(10).join(f"  {name:10} {' | '.join(texts)}" for name, texts in PATHS.items())}

Transports: tcp (on the better path), mptcp, and TCP in a tunnel (MPT-GRE): round robin with equal weights; weighted by
the known bandwidths; adaptive weights; least RTT first; redundant (everything on both paths); flow hash; and round
robin with no reordering buffer. The share of the sum is of what TCP's payload can be.

  python -m scenarios.multipath_unequal
  python -m scenarios.multipath_unequal --only paths=delay --congestion-control bbr
  python -m scenarios.multipath_unequal --full              all transports, three times"""

    headlines = ("goodput", "share_of_sum", "share_path2", "retransmissions", "cpu_tunnel", "idle_cpu")
    uses_all_paths = False  # some schedulers may well leave the worse one
    seconds = (4, 15)

    def add_options(self, parser: ArgumentParser) -> None:
        """Adds how long iperf3 sends."""
        super().add_options(parser)
        self.add_transfer_options(parser)

    def plan(self, options: Namespace) -> Plan:
        """The quick or full plan, changed by the options."""
        axes = {"transport": FULL if options.form == "full" else QUICK, "paths": tuple(PATHS)}
        settings = self.transfer_settings(options)
        return self.planned(options, axes, settings, quick_repeat=1, full_repeat=3)

    def configuration(self, cell: Cell) -> Configuration:
        """All over IPv4."""
        return Configuration.named(_CONFIGURATIONS.get(str(cell.parameters["transport"]), "tun4_path4"))

    def tunnel(self, cell: Cell) -> TunnelSpec:
        """As the transport's name says."""
        name = str(cell.parameters["transport"])
        if name != "weighted":
            return TUNNELS[name]
        return TunnelSpec(path_weights=[link.bandwidth_bps / 1e6 for link in _links(cell)])

    def links(self, cell: Cell, plan: Plan) -> list[LinkSpec]:
        """The paths of that name."""
        return _links(cell)

    def warm_up_s(self, cell: Cell) -> float:
        """Until the window fits paths of 50 ms."""
        return 3.0

    def load(self, testbed: Testbed, watch: fidelity.Watch, cell: Cell, context: Context) -> Measurement:
        """What all have, and the share of the sum."""
        measured = super().load(testbed, watch, cell, context)
        return measured.merged(Measurement({"share_of_sum": self.share_of_sum(measured, cell, context.plan)}))

    def figures(self, cells: Sequence[CellResult], folder: Path) -> list[Path]:
        """What each transport gets, which paths it takes, and what it sends again."""
        looks = looks_of([name for name in PATHS if any(cell.cell.parameters["paths"] == name for cell in cells)])
        charts = {
            metric: bars(
                cells,
                metric,
                groups="transport",
                by="paths",
                looks=looks,
                title=title,
                x_label="transport",
                y_label=label,
            )
            for metric, title, label in (
                ("share_of_sum", "What one connection gets of both paths, by what is unequal", "share of the sum (%)"),
                ("retransmissions", "Segments sent again, by what is unequal", "segments"),
            )
        }
        return save_all({**charts, "shares": _shares(cells)}, Path(folder))

    def claims(self, cells: Sequence[CellResult], form: str) -> list[Claim]:
        """What each transport is for, and where it breaks."""
        note = cells_note(cells)
        good = f"at least {GOOD_SHARE:.0%} of the sum"

        def reaches(sentence: str, transport: str, *paths: str) -> Claim:
            return claim(sentence, good, lambda: _reaches(cells, transport, paths), note)

        def stays(sentence: str, transport: str, share: float, *paths: str) -> Claim:
            bound = f"at most {NO_GAIN * share:.0%} of the sum"
            return claim(sentence, bound, lambda: _stays(cells, transport, share, paths), note)

        return [
            reaches("MPTCP gets the sum of paths that are equal, or differ in bandwidth or delay", "mptcp", *_LOSSLESS),
            reaches("round robin gets the sum of equal paths, and of 5 ms against 50 ms", "round robin", *_ALIKE),
            reaches("weights that are known get the sum of unequal bandwidths", "weighted", "bandwidth"),
            reaches("weights that adapt find it by themselves", "adaptive", "bandwidth"),
            stays("equal weights get twice the narrower path", "round robin", 0.4, "bandwidth"),
            stays(
                "with unequal delays and no reordering buffer, two paths are no better than one",
                "no reordering",
                0.5,
                "delay",
            ),
            stays("redundancy costs the second path", "redundant", 0.5, "equal"),
            claim(
                "a path that loses packets slows TCP in the tunnel more than MPTCP, whose other path goes on",
                "MPTCP faster than round robin",
                lambda: _loss(cells),
                note,
            ),
            claim(
                "redundancy hides the loss of one path",
                f"at least {GOOD_SHARE:.0%} of the better path",
                lambda: _hidden(cells),
                note,
            ),
        ]


_CONFIGURATIONS = {"tcp": "baseline4", "mptcp": "mptcp4"}
_LOSSLESS, _ALIKE = ("equal", "bandwidth", "delay"), ("equal", "delay")
_PATH_LOOKS = (Look("better path", style.BLUE), Look("other path", style.ORANGE, hatch="///"))


def _links(cell: Cell) -> list[LinkSpec]:
    return [link for link in link_specs("paths", PATHS[str(cell.parameters["paths"])], 2) if link]


def _of_sum(cells: Sequence[CellResult], transport: str, paths: tuple[str, ...]) -> dict[str, float]:
    """Share of the sum (1 is all of it) by what is unequal."""
    found = means(cells, "share_of_sum", "paths", transport=transport, paths=paths)
    return {name: value / 100 for name, value in found.items()}


def _told(shares: Mapping[str, float]) -> str:
    return ", ".join(f"{name} {share:.0%}" for name, share in shares.items())


def _reaches(cells: Sequence[CellResult], transport: str, paths: tuple[str, ...]) -> Finding:
    shares = _of_sum(cells, transport, paths)
    missing = ", ".join(name for name in paths if name not in shares)
    return Finding.of(min(shares.values()) >= GOOD_SHARE, _told(shares), f"not measured: {missing}" if missing else "")


def _stays(cells: Sequence[CellResult], transport: str, share: float, paths: tuple[str, ...]) -> Finding:
    shares = _of_sum(cells, transport, paths)
    return Finding.of(max(shares.values()) <= NO_GAIN * share, _told(shares))


def _loss(cells: Sequence[CellResult]) -> Finding:
    tunnel, other = (_of_sum(cells, name, ("loss",))["loss"] for name in ("round robin", "mptcp"))
    return Finding.of(other > tunnel, f"MPTCP {other:.0%}, round robin {tunnel:.0%} of the sum")


def _hidden(cells: Sequence[CellResult]) -> Finding:
    share = _of_sum(cells, "redundant", ("loss",))["loss"] / BEST_SHARE["loss"]
    return Finding.of(share >= GOOD_SHARE, f"{share:.0%} of the better path")


def _shares(cells: Sequence[CellResult]) -> Figure | None:
    """Which path carried how much: a plot per kind of paths, a bar per transport."""
    panels = [
        (str(name), {str(transport): [_bar(own)] for (transport,), own in group(members, ("transport",)).items()})
        for (name,), members in group(cells, ("paths",)).items()
    ]
    if not panels:
        return None
    return stacked_bars(
        panels,
        cells,
        title="Which path carried the bytes, by what is unequal",
        x_label="transport",
        y_label="share (%)",
        height_in=1.6 * len(panels) + 0.6,
    )


def _bar(cells: Sequence[CellResult]) -> Bar:
    used = usable(cells) or list(cells)
    parts = [
        (look, statistics.fmean(cell.measurement.metrics[f"share_path{number}"].value for cell in used))
        for number, look in enumerate(_PATH_LOOKS, start=1)
    ]
    return Bar(parts, Verdict.worst([cell.certificate.verdict for cell in used]))


if __name__ == "__main__":
    sys.exit(runner.main(MultipathUnequal()))
