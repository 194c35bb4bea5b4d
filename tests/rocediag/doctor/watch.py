"""Looks at a made-up server at made-up times."""

from collections.abc import Mapping

from analyzers.rule import Judgement, defaults
from collector.host import HostReader
from collector.sysfs import SysTree
from roce.model import Site
from rocediag.doctor import harm, moved
from rocediag.doctor.checks import Check, Subject
from tests.collector.hosttree import mlx5_rows
from tests.rocediag.doctor.server import NETDEV, Server, is_whole, subject

PATH = "class/infiniband/mlx5_1/ports/1"
SITE = Site()


class Watch:
    """Reads a server's counters at made-up times."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.reader = HostReader("gpu03", SysTree(server.sys))
        self.first = self.reader.read(100.0, slow=True)

    def look(
        self,
        on: Subject | None = None,
        *,
        rows: Mapping[str, int] | None = None,
        hw: Mapping[str, int] | None = None,
        counters: Mapping[str, int] | None = None,
        rules: Mapping[str, Judgement] | None = None,
        site: Site = SITE,
    ) -> dict[str, Check]:
        """Let some counters go on for five seconds, and check."""
        if rows is not None:
            self.server.ethtool(mlx5_rows(values=rows), NETDEV)
        for folder, values in (("hw_counters", hw or {}), ("counters", counters or {})):
            for name, value in values.items():
                self.server.write(f"{PATH}/{folder}/{name}", value)
        second = self.reader.read(105.0, slow=False)
        batches = [b for b in (self.first.batch, second.batch) if b is not None]
        it = moved.look("gpu03", site, batches)
        notes = {**self.first.unreadable, **second.unreadable}
        found = list(harm.checks(on or subject(site=site), it, rules or defaults(), notes))
        assert all(map(is_whole, found))
        assert len({each.check for each in found}) == len(found)
        return {each.check: each for each in found}
