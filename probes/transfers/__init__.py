"""Probes that transfer data between two hosts, a module each."""
