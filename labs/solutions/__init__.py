"""For teachers: a solution of each lab, and typical mistakes with the hints that a student gets for them."""
