"""Check that what a source sends is one complete list, and shape its records for the file.

A missed deletion is the costliest error here, so a list that repeats records, changes its total or ends early is
refused rather than imported.
"""

from collections.abc import AsyncIterator, Iterator

import msgspec

from rolecall.core.json_paths import value_at
from rolecall.sources.model import (
    FetchedRecord,
    RecordPage,
    SourceChanged,
    SourceConnection,
    SourceContent,
    SourceFailed,
)

MOST_PAGES = 100_000
# The key of records that only all their values together identify.
WHOLE = "$"
_MOST_EMPTY = 20
_ENCODE = msgspec.json.Encoder(order="deterministic").encode


class Snapshot:
    """Count the pages of one list and look for signs that it is not complete."""

    def __init__(self, content: SourceContent, *, is_snapshot: bool) -> None:
        self._content = content
        self._is_snapshot = is_snapshot
        self._keys = set[int]()
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
            raise SourceChanged(
                f"the list changed while it was read: {self.total:,} records at first, then {page.total:,}"
            )
        self.total = page.total if page.total is not None else self.total
        if self.total is not None and self.count > self.total:
            raise SourceChanged(f"the source announced {self.total:,} records and sent more")
        if not self._is_snapshot:
            self._check_new(page)

    def _check_new(self, page: RecordPage) -> None:
        """Refuse a repeated record; where some have no id, also a repeated page."""
        path = self._content.key
        keys = page.ids() if not path else [_key(record, path) for record in page.records]
        if None in keys:
            if path:
                raise SourceFailed(f"a record has no {path}, which key names")
            mark = hash(page.lines())
            if mark in self._pages:
                raise _repeated(f"page {self.pages:,}")
            self._pages.add(mark)
        texts = [str(key) for key in keys if key is not None]
        marks = set(map(hash, texts))
        if len(marks) < len(texts) or not self._keys.isdisjoint(marks):
            raise _repeated(
                f"the record with {path or 'id'} {self._first_known(texts)}" if path != WHOLE else "a record"
            )
        self._keys |= marks

    def _first_known(self, texts: list[str]) -> str:
        return next(each for place, each in enumerate(texts) if hash(each) in self._keys or each in texts[:place])

    def finish(self) -> None:
        if self.total is not None and self.count != self.total:
            raise SourceChanged(f"the list ended after {self.count:,} of {self.total:,} records")


def _key(record: FetchedRecord, path: str) -> object:
    return _ENCODE(record) if path == WHOLE else value_at(record, path)


def _repeated(what: str) -> SourceChanged:
    return SourceChanged(f"{what} came twice; the list changed while it was read, or a page was repeated")


async def complete(connection: SourceConnection, content: SourceContent) -> AsyncIterator[RecordPage]:
    """Yield the records of each page, shaped; raise SourceFailed if the list is not complete."""
    snapshot = Snapshot(content, is_snapshot=connection.is_snapshot)
    is_shaped = bool(content.attributes or content.each)
    async for page in connection.pages(content):
        snapshot.add(page)
        yield RecordPage(list(shaped(page.records, content))) if is_shaped else page
    snapshot.finish()


def shaped(records: list[FetchedRecord], content: SourceContent) -> Iterator[FetchedRecord]:
    """Keep `attributes`, and make one record of each value of the list `each`."""
    wanted = tuple(content.attributes)
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
    """Return whether a member, or a value inside it such as `name.givenName`, is to be kept."""
    return name in wanted or any(each.startswith((f"{name}.", f"{name}:")) for each in inner)
