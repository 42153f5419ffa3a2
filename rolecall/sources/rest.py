"""Read lists of records from JSON APIs with the common paging styles.

A short page never ends a list: a server may cap the page size. A list ends with an empty page, at the total that the
server announces, or when there is no next page.
"""

import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, NamedTuple

from yarl import URL

from rolecall.core.json_paths import value_at
from rolecall.sources.further_pages import says_more
from rolecall.sources.http_client import JsonAnswer, SourceHttp, open_http
from rolecall.sources.model import (
    BY_NUMBER,
    Paging,
    RecordPage,
    SourceAccess,
    SourceConnection,
    SourceContent,
    SourceFailed,
)

_LINK = re.compile(r"<([^<>]*)>\s*((?:;[^,<]*)*)")
_NEXT = re.compile(r";\s*rel\s*=\s*\"?[^\";]*\bnext\b", re.IGNORECASE)
_MOST_NAMED = 10
_TYPES = {str: "a string", int: "a number", float: "a number", bool: "a boolean", list: "a list", type(None): "null"}
_ERRORS = ("error", "errors")
_DEEPEST_SIGN = 3


class Progress(NamedTuple):
    """How far a list was read: how many pages and records, the records of the last page, and the total if known."""

    pages: int
    read: int
    last: list[Any]
    total: int | None


class PageRequest(NamedTuple):
    url: URL
    query: dict[str, str]


@asynccontextmanager
async def connect(access: SourceAccess) -> AsyncIterator[SourceConnection]:
    async with open_http(access) as http:
        yield RestConnection(http)


class RestConnection(SourceConnection):
    def __init__(self, http: SourceHttp) -> None:
        self._http = http

    async def pages(self, content: SourceContent) -> AsyncIterator[RecordPage]:
        request: PageRequest | None = first_request(self._http.root, content)
        progress = Progress(0, 0, [], None)
        while request:
            answer = await self._http.get(*request)
            records = records_in(answer.value, content.records)
            _refuse_errors(answer.value, records)
            total = _total(answer.value, content.total)
            progress = Progress(progress.pages + 1, progress.read + len(records), records, total)
            yield RecordPage(records, total)
            request = _FOLLOWING[content.paging](request, content, answer, progress)
            if request is None:
                _refuse_other_paging(content, answer, progress)
        if _ends_at_first_total(content, progress):
            further = await self._further(first_request(self._http.root, content), content, progress)
            if further:
                yield RecordPage(further, progress.total)

    async def _further(self, first: PageRequest, content: SourceContent, progress: Progress) -> list[Any]:
        """Try to fetch records beyond the reported total: some servers report the size of the page as the total."""
        number = progress.read if content.paging is Paging.OFFSET else content.first_page + 1
        name = content.page_parameter or content.paging.lower()
        try:
            answer = await self._http.get(first.url, {**first.query, name: str(number)})
            found = records_in(answer.value, content.records)
        except SourceFailed:
            # A server may reject a page after the last one.
            return []
        # A server that ignores paging returns the whole list again.
        return [] if found == progress.last else found


def endpoint(root: URL, path: str) -> URL:
    """Append a path to the URL of the source, or return a full URL unchanged; the client refuses other servers."""
    if path.startswith(("http://", "https://")):
        return URL(path)
    joined = f"{str(root.with_query(None)).rstrip('/')}/{path.lstrip('/')}" if path else str(root.with_query(None))
    return URL(joined).update_query(root.query)


def first_request(root: URL, content: SourceContent) -> PageRequest:
    query = dict(content.parameters)
    if content.paging is Paging.PAGE:
        query[content.page_parameter or "page"] = str(content.first_page)
    if content.paging is Paging.OFFSET:
        query[content.page_parameter or "offset"] = "0"
    if content.page_size and content.paging is not Paging.NONE:
        query[content.size_parameter or _SIZES[content.paging]] = str(content.page_size)
    return PageRequest(endpoint(root, content.path), query)


_SIZES = {
    Paging.PAGE: "per_page",
    Paging.OFFSET: "limit",
    Paging.CURSOR: "limit",
    Paging.NEXT: "limit",
    Paging.LINK: "per_page",
}


def records_in(value: Any, path: str) -> list[Any]:
    """Return the list of records at `path` in a response; without a path the response is the list."""
    found = value_at(value, path) if path else value
    if isinstance(found, list):
        # Report only the type, because the value may contain credentials or personal data.
        wrong = next((_TYPES[type(each)] for each in found if not isinstance(each, dict)), None)
        if wrong is not None:
            raise SourceFailed(f"a record is {wrong} instead of an object; set records to the path of the list")
        return found
    names = ", ".join(map(str, list(value)[:_MOST_NAMED])) if isinstance(value, dict) else ""
    there = f"; the response has {names}" if names else ""
    raise SourceFailed(
        f"{f'{path} is not' if path else 'the response is not'} a list of records{there}; "
        "set records to the path of the list"
    )


def _total(value: Any, path: str) -> int | None:
    if not path:
        return None
    found = value_at(value, path)
    if isinstance(found, str) and found.isdecimal():
        return int(found)
    if isinstance(found, int) and not isinstance(found, bool):
        return found
    raise SourceFailed(f'the response has no number at {path}, the value of "total"; correct it')


def _ends_at_first_total(content: SourceContent, progress: Progress) -> bool:
    return content.paging in BY_NUMBER and progress.pages == 1 and bool(progress.last)


def _refuse_errors(value: Any, records: list[Any]) -> None:
    """Reject a page that contains an error. A plain value counts as an error only if the page has no records."""
    found = [value.get(name) for name in _ERRORS] if isinstance(value, dict) else []
    if any(each and (not records or isinstance(each, list | dict)) for each in found):
        raise SourceFailed(
            "the source returned an error in a page of the list; look for the reason in the log of the source"
        )


def _refuse_other_paging(content: SourceContent, answer: JsonAnswer, progress: Progress) -> None:
    """Raise SourceFailed if the page that ends the list refers to a next page: the configured paging is wrong."""
    # Paging by number ends with an empty page or at the total, so ignore references to a next page.
    if content.paging in BY_NUMBER:
        return
    hint = 'a Link header with rel="next"' if _linked(answer) else _sign_of_more(answer.value, content, progress)
    if hint:
        wrong = f'"next" is {content.next}' if content.next else f'"paging" is {content.paging}'
        raise SourceFailed(f'the response refers to a next page by {hint}, but {wrong}; correct "paging" and "next"')


def _sign_of_more(
    value: Any, content: SourceContent, progress: Progress, path: str = "", depth: int = _DEEPEST_SIGN
) -> str | None:
    """Return the path of a member that indicates more records; do not search inside the records."""
    if not isinstance(value, dict) or not depth or (path and path == content.records):
        return None
    for name, inner in value.items():
        here = f"{path}.{name}" if path else str(name)
        if says_more(name, inner, None if content.total else progress.read, is_first=progress.pages == 1):
            return here
        if found := _sign_of_more(inner, content, progress, here, depth - 1):
            return found
    return None


def _by_number(request: PageRequest, name: str, number: int, progress: Progress) -> PageRequest | None:
    if not progress.last or (progress.total is not None and progress.read >= progress.total):
        return None
    return PageRequest(request.url, {**request.query, name: str(number)})


def _next_page(request: PageRequest, content: SourceContent, _: JsonAnswer, progress: Progress) -> PageRequest | None:
    number = content.first_page + progress.pages
    return _by_number(request, content.page_parameter or "page", number, progress)


def _next_offset(request: PageRequest, content: SourceContent, _: JsonAnswer, progress: Progress) -> PageRequest | None:
    return _by_number(request, content.page_parameter or "offset", progress.read, progress)


def _next_cursor(request: PageRequest, content: SourceContent, answer: JsonAnswer, _: Progress) -> PageRequest | None:
    cursor = value_at(answer.value, content.next)
    if cursor in (None, "", False):
        return None
    name = content.page_parameter or "cursor"
    if str(cursor) == request.query.get(name):
        raise SourceFailed("the server keeps referring to the same page")
    return PageRequest(request.url, {**request.query, name: str(cursor)})


def _next_url(request: PageRequest, content: SourceContent, answer: JsonAnswer, _: Progress) -> PageRequest | None:
    return _referred(request, value_at(answer.value, content.next), answer)


def _next_link(request: PageRequest, _: SourceContent, answer: JsonAnswer, __: Progress) -> PageRequest | None:
    return _referred(request, _linked(answer), answer)


def _linked(answer: JsonAnswer) -> str | None:
    """Return the target of the Link header with `rel="next"`."""
    found = [link for text in answer.links for link in _LINK.finditer(text)]
    return next((link[1] for link in found if _NEXT.search(link[2])), None)


def _referred(request: PageRequest, target: Any, answer: JsonAnswer) -> PageRequest | None:
    """Return the request for a referenced page, whose URL contains all parameters; None if there is no reference."""
    if target in (None, "", False):
        return None
    try:
        url = answer.url.join(URL(str(target)))
    except ValueError:
        raise SourceFailed("the server refers to a next page that is not a URL") from None
    if url == request.url:
        raise SourceFailed("the server keeps referring to the same page")
    return PageRequest(url, {})


def _none(*_: object) -> None:
    return None


_Following = Callable[[PageRequest, SourceContent, JsonAnswer, Progress], PageRequest | None]
_FOLLOWING: dict[Paging, _Following] = {
    Paging.NONE: _none,
    Paging.PAGE: _next_page,
    Paging.OFFSET: _next_offset,
    Paging.CURSOR: _next_cursor,
    Paging.NEXT: _next_url,
    Paging.LINK: _next_link,
}
