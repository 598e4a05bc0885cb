"""Recordings: packets and connections of a cell, read and put together; written by native/recorder."""
