"""Fixtures of the tests of results."""

import pytest

from results.__main__ import main
from results.store.location import StoreLocation
from tests.support.database_server import store_options


@pytest.fixture
def told(capsys):
    """Runs a command on the store in a place, with this exit code; returns what it printed, and said on stderr."""

    def run(where, *words, code=0):
        capsys.readouterr()
        assert main([*words, *store_options(StoreLocation.of(where))]) == code
        return capsys.readouterr()

    return run
