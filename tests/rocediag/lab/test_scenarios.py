import pytest

from roce.errors import ConfigError
from rocediag.lab.scenarios import DEFAULT_DEVICE, Scenario, parse
from rocediag.lab.topology import build

HOSTS = build().hosts


def test_every_trouble_has_a_default_host_of_its_own() -> None:
    assert set(DEFAULT_DEVICE) == set(Scenario) - {Scenario.HEALTHY}
    assert len(set(DEFAULT_DEVICE.values())) == len(DEFAULT_DEVICE)
    assert set(DEFAULT_DEVICE.values()) <= set(HOSTS)


def test_a_scenario_befalls_the_named_host_or_its_default() -> None:
    assert parse("incast", "gpu02", HOSTS) == (Scenario.INCAST, "gpu02")
    assert parse("incast", None, HOSTS) == (Scenario.INCAST, DEFAULT_DEVICE[Scenario.INCAST])
    assert parse("healthy", None, HOSTS) is None


def test_an_unknown_scenario_is_answered_with_those_there_are() -> None:
    with pytest.raises(ConfigError) as caught:
        parse("pause_strom", None, HOSTS)
    text = str(caught.value)
    assert "\n" not in text
    assert "'pause_strom'" in text
    assert all(scenario in text for scenario in Scenario)


def test_an_unknown_host_is_answered_with_those_there_are() -> None:
    with pytest.raises(ConfigError) as caught:
        parse("incast", "leaf1", HOSTS)
    assert "\n" not in str(caught.value)
    assert all(host in str(caught.value) for host in HOSTS)
