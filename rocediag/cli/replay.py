"""`rocediag replay`: what a capture shows."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import msgspec
import typer

from rocediag.cli import options, show, text
from rocediag.cli.view import FindingView, VerdictView

if TYPE_CHECKING:
    from rocediag.replay import Judged

EXITS = {"clean": 0, "faulty": 1}
UNKNOWN = 4


def replay(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder of the capture.")],
    changed: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="RULE.KEY=VALUE", help="Another threshold; may be given again."
        ),
    ] = None,
    json: options.Json = False,
) -> None:
    """Judge a capture.

    As the daemon would have judged it live. The exit code is 0 for clean, 1 for faulty, 4 for
    unknown.
    """
    from rocediag.replay import judge, settings

    judged = judge(folder, settings(changed or ()))
    for why, count in judged.bad_lines.items():
        print(f"rocediag: {folder}: {count} unusable: {why}", file=sys.stderr)
    if json:
        for finding in judged.findings:
            print(msgspec.json.encode(finding).decode())
        print(msgspec.json.encode(judged.verdict).decode())
    else:
        _show(judged)
    raise typer.Exit(EXITS.get(judged.verdict.verdict, UNKNOWN))


def _show(judged: "Judged") -> None:
    out = show.console()
    findings = msgspec.convert(msgspec.to_builtins(judged.findings), list[FindingView])
    verdict = msgspec.convert(msgspec.to_builtins(judged.verdict), VerdictView)
    for finding in findings:
        show.finding(out, finding, verdict.to_at or finding.began_at)
    show.unmeasured(out, verdict)
    loud = sum(each.is_loud for each in findings)
    show.verdict(out, verdict.verdict, text.verdict_line(verdict, loud, "finding"))
