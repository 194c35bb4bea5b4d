import numpy as np
import pytest

from analyzers import victims
from analyzers.tree import Branch
from analyzers.victims import Sending, Suffering
from roce.model import Rates, Victim
from roce.ring import Headline, Ring
from tests.analyzers.build import Net

HOSTS = ("gpu11", "gpu12", "gpu21", "gpu22")


class Watched:
    """A fabric of which only the hosts' sending matters; a sample each 10 s from 1000 on."""

    def __init__(self) -> None:
        self.fabric = Net().fabric
        self.ring, self.sending = Ring(1), Sending()
        self.suffering = Suffering(self.fabric, self.ring, self.sending)
        self.at = 1000.0

    def row(self, host: str) -> int:
        found = self.fabric.row(host, "mlx5_0/1")
        assert found is not None
        return found

    def send(self, *lines: float, times: int = 1) -> None:
        """Let the hosts send these shares of line, for some samples."""
        line: Rates = np.full(self.fabric.count, np.nan, dtype=np.float32)
        line[[self.row(h) for h in HOSTS]] = lines
        for _ in range(times):
            self.at += 10.0
            self.ring.put(self.at, {Headline.LINE: line}, self.fabric.count)
            self.sending.add(line)

    def hurt(
        self,
        began_at: float,
        *held: str,
        culprit: str = "gpu11",
        told: tuple[Victim, ...] = (),
    ) -> dict[str, str]:
        branch = Branch(0, (), (), tuple(self.row(h) for h in held))
        self.suffering.begin({began_at})
        found = self.suffering.victims(culprit, 3, branch, began_at, told)
        return {v.device: v.why for v in found}


def test_hosts_that_send_less_than_before_are_slowed() -> None:
    net = Watched()
    net.send(0.5, 0.5, 0.5, 0.5, times=12)
    began_at = net.at + 10
    net.send(0.1, 0.2, 0.46, 0.44)
    assert net.hurt(began_at) == {"gpu12": "slowed", "gpu22": "slowed"}


def test_it_is_the_mean_since_the_trouble_was_seen_that_counts() -> None:
    net = Watched()
    net.send(0.5, 0.5, 0.5, 0.5, times=12)
    began_at = net.at + 10
    net.send(0.5, 0.2, 0.5, 0.5)
    assert net.hurt(began_at) == {"gpu12": "slowed"}
    net.send(0.5, 0.5, 0.2, 0.5, times=10)
    assert net.hurt(began_at) == {"gpu21": "slowed"}


def test_who_sent_next_to_nothing_before_is_not_slowed() -> None:
    net = Watched()
    net.send(0.5, 0.004, 0.5, 0.5, times=12)
    began_at = net.at + 10
    net.send(0.5, 0.0, 0.5, 0.5)
    assert net.hurt(began_at) == {}


def test_unknown_sending_is_nobodys_loss() -> None:
    net = Watched()
    net.send(0.5, 0.5, 0.5, 0.5, times=12)
    began_at = net.at + 10
    net.send(0.5, float("nan"), 0.1, 0.5)
    assert net.hurt(began_at) == {"gpu21": "slowed"}


def test_hosts_that_the_tree_holds_are_paused() -> None:
    net = Watched()
    net.send(0.5, 0.5, 0.5, 0.5, times=12)
    began_at = net.at + 10
    net.send(0.5, 0.1, 0.5, 0.5)
    assert net.hurt(began_at, "gpu11", "gpu12", "gpu22") == {"gpu12": "slowed", "gpu22": "paused"}


def test_the_culprit_is_no_victim() -> None:
    net = Watched()
    net.send(0.5, 0.5, 0.5, 0.5, times=12)
    began_at = net.at + 10
    net.send(0.1, 0.1, 0.5, 0.5)
    assert net.hurt(began_at, culprit="gpu12") == {"gpu11": "slowed"}


def test_after_a_restart_those_told_before_stand() -> None:
    net = Watched()
    net.send(0.1, 0.1, 0.1, 0.1)
    told = (
        Victim("gpu12", "mlx5_0/1", 3, "slowed"),
        Victim("gpu21", "mlx5_0/1", 3, "paused"),
    )
    assert net.hurt(500.0, told=told) == {"gpu12": "slowed"}
    assert net.hurt(500.0, "gpu22", told=told) == {"gpu12": "slowed", "gpu22": "paused"}
    found = net.suffering.victims("gpu11", 3, None, 500.0, told)
    assert found == told


def test_a_finding_names_no_more_than_it_should(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(victims, "MOST", 2)
    net = Watched()
    net.send(0.5, 0.5, 0.5, 0.5, times=12)
    began_at = net.at + 10
    net.send(0.1, 0.1, 0.1, 0.1)
    assert len(net.hurt(began_at, *HOSTS)) == 2


def test_the_newest_troubles_are_followed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(victims, "MOST_ONSETS", 2)
    net = Watched()
    net.send(0.5, 0.5, 0.5, 0.5, times=12)
    onsets = [net.at + 1, net.at + 2, net.at + 3]
    net.send(0.5, 0.1, 0.5, 0.5)
    net.suffering.begin(set())
    told = (Victim("gpu22", "mlx5_0/1", 3, "slowed"),)

    def hurt(began_at: float) -> list[str]:
        branch = Branch(0, (), (), ())
        return [v.device for v in net.suffering.victims("x", 3, branch, began_at, told)]

    assert [hurt(at) for at in onsets] == [["gpu12"], ["gpu12"], ["gpu12"]]
    assert hurt(onsets[0]) == ["gpu22"]
    net.suffering.begin({onsets[2]})
    assert hurt(onsets[0]) == ["gpu12"]


def test_ports_that_come_later_have_no_past() -> None:
    net = Watched()
    net.send(0.5, 0.5, 0.5, 0.5, times=12)
    began_at = net.at + 10
    net.sending.add(np.full(net.fabric.count + 3, 0.1, dtype=np.float32))
    assert set(net.hurt(began_at)) == {"gpu12", "gpu21", "gpu22"}
