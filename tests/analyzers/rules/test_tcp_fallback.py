import pytest

from analyzers.rule import Rule
from analyzers.rules.tcp_fallback import TcpFallback
from analyzers.watch import QUIET
from tests.analyzers.build import LINE_BYTES, Net, only

HOSTS = ("gpu11", "gpu12", "gpu21", "gpu22")


def net(share: float, others: float | None = None, line: float = 0.3) -> Net:
    made = Net()
    made.start(only(tcp_fallback=TcpFallback()))
    for host in HOSTS:
        put(made, host, share if host == "gpu11" or others is None else others, line)
    return made


def put(made: Net, host: str, share: float, line: float = 0.3) -> None:
    rate = line * LINE_BYTES
    made.set(host, tx_bytes=rate, rx_bytes=rate)
    made.set(host, rdma_tx_bytes=share * rate, rdma_rx_bytes=share * rate)


@pytest.mark.parametrize(
    ("share", "others", "level"),
    [(1.0, 1.0, 0), (0.25, 1.0, 0), (0.15, 1.0, -1), (0.05, 1.0, 3), (0.05, 0.05, -1)],
)
def test_a_host_that_does_otherwise_than_the_rest(share: float, others: float, level: int) -> None:
    assert net(share, others).level(TcpFallback(), "gpu11") == level


def test_next_to_no_traffic_means_nothing() -> None:
    assert net(0.0, 1.0, 0.04).level(TcpFallback(), "gpu11") == QUIET


def test_a_host_that_does_otherwise_than_before_is_found_and_stays() -> None:
    made = net(1.0)
    made.tick(5)
    for host in HOSTS:
        put(made, host, 0.0)
    made.tick(3)
    assert {f.rule for f in made.open} == {"tcp_fallback"}
    made.tick(40)
    assert {f.rule for f in made.open} == {"tcp_fallback"}
    for host in HOSTS:
        put(made, host, 1.0)
    made.tick(4)
    assert made.open == []


@pytest.mark.parametrize(
    ("rule", "level"),
    [
        (TcpFallback(critical=0.02), 0),
        (TcpFallback(floor=0.5), QUIET),
        (TcpFallback(usual=1.1), -1),
    ],
)
def test_thresholds_are_the_operators(rule: Rule, level: int) -> None:
    assert net(0.05, 1.0).level(rule, "gpu11") == level
