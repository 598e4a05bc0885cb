"""Lab 6: a solution, and typical mistakes."""

from labs.framework.lab import Parameters
from labs.solutions.attempt import Attempt

_DELAY_BASED = '''\
class Control:
    """Keeps a few packets in the queue, as TCP Vegas does (Brakmo and Peterson, 1995)."""

    def __init__(self):
        self.window, self.least_s, self.is_starting = 4.0, float("inf"), True

    def on_ack(self, now_s, rtt_s):
        self.least_s = min(self.least_s, rtt_s)
        queued = self.window * (1 - self.least_s / rtt_s)
        if self.is_starting and queued < 3:
            self.window += 0.5
            return
        self.is_starting = False
        if queued < 3:
            self.window += 1 / self.window
        elif queued > 5:
            self.window = max(2, self.window - min(1, 0.1 * (queued - 5)) )

    def on_loss(self, now_s):
        self.is_starting = False
        self.window = max(2, self.window / 2)
'''

_FIXED = """\
class Control:
    def __init__(self):
        self.window = {window}

    def on_ack(self, now_s, rtt_s):
        pass

    def on_loss(self, now_s):
        pass
"""

_RENO = """\
class Control:
    def __init__(self):
        self.window, self.is_starting = 4.0, True

    def on_ack(self, now_s, rtt_s):
        self.window += 1 if self.is_starting else 1 / self.window

    def on_loss(self, now_s):
        self.is_starting = False
        self.window = max(2, self.window / 2)
"""

_DEAF = _RENO.replace("self.window = max(2, self.window / 2)", "pass")


def solution(parameters: Parameters) -> Attempt:
    """Grows while few packets wait in the queue, and shrinks when more do."""
    return Attempt({}, _file(_DELAY_BASED))


def mistakes(parameters: Parameters) -> dict[str, Attempt]:
    return {
        "a loss is the only sign": Attempt({}, _file(_RENO), "before a packet is lost"),
        "a loss changes nothing": Attempt({}, _file(_DEAF), "when it hears of a loss"),
        "a window that never changes": Attempt({}, _file(_FIXED.format(window=300)), "the queue is long"),
        "no number": Attempt({}, _file(_FIXED.format(window="float('nan')")), "must be a number of packets"),
        "an error": Attempt({}, _file("class Control\n"), "SyntaxError"),
    }


def _file(text: str) -> dict[str, str]:
    return {"control.py": text}
