"""Mininet's own shaped interface (`TCLink`), with errors where Mininet would ignore that tc(8) fails."""

from typing import Any

from mininet.link import TCIntf

from flightpath.commands import CommandFailed, run
from flightpath.errors import FlightpathError, MissingCapability, UsageError
from flightpath.overrides import override
from topologies.sandbox.kernel_settings import entry

_OURS = "make the link with --link relay,... or, in a topology, without cls=TCLink: those need no kernel feature"
_NO_SUCH_QDISC = "qdisc kind is unknown"


class CheckedTCIntf(TCIntf):
    """A TCIntf whose configuration fails if tc(8) refuses a part of it, or if Mininet would ignore a part."""

    @override
    def config(self, bw: float | None = None, loss: float | None = None, **params: Any) -> dict[str, Any] | None:
        for name, value, limit in (("bw", bw, self.bwParamMax), ("loss", loss, 100)):
            if value is not None and not 0 <= value <= limit:
                raise UsageError(f"{self.name}: Mininet's TCLink has no {name}={value}; at most {limit}", _OURS)
        return super().config(bw=bw, loss=loss, **params)

    @override
    def tc(self, cmd: str, tc: str = "tc") -> str:
        words = (cmd % (tc, self)).split()
        try:
            return run([*entry(self.node), *words])
        except CommandFailed as problem:
            if "del" in words:  # a default queueing discipline cannot be deleted
                return ""
            kind = MissingCapability if _NO_SUCH_QDISC in str(problem) else FlightpathError
            raise kind(f"{self.name}: Mininet's TCLink does not work here: {problem}", _OURS) from problem
