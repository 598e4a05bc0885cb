"""The OpenFlow controller, a process of its own: without it the switches of an emulated network forward nothing."""
