"""Packet captures: tcpdump in a node of the network, and files that Wireshark opens."""
