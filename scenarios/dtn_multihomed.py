"""Transfers between multi-homed data transfer nodes: streams of TCP against subflows of MPTCP; our own experiment."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from mininet.topo import Topo

from experiments.claims import Evidence
from experiments.figures import metric_bars
from experiments.judging import ABOUT_PERCENT, ALIKE, LESS, MORE, Found, Range, change, claim, level
from experiments.parameters import CONGESTION_CONTROL, Axis
from experiments.plan import Plan
from experiments.scenario import RunningCell
from flightpath.overrides import override
from probes.counters import mptcp
from probes.preflight import TransferSpec
from results.figures.charts import looks_of
from results.figures.drawing import Figures
from results.records import Cell, Measurement, Metric
from scenarios.dtn.transfer import MB, DtnTransfer
from topologies.fabric import Fabric
from topologies.hosts.multihomed import LARGE_TCP_BUFFERS
from topologies.links.texts import link_specs

PATHS: Mapping[str, tuple[str, ...]] = {
    "two": ("bw=250 delay=4ms queue=20ms",) * 2,
    "four": ("bw=250 delay=4ms queue=20ms",) * 4,
    "unequal": (
        "bw=400 delay=4ms queue=20ms",
        "bw=200 delay=4ms queue=20ms",
        "bw=100 delay=8ms queue=20ms",
        "bw=50 delay=12ms queue=20ms",
    ),
    "lossy": (*("bw=250 delay=4ms queue=20ms",) * 3, "bw=250 delay=4ms queue=20ms loss=0.05"),
}
"""Link of each path; two such links in series make a path."""


@dataclass(frozen=True)
class Transport:
    """A way to move a file.

    Attributes:
        policy: the controller's, for the paths of connections and subflows.
        per_path: whether there are as many streams as paths, or one.
        mptcp: whether a stream has as many subflows as there are paths.
    """

    policy: str
    per_path: bool = False
    mptcp: bool = False


TRANSPORTS: Mapping[str, Transport] = {
    "one TCP stream": Transport("least-loaded"),
    "TCP streams": Transport("least-loaded", per_path=True),
    "MPTCP subflows": Transport("disjoint", mptcp=True),
    "hashed TCP streams": Transport("ecmp", per_path=True),
}
ONE, STREAMS, SUBFLOWS, HASHED = TRANSPORTS

GOOD_PERCENT = 85.0
"""Share of the paths' sum that counts as all of it: slow start takes the rest."""

_EQUAL = ("two", "four")
_BARS = {
    "download": ("Time to download the file, by transport", "s", 1.0),
    "goodput": ("Goodput while all streams transfer, by transport", "Mbit/s", 1e-6),
}


def _against(evidence: Evidence, metric: str, before: str, after: str, *kinds: str) -> dict[str, Found]:
    """Returns the change of a metric from one transport to another, for each kind of paths and file size."""
    return {
        f"{kind}, {size} MB": change(
            evidence,
            metric,
            {"transport": before, "paths": kind, "size_mb": size},
            {"transport": after, "paths": kind, "size_mb": size},
        )
        for kind in kinds
        for size in evidence.tried("size_mb")
    }


def _shares(evidence: Evidence, transport: str) -> dict[str, Found]:
    """Returns the share of the sum of equal paths, for the largest file: slow start matters least there."""
    size = evidence.tried("size_mb")[-1]
    return {kind: level(evidence, "share_of_sum", transport=transport, paths=kind, size_mb=size) for kind in _EQUAL}


class DtnMultihomed(DtnTransfer):
    """Does a data transfer node with several uplinks use them better by parallel streams, or by MPTCP's subflows?

    h1 downloads a file from h2 by SFTP. Both have an interface for each path, and a controller places connections and
    subflows on the paths.

      two, four  250 Mb/s each, a round trip of 16 ms
      unequal    400, 200, 100 and 50 Mb/s, round trips of 16, 16, 32 and 48 ms
      lossy      four of 250 Mb/s, of which one loses 0.1 % of the packets

    Transports: one TCP stream; as many TCP streams as paths, each placed on the least loaded path; MPTCP with as many
    subflows as paths, one on each; and, in the full form, as many TCP streams whose paths are a hash of their
    addresses. Each stream moves an equal share of the file, so the slowest one decides when the file is complete.

      flightpath run dtn_multihomed --clock virtual
      flightpath run dtn_multihomed --only paths=unequal --congestion-control bbr
    """

    name = "dtn_multihomed"
    summary = "SFTP between multi-homed nodes: parallel TCP streams against MPTCP's subflows, on steered paths"
    headlines = ("download", "goodput", "share_of_sum", "rtt", "cpu_client", "idle_cpu")
    source, target = "h2", "h1"
    axes = (
        Axis("transport", (ONE, STREAMS, SUBFLOWS), tuple(TRANSPORTS)),
        Axis("paths", tuple(PATHS)),
        Axis("size_mb", (100,), (50, 100, 500)),
    )
    options = (CONGESTION_CONTROL,)
    figures = Figures(
        **metric_bars(_BARS, groups="paths", by="transport", looks=looks_of(TRANSPORTS), x_label="paths"),
    )
    claims = (
        claim(
            "MPTCP downloads a file over several paths in less time than one TCP stream does",
            "sooner, on all paths and with every file size",
            lambda evidence: _against(evidence, "download", ONE, SUBFLOWS, *PATHS),
            LESS,
        ),
        *(
            claim(
                f"{transport} get the sum of equal paths",
                f"at least {GOOD_PERCENT:g} % of it, slow start included",
                partial(_shares, transport=transport),
                Range(least=GOOD_PERCENT),
                form="{:.0f} %",
            )
            for transport in (STREAMS, SUBFLOWS)
        ),
        claim(
            "on equal paths subflows and streams are alike",
            f"the same time within {ABOUT_PERCENT:g} %",
            lambda evidence: _against(evidence, "download", STREAMS, SUBFLOWS, *_EQUAL),
            ALIKE,
        ),
        claim(
            "on unequal paths subflows win: the stream on the slowest path ends last",
            "sooner with MPTCP, with every file size",
            lambda evidence: _against(evidence, "download", STREAMS, SUBFLOWS, "unequal"),
            LESS,
        ),
        claim(
            "on paths of which one loses packets subflows win",
            "sooner with MPTCP, with every file size",
            lambda evidence: _against(evidence, "download", STREAMS, SUBFLOWS, "lossy"),
            LESS,
        ),
        claim(
            "streams whose paths are hashed meet on the same paths, and take longer than streams that are placed",
            "longer over four equal paths, with every file size",
            lambda evidence: _against(evidence, "download", STREAMS, HASHED, "four"),
            MORE,
        ),
    )

    @override
    def topology(self, cell: Cell, plan: Plan) -> Topo:
        links = _links(cell)
        return Fabric(
            edges=2,
            hosts=1,
            cores=len(links),
            links=links,
            mptcp=_transport(cell).mptcp,
            congestion_control=self.congestion_control(cell, plan),
            settings={"sysctls": LARGE_TCP_BUFFERS},
        )

    @override
    def testbed_options(self, cell: Cell, plan: Plan) -> Mapping[str, Any]:
        return {"policy": _transport(cell).policy}

    @override
    def transfer(self, cell: Cell, plan: Plan) -> TransferSpec:
        transport = _transport(cell)
        return TransferSpec(
            size_bytes=int(cell.parameters["size_mb"]) * MB,
            streams=len(_links(cell)) if transport.per_path else 1,
            mptcp=transport.mptcp,
            route=False,
            interval_s=0.1,
        )

    @override
    def load_s(self, cell: Cell, plan: Plan) -> float:
        return 2 + int(cell.parameters["size_mb"]) / 25  # over a path of 200 Mb/s

    @override
    def goodput_limits_bps(self, cell: Cell, plan: Plan) -> Mapping[str, float]:
        return {"goodput": _payload_limit_bps(cell)}

    @override
    def load(self, run: RunningCell) -> Measurement:
        client = run.testbed.host(self.target)
        before = mptcp.read_counters(client)
        measured = super().load(run)
        after = mptcp.read_counters(client)
        if _transport(run.cell).mptcp:
            mptcp.require_mptcp(self.target, before, after)
        else:
            mptcp.require_no_mptcp(self.target, before, after)
        share = 100 * measured.metrics["goodput"].value / _payload_limit_bps(run.cell)
        return measured.merged(Measurement({"share_of_sum": Metric(share, "%")}))


def _transport(cell: Cell) -> Transport:
    return TRANSPORTS[str(cell.parameters["transport"])]


def _links(cell: Cell) -> tuple[str, ...]:
    return PATHS[str(cell.parameters["paths"])]


def _payload_limit_bps(cell: Cell) -> float:
    """Returns the maximum TCP payload rate of all paths together."""
    links = link_specs("paths", _links(cell), len(_links(cell)))
    return sum(link.payload_bps or 0 for link in links if link)


if __name__ == "__main__":
    from scenarios.command import runner

    runner.main(DtnMultihomed())
