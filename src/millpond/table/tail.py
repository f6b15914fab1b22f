"""The tail: rows accepted but not yet archived, in memory, in order of arrival.

Idea. Appended batches become blocks; small ones are merged as they age, like the carries of a binary counter, so that a
million single-row appends are a score of blocks and each row is copied O(log n) times. A block knows its time bounds:
with the blocks in a list that is the in-memory interval index.

Invariant. The tail holds exactly the rows with number >= `start`, once each. A snapshot is a tuple of immutable blocks,
so a reader is never disturbed.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from millpond.arrow import integers
from millpond.schema import SEQ

_WHOLE = 65_536  # rows at which a block is left alone


@dataclass(frozen=True)
class TailBlock:
    """Rows of one or more appends. `least` and `greatest` bound their event times."""

    batches: tuple[pa.RecordBatch, ...]
    rows: int
    least: int
    greatest: int
    last_seq: int
    bytes: int


class Tail:
    """Appended to and cut by the writing thread; `blocks` may be read from any thread (the tuple is replaced whole)."""

    def __init__(self, start: int = 0) -> None:
        self.start = start
        self.blocks: tuple[TailBlock, ...] = ()

    @property
    def rows(self) -> int:
        return sum(b.rows for b in self.blocks)

    @property
    def bytes(self) -> int:
        return sum(b.bytes for b in self.blocks)

    def append(self, batches: Iterable[pa.RecordBatch], least: int, greatest: int, last_seq: int) -> None:
        kept = tuple(b for b in batches if b.num_rows)
        if not kept:
            return
        block = TailBlock(kept, sum(b.num_rows for b in kept), least, greatest, last_seq, sum(b.nbytes for b in kept))
        blocks = list(self.blocks)
        while blocks and block.rows < _WHOLE and blocks[-1].rows <= 2 * block.rows:
            block = _merge(blocks.pop(), block)
        blocks.append(block)
        self.blocks = tuple(blocks)

    def cut(self, start: int) -> None:
        """Forget the rows below `start`: they are in the archive now."""
        blocks = []
        for block in self.blocks:
            if block.last_seq < start:
                continue
            blocks.append(_without(block, start))
        self.blocks = tuple(b for b in blocks if b.rows)
        self.start = start


def _merge(old: TailBlock, new: TailBlock) -> TailBlock:
    # A column may have been added in between; batches of unlike schemas are brought to one when read.
    batches: tuple[pa.RecordBatch, ...] = ()
    for _, alike in itertools.groupby([*old.batches, *new.batches], key=lambda b: b.schema):
        batches += tuple(pa.Table.from_batches(list(alike)).combine_chunks().to_batches())
    return TailBlock(batches, old.rows + new.rows, min(old.least, new.least), max(old.greatest, new.greatest),
                     max(old.last_seq, new.last_seq), sum(b.nbytes for b in batches))  # fmt: skip


def _without(block: TailBlock, start: int) -> TailBlock:
    kept = []
    for batch in block.batches:
        seq = integers(batch.column(batch.schema.get_field_index(SEQ)))
        if seq.min() >= start:
            kept.append(batch)
        else:
            rest = np.flatnonzero(seq >= start)
            if len(rest):
                kept.append(batch.take(pa.array(rest)))
    rows = sum(b.num_rows for b in kept)
    return TailBlock(tuple(kept), rows, block.least, block.greatest, block.last_seq, sum(b.nbytes for b in kept))
