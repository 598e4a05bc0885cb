"""Lab 6: write a congestion control."""
