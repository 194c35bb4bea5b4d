import asyncio

import pytest

from collector.source import Sink, Source
from roce.model import Batch, DeviceFacts, Facts
from tests.roce.build import batch, block


class Clock:
    """A source that counts up, as simple as one can be."""

    device = "leaf1"

    async def run(self, sink: Sink) -> None:
        sink(Facts(0.0, self.device, DeviceFacts()))
        for at in range(3):
            sink(batch(self.device, float(at), ["Ethernet0"], block({"tx_bytes": [at]})))
        await asyncio.Event().wait()


async def test_a_source_hands_on_batches_and_facts_until_it_is_cancelled() -> None:
    got: list[Batch | Facts] = []
    source: Source = Clock()
    async with asyncio.TaskGroup() as group:
        task = group.create_task(source.run(got.append), name=source.device)
        await asyncio.sleep(0)
        assert [type(each) for each in got] == [Facts, Batch, Batch, Batch]
        assert not task.done()
        task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
