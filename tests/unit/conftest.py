"""The profiles of hypothesis.

No time limit for an example, since machines differ. The same examples every time, so that only a change makes a test
fail; `pytest --hypothesis-profile explore` (and `make fuzz`) looks for new ones.
"""

from hypothesis import settings

settings.register_profile("flightpath", deadline=None, derandomize=True)
settings.register_profile("explore", deadline=None)
settings.load_profile("flightpath")
