"""Throughput of parallel streams against that of one connection with large segments.

Mohammed et al., "Net-Preflight Check" (2021): "the use of parallel TCP streams is equivalent to using a large maximum
segment size on a single connection"; after Hacker, Athey and Noble (2002).
"""

from functools import partial

from flightpath.overrides import override
from results.figures.drawing import Figures
from results.records import Cell
from scenarios.dtn.transfer import DtnTransfer, goodput_curves
from scenarios.framework import runner
from scenarios.framework.claims import ClaimCheck, Evidence, InsufficientData, Outcome, reproduced_if
from scenarios.framework.plan import CONGESTION_CONTROL, Axis, Plan, Setting
from topologies.links.spec import LinkSpec

SMALL, LARGE = 1500, 9000
EQUAL_SHARE = 0.25
"""What "equivalent" may be: within a quarter, because the two mechanisms differ."""


def _equivalent(evidence: Evidence, *, with_loss: bool) -> Outcome:
    """Whether six streams of small segments are as fast as one of large ones, and without loss one stream as well."""
    by_loss = {loss: part for loss, part in evidence.by("loss").items() if (loss not in ("0", "0%")) == with_loss}
    if not by_loss:
        raise InsufficientData(f"nothing was measured {'with' if with_loss else 'without'} loss")
    loss, part = next(iter(by_loss.items()))
    large = part.where(mtu=LARGE, streams=1).mean("goodput")
    six, one = (part.where(mtu=SMALL, streams=streams).mean("goodput") / large for streams in (6, 1))
    holds = abs(six - 1) <= EQUAL_SHARE and (with_loss or abs(one - 1) <= EQUAL_SHARE)
    return reproduced_if(holds, f"6 x 1500 is {six:.2f} of 1 x 9000; 1 x 1500 is {one:.2f} of it", f"loss {loss}")


class DtnMss(DtnTransfer):
    """Is a transfer in n parallel streams equivalent to one with segments n times as large?

    With loss, a connection's throughput grows with its segment size (Mathis et al., 1997), and the throughputs of n
    connections add up: six streams with an MTU of 1500 should then equal one with 9000. Without loss neither should
    matter.

      python -m scenarios.dtn_mss
      python -m scenarios.dtn_mss --loss 0,0.05% --congestion-control reno
    """

    name = "dtn_mss"
    summary = "parallel SFTP streams against a large MTU on one connection, with and without loss (netpreflight)"
    repeats = (3, 5)
    axes = (
        Axis("mtu", (SMALL, LARGE)),
        Axis("streams", (1, 6), (1, 2, 4, 6, 8)),
        Axis("loss", ("0", "0.01%"), option="--loss", help="of packets"),
    )
    options = (
        CONGESTION_CONTROL,
        Setting("--bandwidth", "of the path", "500Mbit"),
        Setting("--delay", "of the path, one way", "15ms"),
        Setting("--seconds", "length of each transfer", 6),
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
        ClaimCheck(
            "parallel streams are equivalent to a large segment on one connection (with loss)",
            f"6 x 1500 as 1 x 9000 (within {EQUAL_SHARE:.0%})",
            partial(_equivalent, with_loss=True),
        ),
        ClaimCheck(
            "without loss neither streams nor segment size matter",
            f"within {EQUAL_SHARE:.0%} (by Mathis' formula; not in the paper)",
            partial(_equivalent, with_loss=False),
        ),
    )

    @override
    def link(self, cell: Cell, plan: Plan) -> LinkSpec:
        path = {name: plan.settings[name] for name in ("bandwidth", "delay")}
        return LinkSpec.parse(**path, queue="1bdp", **{name: cell.parameters[name] for name in ("loss", "mtu")})


if __name__ == "__main__":
    runner.main(DtnMss())
