"""Sampled states of connections' senders (`SOCKET_ROW`), in the units in which they are shown."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

CONGESTION_STATES = ("open", "disorder", "window reduced", "recovery", "loss")
"""States of Linux's congestion control (`enum tcp_ca_state`); it enters the last one after a timeout."""

NO_THRESHOLD = 0x7FFFFFFF
"""Threshold of slow start before there is one."""

_UNPACED = 0xFFFFFFFFFFFFFFFF


def in_flight(rows: NDArray[Any]) -> NDArray[Any]:
    """Returns how many packets are in flight, as Linux counts them."""
    return np.maximum(0, rows["unacked"].astype("i8") - rows["sacked"] - rows["lost"] + rows["retransmitted"])


def pacing_bps(rows: NDArray[Any]) -> NDArray[Any]:
    """Returns the rates at which senders pace their packets; NaN where they do not."""
    return np.where(rows["pacing_rate"] == _UNPACED, np.nan, rows["pacing_rate"] * 8.0)
