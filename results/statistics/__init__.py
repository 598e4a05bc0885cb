"""Means with intervals, differences between samples, and robust statistics."""
