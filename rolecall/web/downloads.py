"""Send stored files as downloads, so that a browser never renders their content."""

import asyncio
from collections.abc import AsyncGenerator
from typing import BinaryIO
from urllib.parse import quote

from litestar.response.streaming import ASGIStreamingResponse

from rolecall.core.files import Store

_PIECE = 256 * 1024


async def send_file(store: Store, location: str, size: int, name: str) -> ASGIStreamingResponse:
    """Return a response that streams a stored file; raise FileNotFoundError if it is missing."""
    return attachment(await asyncio.to_thread(store.open, location), size, name)


def attachment(file: BinaryIO, size: int, name: str) -> ASGIStreamingResponse:
    """Return a response that streams an open file as a download and then closes it."""
    # Replace %, quotes and backslashes too, because browsers disagree on how to read them here (RFC 6266, appendix D).
    plain = "".join(c if c.isascii() and c.isprintable() and c not in '"\\%' else "_" for c in name)
    headers = {
        "content-disposition": f"attachment; filename=\"{plain}\"; filename*=UTF-8''{quote(name, safe='')}",
        "content-length": str(size),
    }
    return ASGIStreamingResponse(iterator=_pieces(file), headers=headers, media_type="application/octet-stream")


async def _pieces(file: BinaryIO) -> AsyncGenerator[bytes]:
    with file:
        while piece := await asyncio.to_thread(file.read, _PIECE):
            yield piece
