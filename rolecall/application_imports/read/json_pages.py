"""Recognize pages of a list that an API returns in several responses, and detect missing pages.

A file with only the first page looks complete, but its import would remove everyone on the other pages.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from rolecall.core.nested_json import NestedTooDeeply, require_nesting

# The members in which common APIs wrap their records.
ENVELOPES = ("resources", "value", "users", "members", "data", "items", "results", "records", "entries", "groups")
# Names of members, reduced to lowercase letters. `_TOTALS` give the number of records, `_PAGES` the number of pages.
_TOTALS = {
    "totalresults", "total", "totalcount", "count", "totalitems", "totalrecords", "totalsize", "totalelements",
    "recordstotal", "odatacount", "totalhits", "totalrows", "numfound",
}  # fmt: skip
_PAGES = {"totalpages", "pagecount", "pages", "lastpage"}
# Members that announce more pages: `_NEXT` if they are not blank, `_MORE` if they are true, `_DONE` if they are false.
_NEXT = {
    "odatanextlink", "nextlink", "nextpage", "next", "nextpagetoken", "nextcursor", "nexttoken", "nextrecordsurl",
    "nexturi", "nexturl", "nextpageurl", "nextpagelink", "nexthref", "nextmarker", "continuationtoken", "skiptoken",
    "pagingnext", "continue",
}  # fmt: skip
_MORE = {"hasmore", "hasnextpage", "hasnext", "more", "istruncated", "moreavailable", "morerecords", "hasmoreitems"}
_DONE = {"done", "islastpage", "islast", "last"}
# Objects in which APIs put the members about pages, or the list itself.
_AROUND = {
    "meta", "metadata", "paging", "pagination", "links", "pageinfo", "page", "responsemetadata", "cursor", "cursors",
    "info", "d", "data", "result", "response", "listmetadata",
}  # fmt: skip
_OTHERS = {
    "schemas", "startindex", "itemsperpage", "kind", "etag", "ok", "cachets", "offset", "limit", "start", "pagesize",
    "perpage", "size", "status", "success", "previouspage", "previous", "prev", "self", "requestid", "odatacontext",
    "odatametadata", "pagenumber", "number", "timestamp", "code", "message", "currentpage", "maxresults",
}  # fmt: skip
_OF_A_PAGE = _TOTALS | _PAGES | _NEXT | _MORE | _DONE | _AROUND | _OTHERS
_SPACE = re.compile(r"\s*")
_MOST_DOCUMENTS = 100_000


class PageSigns(NamedTuple):
    """Signs that show whether the records in a file are the whole list."""

    records: int
    # The largest reported total of records, and of pages, each with the name of the member that reports it.
    total: tuple[int, str] = (0, "")
    pages: tuple[int, str] = (0, "")
    # The member that says that more pages follow.
    more: str = ""
    # The number of pages in the file.
    documents: int = 1


def signs_of(document: object, records: int) -> PageSigns:
    """Look for signs of further pages in the members of a document; `records` is the number of records in its list."""
    total, pages, more = (0, ""), (0, ""), ""
    for name, value in _members(document):
        folded = _letters(name)
        number = int(str(value)) if str(value).isdecimal() else 0
        if folded in _TOTALS and not _counts_other(document, number, records):
            total = max(total, (number, name))
        elif folded in _PAGES:
            pages = max(pages, (number, name))
        is_named = folded in _NEXT and value not in (None, "", False, 0, [], {}, {"href": None}, {"href": ""})
        if is_named or (folded in _MORE and value is True) or (folded in _DONE and value is False):
            more = more or name
    return PageSigns(records, total, pages, more)


def _counts_other(document: object, number: int, records: int) -> bool:
    """Return whether a total counts another list in the document, such as groups next to users."""
    lists = document.values() if isinstance(document, dict) else ()
    return number > records and any(isinstance(each, list) and len(each) == number for each in lists)


def missing_pages(found: Sequence[PageSigns]) -> str | None:
    """Return why pages of a list seem to be missing from its files or documents; None if none do."""
    records, documents = sum(page.records for page in found), sum(page.documents for page in found)
    total, name = max((page.total for page in found), default=(0, ""))
    if total > records:
        return f"{name} is {total:,}, but the number of records is {records:,}"
    pages, name = max((page.pages for page in found), default=(0, ""))
    if pages > documents:
        return f"{name} is {pages:,}, but the number of pages is {documents:,}"
    # The last page of a list does not say that more pages follow. If all pages say so, the list is incomplete.
    if found and all(page.more for page in found):
        return f"{found[-1].more} of the last exported page says that more pages follow"
    return None


def joined_signs(found: Sequence[PageSigns]) -> PageSigns:
    """Combine the signs of paging in the documents of one file."""
    more = found[-1].more if all(page.more for page in found) else ""
    total, pages = max(page.total for page in found), max(page.pages for page in found)
    return PageSigns(sum(page.records for page in found), total, pages, more, len(found))


def list_of_pages(documents: Sequence[Mapping[str, object]]) -> str | None:
    """Return the name of the list that all documents contain, or None if the documents themselves are records."""
    first, *_ = documents
    names = [name for name, value in first.items() if _letters(name) in ENVELOPES and isinstance(value, list)]
    if len(names) != 1:
        return None
    (name,) = names
    return name if all(_is_page(document, name) for document in documents) else None


def documents_in(text: str) -> list[Any]:
    """Return the consecutive JSON documents of a text; an empty list if it has other text or too many documents."""
    decoder, at = json.JSONDecoder(), 0
    found: list[Any] = []
    text = text.strip()
    try:
        while at < len(text) and len(found) < _MOST_DOCUMENTS:
            document, end = decoder.raw_decode(text, at)
            found.append(require_nesting(document))
            at = end + len(_SPACE.match(text, end)[0])  # type: ignore[index]
    except (ValueError, RecursionError, NestedTooDeeply):
        return []
    return found if at >= len(text) else []


def _is_page(document: Mapping[str, object], name: str) -> bool:
    records = document.get(name)
    is_list = isinstance(records, list) and all(isinstance(each, dict) for each in records)
    others = (each for each in document if each != name)
    return is_list and all(map(is_of_page, others))


def is_of_page(name: str) -> bool:
    """Return whether a member next to a list of records describes the page."""
    return _letters(name) in _OF_A_PAGE or name.startswith(("@", "$", "_"))


def _members(document: object, depth: int = 3) -> Iterator[tuple[str, object]]:
    if not isinstance(document, dict):
        return
    for name, value in document.items():
        if isinstance(value, dict) and depth and _letters(name) in _AROUND:
            yield from _members(value, depth - 1)
        yield name, value


def _letters(name: str) -> str:
    return re.sub(r"[^a-z]", "", name.lower())
