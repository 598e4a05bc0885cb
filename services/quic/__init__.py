"""QUIC: servers in hosts, and the implementations behind them, which `make quic` builds."""
