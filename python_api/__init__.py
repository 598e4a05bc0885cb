"""The Python API behind `import flightpath`: scenarios and stored runs as data frames, and networks to work in."""
