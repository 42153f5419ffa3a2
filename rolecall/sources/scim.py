"""Read users, groups and other resources of a SCIM 2.0 server (RFC 7644), by index or by cursor (RFC 9865)."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from rolecall.sources.http_client import SourceHttp, open_http
from rolecall.sources.model import Paging, RecordPage, SourceAccess, SourceConnection, SourceContent, SourceFailed
from rolecall.sources.rest import endpoint, records_in

_PAGE = 200
_PROVIDER = "ServiceProviderConfig"


@asynccontextmanager
async def connect(access: SourceAccess) -> AsyncIterator[SourceConnection]:
    async with open_http(access) as http:
        yield ScimConnection(http)


class ScimConnection:
    is_snapshot = False

    def __init__(self, http: SourceHttp) -> None:
        self._http = http

    async def pages(self, content: SourceContent) -> AsyncIterator[RecordPage]:
        url = endpoint(self._http.root, content.path)
        query = _asked(content)
        place: dict[str, str] | None = {"cursor": ""} if content.paging is Paging.CURSOR else {"startIndex": "1"}
        read = 0
        while place is not None:
            answer = (await self._http.get(url, {**query, **place})).value
            records, total = resources_in(answer)
            read += len(records)
            yield RecordPage(records, total)
            place = _next_place(answer, place, read, total, is_empty=not records)

    async def login(self) -> str:
        """Name the authentication schemes of the server; SCIM has no request that says who asks."""
        try:
            answer = (await self._http.get(endpoint(self._http.root, _PROVIDER))).value
        except SourceFailed:
            return ""
        schemes = answer.get("authenticationSchemes") if isinstance(answer, dict) else None
        names = [str(each.get("name")) for each in schemes or () if isinstance(each, dict) and each.get("name")]
        return f"the server offers {', '.join(names)}" if names else ""


def _asked(content: SourceContent) -> dict[str, str]:
    query = {**content.parameters, "count": str(content.page_size or _PAGE)}
    if content.filter:
        query["filter"] = content.filter
    if content.attributes:
        # `id` tells records apart, and servers return it anyway.
        query["attributes"] = ",".join(content.attributes)
    return query


def resources_in(answer: Any) -> tuple[list[Any], int]:
    """Return the resources of a ListResponse and how many there are in all."""
    total = answer.get("totalResults") if isinstance(answer, dict) else None
    if not isinstance(total, int) or isinstance(total, bool):
        raise SourceFailed("the answer is not a SCIM ListResponse: it has no totalResults")
    # A response without results may leave the list out.
    return records_in(answer, "Resources") if "Resources" in answer else [], total


def _next_place(
    answer: dict[str, Any], place: dict[str, str], read: int, total: int, *, is_empty: bool
) -> dict[str, str] | None:
    if "cursor" in place:
        following = answer.get("nextCursor")
        if following and following == place["cursor"]:
            raise SourceFailed("the server refers to the same page again and again")
        return {"cursor": str(following)} if following else None
    return None if is_empty or read >= total else {"startIndex": str(read + 1)}
