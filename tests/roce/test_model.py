import dataclasses

import numpy as np
import pytest

from roce import model, nouns
from roce.model import Batch, Block


def test_every_noun_can_be_had_here() -> None:
    mine = {n for n, noun in vars(nouns).items() if getattr(noun, "__module__", "") == "roce.nouns"}
    assert mine
    assert mine <= set(model.__all__)
    assert all(getattr(model, name) is getattr(nouns, name) for name in mine)


def test_a_batch_cannot_be_changed_and_is_itself_alone() -> None:
    one = np.ones((1, 1))
    block = Block(("tx_bytes",), one.astype(np.uint64), one > 0, one[0], one[0].astype(np.uint8))
    batch, twin = (Batch(1.0, "gpu1", ("mlx5_0/1",), (block,)) for _ in range(2))
    assert batch != twin, "arrays are never compared by accident"
    with pytest.raises(dataclasses.FrozenInstanceError):
        batch.at = 2.0  # type: ignore[misc]
