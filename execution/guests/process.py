"""A guest that is only a process: for cells on this machine's own kernel."""

import os
from collections.abc import Mapping

from execution.guests.guest import Guest
from flightpath.overrides import override


class ProcessGuest(Guest):
    """A command in a process of its own, for a sandbox needs one that has nothing else."""

    kind = "process"

    @override
    def kernel_command(self) -> tuple[list[str], Mapping[str, str]]:
        return ["sh", "-c", "touch booted; sh command > stdout 2> stderr; echo $? > status"], dict(os.environ)
