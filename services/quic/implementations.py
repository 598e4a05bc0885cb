"""The QUIC implementations that Flightpath knows."""

from collections.abc import Mapping

from services.quic.aioquic import Aioquic
from services.quic.implementation import Implementation
from services.quic.noq import Noq
from services.quic.picoquic import Picoquic

IMPLEMENTATIONS: Mapping[str, Implementation] = {kind.name: kind() for kind in (Aioquic, Noq, Picoquic)}
"""By name."""
