"""The two rings of tests, for parameters: CONTRIBUTING.md says which belong to the second."""

import pytest


def nightly(*values: object):
    """The values of a test that only `make test-all` runs."""
    return pytest.param(*values, marks=pytest.mark.nightly)
