"""The model of a processor in the claims: a tunnel in which only the service time of a packet is a limit.

It is fitted once, to the one throughput that Szilágyi et al. (2019) measured over one path. All else is predicted: two
paths, FTP, the processor time, and Vegas on the same servers in Szilágyi and Bordán (2020). If a prediction fails,
the processors of the tunnel alone do not explain what the papers measured.
"""

from collections.abc import Mapping

from experiments.claims import Evidence
from experiments.judging import Found, Members

PREDICTED = "model of a processor (ours)"
"""Begin of the sentence of each prediction."""

FITTED_GBPS = 4.14
_PAYLOAD_BYTES = 1500 - 40 - 8 - 4 - 20 - 32
"""Payload of TCP over IPv4 in the paper's tunnel: in GRE without numbers, in UDP, over IPv6."""

SERVICE_TIME_US = round(8e-3 * _PAYLOAD_BYTES / FITTED_GBPS, 3)
"""Service time of a packet at which one thread carries the fitted throughput: 2.698 us."""

LINK_GBPS = 10 * 1448 / 1514
"""Payload of TCP over IPv4 that a path of 10 Gbit/s carries without a tunnel."""

SERVERS_THREADS = 8
"""Logical processors of the papers' servers (Core i7-3770K), to which their per cent refer."""

ENDS: Mapping[str, str] = {"sender": "modelled_cpu_sender", "receiver": "modelled_cpu_receiver"}


def of_model(members: Members) -> Members:
    """Restricts a claim to runs with a service time: in others no cell has the metrics of the model."""

    def judged(evidence: Evidence) -> Mapping[str, Found]:
        evidence.values(ENDS["sender"])
        return members(evidence)

    return judged
