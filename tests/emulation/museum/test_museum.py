"""Each entry of the museum gives the figures of its record again, to the last bit, with the command of a user."""

import pytest

from museum import catalogue, record
from tests.support.uml import require_uml_kernel

IN_FIRST_RING = "kollaps_47"

pytestmark = [pytest.mark.starts_kernels, pytest.mark.timeout(1200)]


@pytest.mark.parametrize(
    "name",
    [name if name == IN_FIRST_RING else pytest.param(name, marks=pytest.mark.nightly) for name in catalogue.names()],
)
def test_an_entry_gives_its_record_again(tmp_path, name):
    require_uml_kernel()
    expected = record.read_record()[name]
    assert {"commit": expected["commit"], **record.measure(name, tmp_path)} == expected
