"""A flow with Prague, the scalable congestion control of L4S: an upload by QUIC with picoquic, ended before its end."""

import subprocess
from dataclasses import dataclass
from typing import Any

from flightpath.commands import end_and_close
from flightpath.errors import MeasurementFailed
from flightpath.hosts import Host, await_end
from services.quic.implementation import Request
from services.quic.implementations import IMPLEMENTATIONS
from services.quic.server import QuicServer

PRAGUE = "prague"
IMPLEMENTATION = IMPLEMENTATIONS["picoquic"]
_GRACE_S = 30.0


@dataclass(frozen=True)
class PragueTrace:
    """Sender's report of a flow.

    Attributes:
        payload_share: bytes of the stream per byte of UDP payload, what was sent twice included.
    """

    payload_share: float


class PragueFlow:
    """A flow to a server, until `finish`; `most_bytes` are more than it can send meanwhile."""

    def __init__(self, source: Host, server: QuicServer, address: str, most_bytes: int) -> None:
        self._request = Request((address,), most_bytes, True, server.settings)
        pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "encoding": "utf-8"}
        self._process = source.popen(IMPLEMENTATION.client_command(self._request), **pipes)

    def finish(self) -> PragueTrace:
        """Ends the flow, and returns what its sender says of it.

        Raises:
            MeasurementFailed: it failed, was complete, or had another congestion control.
        """
        self._process.terminate()
        stdout, stderr = await_end(self._process, _GRACE_S, lambda: None, "the flow with Prague did not end")
        try:
            report = IMPLEMENTATION.report(self._request, stdout)
        except (ValueError, KeyError) as error:
            raise MeasurementFailed(f"the flow with Prague failed: {(stderr or stdout).strip()[-500:]}") from error
        IMPLEMENTATION.require_algorithm(report, PRAGUE)
        if report.bytes >= self._request.size_bytes:
            raise MeasurementFailed(f"the flow with Prague was over: it had {report.bytes} bytes")
        sent_bytes = sum(path["sent_bytes"] for path in report.facts["client"]["paths"])
        return PragueTrace(report.bytes / sent_bytes)

    def stop(self) -> None:
        """Ends the flow, whose account is not wanted."""
        end_and_close(self._process)
