"""Read entries of an LDAP directory or Active Directory, page by page.

The library `bonsai` is an extra (`pip install rolecall[ldap]`), because it needs the system's LDAP library. It resolves
host names itself, so addresses are checked just before it connects.
"""

import asyncio
import re
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from functools import cache, partial
from itertools import islice
from typing import Any, Self, TypeVar
from urllib.parse import urlsplit
from uuid import UUID

from rolecall.core.text import in_one_line
from rolecall.sources.ldap_patience import load_library, open_patiently, require_answer
from rolecall.sources.model import (
    FetchedRecord,
    RecordPage,
    SearchScope,
    SourceAccess,
    SourceChanged,
    SourceConnection,
    SourceContent,
    SourceFailed,
)
from rolecall.sources.nesting import PRIMARY_GROUP, SID, effective_members, primary_members, same_dn, with_members
from rolecall.sources.peers import checked_addresses, peer_of

T = TypeVar("T")
PORTS = {"ldaps": 636, "ldap": 389}
NOT_INSTALLED = "LDAP support is missing: install the system's LDAP library, then run pip install rolecall[ldap]"
_PAGE = 500
# Many directories treat memberOf as an operational attribute, which `*` does not include.
_DEFAULT_ATTRIBUTES = ["*", "memberOf"]
_EVERYTHING = "(objectClass=*)"
# Attributes that are never written to a file, even if the login may read them.
_SECRET = re.compile(r"(password|pwd)(history)?$|credentials$|^krbprincipalkey$|^ipanthash$", re.IGNORECASE)
_IDENTIFIERS = ("objectguid", "objectsid")
_MEMBER = "member"
# A filter for entries whose primary group is not Domain Users (513), Domain Guests (514) or Domain Computers (515).
_OF_OTHER_PRIMARY_GROUPS = f"(&({PRIMARY_GROUP}=*){''.join(f'(!({PRIMARY_GROUP}={id}))' for id in (513, 514, 515))})"
_RANGE = re.compile(r"(.+);range=(\d+)-(\d+|\*)", re.IGNORECASE)
_CHECK_LOGIN = "check the name, the password and whether the password has expired"
# Maps the error number in a message of Active Directory to the reason why a login was refused.
_AD_REASONS = {
    "532": "the password has expired",
    "533": "the account is disabled",
    "701": "the account has expired",
    "773": "the password must be changed first",
    "775": "the account is locked",
}


@asynccontextmanager
async def connect(access: SourceAccess) -> AsyncIterator[SourceConnection]:
    try:
        bonsai = load_library()
    except ImportError:
        raise SourceFailed(NOT_INSTALLED) from None
    source = access.source
    peer = peer_of(source.url, PORTS)
    assert peer
    is_tls = urlsplit(source.url).scheme == "ldaps"
    encrypted = source.start_tls or is_tls
    addresses = await checked_addresses(peer.host, access.config.source_hosts, encrypted=encrypted)
    await require_answer(addresses, peer.port, is_tls=is_tls, seconds=source.timeout_seconds)
    # Without TLS no certificate proves the host: pass the checked address, so that the library resolves no name.
    url = source.url if encrypted else url_of(addresses[0], peer.port)
    # The library's asyncio support polls in a busy loop, which would slow down the worker. Use a thread instead.
    thread = ThreadPoolExecutor(1, thread_name_prefix="ldap")
    try:
        directory = await LdapConnection.open(bonsai, access, url, thread)
        try:
            yield directory
        finally:
            # Do not wait for the close: after a cancellation, the thread may still be waiting for a result.
            thread.submit(directory.close)
    finally:
        thread.shutdown(wait=False)


def url_of(address: str, port: int) -> str:
    return f"ldap://{f'[{address}]' if ':' in address else address}:{port}"


class LdapConnection(SourceConnection):
    """A connection to a directory. Calls that wait for the directory run in the thread of the connection."""

    def __init__(self, bonsai: Any, connection: Any, seconds: float, thread: ThreadPoolExecutor) -> None:
        self._bonsai, self._connection, self._seconds, self._thread = bonsai, connection, seconds, thread
        self.references = self._primary = 0
        # Maps the names of attributes in lower case to the configured spelling.
        self._asked: dict[str, str] = {}

    @classmethod
    async def open(cls, bonsai: Any, access: SourceAccess, url: str, thread: ThreadPoolExecutor) -> Self:
        source = access.source
        client = bonsai.LDAPClient(url, source.start_tls)
        client.set_cert_policy("demand")
        if access.config.source_ca:
            client.set_ca_cert(str(access.config.source_ca))
        # Receive referrals to other directories, so that they can be counted.
        client.set_ignore_referrals(False)
        if source.username:
            client.set_credentials("SIMPLE", user=source.username, password=access.secret)
        made = cls(bonsai, None, source.timeout_seconds, thread)
        made._connection = await made.run(open_patiently, bonsai, client, source.timeout_seconds)
        return made

    async def run(self, function: Callable[..., T], *args: Any, **named: Any) -> T:
        """Call a function on this connection's thread; convert LDAP errors to SourceFailed."""
        loop = asyncio.get_running_loop()
        try:
            return await loop.run_in_executor(self._thread, partial(function, *args, **named))
        except self._bonsai.errors.LDAPError as error:
            raise SourceFailed(_reason(self._bonsai, error)) from None

    async def call(self, function: Callable[[Any, Any], T]) -> T:
        """Call a function with the library and its connection, in the connection's thread."""
        return await self.run(function, self._bonsai, self._connection)

    def close(self) -> None:
        self._connection.close()

    async def pages(self, content: SourceContent) -> AsyncIterator[RecordPage]:
        self._primary = 0
        names = {content.each: await self._names(content)} if content.resolve else {}
        primary = await self._primary_members(content) if names and content.each.lower() == _MEMBER else {}
        pages = self._entries(content, [SID] if primary else [])
        if primary:
            pages = _with_primary_members(pages, content.each, primary)
        if content.nested:
            records = [record async for page in pages for record in page]
            pages = _cut(effective_members(records, content.each))
        async for page in pages:
            yield RecordPage([_resolved(record, names) for record in page])

    async def _primary_members(self, content: SourceContent) -> dict[str, list[str]]:
        """Map the SID of each primary group to its accounts, because `member` does not list these accounts.

        Leave out Domain Users, Domain Guests and Domain Computers.
        """

        def read() -> dict[str, list[str]]:
            wanted = [SID, PRIMARY_GROUP, "objectClass"]
            base = root_of(content.path)
            found = self._search(base, _OF_OTHER_PRIMARY_GROUPS, wanted, SearchScope.SUBTREE, content.page_size)
            entries = (entry for entry in found if not isinstance(entry, self._bonsai.LDAPReference))
            return primary_members(record_of(entry, self.read_range) for entry in entries)

        members = await self.run(read)
        self._primary = sum(map(len, members.values()))
        return members

    async def _entries(self, content: SourceContent, also: Sequence[str] = ()) -> AsyncIterator[list[FetchedRecord]]:
        named = [*filter(None, [content.each]), *also]
        wanted = [*content.attributes, *named] if content.attributes else []
        self.references = 0
        self._asked = {name.lower(): name for name in [*content.attributes, *named]}
        found = self._search(content.path, content.filter, wanted, content.scope, content.page_size)
        page = await self.run(self._records, found)
        while page is not None:
            # Read the next page while this one is written.
            ahead = asyncio.create_task(self.run(self._records, found))
            try:
                yield page
            except BaseException:
                ahead.cancel()
                raise
            page = await ahead

    def _records(self, found: Iterator[Any]) -> list[FetchedRecord] | None:
        """Convert the next page of entries; return None at the end. Call this in the thread of the connection."""
        read = list(islice(found, _PAGE))
        entries = [entry for entry in read if not isinstance(entry, self._bonsai.LDAPReference)]
        self.references += len(read) - len(entries)
        return [_spelled(record_of(entry, self.read_range), self._asked) for entry in entries] if read else None

    @property
    def notes(self) -> list[str]:
        counted = {
            "referrals to other directories that were not followed": self.references,
            "members through their primary group": self._primary,
        }
        return [f"{what}: {count:,}" for what, count in counted.items() if count]

    def _search(
        self, base: str, filter: str, attributes: Iterable[str], scope: SearchScope, size: int
    ) -> Iterator[Any]:
        scopes = self._bonsai.LDAPSearchScope
        kinds = {
            SearchScope.SUBTREE: scopes.SUBTREE,
            SearchScope.ONE_LEVEL: scopes.ONELEVEL,
            SearchScope.BASE: scopes.BASE,
        }
        named = list(attributes) or _DEFAULT_ATTRIBUTES
        found = self._connection.paged_search(
            base, kinds[scope], filter or _EVERYTHING, named, timeout=self._seconds, page_size=size or _PAGE
        )
        yield from self._connection.all_pages(found)

    def read_range(self, dn: str, attribute: str) -> Any:
        """Read another range of an attribute that the directory returns in several ranges."""
        scope = self._bonsai.LDAPSearchScope.BASE
        try:
            found = self._connection.search(dn, scope, _EVERYTHING, [attribute], timeout=self._seconds)
        except self._bonsai.errors.NoSuchObjectError:
            found = []
        if not found:
            raise SourceChanged(f"the list changed while it was read: {dn} is no longer there")
        return found[0]

    async def _names(self, content: SourceContent) -> dict[str, str]:
        """Map the DN of each entry to the value that replaces it, as configured in `resolve`."""
        attribute = content.resolve[content.each]

        def read() -> dict[str, str]:
            base = root_of(content.path)
            found = self._search(base, f"({attribute}=*)", [attribute], SearchScope.SUBTREE, content.page_size)
            entries = (entry for entry in found if not isinstance(entry, self._bonsai.LDAPReference))
            return {same_dn(str(entry.dn)): str(entry[attribute][0]) for entry in entries}

        return await self.run(read)

    async def login(self) -> str:
        try:
            said = await self.run(self._connection.whoami, timeout=self._seconds)
        except SourceFailed:
            return ""
        return f"signed in as {str(said).removeprefix('dn:')}" if said else "signed in anonymously"


ReadRange = Callable[[str, str], Any]


async def _with_primary_members(
    pages: AsyncIterator[list[FetchedRecord]], attribute: str, primary: dict[str, list[str]]
) -> AsyncIterator[list[FetchedRecord]]:
    async for page in pages:
        yield [with_members(record, attribute, primary.get(str(record.get(SID)), [])) for record in page]


def record_of(entry: Any, read_range: ReadRange) -> FetchedRecord:
    """Convert an entry, without its secrets.

    Sort multiple values, because directories return them in no fixed order.
    """
    record: FetchedRecord = {"dn": str(entry.dn)}
    # A directory can have millions of values, so handle an attribute with one value without copying a list.
    for returned, found in entry.items():
        if returned == "dn" or _is_secret(returned):
            continue
        is_part = ";" in returned
        if len(found) == 1 and not is_part and isinstance(found[0], str) and not _is_binary(returned, found[0]):
            record[returned] = found[0]
            continue
        name, values = returned, list(found)
        if is_part and (part := _RANGE.fullmatch(returned)):
            name, values = part[1], values + _rest(record["dn"], part, read_range)
        plain = sorted(_text(name, value) for value in values)
        # Active Directory also returns the attribute without values, which must not replace the values of its ranges.
        if plain or name not in record:
            record[name] = plain[0] if len(plain) == 1 else plain
    return record


def _spelled(record: FetchedRecord, asked: dict[str, str]) -> FetchedRecord:
    """Return a record with attributes spelled as configured, because LDAP ignores the case of names."""
    return {asked.get(name.lower(), name): value for name, value in record.items()} if asked else record


@cache
def _is_secret(name: str) -> bool:
    """Return whether an attribute contains a password or key; ignore options such as `;lang-en`."""
    return _SECRET.search(name.partition(";")[0]) is not None


def _rest(dn: str, part: re.Match[str], read_range: ReadRange) -> list[Any]:
    values: list[Any] = []
    last = part[3]
    while last != "*":
        entry = read_range(dn, f"{part[1]};range={int(last) + 1}-*")
        found = [(key, match) for key in entry.keys() if (match := _RANGE.fullmatch(key))]  # noqa: SIM118
        # A directory that ignores the requested range would return the same values again and again.
        if not found or int(found[0][1][2]) != int(last) + 1:
            raise SourceFailed(f"the directory returned only part of {part[1]} of {dn}")
        key, following = found[0]
        values += list(entry[key])
        last = following[3]
    return values


def _is_binary(name: str, text: str) -> bool:
    """Return whether a value is binary although the library decoded it, as it does with all valid UTF-8."""
    return "\x00" in text or name.lower() in _IDENTIFIERS


def _text(name: str, value: Any) -> str:
    if isinstance(value, str) and _is_binary(name, value):
        value = value.encode()
        if name.lower() not in _IDENTIFIERS:
            return bytes(value).hex()
    if not isinstance(value, bytes):
        return str(value)
    match name.lower():
        case "objectguid":
            return str(UUID(bytes_le=value))
        case "objectsid":
            return _sid(value)
    try:
        return value.decode()
    except UnicodeDecodeError:
        return value.hex()


def _sid(value: bytes) -> str:
    # The packet representation of a SID in MS-DTYP, section 2.4.2.2.
    parts = [int.from_bytes(value[at : at + 4], "little") for at in range(8, len(value), 4)]
    return "-".join(map(str, ["S", value[0], int.from_bytes(value[2:8], "big"), *parts]))


def root_of(base: str) -> str:
    """Return the root of a DN: its domain components, or the whole DN if it has none."""
    parts = re.split(r"(?<!\\),\s*", base)
    domain = [part for part in parts if part.lower().startswith("dc=")]
    return ",".join(domain) or base


def _resolved(record: FetchedRecord, names: dict[str, dict[str, str]]) -> FetchedRecord:
    """Replace each DN by its resolved value. Keep an unknown DN, so that people notice it."""
    for attribute, known in names.items():
        if attribute in record:
            values = record[attribute] if isinstance(record[attribute], list) else [record[attribute]]
            record = {**record, attribute: [known.get(same_dn(value), value) for value in values]}
    return record


async def _cut(records: list[FetchedRecord]) -> AsyncIterator[list[FetchedRecord]]:
    for at in range(0, len(records), _PAGE):
        yield records[at : at + _PAGE]


def _reason(bonsai: Any, error: Exception) -> str:
    # Remove the code that the library appends, such as (0xFFFF [-1]).
    said = in_one_line(re.sub(r"(?<!\s)\s*+\(0x[0-9A-F]+ \[-?\d+\]\)", "", str(error)))[:300]
    match error:
        case bonsai.errors.AuthenticationError():
            number = re.search(r"data (\d+)", said)
            why = _AD_REASONS.get(number[1]) if number else None
            return f"the directory refuses the login: {why or _CHECK_LOGIN}"
        case bonsai.errors.SizeLimitError():
            return "the directory limits how many entries this login gets; raise the size limit"
        case bonsai.errors.NoSuchObjectError():
            return "the directory has no such entry; check path"
        case bonsai.errors.TimeoutError():
            return "the directory did not answer in time"
        case bonsai.errors.ConnectionError():
            return f"no connection to the directory: {said}"
    return f"the directory says: {said}"


def is_ldap_url(url: str) -> bool:
    return peer_of(url, PORTS) is not None and urlsplit(url).path in ("", "/") and not urlsplit(url).query
