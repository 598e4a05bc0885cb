"""Calibration of links and paths before a run."""
