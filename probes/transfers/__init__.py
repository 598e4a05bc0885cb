"""Bulk transfers and streams between two hosts."""
