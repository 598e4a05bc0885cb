"""Probes count once, in time and as they were sent."""

from controllers.forwarding.link_probes import Prober, is_probe

SENT_S = 100.0


def test_a_probe_is_decoded_to_what_was_sent():
    prober = Prober()
    frame = prober.encode(7, 3, SENT_S)
    probe = prober.decode(frame, SENT_S + 0.5)
    assert is_probe(frame)
    assert (probe.dpid, probe.port, probe.sent_s) == (7, 3, SENT_S)
    assert prober.received == 1


def test_a_probe_counts_once():
    prober = Prober()
    first, second, other = (prober.encode(7, port, SENT_S + late_s) for port, late_s in ((3, 0.0), (3, 0.1), (4, 0.0)))
    assert prober.decode(second, SENT_S + 1) is not None
    assert prober.decode(second, SENT_S + 1) is None
    assert prober.decode(first, SENT_S + 1) is None, "it comes after a newer one"
    assert prober.decode(other, SENT_S + 1) is not None, "it is of another port"
    assert prober.received == 2


def test_an_old_or_forged_probe_is_rejected():
    prober, forger = Prober(), Prober()
    genuine = prober.encode(7, 3, SENT_S)
    assert prober.decode(genuine, SENT_S + 60) is None
    assert prober.decode(prober.encode(7, 3, SENT_S + 58), SENT_S + 60) is not None, "a queue of two seconds"
    assert prober.decode(forger.encode(7, 4, SENT_S), SENT_S) is None
    for forged in (genuine[:25] + b"\x08" + genuine[26:], genuine[:30]):
        assert prober.decode(forged, SENT_S) is None
