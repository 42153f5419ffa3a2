"""Load the settings of a process from `ROLECALL_…` variables; `ROLECALL_…_FILE` names a file with the value.

`load` reports every invalid variable at once. `Config` is passed as an argument. Other variables are read where they
are used, for example those of the client in `cli/profiles.py`.
"""

import os
import re
from collections.abc import Callable, Iterator, Mapping
from difflib import get_close_matches
from ipaddress import IPv4Network, IPv6Network, ip_network
from math import inf, nan
from pathlib import Path
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import msgspec
from psycopg import ProgrammingError
from psycopg.conninfo import conninfo_to_dict

from rolecall.core.errors import CannotRun
from rolecall.core.files import Store, file_system

MIB = 1024 * 1024
SECRET_KEY_BYTES = 32
Network = IPv4Network | IPv6Network
_LOOPBACK = ("127.0.0.1", "::1", "localhost")
# Known variables that the service does not read as settings: those of the client, and those for tests.
_OF_OTHERS = ("ROLECALL_URL", "ROLECALL_TOKEN", "ROLECALL_PROFILE", "ROLECALL_FAULTS", "ROLECALL_TEST_DATABASE_URL")
_ALIKE = 0.85
_HOST = re.compile(r"([a-z0-9_-]+\.)*[a-z0-9_-]*[a-z_-][a-z0-9_-]*\.?", re.IGNORECASE | re.ASCII)
# A source may refer to an environment variable for its secret only if the name begins with this prefix.
SOURCE_SECRET_PREFIX = "ROLECALL_SOURCE_SECRET_"  # noqa: S105
_OIDC = ("oidc_issuer", "oidc_client_id", "oidc_client_secret")


class ConfigError(CannotRun):
    """Settings or the secret key cannot be used; each line of the message is one problem."""


class RateLimit(msgspec.Struct, frozen=True):
    """The limits of requests per minute for each token: one for reads, one for writes."""

    reads: int
    writes: int


class AllowedHosts(msgspec.Struct, frozen=True):
    """Host names and networks to which live sources and carriers may connect.

    A private address, or any address that is used without encryption, must be in one of the networks, even if the name
    is allowed.
    """

    names: frozenset[str] = frozenset()
    networks: tuple[Network, ...] = ()


class Config(msgspec.Struct, frozen=True, kw_only=True):
    database_url: str | None = None
    read_url: str | None = None
    data_dir: Path = Path(".rolecall")
    files_url: str | None = None
    base_url: str = "http://127.0.0.1:8000"
    timezone: ZoneInfo = ZoneInfo("UTC")
    tick_seconds: float = 60.0
    pool_size: int = 10
    prepared_statements: bool = True
    rate_limit: RateLimit | None = None
    log: str = "text"
    secret_key: bytes | None = None
    webhook_allow: tuple[Network, ...] = ()
    trusted_proxies: tuple[Network, ...] = ()
    import_roots: tuple[str, ...] = ()
    report_roots: tuple[str, ...] = ()
    source_hosts: AllowedHosts = AllowedHosts()
    source_secrets: Path | None = None
    source_ca: Path | None = None
    scim_rate_limit: int = 3000
    scim_quiet_seconds: int = 300
    scim_max_body_bytes: int = 16 * MIB
    oidc_issuer: str | None = None
    oidc_client_id: str | None = None
    oidc_client_secret: str | None = None
    passwords: bool = True
    mailed_links: bool = True
    metrics_token: str | None = None
    max_body_bytes: int = 1 * MIB
    max_file_bytes: int = 100 * MIB
    max_upload_bytes: int = 250 * MIB
    max_upload_files: int = 20
    max_snapshot_bytes: int = 2048 * MIB

    @property
    def store(self) -> Store:
        return Store(self.data_dir / "files", self.files_url)

    def __repr__(self) -> str:
        """Omit secrets: this may be logged."""
        return f"Config({self.data_dir})"


def load(environ: Mapping[str, str] = os.environ, **overrides: object) -> Config:
    """Load the settings; raise one error that lists every problem."""
    read: dict[str, object] = {}
    problems = list(_misspelt(environ))
    for field in Config.__struct_fields__:
        try:
            if (text := _setting(environ, field)) is not None:
                read[field] = _READERS[field](text)
        except ConfigError as problem:
            problems.append(str(problem))
            read[field] = None
    if missing := [name for name in _OIDC if name not in read] if read.keys() & {*_OIDC} else []:
        problems.append(f"ROLECALL_{missing[0].upper()} is not set; OpenID Connect needs issuer, client ID and secret")
    if problems:
        raise ConfigError("\n".join(problems))
    return msgspec.structs.replace(Config(), **read | {k: v for k, v in overrides.items() if v is not None})


def _misspelt(environ: Mapping[str, str]) -> Iterator[str]:
    """Yield a problem for each unknown name that resembles a setting; ignore others, such as those of Kubernetes."""
    known = [f"ROLECALL_{field.upper()}" for field in Config.__struct_fields__]
    files = [f"{name}_FILE" for name in known]
    for name in sorted(environ):
        if name.startswith(SOURCE_SECRET_PREFIX):
            continue
        if name.startswith("ROLECALL_") and name not in (*known, *files, *_OF_OTHERS):
            # Compare without the common prefix, which would make all names similar.
            bare = [each.removeprefix("ROLECALL_") for each in (*known, *files)]
            if near := get_close_matches(name.removeprefix("ROLECALL_"), bare, 1, _ALIKE):
                yield f"{name} is not a setting; did you mean ROLECALL_{near[0]}?"


def _setting(environ: Mapping[str, str], field: str) -> str | None:
    name = f"ROLECALL_{field.upper()}"
    if file := environ.get(f"{name}_FILE"):
        try:
            return Path(file).read_text().strip()
        except OSError as error:
            raise ConfigError(f"{name}_FILE: {error.strerror}: {file}") from error
        except UnicodeDecodeError as error:
            raise ConfigError(f"{name}_FILE: not UTF-8 text: {file}") from error
    return environ.get(name) or None


def _database_url(name: str) -> Callable[[str], str]:
    """Return a parser whose error does not quote the URL: PostgreSQL's own error can contain part of a password."""

    def read(text: str) -> str:
        try:
            given = conninfo_to_dict(text)
            # Detect an unescaped @ or / in a password: the rest of the password ends up in the host, port or database
            # name. Allow @ at the start of a host, where it means an abstract Unix socket.
            ports = str(given.get("port") or "").replace(",", "")
            fits = not ports or ports.isdecimal()
            fits &= not any("@" in str(given.get(part) or "")[1:] for part in ("host", "dbname"))
        except ProgrammingError:
            fits = False
        if not fits:
            raise ConfigError(
                f"ROLECALL_{name} is not a URL such as postgresql://rolecall@db.example.com/rolecall;"
                " in a password, write @ as %40, / as %2F and % as %25"
            ) from None
        return text

    return read


def _files_url(text: str) -> str:
    if _is_http(text):
        raise ConfigError("ROLECALL_FILES_URL: files cannot be kept at an http URL; use a bucket or a folder")
    try:
        file_system(text)
    except (ValueError, ImportError) as error:
        raise ConfigError(f"ROLECALL_FILES_URL: {error}") from error
    return text


def _zone(text: str) -> ZoneInfo:
    try:
        return ZoneInfo(text)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise ConfigError(f"ROLECALL_TIMEZONE: {text!r} is not a time zone such as Europe/Zurich") from error


def _positive(name: str) -> Callable[[str], int]:
    def read(text: str) -> int:
        if not text.isdecimal() or int(text) < 1:
            raise ConfigError(f"ROLECALL_{name}: {text!r} is not a whole number above 0")
        return int(text)

    return read


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = nan
    if not 0 <= seconds < inf:
        raise ConfigError(f"ROLECALL_TICK_SECONDS: {text!r} is not a number of seconds")
    return seconds


def _rate_limit(text: str) -> RateLimit:
    """Parse one limit for reads and writes, such as `600`, or one for each, such as `600,60`."""
    reads, _, writes = text.partition(",")
    number = _positive("RATE_LIMIT")
    return RateLimit(number(reads.strip()), number((writes or reads).strip()))


def _log(text: str) -> str:
    if text not in ("json", "text"):
        raise ConfigError(f"ROLECALL_LOG: {text!r} is neither json nor text")
    return text


def _on_or_off(name: str) -> Callable[[str], bool]:
    def read(text: str) -> bool:
        if text not in ("on", "off"):
            raise ConfigError(f"ROLECALL_{name}: {text!r} is neither on nor off")
        return text == "on"

    return read


def _base_url(text: str) -> str:
    return _url("BASE_URL", text).rstrip("/")


def _url(name: str, text: str) -> str:
    try:
        parts = urlsplit(text)
        fits = parts.scheme in ("http", "https") and parts.hostname and not parts.query and not parts.fragment
        fits = fits and parts.port != 0  # Reading an invalid port raises ValueError.
    except ValueError:
        fits = False
    if not fits or not text.isprintable() or set(text) & set(" \\"):
        raise ConfigError(f"ROLECALL_{name}: {text!r} is not a URL such as https://rolecall.example.com")
    return text


def _issuer(text: str) -> str:
    """Check the issuer and return it unchanged, including a trailing slash: it must match the provider's spelling."""
    parts = urlsplit(_url("OIDC_ISSUER", text))
    if parts.scheme != "https" and parts.hostname not in _LOOPBACK:
        raise ConfigError(f"ROLECALL_OIDC_ISSUER: {text!r} is not an https URL")
    return text


def secret_key(text: str) -> bytes:
    try:
        key = bytes.fromhex(text)
    except ValueError:
        key = b""
    if len(key) != SECRET_KEY_BYTES:
        # Omit the value, because this message may be logged.
        raise ConfigError("ROLECALL_SECRET_KEY is not 64 hexadecimal digits, as `openssl rand -hex 32` prints them")
    return key


def _networks(name: str) -> Callable[[str], tuple[Network, ...]]:
    def read(text: str) -> tuple[Network, ...]:
        try:
            return tuple(ip_network(part.strip()) for part in text.split(",") if part.strip())
        except ValueError as error:
            raise ConfigError(f"ROLECALL_{name}: {error}") from error

    return read


def _source_hosts(text: str) -> AllowedHosts:
    names, networks = set(), []
    for part in (part.strip() for part in text.split(",") if part.strip()):
        try:
            networks.append(ip_network(part))
        except ValueError:
            if not _HOST.fullmatch(part):
                raise ConfigError(
                    f"ROLECALL_SOURCE_HOSTS: {part!r} is not a host, an address or a network such as 10.1.0.0/16"
                ) from None
            names.add(part.rstrip(".").lower())
    return AllowedHosts(frozenset(names), tuple(networks))


def _existing(name: str) -> Callable[[str], Path]:
    def read(text: str) -> Path:
        if not Path(text).exists():
            raise ConfigError(f"ROLECALL_{name}: {text} does not exist")
        return Path(text)

    return read


def _roots(text: str) -> tuple[str, ...]:
    """Parse the folders and URLs, separated by commas, that scheduled imports may read from."""
    roots = tuple(part.strip() for part in text.split(",") if part.strip())
    for root in roots:
        if _is_http(root):
            _url("IMPORT_ROOTS", root)
    return roots


def _report_roots(text: str) -> tuple[str, ...]:
    """Parse the folders and URLs, separated by commas, that scheduled reports may be written to."""
    roots = tuple(part.strip() for part in text.split(",") if part.strip())
    if any(map(_is_http, roots)):
        raise ConfigError("ROLECALL_REPORT_ROOTS: files cannot be written to an http URL; use a bucket or a folder")
    return roots


def _is_http(text: str) -> bool:
    """Return whether a URL, or a part of it, begins with http: or https:; `::` separates parts that fsspec chains."""
    return any(part.lower().startswith(("http:", "https:")) for part in text.split("::"))


_TEXTS: dict[str, Callable[[str], object]] = {
    "database_url": _database_url("DATABASE_URL"),
    "read_url": _database_url("READ_URL"),
    "data_dir": Path,
    "files_url": _files_url,
    "base_url": _base_url,
    "timezone": _zone,
    "tick_seconds": _seconds,
    "rate_limit": _rate_limit,
    "log": _log,
    "secret_key": secret_key,
    "webhook_allow": _networks("WEBHOOK_ALLOW"),
    "trusted_proxies": _networks("TRUSTED_PROXIES"),
    "import_roots": _roots,
    "report_roots": _report_roots,
    "source_hosts": _source_hosts,
    "source_secrets": _existing("SOURCE_SECRETS"),
    "source_ca": _existing("SOURCE_CA"),
    "oidc_issuer": _issuer,
    "oidc_client_id": str,
    "oidc_client_secret": str,
    "prepared_statements": _on_or_off("PREPARED_STATEMENTS"),
    "passwords": _on_or_off("PASSWORDS"),
    "mailed_links": _on_or_off("MAILED_LINKS"),
    "metrics_token": str,
}
_NUMBERS = (
    *("pool_size", "max_body_bytes", "max_file_bytes", "max_upload_bytes", "max_upload_files"),
    "max_snapshot_bytes",
    *("scim_rate_limit", "scim_quiet_seconds", "scim_max_body_bytes"),
)
_READERS = _TEXTS | {field: _positive(field.upper()) for field in _NUMBERS}
