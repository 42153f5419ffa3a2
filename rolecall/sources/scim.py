"""Read users, groups and other resources of a SCIM 2.0 server (RFC 7644), by index or by cursor (RFC 9865)."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import msgspec
from yarl import URL

from rolecall.sources.http_client import SourceHttp, decoded, open_http
from rolecall.sources.model import (
    EncodedPage,
    Paging,
    RecordPage,
    SourceAccess,
    SourceConnection,
    SourceContent,
    SourceFailed,
)
from rolecall.sources.rest import endpoint, records_in

_PAGE = 200
_PROVIDER = "ServiceProviderConfig"


class ScimPage(msgspec.Struct, frozen=True):
    records: RecordPage
    next_cursor: str | None


class ListedResources(msgspec.Struct, rename={"total": "totalResults", "resources": "Resources", "next": "nextCursor"}):
    total: int
    resources: list[msgspec.Raw] = []
    next: str | None = None


class KnownResource(msgspec.Struct):
    id: str | None = None


class KnownResources(msgspec.Struct, rename={"resources": "Resources"}):
    resources: list[KnownResource] = []


_LISTED = msgspec.json.Decoder(ListedResources)
_KNOWN = msgspec.json.Decoder(KnownResources)


def _decoded_page(content: bytes) -> ScimPage:
    """Decode a page but leave its resources encoded, except for their ids."""
    try:
        # Check the encoding, because the decoder does not check text that it skips.
        content.decode()
        listed, known = _LISTED.decode(content), _KNOWN.decode(content).resources
        ids: list[object] = [each.id for each in known]
        return ScimPage(EncodedPage(listed.resources, ids, listed.total), listed.next)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        answer = decoded(content)
        records, total = resources_in(answer)
        following = answer.get("nextCursor")
        return ScimPage(RecordPage(records, total), str(following) if following else None)


@asynccontextmanager
async def connect(access: SourceAccess) -> AsyncIterator[SourceConnection]:
    async with open_http(access) as http:
        yield ScimConnection(http)


class ScimConnection(SourceConnection):
    is_scim = True

    def __init__(self, http: SourceHttp) -> None:
        self._http = http

    async def pages(self, content: SourceContent) -> AsyncIterator[RecordPage]:
        url = endpoint(self._http.root, content.path)
        query = _asked(content)
        last: RecordPage | None = None
        place: dict[str, str] | None = {"cursor": ""} if content.paging is Paging.CURSOR else {"startIndex": "1"}
        read, ahead = 0, None
        try:
            while place is not None:
                page = await (ahead or self._page(url, {**query, **place}))
                read += len(page.records)
                following = _next_place(page, place, read)
                # Request the next page while this one is written, except after the first page: a connection test needs
                # only that page.
                is_first = place.get("cursor", "") == "" and read == len(page.records)
                place, ahead = following, None
                if place is not None and not is_first:
                    ahead = asyncio.create_task(self._page(url, {**query, **place}))
                    # Yield to the event loop, so that the request is sent before this page is processed.
                    await asyncio.sleep(0)
                last = page.records if is_first else None
                yield page.records
            if last and content.paging is not Paging.CURSOR and (further := await self._further(url, query, last)):
                yield further
        finally:
            if ahead:
                ahead.cancel()

    async def _further(self, url: URL, query: dict[str, str], first: RecordPage) -> RecordPage | None:
        """Request resources beyond the total: some servers report the size of the page as the total of the list."""
        try:
            found = (await self._page(url, {**query, "startIndex": str(len(first) + 1)})).records
        except SourceFailed:
            return None
        # A server that ignores startIndex returns the same resources again.
        return None if found.lines() == first.lines() else found

    async def _page(self, url: URL, query: dict[str, str]) -> ScimPage:
        found: ScimPage = (await self._http.get(url, query, _decoded_page)).value
        return found

    async def login(self) -> str:
        """Return the authentication schemes of the server in place of the login, which few SCIM servers report."""
        try:
            answer = (await self._http.get(endpoint(self._http.root, _PROVIDER))).value
        except SourceFailed:
            return ""
        schemes = answer.get("authenticationSchemes") if isinstance(answer, dict) else None
        names = [str(each.get("name")) for each in schemes or () if isinstance(each, dict) and each.get("name")]
        return f"the server accepts {', '.join(names)}" if names else ""


def _asked(content: SourceContent) -> dict[str, str]:
    query = {**content.parameters, "count": str(content.page_size or _PAGE)}
    if content.filter:
        query["filter"] = content.filter
    if content.attributes:
        # Do not request `id`: servers always return it.
        query["attributes"] = ",".join(content.attributes)
    return query


def resources_in(answer: Any) -> tuple[list[Any], int]:
    """Return the resources of a ListResponse and its total."""
    total = answer.get("totalResults") if isinstance(answer, dict) else None
    if not isinstance(total, int) or isinstance(total, bool):
        raise SourceFailed("the response is not a SCIM ListResponse: it has no totalResults")
    # A server may leave out an empty list.
    return records_in(answer, "Resources") if "Resources" in answer else [], total


def _next_place(page: ScimPage, place: dict[str, str], read: int) -> dict[str, str] | None:
    if "cursor" in place:
        if page.next_cursor and page.next_cursor == place["cursor"]:
            raise SourceFailed("the server keeps referring to the same page")
        return {"cursor": page.next_cursor} if page.next_cursor else None
    return None if not page.records or read >= (page.records.total or 0) else {"startIndex": str(read + 1)}
