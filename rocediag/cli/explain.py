"""`rocediag explain`: what a rule means here, or all that is known of one finding."""

import re
import time
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
import typer

from roce.errors import ConfigError
from rocediag.cli import ask, options, show
from rocediag.cli.view import FindingView

_ID = re.compile("[0-9a-f]{1,12}")

if TYPE_CHECKING:
    from rocediag.cli.rulepage import Page


def explain(
    what: Annotated[str, typer.Argument(metavar="RULE|ID", help="A rule, or a finding's id.")],
    platform: Annotated[
        str | None, typer.Option("--platform", help="What to type there.", metavar="NAME")
    ] = None,
    url: options.Url = options.URL,
    store: options.StoreUrl = None,
    json: options.Json = False,
) -> None:
    """Explain a rule or a finding.

    A rule with its formula and this site's numbers, what else looks like it and what to do, or
    all that is known of a finding. The first letters of an id are enough.
    """
    from analyzers import words
    from analyzers.rule import discover
    from collector.strict import nearest
    from rocediag.cli.here import here
    from rocediag.cli.rulepage import Page

    rules = discover()
    known = ["generic", *words.platforms(), words.MLX5]
    if platform is not None and platform not in known:
        raise ConfigError(f"--platform: {platform!r} is {nearest(platform, known)}")
    if what not in rules:
        if not _ID.fullmatch(what):
            name = nearest(what.lower().replace("-", "_"), rules)
            raise ConfigError(f"{what!r} is no finding's id, and as a rule {name}")
        found = _matching(what, url, store)
        if json:
            for line in found:
                print(line.decode())
            return
    daemon = None if store else ask.Daemon(url)
    site = here(daemon)
    if what in rules:
        page = Page(what, rules[what], rules, site)
        open_now = _open(what, daemon if site.live else None, store)
        _rule(page, open_now, platform, json=json)
        return
    for number, line in enumerate(found):
        finding = msgspec.json.decode(line, type=FindingView)
        if number:
            print()
        of = rules.get(finding.rule)
        _finding(finding, Page(finding.rule, of, rules, site) if of else None)


def _matching(beginning: str, url: str, store: str | None) -> list[bytes]:
    """Give the findings whose id begins so."""
    told = ask.stored_findings(store, None) if store else ask.Daemon(url).findings(None)
    found = [line for line in told if msgspec.json.decode(line)["id"].startswith(beginning)]
    if not found:
        raise ConfigError(f"no finding's id begins with {beginning!r}")
    return found


def _open(rule: str, daemon: ask.Daemon | None, store: str | None) -> list[bytes] | None:
    """Give the open findings of a rule; None where nobody tells them."""
    if daemon is None and store is None:
        return None
    told = daemon.findings("open") if daemon else ask.stored_findings(store or "", "open")
    return [line for line in told if msgspec.json.decode(line)["rule"] == rule]


def _finding(finding: FindingView, page: "Page | None") -> None:
    """Show all that is known of a finding, then how its rule judges and what to type there."""
    from rocediag.cli.rulepage import at, print_steps

    out = show.console()
    show.finding(out, finding, time.time(), full=True)
    if page is not None:
        out.print(f"\n{page.name}: {page.kind.title}", style="bold")
        meaning, traps = page.meaning
        show.paragraphs(out, meaning)
        out.print("\nWhat else looks like it", style="bold")
        show.paragraphs(out, traps)
        out.print("\nHow it is judged here", style="bold")
        show.table(out, page.formula())
        print_steps(out, at(page, finding))


def _rule(page: "Page", open_now: list[bytes] | None, platform: str | None, *, json: bool) -> None:
    from rocediag.cli.rulepage import print_page

    if json:
        print(msgspec.json.encode(_document(page, open_now, platform)).decode())
        return
    found = None
    if open_now is not None:
        found = [msgspec.json.decode(line, type=FindingView) for line in open_now]
    print_page(show.console(), page, found, platform)


def _document(page: "Page", open_now: list[bytes] | None, platform: str | None) -> dict[str, Any]:
    meaning, traps = page.meaning
    return {
        "rule": page.name,
        "title": page.kind.title,
        "text": meaning,
        "false_alarms": traps,
        "source": page.here.source,
        "fabric": page.here.site,
        "formula": [{"label": label, "condition": row} for label, row in page.formula()],
        "blamed": [{"label": label, "text": row} for label, row in page.blamed()],
        "thresholds": {
            key.name: {"value": value, "default": key.default, "text": key.text}
            for key, value in page.thresholds()
        },
        "remedy": page.remedy(),
        "commands": dict(page.steps(platform)),
        "open": None if open_now is None else [msgspec.Raw(line) for line in open_now],
    }
