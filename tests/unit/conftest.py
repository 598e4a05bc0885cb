"""The profiles of hypothesis.

No time limit for an example, since machines differ. The same examples every time, so that only a change makes a test
fail, and half as many as usual; `pytest --hypothesis-profile explore` (and `make fuzz`) looks for new ones.
"""

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

if TYPE_CHECKING:
    from results.store.store import Store

settings.register_profile("flightpath", deadline=None, derandomize=True, max_examples=50)
settings.register_profile("explore", deadline=None)
settings.load_profile("flightpath")


@pytest.fixture
def store(tmp_path: Path) -> "Store":
    """An empty store in a folder."""
    from results.store.store import Store

    return Store.open(tmp_path / "store")
