"""`rocediag status`: the daemon and its devices."""

from collections.abc import Mapping

from rocediag.cli import ask, options, show, text
from rocediag.cli.view import DeviceView, StatusView

_NO_NEWS = {"unsupported", "absent", "not_counted"}


def status(url: options.Url = options.URL, json: options.Json = False) -> None:
    """Show the daemon and its devices.

    Which of them answer, what of them is not known, and why.
    """
    daemon = ask.Daemon(url)
    if json:
        print(daemon.get("/api/v1/status").decode())
        return
    _show(daemon.status())


def _show(it: StatusView) -> None:
    out = show.console()
    out.print(f"rocediag {it.version}, running since {text.since(it.started_at, it.now)}")
    if it.verdict is not None:
        share = text.share(it.verdict.coverage)
        out.print(f"{it.verdict.verdict}, {it.open_findings} open findings, {share} measured")
    show.table(out, [(text.clean(each.device), _about(each)) for each in it.devices])
    dropped = {what: count for what, count in it.dropped.items() if count}
    if dropped:
        out.print("thrown away since it started")
        show.table(out, [(text.clean(what), str(count)) for what, count in dropped.items()])


def _about(it: DeviceView) -> str:
    words = [text.clean(word) for word in (it.role, it.platform) if word]
    if it.age_seconds is None:
        return ", ".join([*words, "not polled yet: no answer so far"])
    words += [f"{it.ports} ports", f"sample {text.ago(it.age_seconds)} old"]
    return "; ".join([", ".join(words), *_unknown(it.unknown)])


def _unknown(unknown: Mapping[str, str]) -> list[str]:
    """Give signals that are not known, grouped by why.

    What a platform never gives is no news, and only counted.
    """
    reasons = sorted(dict.fromkeys(unknown.values()), key=lambda why: why in _NO_NEWS)
    groups = {why: [name for name, its in unknown.items() if its == why] for why in reasons}
    return [
        f"{text.clean(why).replace('_', ' ')}: "
        + (f"{len(names)} signals" if why in _NO_NEWS else text.clean(", ".join(names)))
        for why, names in groups.items()
    ]
