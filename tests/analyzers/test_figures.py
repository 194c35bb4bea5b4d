from analyzers.figures import SOURCES, signals_of
from analyzers.rule import Rule, discover
from roce.signals import SIGNALS


def test_every_figure_has_its_sources_and_every_source_is_a_signal() -> None:
    rules = [kind for kind in discover().values() if issubclass(kind, Rule)]
    named = {name for rule in rules for name in (*rule.needs, *rule.helps, *rule.shown)}
    assert named <= SOURCES.keys() | SIGNALS.keys()
    assert all(signal in SIGNALS for name in SOURCES for signal in signals_of(name))


def test_a_signal_is_made_of_itself() -> None:
    assert signals_of("tx_bytes") == ("tx_bytes",)
    assert signals_of("cnps") == ("np_cnp_sent", "rdma_rx_packets")
