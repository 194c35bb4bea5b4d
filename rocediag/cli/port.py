"""`rocediag port`: both ends of a cable in one row."""

from typing import Annotated

import typer

from rocediag.cli import answers, ask, cables, options, show


def port(
    what: Annotated[
        str,
        typer.Argument(metavar="DEVICE[:PORT]", help="A device, or one port by any of its names."),
    ],
    url: options.Url = options.URL,
    json: options.Json = False,
) -> None:
    """Show both ends of a cable in one row.

    Of a device all its cables: what the one end counts beside what the other does.
    """
    daemon = ask.Daemon(url)
    content = answers.answered(daemon, "/api/v1/ports", device=what)
    if json:
        print(content.decode())
        return
    out, told = show.console(), answers.read(content, cables.CablesView, daemon)
    if not told.cables:
        out.print("no port of it is known yet")
        return
    cables.show(out, told.cables)
    out.print(cables.ages(told.cables), soft_wrap=True)
    if told.others:
        out.print(f"{told.others} more ports have no cable that is known")
    out.print()
    show.paragraphs(out, cables.LEGEND)
