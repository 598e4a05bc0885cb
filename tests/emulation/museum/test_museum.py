"""Each entry of the museum is decided as in its record, and gives the same figures to the last bit.

A changed program, or another text in the file, moves a cell by nanoseconds. Then only its claims are compared.
"""

import pytest

from museum import catalogue, record
from tests.support.rings import nightly

IN_FIRST_RING = "mininet_421"

pytestmark = [pytest.mark.starts_kernels, pytest.mark.timeout(1200)]


@pytest.mark.parametrize(
    "name",
    [name if name == IN_FIRST_RING else nightly(name) for name in catalogue.names()],
)
def test_an_entry_gives_its_record_again(tmp_path, name):
    expected = record.read_record()[name]
    measured = {"commit": expected["commit"], **record.measure(name, tmp_path)}
    verdicts, before = ([claim.verdict for claim in record.claims(name, each)] for each in (measured, expected))
    assert verdicts == before
    assert not record.is_measured_alike(name, expected["commit"]) or measured == expected
