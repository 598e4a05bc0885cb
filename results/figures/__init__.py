"""Figures: one style, common charts, and the drawing of a network."""
