"""The reproduction record: every claim of the four papers, measured in one command, on one page."""
