"""The page for a browser: the verdict, what is open, what is not measured."""

import html
from collections.abc import Sequence

from roce.model import Finding, Verdict

_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta http-equiv="refresh" content="10">
<title>rocediag: {verdict}</title>
<style>
body {{ font: 1rem/1.5 sans-serif; margin: 2rem auto; max-width: 70rem; padding: 0 1rem }}
table {{ border-collapse: collapse; width: 100% }}
td, th {{ border-bottom: 1px solid #ccc; padding: .3rem .8rem .3rem 0; text-align: left;
  vertical-align: top }}
</style></head><body>
<h1>{verdict}</h1>
<p>{measured}</p>
{findings}
<p><a href="/metrics">metrics</a> · <a href="/api/v1/findings">findings</a> ·
<a href="/api/v1/status">status</a></p>
</body></html>
"""

_ROW = "<tr><td>{severity}</td><td>{rule}</td><td>{where}</td><td>{age}</td><td>{text}</td></tr>"


def page(
    verdict: Verdict | None, findings: Sequence[Finding], not_ready: str | None, now: float
) -> str:
    """Give the page as HTML; times in unix seconds."""
    measured = [f"not ready: {not_ready}"] if not_ready else []
    if verdict is not None:
        measured += [f"{verdict.coverage:.0%} measured", *verdict.unmeasured]
    rows = [
        _ROW.format(
            severity=f.severity.value,
            rule=html.escape(f.rule),
            where=html.escape(_where(f)),
            age=f"{max(0.0, now - f.began_at):.0f} s",
            text=html.escape(": ".join([f.summary, *f.remedy[:1]])),
        )
        for f in sorted(findings, key=lambda f: f.began_at)
    ]
    return _PAGE.format(
        verdict=html.escape("unknown" if verdict is None else verdict.verdict),
        measured=html.escape(" · ".join(measured)),
        findings=f"<table>{''.join(rows)}</table>" if rows else "<p>no open findings</p>",
    )


def _where(finding: Finding) -> str:
    if finding.root is None:
        return ""
    return ":".join(part for part in (finding.root.device, finding.root.port) if part)
