"""Wait for a directory without blocking the other threads.

The library `bonsai` holds the interpreter lock (GIL) while it connects, and waits for pages after the first one without
a timeout. So this module checks that the directory responds before the library connects, and polls for results itself.
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

# The longest pause between polls. Waiting for the socket is not enough: TLS may have read the result already.
_PAUSE = 0.02
# The time limit of libldap for each address. The library reads this environment variable when it is loaded.
_NETWORK_TIMEOUT = ("LDAPNETWORK_TIMEOUT", "5")


def load_library() -> Any:
    """Import bonsai with a shorter network timeout; raise ImportError if it is not installed."""
    os.environ.setdefault(*_NETWORK_TIMEOUT)
    return importlib.import_module("bonsai")


async def require_answer(addresses: Iterable[str], port: int, *, is_tls: bool, seconds: float) -> None:
    """Raise SourceFailed unless one of the addresses accepts a connection and, with `is_tls`, responds to TLS."""
    for address in addresses:
        try:
            async with asyncio.timeout(seconds):
                _, writer = await asyncio.open_connection(address, port, ssl=_unverified() if is_tls else None)
        except ssl.SSLError:
            # The server responds. The library verifies the certificate later, and reports what is wrong with it.
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
    """Return an open connection whose calls release the GIL while they wait, and observe their timeout."""
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
            """Yield the entries of this page and of all following pages."""
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
