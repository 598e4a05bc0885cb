"""The processes of this machine, for tests of what runs and what is left behind."""

from flightpath.processes import all_processes


def mentioning(*texts: str) -> list[int]:
    """PIDs of the processes whose command lines have all these texts."""
    return sorted(each.pid for each in all_processes() if all(text in each.command_line for text in texts))
