"""MPTCP against MPT-GRE over two unequal paths: our own experiment; its claims say what each scheduler is for."""

from collections.abc import Mapping, Sequence
from functools import partial

from experiments.claims import ClaimCheck, Evidence
from experiments.figures import metric_bars, stacked_metrics
from experiments.judging import MORE, Found, Range, change, claim, level
from experiments.parameters import CONGESTION_CONTROL, Axis
from experiments.plan import Plan
from experiments.scenario import RunningCell
from flightpath.overrides import override
from results.figures import style
from results.figures.charts import looks_of
from results.figures.drawing import Figures
from results.figures.style import Look
from results.records import Cell, Measurement
from scenarios.multipath.multipath import Configuration, MultipathScenario, transfer_settings
from topologies.links.spec import LinkSpec
from topologies.links.texts import link_specs
from topologies.testbed.tunnel import TunnelSpec

PATHS: Mapping[str, tuple[str, str]] = {
    "equal": ("bw=50 delay=10ms queue=50ms", "bw=50 delay=10ms queue=50ms"),
    "bandwidth": ("bw=80 delay=10ms queue=50ms", "bw=20 delay=10ms queue=50ms"),
    "delay": ("bw=50 delay=5ms queue=50ms", "bw=50 delay=50ms queue=50ms"),
    "loss": ("bw=50 delay=10ms queue=50ms", "bw=50 delay=10ms queue=50ms loss=0.5"),
}
"""Both paths by the property in which they differ: the better one first, 100 Mb/s together."""

TUNNELS: Mapping[str, TunnelSpec] = {
    "round robin": TunnelSpec(),
    "weighted": TunnelSpec(),
    "adaptive": TunnelSpec(weights="adaptive"),
    "least RTT": TunnelSpec(scheduler="rtt"),
    "redundant": TunnelSpec(scheduler="redundant"),
    "flow hash": TunnelSpec(scheduler="flowhash"),
    "no reordering": TunnelSpec(reordering="off"),
}
"""Tunnel of each transport; the weights of `weighted` are the bandwidths of a cell's paths."""

FULL = ("tcp", "mptcp", *TUNNELS)
QUICK = tuple(name for name in FULL if name not in ("tcp", "flow hash"))
"""Transports of the quick form: without those that use one path."""

GOOD_PERCENT = 85.0
"""Share of the sum that counts as all of it: slow start and the last packets on the worse path take the rest."""

_CONFIGURATIONS = {"tcp": "baseline4", "mptcp": "mptcp4"}
_LOSSLESS, _ALIKE = ("equal", "bandwidth", "delay"), ("equal", "delay")
_BARS = {
    "share_of_sum": ("What one connection gets of both paths, by what is unequal", "share of the sum (%)", 1.0),
    "retransmissions": ("Segments sent again, by what is unequal", "segments", 1.0),
}
_PATH_LOOKS = {
    "share_path1": Look("better path", style.BLUE),
    "share_path2": Look("other path", style.ORANGE, hatch="///"),
}


def _links(cell: Cell) -> list[LinkSpec]:
    return [link for link in link_specs("paths", PATHS[str(cell.parameters["paths"])], 2) if link]


def _gets(sentence: str, transport: str, *paths: str, most: float | None = None) -> ClaimCheck:
    """Makes the claim that a transport gets nearly the sum of some kinds of paths, or at most a percentage of it."""
    wanted = Range(least=GOOD_PERCENT) if most is None else Range(most=most)
    bound = f"at least {GOOD_PERCENT:g}" if most is None else f"at most {most:g}"
    return claim(
        sentence, f"{bound} % of the sum", partial(_shares, transport=transport, paths=paths), wanted, form="{:.0f} %"
    )


def _shares(evidence: Evidence, transport: str, paths: Sequence[str], scale: float = 1) -> dict[str, Found]:
    """Returns the share of the sum for each kind of paths."""
    return {kind: level(evidence, "share_of_sum", scale=scale, transport=transport, paths=kind) for kind in paths}


def _loss(evidence: Evidence) -> dict[str, Found]:
    tunnel, mptcp = ({"transport": name, "paths": "loss"} for name in ("round robin", "mptcp"))
    return {"": change(evidence, "share_of_sum", tunnel, mptcp)}


class MultipathUnequal(MultipathScenario):
    """One connection over two unequal paths (and over two equal ones, to compare), 100 Mb/s together.

      equal      bw=50 delay=10ms queue=50ms | bw=50 delay=10ms queue=50ms
      bandwidth  bw=80 delay=10ms queue=50ms | bw=20 delay=10ms queue=50ms
      delay      bw=50 delay=5ms queue=50ms | bw=50 delay=50ms queue=50ms
      loss       bw=50 delay=10ms queue=50ms | bw=50 delay=10ms queue=50ms loss=0.5

    Transports: tcp (on the better path), mptcp, and TCP in a tunnel (MPT-GRE): round robin with equal weights; weighted
    by the known bandwidths; adaptive weights; least RTT first; redundant (everything on both paths); flow hash; and
    round robin without the reordering buffer. The share of the sum is that of the most TCP payload that both paths can
    carry.

      flightpath run multipath_unequal
      flightpath run multipath_unequal --only paths=delay --congestion-control bbr
      flightpath run multipath_unequal --full              all transports, three times
    """

    name = "multipath_unequal"
    summary = "MPTCP against MPT-GRE, by scheduler, over two paths of different bandwidth, delay or loss"
    headlines = ("goodput", "share_of_sum", "share_path2", "retransmissions", "cpu_tunnel", "idle_cpu")
    repeats = (1, 3)
    uses_all_paths = False  # a scheduler may leave the worse path
    axes = (Axis("transport", QUICK, FULL), Axis("paths", tuple(PATHS)))
    options = (CONGESTION_CONTROL, *transfer_settings((4, 15)))
    figures = Figures(
        **metric_bars(_BARS, groups="transport", by="paths", looks=looks_of(PATHS), x_label="transport"),
        shares=partial(
            stacked_metrics,
            parts=_PATH_LOOKS,
            groups="transport",
            panels="paths",
            title="Which path carried the bytes, by what is unequal",
            x_label="transport",
            y_label="share (%)",
        ),
    )
    claims = (
        _gets("MPTCP gets the sum of paths that are equal or differ in bandwidth or delay", "mptcp", *_LOSSLESS),
        _gets("round robin gets the sum of equal paths, and of 5 ms against 50 ms", "round robin", *_ALIKE),
        _gets("known weights get the sum of unequal bandwidths", "weighted", "bandwidth"),
        _gets("adaptive weights find the bandwidths by themselves", "adaptive", "bandwidth"),
        _gets("equal weights get twice the narrower path", "round robin", "bandwidth", most=44),
        _gets(
            "with unequal delays and no reordering buffer, two paths are no better than one",
            "no reordering",
            "delay",
            most=55,
        ),
        _gets("redundancy costs the second path", "redundant", "equal", most=55),
        claim(
            "a path that loses packets slows TCP in the tunnel more than MPTCP, whose other path goes on",
            "MPTCP faster than round robin",
            _loss,
            MORE,
        ),
        claim(
            "redundancy hides the loss of one path",
            f"at least {GOOD_PERCENT:g} % of the better path",
            partial(_shares, transport="redundant", paths=["loss"], scale=2),  # both have the same bandwidth
            Range(least=GOOD_PERCENT),
            form="{:.0f} %",
        ),
    )

    @override
    def configuration(self, cell: Cell) -> Configuration:
        return Configuration.named(_CONFIGURATIONS.get(str(cell.parameters["transport"]), "tun4_path4"))

    @override
    def tunnel(self, cell: Cell) -> TunnelSpec:
        name = str(cell.parameters["transport"])
        if name != "weighted":
            return TUNNELS[name]
        return TunnelSpec(path_weights=[(link.bandwidth_bps or 0) / 1e6 for link in _links(cell)])

    @override
    def links(self, cell: Cell, plan: Plan) -> list[LinkSpec]:
        return _links(cell)

    @override
    def warm_up_s(self, cell: Cell) -> float:
        return 3.0  # until the window fits paths of 50 ms

    @override
    def load(self, run: RunningCell) -> Measurement:
        measured = super().load(run)
        return measured.merged(Measurement({"share_of_sum": self.share_of_sum(measured, run)}))


if __name__ == "__main__":
    from scenarios.command import runner

    runner.main(MultipathUnequal())
