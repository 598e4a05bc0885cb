"""An interface that comes up with its link: Mininet's own starts a program for each, before the link is there."""

from typing import Any

from mininet.link import Intf

from topologies.sandbox import kernel_settings


class EmulatedInterface(Intf):
    """As Mininet's; addresses and the like that a topology gives it are set when the link is complete."""

    def config(self, **params: Any) -> dict[str, Any]:
        """Mininet's hook: keeps what is to be set."""
        self._wanted = params
        return {}

    def complete(self) -> None:
        """Sets it up, and sets what was wanted."""
        up = self._wanted.pop("up", True)
        if up:
            with kernel_settings.inside(self.node):
                kernel_settings.bring_up(self.name)
        super().config(up=None, **self._wanted)
