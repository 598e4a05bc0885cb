"""Teaching labs: instructions with a student's own numbers, work to complete, and checks by what networks really do."""
