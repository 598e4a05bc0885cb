"""Steering for `osken-manager controllers/steering.py`; settings come from the environment, see `controllers.settings`.

    FLIGHTPATH_POLICY=widest FLIGHTPATH_PROBE_PERIOD=50ms osken-manager controllers/steering.py

The network is discovered unless FLIGHTPATH_NETWORK names a description. Steering itself is `controllers.steering_app`.
"""

import os
from typing import Any

from controllers.discovery.app import DiscoveringSteeringApp
from controllers.forwarding.forwarding import warn
from controllers.network.reading import load
from controllers.openflow.library import spawn
from controllers.settings import Settings
from controllers.steering_app import SteeringApp
from flightpath.errors import FlightpathError
from flightpath.overrides import override

_SETTINGS = Settings.from_environment()


class Steering(SteeringApp if _SETTINGS.network else DiscoveringSteeringApp):  # type: ignore[misc]  # chosen at start
    """Steering as osken-manager runs it, which constructs it without arguments."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if _SETTINGS.network:
            kwargs["network"] = load(_SETTINGS.network)
        super().__init__(*args, settings=_SETTINGS, **kwargs)

    @override
    def start(self) -> None:
        super().start()
        spawn(self._exit_on_failure)

    def _exit_on_failure(self) -> None:
        """Ends the process when the application fails: osken-manager would continue with half a network."""
        try:
            self.wait_for_failure()
        except FlightpathError as error:
            warn(f"controllers: {error}")
            os._exit(error.exit_code)
