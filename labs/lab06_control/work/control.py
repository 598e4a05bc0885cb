"""Your congestion control."""


class Control:
    """Decides how many packets may be under way: `window`. Change it in the two methods; you may add attributes."""

    def __init__(self):
        self.window = 2.0

    def on_ack(self, now_s, rtt_s):
        """A packet has arrived: the time now, and the round trip of this packet, both in seconds."""

    def on_loss(self, now_s):
        """Packets were lost; it is called at most once in a round trip."""
