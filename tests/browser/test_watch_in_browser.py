"""The page of `flightpath watch`: opens fast, plays smoothly, by keyboard, at any width, light and dark."""

import re
import shutil
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from flightpath.waiting import wait_until
from results.pages.film import Span, write_film
from results.pages.watch_page import WatchedCell, render_watch
from results.recording.file import FLOW_ROW, SOCKET_ROW, Recording
from tests.support.finished import finished
from tests.support.reading_pages import WIDTHS, too_wide

# How many packets are under way on the link's direction from h1 at some moments.
_ON_THE_LINK = """(moments) => moments.map((time) => {
  const { recording } = player.runs[0];
  let count = 0;
  recording.underWay(time, 0, (i) => { if (recording.point[i] === 0) count++; });
  return count;
})"""
PACKETS, MANY, BEGAN = 100_000, 1_000_000, 10**18
DROP = (0xC8, 0x10, 0x2E)
GAP_NS, DELAY_NS = 120_000, 20_000_000
TRANSIT_NS = DELAY_NS + 500_000


def _recording(packets: int = PACKETS) -> Recording:
    """A link full of packets, and their acknowledgements; every thousandth is lost."""
    number = np.arange(packets)
    point = number % 2
    time = BEGAN + number * GAP_NS // 2
    kinds = {"seq": "u4", "ack": "u4", "payload": "u2", "window": "u2", "id": "u2", "ecn": "u1"}
    entries = {name: np.zeros(packets, kind) for name, kind in kinds.items()}
    entries |= {"time": time, "point": point.astype("u2"), "flow": point.astype("u2"), "identity": number.astype("u4")}
    entries |= {"headers": np.full(packets, 66, "u1"), "flags": np.full(packets, 16, "u1")}
    entries["payload"][point == 0] = 1448
    entries["seq"][point == 0] = 1448 * np.arange(packets // 2)
    arrives = number % 1000 != 500
    arrivals = {name: entries[name][arrives] for name in ("identity", "point", "ecn")}
    arrivals["time"] = (time + TRANSIT_NS)[arrives]
    flows = np.zeros(2, FLOW_ROW)
    flows["flow"], flows["family"], flows["protocol"] = [0, 1], 4, 6
    flows["source_port"], flows["target_port"] = [1, 2], [2, 1]
    sockets = np.zeros(1000, SOCKET_ROW)
    sockets["time_ns"], sockets["cwnd"] = BEGAN + np.arange(1000) * 5_000_000, np.arange(1000) % 300
    direction = {"specification": "100Mbit", "bandwidth_bps": 10**8, "delay_ns": DELAY_NS, "queue_bytes": 500_000}
    link = {"name": "h1-eth0:h2-eth0", "nodes": ["h1", "h2"], "directions": [direction | {"lossy": True}] * 2}
    network = {"hosts": ["h1", "h2"], "switches": [], "links": [link]}
    return Recording(entries, arrivals, sockets, flows, {**network, "began_ns": BEGAN, "ended_ns": int(time[-1])})


@pytest.fixture(scope="module")
def watched(tmp_path_factory) -> Path:
    """A page with two runs of 100,000 packets, and one with a single run."""
    folder = tmp_path_factory.mktemp("watch")
    cell = WatchedCell("run", "congestion_race", "algorithm=cubic #1", _recording())
    for name, cells in (("one", [cell]), ("two", [cell, cell])):
        (folder / f"{name}.html").write_text(render_watch(cells), encoding="utf-8")
    return folder


def _open(opened, page: Path, width: int = 1280, **options):
    shown = opened(page.as_uri(), width, **options)
    shown.wait_for_selector("body[data-ready]")
    return shown


@pytest.mark.parametrize(("width", "colours"), [*zip(WIDTHS, ("dark", "light"), strict=True)])
def test_it_is_accessible_at_any_width_in_light_and_dark(watched, opened, accessible, width, colours):
    page = _open(opened, watched / "two.html", width, color_scheme=colours)
    assert too_wide(page) <= 0
    assert page.locator("canvas").count() == 4
    accessible(page)


def test_a_hundred_thousand_packets_open_in_three_seconds(watched, opened):
    assert _open(opened, watched / "one.html").evaluate("performance.now()") < 3000


def test_a_million_packets_play_at_thirty_frames(tmp_path, opened):
    """The speeds 1/1000, 1/100, 1/10 and the full one."""
    cell = WatchedCell("run", "congestion_race", "algorithm=cubic #1", _recording(MANY))
    (tmp_path / "many.html").write_text(render_watch([cell]), encoding="utf-8")
    page = _open(opened, tmp_path / "many.html")
    assert page.evaluate("player.runs[0].recording.count") == MANY
    rates = page.evaluate(
        """async () => {
          const rates = [];
          for (const exponent of [-3, -2, -1, 0]) {
            player.setSpeed(exponent); player.seek(1000); player.frames = 0; player.play(true);
            const began = performance.now();
            await new Promise((done) => setTimeout(done, 1500));
            player.play(false);
            rates.push(player.frames / (performance.now() - began) * 1e3);
          }
          return rates;
        }"""
    )
    assert min(rates) >= 30, rates


def test_packets_are_on_a_link_from_when_they_enter_it_until_they_arrive(watched, opened):
    """Asked at ten random moments, each of them between those at which the next one enters and another arrives."""
    page = _open(opened, watched / "one.html")
    from_h1 = np.arange(0, PACKETS, 2)
    entered, is_lost = from_h1 * GAP_NS // 2, from_h1 % 1000 == 500
    moments = np.random.default_rng(39).integers(0, PACKETS, 10) * GAP_NS // 2 + 20_000
    expected = [int((~is_lost & (entered <= t) & (entered + TRANSIT_NS > t)).sum()) for t in moments]
    assert page.evaluate(_ON_THE_LINK, (moments / 1e6).tolist()) == expected and min(expected) > 0


def test_keys_play_step_and_jump_to_losses(watched, opened):
    page = _open(opened, watched / "one.html")
    page.keyboard.press("Space")
    wait_until(lambda: page.evaluate("player.time > 1"), "the page to play", 20)
    assert page.locator("#play").text_content() == "Pause"
    page.keyboard.press("Space")
    page.keyboard.press("Home")
    page.keyboard.press("ArrowRight")
    assert page.evaluate("player.time") == pytest.approx(GAP_NS / 2e6)
    page.select_option("#kind", label="loss")
    page.locator("#event-forward").click()
    assert page.evaluate("player.time") == pytest.approx(500 * GAP_NS / 2e6)
    assert "dropped at 30.000 ms: loss" in page.locator(".chosen").text_content()
    page.locator(".legend button").first.click()
    assert page.locator(".legend button").first.get_attribute("aria-pressed") == "true"
    wait_until(lambda: page.locator(".state").text_content(), "what the sender knows", 20)
    known = page.locator(".state").text_content()
    assert re.fullmatch("window [56] packets · in flight 0 · threshold 0 · round trip 0.0 ms · open", known)


def test_a_film_shows_a_loss_in_its_colour(watched, tmp_path, chromium):
    """Three frames, of which the second has the cross of the packet that is lost at 30 ms."""
    page, film = (watched / "one.html").read_text(encoding="utf-8"), tmp_path / "x.gif"
    write_film(page, film, Span(0.028, 0.0325, 0.025))
    with Image.open(film) as opened:
        assert (opened.n_frames, opened.info["duration"]) == (3, 80)
        crosses = []
        for number in range(3):
            opened.seek(number)
            network = np.array(opened.convert("RGB")).astype(int)[:320]
            crosses.append(int((np.abs(network - DROP).sum(2) < 40).sum()))
    assert crosses[0] == 0 < crosses[1], crosses


def test_a_film_for_slides_is_what_players_play(watched, tmp_path, chromium):
    """An MP4 of three frames, in H.264 with the colours that any player knows."""
    if not (shutil.which("ffmpeg") and shutil.which("ffprobe")):
        pytest.skip("needs ffmpeg: make browser-setup")
    page, film = (watched / "one.html").read_text(encoding="utf-8"), tmp_path / "x.mp4"
    write_film(page, film, Span(0.028, 0.0305, 0.025))
    argv = ["ffprobe", "-v", "error", "-count_frames", "-of", "csv=p=0", str(film)]
    entries = "stream=codec_name,width,pix_fmt,r_frame_rate,nb_read_frames"
    found = finished([*argv, "-show_entries", entries], check=True).stdout
    assert found.strip() == "h264,1280,yuv420p,25/1,3"
