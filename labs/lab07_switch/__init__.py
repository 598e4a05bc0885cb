"""Lab 7: an SDN controller that learns, and then chooses paths."""
