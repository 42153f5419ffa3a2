"""The chain as mathematics: what links one entry to the one before it, and what a walk along it finds."""

import hashlib
from collections.abc import Sequence

import msgspec

START = bytes(32)


class Row(msgspec.Struct, frozen=True):
    number: int
    chain: int
    # The canonical text that is hashed.
    entry: str
    previous: bytes
    hash: bytes


class Head(msgspec.Struct, frozen=True):
    """The end of a chain: its last entry, and how many it has."""

    chain: int
    number: int
    count: int
    hash: str


class Break(msgspec.Struct, frozen=True):
    number: int
    chain: int
    reason: str


def link(previous: bytes, number: int, entry: str) -> bytes:
    """Over a digest of the entry: links can be shown to somebody who may not read every entry."""
    digest = hashlib.sha256(entry.encode()).hexdigest()
    return hashlib.sha256(f"{previous.hex()} {number} {digest}".encode()).digest()


def seal_of(heads: Sequence[Head]) -> str:
    """All heads in one hash."""
    lines = [f"{head.chain} {head.number} {head.count} {head.hash}\n" for head in heads]
    return hashlib.sha256("".join(lines).encode()).hexdigest()


class Walk:
    """Along all chains at once, by number; remembers the first thing that is wrong."""

    def __init__(self, heads: Sequence[Head]) -> None:
        self.count = 0
        self.broken: Break | None = None
        self._last: dict[int, Row] = {}
        self._counts: dict[int, int] = {}
        self._heads = {(head.chain, head.number): head for head in heads}

    def step(self, row: Row) -> None:
        self.count += 1
        before = self._last.get(row.chain)
        self._last[row.chain] = row
        self._counts[row.chain] = self._counts.get(row.chain, 0) + 1
        if row.hash != link(row.previous, row.number, row.entry):
            self._note(row.number, row.chain, "the entry does not match its hash: it was altered")
        elif row.previous != (before.hash if before else START):
            after = f"entry {before.number}" if before else "the beginning of its chain"
            self._note(row.number, row.chain, f"the entry does not follow {after}: one between was altered or removed")
        if head := self._heads.pop((row.chain, row.number), None):
            self._meet(head, row)

    def end(self) -> None:
        for head in self._heads.values():
            self._note(head.number, head.chain, "the last entry of the chain is missing: its end was cut off")

    def _meet(self, head: Head, row: Row) -> None:
        if head.hash != row.hash.hex():
            self._note(row.number, row.chain, "the entry is not the one that the head names: the chain was rewritten")
        elif head.count != self._counts[row.chain]:
            self._note(row.number, row.chain, f"the head counts {head.count} entries, the chain has others")

    def _note(self, number: int, chain: int, reason: str) -> None:
        if self.broken is None or number < self.broken.number:
            self.broken = Break(number, chain, reason)
