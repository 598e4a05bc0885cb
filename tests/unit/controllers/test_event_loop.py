"""The event loop of the controller."""

from controllers.openflow.library import FdListener


def test_the_order_in_which_ready_sockets_are_served_is_not_that_of_addresses_in_memory():
    """eventlet serves a set of such pairs, so its order follows from their hashes."""
    one, another = (FdListener("read", 7, None, None, None) for _ in range(2))
    assert one != another and hash((one, 7)) == hash((another, 7))
