"""Check that the pages of a source form one complete list, and shape its records for the file.

A record that is missing from the list counts as deleted, so a list that repeats records, changes its total or ends
early is rejected.
"""

from array import array
from bisect import bisect_left
from collections.abc import AsyncIterator, Iterator

import msgspec

from rolecall.core.json_paths import value_at
from rolecall.core.text import counted
from rolecall.sources.model import (
    BY_NUMBER,
    FetchedRecord,
    RecordPage,
    SourceChanged,
    SourceConnection,
    SourceContent,
    SourceFailed,
)

MOST_PAGES = 100_000
# This key means that whole records are compared, because no single value identifies them.
WHOLE = "$"
_MOST_EMPTY = 20
_PART = 200
_MOST_NAMED = 10
# Lists that a SCIM server may leave out if they are empty.
_LISTS_OF_SCIM = ("members", "groups")
_ENCODE = msgspec.json.Encoder(order="deterministic").encode


class SeenKeys:
    """Detect repeated keys with little memory: eight bytes for each older key.

    Hashes of recent keys are in a set and compared immediately. When the set is full or the list ends, it is compared
    with the older hashes and moved to a sorted array.
    """

    def __init__(self, most_recent: int = 262_144) -> None:
        self._most_recent = most_recent
        self._recent = set[int]()
        self._older: list[array[int]] = []

    def add(self, keys: list[str]) -> str | None:
        """Add the keys of a page and return None, or return the first key that repeats another recent one."""
        marks = set(map(hash, keys))
        if len(marks) < len(keys) or not self._recent.isdisjoint(marks):
            return next(key for at, key in enumerate(keys) if hash(key) in self._recent or key in keys[:at])
        self._recent |= marks
        return None

    def repeats_older(self, *, at_end: bool = False) -> bool:
        """Return whether a recent key repeats an older one. Compare only when the set is full or the list ends."""
        if len(self._recent) < self._most_recent and not (at_end and self._older):
            return False
        new = array("q", sorted(self._recent))
        self._recent = set()
        is_repeated = any(_share_values(new, each) for each in self._older)
        self._older.append(new)
        return is_repeated


def _share_values(few: "array[int]", sorted_values: "array[int]") -> bool:
    at, end = 0, len(sorted_values)
    for value in few:
        at = bisect_left(sorted_values, value, at)
        if at == end:
            return False
        if sorted_values[at] == value:
            return True
    return False


class Snapshot:
    """Collect the pages of one list and raise SourceFailed if the list cannot be complete."""

    def __init__(self, content: SourceContent, *, is_snapshot: bool, is_scim: bool = False) -> None:
        self._content = content
        self._is_snapshot, self._is_scim = is_snapshot, is_scim
        self._has_each = not content.each or (is_scim and content.each.lower() in _LISTS_OF_SCIM)
        self._names: list[str] = []
        self._keys = SeenKeys()
        self._pages = set[int]()
        self._empty = 0
        self.pages = 0
        self.count = 0
        self.total: int | None = None

    def add(self, page: RecordPage) -> None:
        self.pages += 1
        self.count += len(page)
        self._empty = 0 if len(page) else self._empty + 1
        if self.pages > MOST_PAGES or self._empty > _MOST_EMPTY:
            raise SourceFailed(f"the list does not end after {self.pages:,} pages and {self.count:,} records")
        if page.total is not None and self.total not in (None, page.total):
            first = counted(self.total or 0, "record")
            raise SourceChanged(f"the list changed while it was read: {first} at first, then {page.total:,}")
        self.total = page.total if page.total is not None else self.total
        if self.total is not None and self.count > self.total:
            raise SourceChanged(f"the source announced {counted(self.total, 'record')} and sent more")
        # In a snapshot of a database, equal rows are no sign of a change.
        if not self._is_snapshot:
            self._check_new(page)

    def _check_new(self, page: RecordPage) -> None:
        """Reject repeated records.

        If records have no id, reject repeated pages and, with paging by number, records that occur on several pages.
        """
        path = self._content.key
        keys = page.ids() if not path else [_key(record, path) for record in page.records]
        if None in keys:
            if path:
                raise SourceFailed(f"a record has no {path}, the configured key")
            mark = hash(page.lines())
            if mark in self._pages:
                raise _repeated(f"page {self.pages:,}")
            self._pages.add(mark)
        if None in keys and self._content.paging in BY_NUMBER:
            # Pages may overlap. Without keys, compare whole records; ignore duplicates within one page.
            keys = list({_ENCODE(record): None for record in page.records})
            path = WHOLE
        if (known := self._keys.add([str(key) for key in keys if key is not None])) is not None:
            raise _repeated(f"the record with {path or 'id'} {known}" if path != WHOLE else "a record")
        if self._keys.repeats_older():
            raise _repeated("a record")

    def shape(self, page: RecordPage) -> list[FetchedRecord]:
        """Return the records to write: only the configured attributes, and one record for each value of `each`."""
        spelled = [_spelled(record, self._content.each) for record in page.records] if self._is_scim else page.records
        if not self._has_each:
            self._has_each = any(value_at(record, self._content.each) is not None for record in spelled)
            self._names = self._names or [name for record in spelled[:1] for name in record]
        return list(_shaped(spelled, self._content))

    def require_each(self) -> None:
        """Fail if no record has the attribute that `each` names: a typo there would remove all memberships."""
        if self.count and not self._has_each:
            names = ", ".join(self._names[:_MOST_NAMED])
            raise SourceFailed(
                f'no record has "{self._content.each}", the value of "each"; the first record has {names}'
            )

    def finish(self) -> None:
        self.require_each()
        if self.total is not None and self.count != self.total:
            raise SourceChanged(f"the list ended after {self.count:,} of {self.total:,} records")
        if self._keys.repeats_older(at_end=True):
            raise _repeated("a record")


def _key(record: FetchedRecord, path: str) -> object:
    return _ENCODE(record) if path == WHOLE else value_at(record, path)


def _repeated(what: str) -> SourceChanged:
    return SourceChanged(f"{what} was received twice; the list changed while it was read, or a page was repeated")


async def complete(connection: SourceConnection, content: SourceContent) -> AsyncIterator[RecordPage]:
    """Yield the pages with shaped records; raise SourceFailed if the list is not complete."""
    snapshot = Snapshot(content, is_snapshot=connection.is_snapshot, is_scim=connection.is_scim)
    is_shaped = bool(content.attributes or content.each)
    async for page in connection.pages(content):
        snapshot.add(page)
        if not is_shaped:
            yield page
            continue
        # Yield in parts, because `each` can multiply the records of a page.
        shaped = snapshot.shape(page)
        for at in range(0, max(len(shaped), 1), _PART):
            yield RecordPage(shaped[at : at + _PART])
    snapshot.finish()


def _spelled(record: FetchedRecord, each: str) -> FetchedRecord:
    """Rename the attribute that differs from `each` only in case to `each`."""
    if not each or each in record:
        return record
    return {each if name.lower() == each.lower() else name: value for name, value in record.items()}


def _shaped(records: list[FetchedRecord], content: SourceContent) -> Iterator[FetchedRecord]:
    """Keep only the configured attributes, and yield one record for each value of `content.each`, if it is set."""
    # Compare names in lower case: SCIM ignores their case, and a server returns its own spelling.
    wanted = tuple(name.lower() for name in content.attributes)
    inner = tuple(name for name in wanted if "." in name or ":" in name)
    for record in records:
        kept = {name: record[name] for name in record if _is_wanted(name, wanted, inner)} if wanted else record
        if not content.each:
            yield kept
            continue
        values = value_at(record, content.each)
        rest = {name: value for name, value in kept.items() if name != content.each}
        for value in values if isinstance(values, list) else [] if values is None else [values]:
            yield {**rest, content.each: value}


def _is_wanted(name: str, wanted: tuple[str, ...], inner: tuple[str, ...]) -> bool:
    """Return whether a member is configured, or a value inside it such as `name.givenName`."""
    lower = name.lower()
    return lower in wanted or any(each.startswith((f"{lower}.", f"{lower}:")) for each in inner)
