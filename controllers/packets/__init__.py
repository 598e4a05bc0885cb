"""Parsers and writers of packets: TCP segments, MPTCP options, checksums."""
