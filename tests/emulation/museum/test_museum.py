"""Each entry of the museum is decided as in its record.

Its bits are not compared: another distribution's programs, and files that other tests write into the checkout
meanwhile, move a cell by nanoseconds (docs/virtual-time.md, "Same seed, same figures").
"""

import pytest

from museum import catalogue, record
from tests.support.rings import nightly

IN_FIRST_RING = "mininet_421"
NAMES = [name if name == IN_FIRST_RING else nightly(name) for name in catalogue.names()]

pytestmark = [pytest.mark.starts_kernels, pytest.mark.timeout(1200)]


@pytest.mark.parametrize("name", NAMES)
def test_an_entry_is_decided_as_in_its_record(tmp_path, name):
    expected = record.read_record()[name]
    measured = record.measure(name, tmp_path)
    verdicts, before = ([claim.verdict for claim in record.claims(name, each)] for each in (measured, expected))
    assert verdicts == before
