from collections.abc import Iterator
from dataclasses import replace
from typing import ClassVar

import pytest

from analyzers.audited import GRACE_SECONDS, PROOF_SECONDS, Audited
from analyzers.audits.dscp_mismatch import DscpMismatch
from analyzers.incident import Candidate
from analyzers.rule import Audit, Check
from roce.fabric import Fabric
from roce.model import Place, PortFacts
from tests.analyzers.build import NIC, Net

RIGHT, WRONG = PortFacts(traffic_class=106), PortFacts(traffic_class=0)


def audited(net: Net) -> Audited:
    audits: dict[str, Audit] = {"dscp_mismatch": DscpMismatch()}
    return Audited(net.fabric, audits)


def held(audits: Audited) -> dict[str | None, Candidate]:
    return {c.place.port: c for c in audits.candidates()}


def test_settings_are_held_against_a_port_at_once_and_let_go_at_once() -> None:
    net = Net()
    audits = audited(net)
    net.tell("gpu11", WRONG)
    audits.step(100.0)
    found = held(audits)[NIC]
    assert (found.level, found.level_now, found.seen) == (3, 3, True)
    assert (found.began_at, found.found_at) == (100.0, 100.0)
    net.tell("gpu11", RIGHT)
    audits.step(110.0)
    assert held(audits) == {}


def test_it_began_when_it_was_first_seen() -> None:
    net = Net()
    audits = audited(net)
    net.tell("gpu11", WRONG)
    audits.step(100.0)
    net.tell("gpu11", PortFacts(traffic_class=4))
    audits.step(200.0)
    found = held(audits)[NIC]
    assert (found.began_at, found.figures["found"]) == (100.0, "4 (DSCP 1)")


@pytest.mark.parametrize("gone", [{}, {NIC: PortFacts()}, {"mlx5_7/1": RIGHT}])
def test_settings_that_are_not_told_any_more_change_nothing(gone: dict[str, PortFacts]) -> None:
    net = Net()
    audits = audited(net)
    net.tell("gpu11", WRONG)
    audits.step(100.0)
    net.tell("gpu11", gone)
    audits.step(110.0)
    found = held(audits)[NIC]
    assert (found.level, found.seen) == (3, False)
    net.tell("gpu11", WRONG)
    audits.step(120.0)
    found = held(audits)[NIC]
    assert (found.began_at, found.seen) == (100.0, True)


class Counting(DscpMismatch, frozen=True, kw_only=True):
    """Counts how often it is asked."""

    times: list[int] = []  # noqa: RUF012 - msgspec gives each its own

    def check(self, fabric: Fabric) -> Iterator[Check]:
        self.times.append(1)
        return super().check(fabric)


def test_without_a_change_nothing_is_judged_anew() -> None:
    net, rule = Net(), Counting()
    audits = Audited(net.fabric, {"dscp_mismatch": rule})
    net.tell("gpu11", WRONG)
    for at in range(5):
        net.tell("gpu11", WRONG)
        audits.step(float(at))
    assert len(rule.times) == 1


class Proving(DscpMismatch, frozen=True, kw_only=True):
    """Says of one port what its counters are said to prove."""

    proofs: ClassVar = ("pfc_tx_frames",)
    says: list[Check] = []  # noqa: RUF012 - msgspec gives each its own
    asked: list[int] = []  # noqa: RUF012 - msgspec gives each its own

    def check(self, fabric: Fabric) -> Iterator[Check]:
        self.asked.append(1)
        yield from self.says

    def doubtful(self, fabric: Fabric) -> bool:
        return any(check.level for check in self.says)


def proving(net: Net) -> tuple[Audited, list[Check]]:
    rule = Proving()
    net.tell("gpu11", RIGHT)
    return Audited(net.fabric, {"proving": rule, "dscp_mismatch": DscpMismatch()}), rule.says


def test_what_counters_prove_is_told_when_it_lasts_though_no_setting_changes() -> None:
    audits, says = proving(Net())
    wrong = Check(Place("gpu11", NIC), 3, {}, proven=True)
    says[:] = [wrong]
    audits.step(100.0)
    assert held(audits) == {}
    audits.step(100.0 + PROOF_SECONDS - 1)
    assert held(audits) == {}
    audits.step(100.0 + PROOF_SECONDS)
    assert held(audits)[NIC].level == 3
    says[:] = [replace(wrong, level=0)]
    audits.step(100.0 + 2 * PROOF_SECONDS - 1)
    assert NIC in held(audits)
    audits.step(100.0 + 2 * PROOF_SECONDS)
    assert held(audits) == {}


def test_a_contradiction_of_two_moments_is_never_told() -> None:
    audits, says = proving(Net())
    place = Place("gpu11", NIC)
    for turn in range(4):
        says[:] = [Check(place, 3 if turn % 2 == 0 else 0, {}, proven=True)]
        audits.step(100.0 + turn * PROOF_SECONDS)
        assert held(audits) == {}


def test_a_contradiction_that_came_and_went_long_ago_proves_nothing() -> None:
    audits, says = proving(Net())
    wrong = Check(Place("gpu11", NIC), 3, {}, proven=True)
    for at, said in ((100.0, [wrong]), (160.0, []), (220.0, [replace(wrong, level=0)])):
        says[:] = said
        audits.step(at)
    says[:] = [wrong]
    audits.step(900.0)
    assert held(audits) == {}


def test_counters_that_contradict_nothing_are_not_looked_at_port_by_port() -> None:
    net, rule = Net(), Proving()
    net.tell("gpu11", RIGHT)
    audits = Audited(net.fabric, {"proving": rule})
    for at in range(100, 1000, 10):
        audits.step(float(at))
    assert len(rule.asked) == 1


def test_what_counters_proved_does_not_end_in_the_dark() -> None:
    audits, says = proving(Net())
    place = Place("gpu11", NIC)
    says[:] = [Check(place, 2, {}, proven=True)]
    audits.step(100.0)
    audits.step(160.0)
    says[:] = [Check(place, 0, {}, proven=True, dark=True)]
    audits.step(220.0)
    assert (held(audits)[NIC].level, held(audits)[NIC].seen) == (2, False)
    says[:] = [Check(place, 0, {}, proven=True)]
    audits.step(280.0)
    assert held(audits) == {}


def test_what_settings_alone_show_ends_in_the_dark_too() -> None:
    net = Net()
    audits, says = proving(net)
    place = Place("gpu11", NIC)
    says[:] = [Check(place, 3, {})]
    audits.step(100.0)
    assert held(audits)[NIC].level == 3
    says[:] = [Check(place, 0, {}, proven=True, dark=True)]
    net.tell("gpu11", PortFacts(traffic_class=104))
    audits.step(110.0)
    assert held(audits) == {}


def test_a_look_at_counters_leaves_other_audits_as_they_are() -> None:
    net = Net()
    audits, _ = proving(net)
    net.tell("gpu11", WRONG)
    audits.step(100.0)
    audits.step(160.0)
    assert held(audits)[NIC].seen


def test_a_device_that_is_booting_is_given_time() -> None:
    net = Net()
    audits = audited(net)
    net.tell("gpu11", WRONG, boot_at=1000.0)
    audits.step(1010.0)
    audits.step(1000.0 + GRACE_SECONDS - 1)
    assert held(audits) == {}
    audits.step(1000.0 + GRACE_SECONDS)
    assert held(audits)[NIC].began_at == 1000.0 + GRACE_SECONDS


def test_a_reboot_ends_nothing_by_itself() -> None:
    net = Net()
    audits = audited(net)
    net.tell("gpu11", WRONG)
    audits.step(900.0)
    net.tell("gpu11", RIGHT, boot_at=1000.0)
    audits.step(1010.0)
    assert not held(audits)[NIC].seen
    audits.step(1000.0 + GRACE_SECONDS)
    assert held(audits) == {}


def test_what_was_open_before_a_restart_stays_open_until_settings_are_told() -> None:
    net = Net()
    audits = audited(net)
    place = Place("gpu11", NIC)
    audits.restore(Candidate("dscp_mismatch", place, 3, 3, False, 1.0, 2.0, {"found": "x"}))
    audits.step(100.0)
    assert not held(audits)[NIC].seen
    net.tell("gpu11", WRONG)
    audits.step(110.0)
    found = held(audits)[NIC]
    assert (found.seen, found.began_at, found.found_at) == (True, 1.0, 2.0)
    net.tell("gpu11", RIGHT)
    audits.step(120.0)
    assert held(audits) == {}
