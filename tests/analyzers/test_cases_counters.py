"""Counters that begin anew, as fabrics of others showed them, and what may be said of them."""

import numpy as np

from roce.model import State
from tests.analyzers.build import healthy


def test_a_switch_whose_counters_restart_gives_no_rate_once_and_then_true_ones() -> None:
    net = healthy()
    before = net.fabric.rate("tx_bytes").copy()
    net.restart("leaf1")
    assert net.tick() == []
    rows = net.fabric.rows_of("leaf1")
    assert np.isnan(net.fabric.rate("tx_bytes")[rows]).all()
    assert net.fabric.why("leaf1", "tx_bytes") is State.RESTARTED
    assert net.fabric.counts.restarts == 1
    assert net.tick() == []
    assert np.array_equal(net.fabric.rate("tx_bytes"), before)
    assert net.fabric.why("leaf1", "tx_bytes") is State.MEASURED


def test_a_restart_never_keeps_a_switch_out() -> None:
    net = healthy()
    for _ in range(5):
        net.restart("leaf1")
        assert net.tick(2) == []
        rates = net.fabric.rate("rx_bytes")
        assert np.isfinite(rates).all()
        assert (rates >= 0).all()
    assert net.open == []
