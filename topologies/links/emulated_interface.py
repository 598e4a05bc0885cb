"""An interface that is configured when its link is complete; Mininet's own starts a program before the link exists."""

from typing import Any

from mininet.link import Intf

from flightpath.overrides import override
from topologies.sandbox import kernel_settings


class EmulatedInterface(Intf):
    """An interface of an emulated link. Addresses and other parameters are kept until `complete` is called."""

    @override
    def config(self, **params: Any) -> dict[str, Any]:
        self._params = params
        return {}

    def complete(self) -> None:
        """Brings the interface up and sets its parameters."""
        if self._params.pop("up", True):
            with kernel_settings.inside(self.node):
                kernel_settings.bring_up(self.name)
        super().config(up=None, **self._params)
