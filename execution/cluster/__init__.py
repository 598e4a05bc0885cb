"""Cells on many machines, by Dask distributed."""
