"""Emulated hosts: network namespaces with addresses, routes, MPTCP endpoints and a congestion control."""
