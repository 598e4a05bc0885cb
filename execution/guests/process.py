"""A guest that is only a process: for cells on this machine's own kernel."""

import os
from collections.abc import Mapping, Sequence

from execution.guests.guest import Guest
from flightpath.overrides import override

_START_LIMIT_S = 60.0


class ProcessGuest(Guest):
    """A command in a process of its own, for a sandbox needs one that has nothing else."""

    kind = "process"

    def __init__(self, argv: Sequence[str]) -> None:
        super().__init__(argv, {}, _START_LIMIT_S)

    @override
    def kernel_command(self) -> tuple[list[str], Mapping[str, str]]:
        return ["sh", "-c", "touch booted; sh command > stdout 2> stderr; echo $? > status"], dict(os.environ)
