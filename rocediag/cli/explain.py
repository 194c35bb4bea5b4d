"""`rocediag explain`: what a rule means, or all that is known of one finding."""

import inspect
import re
import time
from typing import TYPE_CHECKING, Annotated

import msgspec
import typer

from roce.errors import ConfigError
from rocediag.cli import ask, options, show
from rocediag.cli.view import FindingView

_ID = re.compile("[0-9a-f]{1,12}")

if TYPE_CHECKING:
    from analyzers.rule import Judgement


def explain(
    what: Annotated[str, typer.Argument(metavar="RULE|ID", help="A rule, or a finding's id.")],
    url: options.Url = options.URL,
    store: options.StoreUrl = None,
    json: options.Json = False,
) -> None:
    """Explain a rule or a finding.

    A rule with its thresholds, or all that is known of a finding, with every step of the
    remedy. The first letters of an id are enough.
    """
    from analyzers.rule import discover
    from collector.strict import nearest

    rules = discover()
    if what in rules:
        _rule(what, rules[what], json=json)
        return
    if not _ID.fullmatch(what):
        raise ConfigError(f"{what!r} is no finding's id, and as a rule {nearest(what, rules)}")
    found = ask.stored_findings(store, None) if store else ask.Daemon(url).findings(None)
    matching = [line for line in found if msgspec.json.decode(line)["id"].startswith(what)]
    if not matching:
        raise ConfigError(f"no finding's id begins with {what!r}")
    for line in matching:
        if json:
            print(line.decode())
        else:
            finding = msgspec.json.decode(line, type=FindingView)
            _finding(finding, rules.get(finding.rule))


def _finding(finding: FindingView, rule: "type[Judgement] | None") -> None:
    out = show.console()
    show.finding(out, finding, time.time(), full=True)
    if rule is not None:
        out.print()
        show.paragraphs(out, inspect.getdoc(rule) or "")


def _rule(name: str, rule: "type[Judgement]", *, json: bool) -> None:
    """Show what a rule means, and what can be set of it."""
    from rocediag.keys import keys

    text, thresholds = inspect.getdoc(rule) or "", list(keys(rule))
    if json:
        told = {key.name: {"default": key.default, "text": key.text} for key in thresholds}
        page = {"rule": name, "title": rule.title, "text": text, "thresholds": told}
        print(msgspec.json.encode(page).decode())
        return
    out = show.console()
    out.print(f"{name}: {rule.title}", style="bold")
    show.paragraphs(out, text)
    out.print(f"\n[rules.{name}]", style="bold")
    show.table(out, [(f"{key.name} = {key.default}", key.text) for key in thresholds])
