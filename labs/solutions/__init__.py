"""Solutions of all labs for teachers, and typical mistakes with the hints that students get for them."""
