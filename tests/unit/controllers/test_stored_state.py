"""State in rules, labels and cookies, for a controller that takes over."""

from collections.abc import Iterable
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from controllers.network.paths import Path
from controllers.openflow.cookies import SIBLING_BIT, FlowCookie, RuleKind, path_cookie, path_number
from controllers.openflow.labels import LARGEST_NUMBER, Labels, Numbers, interface_numbers
from controllers.openflow.rules import COOKIE_PREFIX, Output, Rule, StoredRule
from controllers.openflow.steering_rules import base_rules
from controllers.resilience.state_recovery import StoredHost, stored_hosts
from tests.support.steering_model import FABRIC, H1, H3

LABELS, INTERFACES = Labels(), interface_numbers(FABRIC)
RULES = base_rules(FABRIC, FABRIC, FABRIC.switches[0], LABELS, INTERFACES)


def hosts_in(rules: Iterable[Rule]) -> dict[str, StoredHost]:
    return {it.mac: it for it in stored_hosts([StoredRule(rule, COOKIE_PREFIX, 0) for rule in rules], LABELS)}


def test_hosts_are_read_back_from_their_switch():
    hosts, known = hosts_in(RULES), H1[0]
    assert hosts.keys() == {it.mac for it in (*H1, *H3)}
    assert hosts[known.mac] == StoredHost(known.mac, known.addresses, known.port, INTERFACES.number(known.mac))


def test_a_rule_to_an_impossible_port_describes_no_host():
    nowhere = Output(2**31 - 9)
    actions = [tuple(nowhere if isinstance(it, Output) else it for it in rule.actions) for rule in RULES]
    assert hosts_in(replace(rule, action=action) for rule, action in zip(RULES, actions, strict=True)) == {}


def test_labels_differ_from_hosts_and_decode_to_their_numbers():
    labels = Labels.for_hosts(["7e:50:00:00:00:01", "7e:51:12:34:56:78"])
    assert not labels.is_label("7e:50:00:00:00:01")
    assert not labels.is_label("7e:51:12:34:56:78")
    assert labels.decode(labels.label(0x1234, 0xFFFF)) == (0x1234, 0xFFFF)
    assert labels.decode("02:00:00:00:00:01") is None
    assert int(labels.label(1, 1)[:2], 16) & 0b11 == 0b10, "unicast, locally administered"


def test_numbers_of_paths_are_unique_and_can_be_restored():
    paths, some = Numbers(), [Path((f"s{i}",), ()) for i in range(5)]
    numbers = [paths.number(path) for path in some]
    assert len(set(numbers)) == 5
    assert [paths.number(path) for path in some] == numbers
    again = Numbers()
    assert again.restore(some[3], numbers[0])
    assert not again.restore(some[4], numbers[0])
    assert not again.restore(some[3], numbers[1])
    assert again.number(some[0]) != numbers[0]
    assert again.forget_all_but([numbers[0]]) != []
    assert (len(again), again.key(numbers[0])) == (1, some[3])
    assert 0 < max(numbers) <= LARGEST_NUMBER


KINDS = st.sampled_from((RuleKind.FORWARD, RuleKind.REVERSE))
TOKENS = st.none() | st.integers(0, 2**32 - 1)


@given(st.builds(FlowCookie, KINDS, TOKENS, st.booleans(), st.booleans(), st.booleans()))
def test_a_cookie_decodes_to_its_content(cookie):
    assert FlowCookie.decode(int(cookie)) == cookie
    assert path_number(int(cookie)) is None
    assert (int(cookie) ^ COOKIE_PREFIX) >> 48 == SIBLING_BIT >> 48


@given(st.integers(0, LARGEST_NUMBER))
def test_a_paths_cookie_decodes_to_its_number(number):
    assert path_number(path_cookie(number)) == number
    assert FlowCookie.decode(path_cookie(number)) is None
    assert FlowCookie.decode(COOKIE_PREFIX | number) is None
