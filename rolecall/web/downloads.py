"""A kept file, sent as it is and never shown in the page: whatever it holds, a browser saves it."""

import asyncio
from collections.abc import AsyncGenerator
from io import FileIO
from pathlib import Path
from urllib.parse import quote

from litestar.response.streaming import ASGIStreamingResponse

_PIECE = 256 * 1024


def send_file(path: Path, name: str) -> ASGIStreamingResponse:
    """Raises FileNotFoundError before anything is sent."""
    size = path.stat().st_size
    plain = "".join(c if c.isascii() and c not in '"\\%' else "_" for c in name)
    headers = {
        "content-disposition": f"attachment; filename=\"{plain}\"; filename*=UTF-8''{quote(name, safe='')}",
        "content-length": str(size),
    }
    return ASGIStreamingResponse(iterator=_pieces(path), headers=headers, media_type="application/octet-stream")


async def _pieces(path: Path) -> AsyncGenerator[bytes]:
    with FileIO(path) as file:
        while piece := await asyncio.to_thread(file.read, _PIECE):
            yield piece
