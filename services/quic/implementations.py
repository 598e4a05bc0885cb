"""The QUIC implementations that Flightpath knows."""

from collections.abc import Mapping

from services.quic.aioquic import Aioquic
from services.quic.implementation import Implementation
from services.quic.noq import Noq

IMPLEMENTATIONS: Mapping[str, Implementation] = {kind.name: kind() for kind in (Aioquic, Noq)}
"""By name; what needs no compiler is first, so that a machine without Rust has it."""
