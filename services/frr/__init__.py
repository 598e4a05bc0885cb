"""FRRouting in routers: where it comes from, how protocols are configured, and the daemons of a router."""
