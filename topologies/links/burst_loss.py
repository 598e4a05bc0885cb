"""Loss in bursts."""

import dataclasses

from flightpath import units
from flightpath.errors import UsageError
from topologies.links.fields import percent

_BURST_FORMS = "P:R, P:R:BAD or P:R:BAD:GOOD in %, for example 1%:25%"


@dataclasses.dataclass(frozen=True)
class BurstLoss:
    """Loss in bursts: the two-state chain of Gilbert (1960) and Elliott (1963), one step a packet.

    Attributes:
        enter: probability, at each packet, of a transition from the good state to the bad one (p).
        leave: probability of a transition back (r); a burst lasts 1/r packets on average.
        loss_bad: probability of loss in the bad state (1-h in tc-netem(8)).
        loss_good: probability of loss in the good state (1-k).
    """

    enter: float
    leave: float
    loss_bad: float = 1.0
    loss_good: float = 0.0

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if not 0 <= value <= 1:
                raise UsageError(
                    f"burst_loss: {name} of {value} is not a probability", f"accepted forms: {_BURST_FORMS}"
                )
        if self.enter > 0 and self.leave == 0 and self.loss_bad == 1:
            raise UsageError("burst_loss: the bad state is never left, and nothing passes in it", "give R above 0")

    @classmethod
    def parse(cls, text: str, key: str = "burst_loss") -> "BurstLoss":
        """Parses `1%:25%`: p and r, optionally followed by the loss in the bad and in the good state."""
        parts = text.split(":")
        if not 2 <= len(parts) <= 4:
            raise UsageError(f"{key}: cannot read {text!r}", f"accepted forms: {_BURST_FORMS}")
        return cls(*(units.parse_probability(part, key) for part in parts))

    def __str__(self) -> str:
        return ":".join(map(percent, vars(self).values()))
