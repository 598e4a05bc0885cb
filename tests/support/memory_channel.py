"""A channel to a switch in memory, which applies the rules that it is sent as Open vSwitch does."""

from collections import deque
from collections.abc import Iterable
from ipaddress import ip_address

from controllers.openflow.rules import Action, Output, Rule, SetDestination, StoredRule, ToController, rule_key


class MemoryChannel:
    """A switch; `sent` are the names of the latest messages, and `barriers` the ids of those not answered yet."""

    def __init__(self, dpid: int) -> None:
        self.dpid = dpid
        self._xid = 0
        self.rules: dict[tuple, StoredRule] = {}
        self.sent: deque[str] = deque(maxlen=100)
        self.barriers: list[int] = []
        self.groups: dict[int, list] = {}
        self.frames: list[tuple[int, bytes, tuple[Action, ...]]] = []

    def add_rules(self, rules: Iterable[Rule], cookie: int) -> list[int]:
        added = list(rules)
        self.rules |= {rule_key(rule): StoredRule(rule, cookie, 0) for rule in added}
        return [self._send("add_rule") for _ in added]

    def delete_rule(self, rule: Rule) -> None:
        self.rules.pop(rule_key(rule), None)
        self._send("delete_rule")

    def delete_all_but(self, cookie: int, sibling_bit: int) -> None:
        self.rules = {
            key: it
            for key, it in self.rules.items()
            if it.cookie == cookie or (sibling_bit and (it.cookie ^ cookie) >> 48 << 48 == sibling_bit)
        }
        self._send("delete_all_but")

    def set_group(self, group: int, buckets) -> None:
        self.groups[group] = list(buckets)

    def send_barrier(self) -> int:
        self.barriers.append(self._send("send_barrier"))
        return self.barriers[-1]

    def send_frames(self, in_port: int, frames) -> None:
        self.frames += [(in_port, frame, tuple(actions)) for frame, actions in frames]

    def request_rules(self, cookie: int, mask: int) -> None:
        self._send("request_rules")

    def request_port_counters(self) -> int:
        return self._send("request_port_counters")

    def request_ports(self) -> None:
        self._send("request_ports")

    def handle(self, port: int, frame: dict) -> tuple[list[int], bool, dict]:
        """The switch's treatment of a frame: ports it leaves by, whether the controller gets it, the frame then."""
        frame, out, is_reported = {**frame, "in_port": port}, [], False
        table = 0
        while table is not None:
            matching = [it.rule for it in self.rules.values() if it.rule.table == table and fits(it.rule, frame)]
            highest = max(rule.priority for rule in matching)
            (actions,) = {rule.actions for rule in matching if rule.priority == highest}
            for action in actions:
                match action:
                    case SetDestination(mac):
                        frame["eth_dst"] = mac
                    case Output(number) if number != port:
                        out.append(number)
                    case ToController():
                        is_reported = True
            table = next(rule.goto for rule in matching if rule.priority == highest)
        return out, is_reported, frame

    def _send(self, message: str) -> int:
        self.sent.append(message)
        self._xid += 1
        return self._xid


def fits(rule: Rule, frame: dict) -> bool:
    return all(field in frame and equal(field, frame[field], wanted) for field, wanted in rule.match)


def equal(field: str, value, wanted) -> bool:
    if not isinstance(wanted, tuple):
        return value == wanted
    number = (lambda mac: int(mac.replace(":", ""), 16)) if field.startswith("eth_") else _number
    return number(value) & number(wanted[1]) == number(wanted[0]) & number(wanted[1])


def _number(value: int | str) -> int:
    return int(ip_address(value)) if isinstance(value, str) else value
