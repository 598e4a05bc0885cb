"""Means, intervals and effect sizes."""
