"""Lab 10: measure a path by a small transfer, and predict a large one (the method of "Net-Preflight Check")."""

import random
from collections.abc import Iterator

from flightpath.errors import MeasurementFailed
from flightpath.overrides import override
from labs.framework import files
from labs.framework.judging import Limits, answered, between, counting_beside
from labs.framework.lab import Finding, Lab, Measured, Parameters, Question, Work
from labs.framework.network import trial
from probes.preflight import TransferSpec
from probes.sftp import SftpTransfer
from results.records import Measurement
from services.sshd import Sshd
from topologies.dtn_pair import SOURCE, TARGET, DtnPair
from topologies.links.spec import PAYLOAD_SHARE
from topologies.sandbox.sandbox import TEMPORARY

FILE = "transfer.toml"
LARGE_MB = 6
MAX_PROBE_MB = LARGE_MB / 5
_MB = 1_000_000


class PreflightLab(Lab):
    """A path between two data transfer nodes."""

    number, title, minutes = 10, "Will it arrive in time?", 45
    goal = "You can predict how long a large transfer takes from a small one, and make both fill the path."
    needs = "labs 2 and 4"
    questions = (
        Question("bdp_kb", "The bandwidth-delay product of the path, in kB"),
        Question("delivered_mbit", "What one connection gets with the buffer as delivered, in Mb/s"),
        Question("seconds", f"How long the large transfer ({LARGE_MB} MB) takes with your settings, predicted, in s"),
    )
    has_files = True

    @override
    def parameters(self, chance: random.Random) -> Parameters:
        return {
            "mbit": chance.choice([8, 10, 12]),
            "delay_ms": chance.choice([15, 20, 25]),
            "buffer_kb": chance.choice([10, 12]),
            "large_mb": LARGE_MB,
            "most_probe_mb": MAX_PROBE_MB,
        }

    @override
    def measure(self, parameters: Parameters, work: Work) -> Measured:
        chosen = _chosen(work, parameters)
        link = f"bw={parameters['mbit']} delay={parameters['delay_ms']}ms queue=1bdp"
        with trial(DtnPair(link=link, switched=False, congestion_control="cubic")) as network:
            source, target = network.testbed.host(SOURCE), network.testbed.host(TARGET)
            with Sshd(source, source.address(), TEMPORARY / "sshd", reach=source.address()) as server:

                def transfer(size_mb: float) -> Measurement:
                    spec = TransferSpec(
                        size_bytes=round(size_mb * _MB),
                        streams=int(chosen["streams"]),
                        receive_buffer_bytes=round(chosen["receive_buffer_kb"] * 1000),
                        route=False,
                        interval_s=0.1,
                    )
                    return SftpTransfer(spec, server.client_configuration).run(
                        target, server.name, watch=network.watch.check
                    )

                probe, large = transfer(chosen["probe_mb"]), transfer(LARGE_MB)
        network.series |= {"goodput of the probe": probe.series["goodput"], "goodput": large.series["goodput"]}
        values = {
            "probe_mb": chosen["probe_mb"],
            "probe_mbit": probe.metrics["goodput"].value / 1e6,
            "large_mbit": large.metrics["goodput"].value / 1e6,
            "seconds": large.metrics["download"].value,
        }
        return network.measured(values)

    @override
    def judge(self, parameters: Parameters, work: Work, measured: Measured) -> Iterator[Finding]:
        values, mbit, rtt_ms = measured.values, parameters["mbit"], 2 * parameters["delay_ms"]
        product = "bits per second times the seconds of a round trip; a byte has eight bits"
        yield answered(work, "bdp_kb", "bandwidth-delay product", mbit * rtt_ms / 8, product, within=0.05)
        each = "what may be under way in one round trip? Measure it, too"
        delivered_mbit = parameters["buffer_kb"] * 8 / rtt_ms
        yield answered(work, "delivered_mbit", "throughput as delivered", delivered_mbit, each, within=0.3)
        units = "size and throughput: megabytes, or megabits? And did your small transfer go as fast as the large one?"
        yield answered(work, "seconds", "time of the large transfer", values.get("seconds"), units, within=0.12)
        costs = "measuring so much costs more than it tells"
        limits = Limits(0, MAX_PROBE_MB, too_high=costs)
        size = between("size of the small transfer", values.get("probe_mb"), "MB", limits)
        ratio = 100 * values["probe_mbit"] / values["large_mbit"] if values.get("large_mbit") else None
        start = "what does TCP do in its first round trips, and which share of your small transfer is that?"
        is_like_large = Limits(87, 113, start, start)
        small = between("throughput of the small transfer", ratio, "% of the large one's", is_like_large, points=2)
        window = "the sender waits for the receiver's window: how large must the buffers be, all together?"
        limits = Limits(0.85 * PAYLOAD_SHARE * mbit, mbit, too_low=window)
        large = between("throughput of the large transfer", values.get("large_mbit"), "Mbit/s", limits, points=2)
        small = counting_beside(large, small)
        yield counting_beside(small, size) if size.passed else size
        yield small
        yield large


def _chosen(work: Work, parameters: Parameters) -> dict[str, float]:
    kinds = {"probe_mb": float, "streams": int, "receive_buffer_kb": float}
    usual = {"probe_mb": 0.1, "streams": 1, "receive_buffer_kb": parameters["buffer_kb"]}
    chosen = {**usual, **files.settings(work, FILE, kinds)}
    for key, least, most in (("probe_mb", 0.01, LARGE_MB), ("streams", 1, 8), ("receive_buffer_kb", 4, 100_000)):
        if not least <= chosen[key] <= most:
            raise MeasurementFailed(f"{FILE}: {key} = {chosen[key]:g} is not between {least:g} and {most:g}")
    return chosen
