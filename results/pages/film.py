"""Pictures and films of a page of `flightpath watch`, drawn by the page itself in headless Chromium."""

import contextlib
import io
import shutil
import subprocess
import tempfile
from collections.abc import Generator, Iterable
from dataclasses import dataclass
from pathlib import Path

from PIL import Image

from flightpath.errors import FlightpathError, MissingCapability
from results.pages.browser import Page, browser

SUFFIXES = (".png", ".gif", ".mp4")
MAX_FRAMES = 1500
"""Maximum number of frames of a film: two minutes of a GIF, one of an MP4."""

SHOWN_S = 20.0
"""Part of the recording that the lanes show, times the speed."""

_FRAMES_PER_S = {".gif": 12.5, ".mp4": 25.0}
_SAMPLES = 8


@dataclass(frozen=True)
class Span:
    """Part of a recording that is shown.

    Attributes:
        start_s, end_s: seconds since the recording began.
        speed: seconds of the recording per second of the film; a lower one also shows a shorter time.
        width: width of the picture, in pixels.
    """

    start_s: float
    end_s: float
    speed: float
    width: int = 1280

    def moments_ms(self, suffix: str) -> list[float]:
        """Returns the moments of the frames; of a picture, only the start."""
        if suffix not in _FRAMES_PER_S:
            return [1e3 * self.start_s]
        step_s = self.speed / _FRAMES_PER_S[suffix]
        count = 1 + int((self.end_s - self.start_s) / step_s + 1e-6)
        return [1e3 * (self.start_s + number * step_s) for number in range(count)]


def write_film(page: str, target: Path, span: Span) -> None:
    """Writes a picture (.png) or a film (.gif, .mp4), by the target's suffix.

    Raises:
        MissingCapability: this machine lacks the browser, or for an MP4 ffmpeg.
        FlightpathError: the browser or ffmpeg fails.
    """
    program = browser(f"a {target.suffix} file", "or open the page in any browser: --output page.html")
    ffmpeg = _ffmpeg() if target.suffix == ".mp4" else ""
    with contextlib.closing(_frames(program, page, span, target.suffix)) as frames:
        if target.suffix == ".png":
            target.write_bytes(next(frames))
        elif target.suffix == ".gif":
            _write_gif(frames, target)
        else:
            _write_mp4(ffmpeg, frames, target)


def _frames(program: str, content: str, span: Span, suffix: str) -> Generator[bytes]:
    """Yields each frame as PNG; the window is as high as what a film shows of the page."""
    with Page(program, content, span.width) as page:
        page.wait_for("document.body?.dataset.ready === 'true'")
        page.resize(span.width, round(page.evaluate(f"player.film({span.speed})")))
        for moment_ms in span.moments_ms(suffix):
            page.evaluate(f"player.show({moment_ms})")
            yield page.picture()


def _write_gif(frames: Iterable[bytes], target: Path) -> None:
    """Writes an animation whose frames share their colours: those of some frames of the whole span."""
    kept = list(frames)
    samples = [_image(frame) for frame in kept[:: -(-len(kept) // _SAMPLES)]]
    width, height = samples[0].size
    together = Image.new("RGB", (width, height * len(samples)))
    for number, sample in enumerate(samples):
        together.paste(sample, (0, height * number))
    # Other methods give a few red crosses no colour of their own.
    colours = together.quantize(255, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
    images = (_image(frame).quantize(palette=colours, dither=Image.Dither.NONE) for frame in kept)
    period_ms = 1000 / _FRAMES_PER_S[".gif"]
    next(images).save(target, save_all=True, append_images=images, duration=period_ms, loop=0, optimize=False)


def _image(frame: bytes) -> Image.Image:
    return Image.open(io.BytesIO(frame)).convert("RGB")


def _ffmpeg() -> str:
    if path := shutil.which("ffmpeg"):
        return path
    raise MissingCapability(
        "an MP4 file needs ffmpeg, which is not installed", "sudo apt install ffmpeg; or write a .gif"
    )


def _write_mp4(ffmpeg: str, frames: Iterable[bytes], target: Path) -> None:
    argv = [ffmpeg, "-loglevel", "error", "-y", "-f", "image2pipe", "-framerate", f"{_FRAMES_PER_S['.mp4']:g}"]
    argv += ["-c:v", "png", "-i", "-", "-vf", "pad=ceil(iw/2)*2:ceil(ih/2)*2", "-pix_fmt", "yuv420p", str(target)]
    with tempfile.TemporaryFile() as errors:
        with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=errors, stderr=errors) as process:
            assert process.stdin is not None  # a pipe, as requested
            try:
                for frame in frames:
                    process.stdin.write(frame)
                process.stdin.close()
            except BrokenPipeError:  # it says why
                pass
        if process.returncode:
            errors.seek(0)
            raise FlightpathError(f"ffmpeg failed: {errors.read().decode(errors='replace').strip()[-500:]}")
