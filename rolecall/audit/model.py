"""Verify the hash chains of the audit.

`link` computes the hash of an entry as `schema/audit.sql` does when it appends the entry, and `seal_of` computes one
hash over all heads. `Walk` follows all chains and reports the first entry that is wrong.
"""

import hashlib
from collections.abc import Sequence

import msgspec

from rolecall.core.text import counted

START = bytes(32)
FIRST = 1
# Sixteen chains (docs/decisions/0045). `audit_chains` in schema/constants.sql is generated from this range.
CHAINS = range(1, 17)


# Action, time, caller and entity of an entry, as filters compare them.
Keys = tuple[str | None, ...]


class Row(msgspec.Struct, frozen=True):
    number: int
    chain: int
    # The canonical text that is hashed.
    entry: str
    previous: bytes
    hash: bytes


class Head(msgspec.Struct, frozen=True):
    """The end of a chain: its last entry and its number of entries."""

    chain: int
    number: int
    count: int
    hash: str


class Checkpoint(msgspec.Struct, frozen=True):
    """The heads of all chains (number and hash) at the time when one chain was last written."""

    chain: int
    seen: dict[int, tuple[int, str]]


class Break(msgspec.Struct, frozen=True):
    number: int
    chain: int
    reason: str


def link(previous: bytes, number: int, entry: str) -> bytes:
    """Return the hash of an entry. It covers the digest of the text, so a chain can be checked without the texts."""
    digest = hashlib.sha256(entry.encode()).hexdigest()
    return hashlib.sha256(f"{previous.hex()} {number} {digest}".encode()).digest()


class _Id(msgspec.Struct):
    id: str | None


class _Keys(msgspec.Struct, rename="camel"):
    action: str
    created_date: str
    caller: _Id
    entity: _Id


_read_keys = msgspec.json.Decoder(_Keys).decode


def keys_of(entry: str) -> Keys:
    """Return what the filter columns of an entry must contain, as `schema/audit.sql` writes them.

    Return an empty tuple if the text is not an entry.
    """
    try:
        said = _read_keys(entry)
    except msgspec.DecodeError:
        return ()
    # The time with exactly six decimals, as chain_notes in schema/audit.sql writes it.
    created = f"{said.created_date.rstrip('Z')}.000000"[:26]
    return said.action.lower(), created, said.caller.id, said.entity.id


def seal_of(heads: Sequence[Head]) -> str:
    lines = [f"{head.chain} {head.number} {head.count} {head.hash}\n" for head in heads]
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def heads_broken(heads: Sequence[Head], checkpoints: Sequence[Checkpoint]) -> list[Break]:
    """Return a break for each chain that is unknown, has no checkpoint, or has a head that differs from its checkpoint.

    The same transaction writes the head and the checkpoint of a chain, so they must agree.
    """
    ends = {head.chain: (head.number, head.hash) for head in heads}
    kept = {checkpoint.chain: checkpoint.seen for checkpoint in checkpoints}
    found = []
    for chain in sorted({*CHAINS, *ends, *kept}):
        number, hash = ends.get(chain, (0, ""))
        seen = kept.get(chain, {}).get(chain, (0, ""))
        if chain not in CHAINS:
            found.append(Break(number, chain, "the service writes no chain with this number"))
        elif chain not in kept:
            found.append(Break(number, chain, "the chain has no checkpoint"))
        elif (number, hash) != seen:
            found.append(Break(max(number, seen[0]), chain, "the head of the chain was changed after the last entry"))
    return found


class Mark(msgspec.Struct, frozen=True):
    """An entry that must exist, with the messages for when it is missing or differs."""

    chain: int
    number: int
    hash: str
    missing: str
    differs: str
    # The number of entries in the chain up to this one, if known.
    count: int | None = None


def mark_of(head: Head) -> Mark:
    return Mark(
        head.chain,
        head.number,
        head.hash,
        "the last entry of the chain is missing: its end was cut off",
        "the entry is not the one that the head names: the chain was rewritten",
        head.count,
    )


def sighting(by: int, chain: int, number: int, hash: str) -> Mark:
    """Return a mark that requires the entry which was the head of `chain` when chain `by` was last written."""
    when = f"when chain {by} was last written"
    return Mark(
        chain,
        number,
        hash,
        f"the entry existed {when} and is now missing: the end of its chain was cut off",
        f"the entry is not the one that existed {when}: the chain was rewritten",
    )


class Walk:
    """Follow all chains at once, in the order of entry numbers, and remember the first entry that is wrong.

    The entry of every mark must exist with the hash of the mark, and each chain must end at its head.
    """

    def __init__(self, marks: Sequence[Mark], heads: Sequence[Head]) -> None:
        self.count = 0
        self.broken: Break | None = None
        self._last: dict[int, Row] = {}
        self._counts: dict[int, int] = {}
        self._marks: dict[tuple[int, int], list[Mark]] = {}
        for mark in (*map(mark_of, heads), *marks):
            self._marks.setdefault((mark.chain, mark.number), []).append(mark)
        self._ends = {head.chain: head.number for head in heads}

    def step(self, row: Row, keys: Keys | None = None) -> None:
        """Check the next entry of its chain; `keys` are its filter columns, or None if they are not checked."""
        self.count += 1
        before = self._last.get(row.chain)
        self._last[row.chain] = row
        self._counts[row.chain] = self._counts.get(row.chain, 0) + 1
        if row.number < FIRST or row.chain not in CHAINS:
            self._note(row.number, row.chain, "the entry has an invalid number or chain: it was added")
        elif row.hash != link(row.previous, row.number, row.entry):
            self._note(row.number, row.chain, "the entry does not match its hash: it was altered")
        elif row.previous != (before.hash if before else START):
            after = f"entry {before.number}" if before else "the beginning of its chain"
            self._note(
                row.number, row.chain, f"the entry does not follow {after}: an entry in between was altered or removed"
            )
        elif row.chain not in self._ends:
            self._note(row.number, row.chain, "the chain has no head: the entry was added, or the head was removed")
        elif row.number > self._ends[row.chain]:
            self._note(row.number, row.chain, "the entry comes after the head of its chain: it was added")
        elif keys is not None and keys != keys_of(row.entry):
            self._note(row.number, row.chain, "the columns that filters use differ from the entry: they were altered")
        for mark in self._marks.pop((row.chain, row.number), ()):
            self._meet(mark, row)

    def end(self) -> None:
        for marks in self._marks.values():
            self._note(marks[0].number, marks[0].chain, marks[0].missing)

    def _meet(self, mark: Mark, row: Row) -> None:
        if mark.hash != row.hash.hex():
            self._note(row.number, row.chain, mark.differs)
        elif mark.count not in (None, self._counts[row.chain]):
            self._note(
                row.number,
                row.chain,
                f"the head counts {counted(mark.count or 0, 'entry', 'entries')}, but the chain has a different number",
            )

    def _note(self, number: int, chain: int, reason: str) -> None:
        # Missing entries are noted last, so a break that was noted before may have a higher number.
        if self.broken is None or number < self.broken.number:
            self.broken = Break(number, chain, reason)
