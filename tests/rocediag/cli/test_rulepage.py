import io

import pytest
from msgspec.structs import asdict, replace
from rich.console import Console

from analyzers.rule import defaults, discover
from analyzers.watch import Patience
from roce.model import Site
from rocediag.cli.here import Here, Kind
from rocediag.cli.rulepage import Page, at, print_page
from rocediag.cli.view import FindingView, PlaceView

RULES = discover()


def site(devices: dict[str, Kind] | None = None, **changes: float) -> Here:
    thresholds = {name: {**asdict(rule), **changes} for name, rule in defaults().items()}
    return Here("a test", Site(lossless=(4,)), Patience(), thresholds, devices or {})


def page(name: str, devices: dict[str, Kind] | None = None, **changes: float) -> Page:
    return Page(name, RULES[name], RULES, site(devices, **changes))


@pytest.mark.parametrize("name", RULES)
def test_every_rule_has_all_that_is_shown_of_it(name: str) -> None:
    it = page(name)
    assert all(it.meaning)
    assert it.remedy()
    assert all("None" not in step for step in it.remedy())
    assert all("{" not in row for _, row in it.formula())
    platforms = dict(it.steps())
    assert platforms["generic"] or "switch" not in it.kind.named
    assert ("mlx5" in platforms) == ("host" in it.kind.named)


def test_the_formula_has_the_numbers_of_the_site() -> None:
    rows = page("pause_storm", storm=0.7).formula()
    assert rows[0] == ("judged", "each lossless priority (4) of each host's port")
    assert rows[1][1].startswith("it holds its leaf's queue ≥ 70 % of the time")
    assert rows[-1][1] == (
        "opens with 2 such samples among the last 10, ends after 3 good ones; undecided is neither"
    )
    assert "opens with 5" in page("retransmission").formula()[-1][1]
    assert "10 minutes after a boot" in page("mtu_mismatch").formula()[-1][1]


def test_it_says_who_speaks_for_whom() -> None:
    said = list(page("slow_receiver").blamed())
    assert ("named", "a port of a host") in said
    assert ("symptom of", "speed_degraded at the same device") in said
    assert any(label == "speak first" and "pause_storm" in text for label, text in said)
    assert ("its symptoms", "tcp_fallback at the same device") in page("gid_mismatch").blamed()
    assert any("link_flap" in text for _, text in page("ack_timeout").blamed())
    assert "any other congestion" in dict(page("cnp_flood").blamed())["symptom of"]
    assert "of several ports the device" in dict(page("ecn_after_pfc").blamed())["named"]


def test_steps_are_those_of_the_platforms_that_there_are() -> None:
    one = {"leaf1": Kind("switch", "eos"), "gpu1": Kind("host", "")}
    assert [platform for platform, _ in page("pause_storm", one).steps()] == ["eos", "mlx5"]
    assert [p for p, _ in page("pause_storm", {"leaf1": one["leaf1"]}).steps()] == ["eos"]
    assert [p for p, _ in page("pause_storm", one).steps("comware")] == ["comware", "mlx5"]
    assert [p for p, _ in page("pause_storm", one).steps("mlx5")] == ["mlx5"]
    assert len(list(page("pause_storm").steps())) > 10
    remedy = page("pause_storm", one).remedy()
    assert remedy[0] == "isolate it: shut PORT on LEAF: `interface PORT`, `shutdown`"
    mixed = {**one, "leaf2": Kind("switch", "odd")}
    assert page("pause_storm", mixed).remedy()[0] == "isolate it: shut PORT on LEAF"


def test_a_platform_of_the_site_without_words_is_spoken_to_plainly() -> None:
    steps = dict(page("bad_link", {"leaf1": Kind("switch", "odd")}).steps())
    assert [s.how for s in steps["odd"]] == [None] * 4
    everybodys = dict(page("bad_link").steps())
    assert all(step.how for step in everybodys["ruijie"])


def test_a_findings_steps_are_those_of_its_boxes() -> None:
    devices = {"leaf1": Kind("switch", "sonic"), "gpu03": Kind("host", "")}
    finding = FindingView(
        id="a",
        rule="pause_storm",
        severity="critical",
        state="open",
        began_at=0.0,
        found_at=0.0,
        root=PlaceView("gpu03", "mlx5_2/1", 3),
        path=("gpu03:mlx5_2/1", "leaf1:Ethernet12"),
    )
    it = page("pause_storm", devices)
    told = dict(at(it, finding))
    assert list(told) == ["gpu03: mlx5", "leaf1: sonic"]
    isolate = next(s for s in told["leaf1: sonic"] if s.name == "isolate")
    assert isolate.how == "`sudo config interface shutdown Ethernet12`"
    assert list(at(page("pause_storm"), finding)) == []
    assert list(at(it, replace(finding, root=None, path=()))) == []


def printed(it: Page, platform: str | None = None) -> str:
    out = Console(file=io.StringIO(), width=80, markup=False)
    print_page(out, it, None, platform)
    assert isinstance(out.file, io.StringIO)
    return out.file.getvalue()


def test_a_rule_that_is_off_says_so() -> None:
    assert "It is not judged: enabled = false." in printed(page("incast", enabled=False))
    assert "not judged: enabled" not in printed(page("incast"))


def test_where_a_platform_has_no_words_the_others_are_named() -> None:
    odd = {"leaf1": Kind("switch", "generic")}
    assert "--platform may be sonic, cumulus" in printed(page("incast", odd))
    assert "--platform may be" not in printed(page("incast", odd), "dell-os10")
    assert "--platform may be" not in printed(page("incast", {"leaf1": Kind("switch", "eos")}))


HOST_TOOLS = ("mlnx_qos", "/sys/class", "ethtool", "lspci", "ibv_devinfo", "mlxlink -d")


@pytest.mark.parametrize("name", [n for n, kind in RULES.items() if "switch" in kind.named])
def test_nobody_is_told_to_type_a_hosts_command_on_a_switch(name: str) -> None:
    it = page(name, {"leaf1": Kind("switch", "sonic")})
    on_switch = [step for step in it.remedy() if "SWITCH" in step]
    on_switch += [step.text for _, steps in it.steps() for step in steps]
    assert on_switch
    assert not [text for text in on_switch for tool in HOST_TOOLS if tool in text]


@pytest.mark.parametrize("name", RULES)
def test_what_is_typed_has_the_priority_of_the_site(name: str) -> None:
    it = page(name)
    told = [*it.remedy(), *(step.text for _, steps in it.steps() for step in steps)]
    assert not [text for text in told if "enable/3" in text or "pfc 0,0,0,1" in text]
