import pytest

from flightpath.errors import UsageError
from topologies.links.spec import LinkSpec


def test_a_link_reads_what_people_write():
    spec = LinkSpec.parse(bandwidth="50Mbit", delay="15ms", loss="0.1%", queue="1bdp")

    assert spec.bandwidth_bps == 50_000_000
    assert spec.delay_s == 0.015
    assert spec.loss == pytest.approx(0.001)
    assert spec.queue_bytes == 50_000_000 * 0.030 / 8


@pytest.mark.parametrize(("queue", "size"), [("1000p", 1_514_000), ("150kB", 150_000), ("20ms", 125_000)])
def test_a_queue_is_packets_bytes_or_time(queue, size):
    assert LinkSpec.parse(bandwidth="50Mbit", queue=queue).queue_bytes == size


@pytest.mark.parametrize(
    ("field", "arguments"),
    [
        ("bandwidth", {"bandwidth": "50MB/s/s"}),
        ("delay", {"delay": "15"}),
        ("delay", {"delay": "2min"}),
        ("loss", {"loss": "120%"}),
        ("queue", {"bandwidth": "1Mbit", "queue": "many"}),
        ("queue", {"queue": "20ms"}),
        ("queue", {"queue": "100B"}),
        ("queue", {"bandwidth": "1Mbit", "queue": "1bdp"}),
        ("mtu", {"mtu": 100}),
    ],
)
def test_what_makes_no_sense_is_refused_by_name(field, arguments):
    with pytest.raises(UsageError, match=field):
        LinkSpec.parse(**arguments)
