"""Throughput of parallel streams against that of one connection with large segments.

Mohammed et al., "Net-Preflight Check" (2021): "the use of parallel TCP streams is equivalent to using a large maximum
segment size on a single connection"; after Hacker, Athey and Noble (2002).
"""

from collections.abc import Sequence
from functools import partial

from experiments.claims import Evidence, InsufficientData
from experiments.judging import Found, about, change, claim
from experiments.parameters import CONGESTION_CONTROL, Axis, Setting, at_least
from experiments.plan import Plan
from flightpath.overrides import override
from results.figures.drawing import Figures
from results.records import Cell
from scenarios.dtn.transfer import DtnTransfer, goodput_curves
from topologies.links.spec import LinkSpec

SMALL, LARGE = 1500, 9000
EQUIVALENT_PERCENT = 25.0
"""Tolerance of "equivalent": a quarter, because the two mechanisms differ."""


def _against_large(evidence: Evidence, *, with_loss: bool, streams: Sequence[int]) -> dict[str, Found]:
    """Returns the change from one stream of large segments to several of small ones, at each loss."""
    losses = [loss for loss in evidence.tried("loss") if (loss not in ("0", "0%")) == with_loss]
    if not losses:
        raise InsufficientData(f"nothing was measured {'with' if with_loss else 'without'} loss")
    return {
        f"{count} x {SMALL}, loss {loss}": change(
            evidence,
            "goodput",
            {"mtu": LARGE, "streams": 1, "loss": loss},
            {"mtu": SMALL, "streams": count, "loss": loss},
        )
        for loss in losses
        for count in streams
    }


class DtnMss(DtnTransfer):
    """Is a transfer in n parallel streams equivalent to one with segments n times as large?

    With loss, a connection's throughput grows with its segment size (Mathis et al., 1997), and the throughputs of n
    connections add up: six streams with an MTU of 1500 should then equal one with 9000. Without loss neither should
    matter.

      flightpath run dtn_mss
      flightpath run dtn_mss --loss 0,0.05% --congestion-control reno
    """

    name = "dtn_mss"
    summary = "parallel SFTP streams against a large MTU on one connection, with and without loss (netpreflight)"
    repeats = (3, 5)
    axes = (
        Axis("mtu", (SMALL, LARGE)),
        Axis("streams", (1, 6), (1, 2, 4, 6, 8)),
        Axis("loss", ("0", "0.01%"), option="--loss", help="loss rates of packets"),
    )
    options = (
        CONGESTION_CONTROL,
        Setting("--bandwidth", "bandwidth of the path", "500Mbit", metavar="RATE"),
        Setting("--delay", "one-way delay of the path", "15ms", metavar="TIME"),
        Setting("--seconds", "length of each transfer", 6, read=at_least("--seconds", 1)),
    )
    figures = Figures(
        fig_mss=goodput_curves(
            x="streams",
            by="mtu",
            panels="loss",
            panel_title="loss {}",
            title="SFTP throughput against the number of streams, by MTU (bytes)",
            x_label="streams",
        ),
    )
    claims = (
        claim(
            "parallel streams are equivalent to a large segment on one connection (with loss)",
            f"6 x {SMALL} as 1 x {LARGE}: within {EQUIVALENT_PERCENT:g} %",
            partial(_against_large, with_loss=True, streams=(6,)),
            about(0, EQUIVALENT_PERCENT),
        ),
        claim(
            "without congestion parallel streams are equivalent to a large segment on one connection",
            f"6 x {SMALL} as 1 x {LARGE}, without loss: within {EQUIVALENT_PERCENT:g} %",
            partial(_against_large, with_loss=False, streams=(6,)),
            about(0, EQUIVALENT_PERCENT),
        ),
        claim(
            "without loss one stream of small segments is as fast, too (ours)",
            f"1 x {SMALL} as 1 x {LARGE}: within {EQUIVALENT_PERCENT:g} %, by Mathis' formula",
            partial(_against_large, with_loss=False, streams=(1,)),
            about(0, EQUIVALENT_PERCENT),
        ),
    )

    @override
    def link(self, cell: Cell, plan: Plan) -> LinkSpec:
        path = {name: plan.settings[name] for name in ("bandwidth", "delay")}
        loss, mtu = str(cell.parameters["loss"]), int(cell.parameters["mtu"])
        return LinkSpec.parse(**path, queue="1bdp", loss=loss, mtu=mtu)


if __name__ == "__main__":
    from scenarios.command import runner

    runner.main(DtnMss())
