"""Queues at the bottleneck: bufferbloat, and what CoDel and FQ-CoDel do about it."""
