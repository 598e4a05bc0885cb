"""Steering for `osken-manager controllers/steering.py`; settings come from the environment, see `controllers.settings`.

    FLIGHTPATH_POLICY=widest FLIGHTPATH_PROBE_PERIOD=50ms osken-manager controllers/steering.py

The network is discovered unless FLIGHTPATH_NETWORK names a description. The managers are in
`controllers.steering_managers`.
"""

import os
from typing import Any

from controllers.app import ControllerApp
from controllers.network.reading import load
from controllers.openflow.library import spawn
from controllers.output import warn
from controllers.settings import Settings
from controllers.steering_managers import steering_table
from flightpath.errors import FlightpathError


class Steering(ControllerApp):
    """Steering as osken-manager runs it, which constructs it without arguments."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        settings = Settings.from_environment()
        described = load(settings.network) if settings.network else None
        super().__init__(*args, table=steering_table(settings, described), **kwargs)
        spawn(self._exit_on_failure)

    def _exit_on_failure(self) -> None:
        """Ends the process when the application fails: osken-manager would continue with half a network."""
        try:
            self.wait_for_failure()
        except FlightpathError as error:
            warn(f"controllers: {error}")
            os._exit(error.exit_code)
