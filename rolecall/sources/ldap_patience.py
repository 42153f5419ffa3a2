"""Wait for a directory without stopping everything else.

The library `bonsai` holds the interpreter while it connects, and waits for the pages after the first one without a
limit. So a directory is asked whether it answers before the library connects, and results are waited for here.
"""

import asyncio
import importlib
import os
import select
import ssl
import time
from collections.abc import Iterable, Iterator
from typing import Any

from rolecall.sources.model import SourceFailed

# The longest pause between looks for a result: TLS may have read it, so that the socket does not show it.
_PAUSE = 0.02
# How long libldap waits for one address of several; it reads this variable when it is loaded.
_NETWORK_TIMEOUT = ("LDAPNETWORK_TIMEOUT", "5")


def load_library() -> Any:
    """Import bonsai; raise ImportError if it is not installed."""
    os.environ.setdefault(*_NETWORK_TIMEOUT)
    return importlib.import_module("bonsai")


async def require_answer(addresses: Iterable[str], port: int, *, is_tls: bool, seconds: float) -> None:
    """Raise SourceFailed unless one of the addresses accepts connections, and answers if it should encrypt them."""
    for address in addresses:
        try:
            async with asyncio.timeout(seconds):
                _, writer = await asyncio.open_connection(address, port, ssl=_unverified() if is_tls else None)
        except ssl.SSLError:
            # It answers. The library verifies the certificate, and says what is wrong.
            return
        except OSError:
            continue
        writer.close()
        return
    raise SourceFailed("no connection to the directory: it does not answer, or refuses connections")


def _unverified() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context


def open_patiently(bonsai: Any, client: Any, seconds: float) -> Any:
    """Return an open connection whose calls wait without holding the interpreter, and no longer than their timeout."""
    client.set_auto_page_acquire(False)

    class PatientConnection(bonsai.ldapconnection.BaseLDAPConnection):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__(client, is_async=True)

        def _evaluate(self, message: int, timeout: float | None = None) -> Any:
            until = time.monotonic() + (timeout or seconds)
            while (found := self.get_result(message)) is None:
                left = until - time.monotonic()
                if left <= 0:
                    raise bonsai.errors.TimeoutError
                sockets = [number for number in (self.fileno(),) if number >= 0]
                select.select(sockets, [], [], min(left, _PAUSE))
            return found

        def all_pages(self, found: Any) -> Iterator[Any]:
            """Yield the entries of this page and of those that follow."""
            while True:
                yield from found
                following = found.acquire_next_page()
                if following is None:
                    return
                found = self._evaluate(following, seconds)

    connection = PatientConnection()
    try:
        return connection.open(timeout=seconds)
    except BaseException:
        connection.close()
        raise
