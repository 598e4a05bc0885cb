"""Hosts: namespaces, several addresses, congestion control, packet capture."""
