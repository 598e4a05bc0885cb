"""The formulas of TCP's throughput, held to published figures and to what must be true of any of them."""

import itertools
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from probes.preflight.history import tcp_models

losses = st.floats(1e-7, 0.5)
rtts = st.floats(1e-4, 2.0)
sizes = st.floats(500, 9000)

MODELS = [tcp_models.mathis_bps, tcp_models.padhye_bps, tcp_models.cubic_bps]


def test_a_window_per_round_trip_is_equation_2():
    # 64 KiB at 30 ms: 524288 bit / 0.03 s. The paper's window is the product itself: then it gives the bandwidth.
    assert tcp_models.bdp_bytes(10e9, 0.030) == pytest.approx(37.5e6)
    assert tcp_models.window_limit_bps(65_536, 0.030) == pytest.approx(17_476_267, rel=1e-6)
    assert tcp_models.window_limit_bps(tcp_models.bdp_bytes(1e9, 0.045), 0.045) == pytest.approx(1e9)


@pytest.mark.parametrize(("loss", "reno", "cubic"), [(1e-4, 120, 187), (1e-5, 379, 1054), (1e-6, 1200, 5926)])
def test_reno_and_cubic_have_the_windows_that_rfc_8312_lists(loss, reno, cubic):
    # RFC 8312, table 1 (RTT 0.1 s) uses C = 1.2 for Reno; here it is sqrt(3/2) = 1.22.
    assert tcp_models.mathis_bps(1500, 0.1, loss) * 0.1 / 8 / 1500 == pytest.approx(reno, rel=0.03)
    assert tcp_models.cubic_bps(1500, 0.1, loss) * 0.1 / 8 / 1500 == pytest.approx(cubic, abs=0.5)


def test_padhye_by_hand():
    # MSS 1460 B, RTT 100 ms, p = 1 %, T0 = 0.4 s, b = 2:
    # sqrt(4 * 0.01 / 3) = 0.11547, times RTT 0.011547 s; 3 sqrt(6 * 0.01 / 8) = 0.25981, times T0 p (1 + 0.0032)
    # = 0.0010425 s; 1460 * 8 / 0.0125895 = 927.76 kbit/s.
    assert tcp_models.padhye_bps(1460, 0.1, 0.01, timeout_s=0.4) == pytest.approx(927_760, rel=1e-3)
    assert tcp_models.padhye_bps(1460, 0.1, 0.01, window_bytes=5000) == pytest.approx(400_000)


@pytest.mark.parametrize("wrong", [0, -0.1, math.nan])
def test_what_is_no_probability_no_time_and_no_rate(wrong):
    for model, loss in itertools.product(MODELS, (wrong, 1.1)):
        with pytest.raises(ValueError, match="loss"):
            model(1460, 0.1, loss)
    with pytest.raises(ValueError, match="round trip time"):
        tcp_models.window_limit_bps(65_536, wrong)
    with pytest.raises(ValueError, match="stream"):
        tcp_models.streams_for(1e9, wrong)


@given(sizes, sizes, rtts, rtts, losses, losses)
def test_a_better_path_is_never_slower(mss, other_mss, rtt, other_rtt, loss, other_loss):
    small, large = sorted((mss, other_mss))
    near, far = sorted((rtt, other_rtt))
    low, high = sorted((loss, other_loss))
    for model in MODELS:
        assert model(small, near, high) <= model(small, near, low) * (1 + 1e-9)
        assert model(small, far, low) <= model(small, near, low) * (1 + 1e-9)
        assert model(small, near, low) <= model(large, near, low)
    assert tcp_models.window_limit_bps(65_536, far) <= tcp_models.window_limit_bps(65_536, near)
    windowed = [tcp_models.padhye_bps(1460, near, low, window_bytes=window) for window in (small, large)]
    assert windowed[0] <= windowed[1]
