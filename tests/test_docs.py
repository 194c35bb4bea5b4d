"""What exists is documented, and what is documented exists."""

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
import typer

from alerts import sink
from analyzers.rule import discover
from collector.profile import load_profiles
from roce.model import Site
from roce.signals import SIGNALS, metric
from rocediag.cli.main import build
from rocediag.keys import keys
from rocediag.schema import (
    AgentTable,
    DeviceEntry,
    File,
    Group,
    Http,
    LinkEntry,
    Mqtt,
    NodeExporter,
    Poll,
    Snmp,
    StoreTable,
    Sysfs,
)

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
PACKAGES = ("roce", "collector", "analyzers", "alerts", "rocediag", "migrations")

TABLES: dict[str, type[msgspec.Struct]] = {
    "[poll]": Poll,
    "[groups.NAME]": Group,
    "[[device]]": DeviceEntry,
    "Table snmp of a device or group": Snmp,
    "Table sysfs of a device or group": Sysfs,
    "Table node_exporter of a device or group": NodeExporter,
    "[[link]]": LinkEntry,
    "[store]": StoreTable,
    "[http]": Http,
    "[mqtt]": Mqtt,
    "[agent]": AgentTable,
    **{f"[alerts.{name}]": kind for name, kind in sink.discover().items()},
}


def sections(page: str) -> dict[str, str]:
    """Give a page's sections of the second level by their headings."""
    parts = re.split(r"^## (.+)$", (DOCS / page).read_text(), flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


@pytest.mark.parametrize("heading", TABLES)
def test_every_key_has_its_line_with_its_default(heading: str) -> None:
    inherited = {key.name for key in keys(Group)} if heading == "[[device]]" else set()
    expected = [
        f"| `{key.name}` | {'' if key.default is None else f'`{key.default}`'} | {key.text} |"
        for key in keys(TABLES[heading])
        if key.name not in inherited
    ]
    section = sections("config.md")[heading]
    assert [line for line in section.splitlines() if line.startswith("| `")] == expected


def test_every_section_and_every_key_of_the_fabric_is_there() -> None:
    found = sections("config.md")
    for key in keys(File):
        headings = (f"[{key.name}]", f"[[{key.name}]]", f"[{key.name}.", "The top of a file")
        assert any(heading.startswith(headings) for heading in found), key.name
    assert "| `include` |" in found["The top of a file"]
    for key in keys(Site):
        assert f"| `{key.name}` | `{key.default}` |" in found["[fabric]"]


def test_every_signal_has_its_line() -> None:
    expected = [
        f"| `{s.name}` | {s.scope} | {s.kind} | {s.unit} | {'yes' if s.fast else ''} "
        f"| `{metric(s)[0]}` | {s.help} |"
        for s in SIGNALS.values()
    ]
    lines = (DOCS / "signals.md").read_text().splitlines()
    assert sorted(line for line in lines if line.startswith("| `")) == sorted(expected)


def commands() -> Iterator[tuple[str, set[str]]]:
    """Give every command with its options."""

    def walk(name: str, command: object) -> Iterator[tuple[str, set[str]]]:
        parameters = getattr(command, "params", [])
        options = {option for each in parameters for option in each.opts if option.startswith("--")}
        if getattr(command, "callback", None) is not None and name != "rocediag db":
            yield name, options - {"--help"}
        for sub, each in getattr(command, "commands", {}).items():
            yield from walk(f"{name} {sub}", each)

    yield from walk("rocediag", typer.main.get_command(build()))


@pytest.mark.parametrize(("command", "options"), list(commands()))
def test_every_command_has_its_section_with_its_options(command: str, options: set[str]) -> None:
    section = sections("cli.md")[command]
    for option in options:
        assert f"`{option}`" in section, option


def test_no_command_is_documented_that_does_not_exist() -> None:
    assert set(sections("cli.md")) == {command for command, _ in commands()}


@pytest.mark.parametrize("rule", sorted(discover()))
def test_every_rule_has_its_page_with_its_thresholds(rule: str) -> None:
    page = DOCS / "rules" / f"{rule}.md"
    assert page.exists(), f"write docs/rules/{rule}.md"
    text = page.read_text()
    assert text.startswith(f"# {rule}\n")
    for key in keys(discover()[rule]):
        assert key.text, f"{rule}.{key.name} has no docstring"
        assert f"`{key.name}`" in text, f"{page} does not speak of {key.name}"


def test_no_rule_is_documented_that_does_not_exist() -> None:
    assert {page.stem for page in (DOCS / "rules").glob("*.md")} == set(discover())


def test_every_rfc_that_the_code_names_is_among_the_standards() -> None:
    named: set[str] = set()
    for package in PACKAGES:
        for file in (ROOT / package).rglob("*"):
            if file.suffix in {".py", ".toml"}:
                named |= set(re.findall(r"RFC \d+", file.read_text()))
    listed = set(re.findall(r"RFC \d+", (DOCS / "standards.md").read_text()))
    assert named <= listed


@pytest.mark.parametrize(
    "page", ["README.md", "CONTRIBUTING.md", *(f"docs/{p.name}" for p in DOCS.glob("*.md"))]
)
def test_every_link_leads_somewhere(page: str) -> None:
    file = ROOT / page
    for target in re.findall(r"\]\(([^)#]+)\)", file.read_text()):
        if not target.startswith("http"):
            assert (file.parent / target).exists(), target


def test_every_path_that_the_standards_name_exists() -> None:
    for path in re.findall(r"`([a-z]+/[\w./]*)`", (DOCS / "standards.md").read_text()):
        assert (ROOT / path).exists(), path


def test_the_changelog_tells_of_the_version_that_this_is() -> None:
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    text = (ROOT / "CHANGELOG.md").read_text()
    assert f"## [{version}]" in text or "## [Unreleased]" in text


@pytest.mark.parametrize("name", sorted(load_profiles()))
def test_a_platform_has_a_section_that_says_what_it_gives(name: str) -> None:
    platform, ours = load_profiles()[name], load_profiles()["generic"].snmp
    assert platform.snmp is not None
    assert ours is not None
    section = " ".join(sections("platforms.md")[name].split())
    told = platform.snmp.signals.keys() - (ours.signals.keys() - {"pfc_rx_frames", "pfc_tx_frames"})
    told |= platform.snmp.unsupported.keys() | platform.snmp.quirks.keys()
    assert section.startswith(f"{platform.title}. ")
    assert set(re.findall(r"`(\w+)`", section)) == told
    for signal, by in platform.snmp.unsupported.items():
        assert f"`{signal}` ({by})" in section
