"""Start and stop real servers to fetch from: slapd and scim2-server.

If a server is not installed, its tests are skipped with a message; in continuous integration they fail. `make peers`
installs both.
"""

import importlib.util
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx2
import msgspec
import pytest

from tests.cli.commands import free_port

SUFFIX = "dc=example,dc=com"
ADMIN = f"cn=admin,{SUFFIX}"
PASSWORD = "directory secret"
TOKEN = "scim-token"
_SLAPD = """
include /etc/ldap/schema/core.schema
include /etc/ldap/schema/cosine.schema
include /etc/ldap/schema/inetorgperson.schema
attributetype ( 1.2.840.113556.1.4.221 NAME 'sAMAccountName' SUP name SINGLE-VALUE )
attributetype ( 1.2.840.113556.1.4.8 NAME 'userAccountControl' SYNTAX 1.3.6.1.4.1.1466.115.121.1.27 SINGLE-VALUE )
attributetype ( 1.2.840.113556.1.4.1696 NAME 'lastLogonTimestamp' SYNTAX 1.3.6.1.4.1.1466.115.121.1.27 SINGLE-VALUE )
attributetype ( 1.2.840.113556.1.4.146 NAME 'objectSid' SYNTAX 1.3.6.1.4.1.1466.115.121.1.40 SINGLE-VALUE )
attributetype ( 1.2.840.113556.1.4.98 NAME 'primaryGroupID' EQUALITY integerMatch
    SYNTAX 1.3.6.1.4.1.1466.115.121.1.27 SINGLE-VALUE )
objectclass ( 1.2.840.113556.1.5.9 NAME 'user' SUP inetOrgPerson STRUCTURAL
    MAY ( sAMAccountName $ userAccountControl $ lastLogonTimestamp $ objectSid $ primaryGroupID ) )
objectclass ( 1.2.840.113556.1.5.6 NAME 'securityPrincipal' SUP top AUXILIARY MAY objectSid )
modulepath /usr/lib/ldap
moduleload back_mdb
moduleload memberof
moduleload auditlog
pidfile {folder}/slapd.pid
{tls}
database mdb
maxsize 4294967296
suffix "{suffix}"
rootdn "{admin}"
rootpw {password}
directory {folder}/data
index objectClass,uid,member eq
dbnosync
{overlay}
"""
_TLS = "TLSCACertificateFile {folder}/authority.pem\nTLSCertificateFile {file}\nTLSCertificateKeyFile {file}"


def needs(component: str, is_there: bool) -> None:
    if is_there:
        return
    reason = f"{component} is not installed: run `make peers`"
    if os.environ.get("CI"):
        pytest.fail(reason)
    pytest.skip(reason)


def needs_ldap() -> None:
    needs("slapd", shutil.which("slapd", path="/usr/sbin:/usr/bin") is not None)
    needs("bonsai", importlib.util.find_spec("bonsai") is not None)


def needs_scim() -> None:
    needs("scim2-server", importlib.util.find_spec("scim2_server") is not None)


class Directory(msgspec.Struct, frozen=True):
    port: int
    folder: Path

    @property
    def url(self) -> str:
        return f"ldap://127.0.0.1:{self.port}"

    def answers(self) -> bool:
        search = ["ldapsearch", "-x", "-H", self.url, "-s", "base", "-b", "", "-LLL"]
        return subprocess.run(search, capture_output=True, check=False).returncode == 0

    def add(self, ldif: str) -> None:
        """Add entries while the directory runs, so that it maintains memberOf."""
        command = ["ldapadd", "-x", "-H", self.url, "-D", ADMIN, "-w", PASSWORD]
        subprocess.run(command, input=ldif.encode(), check=True, capture_output=True)

    def changes(self) -> list[str]:
        """Return each change in the directory as LDIF, oldest first."""
        log = self.folder / "changes.ldif"
        text = log.read_text() if log.exists() else ""
        return [record.strip() for record in text.split("\n\n") if "changetype:" in record]

    def find(self, test: str) -> list[dict[str, list[str]]]:
        """Return the entries that match a filter, each as a map from attributes to values."""
        search = ["ldapsearch", "-x", "-H", self.url, "-D", ADMIN, "-w", PASSWORD, "-b", SUFFIX, "-LLL"]
        done = subprocess.run([*search, "-o", "ldif-wrap=no", test], capture_output=True, check=True, text=True)
        entries = []
        for lines in (part for part in done.stdout.split("\n\n") if part and not part.startswith("# refldap")):
            entry: dict[str, list[str]] = {}
            for name, _, value in (line.partition(": ") for line in lines.splitlines()):
                entry.setdefault(name, []).append(value)
            entries.append(entry)
        return entries


@contextmanager
def a_directory(
    folder: Path, ldif: str, certificate: Path | None = None, *, member_of: bool = True
) -> Iterator[Directory]:
    """Start slapd with these entries and a log of changes; stop it at the end."""
    (folder / "data").mkdir()
    tls = _TLS.format(folder=folder, file=certificate) if certificate else ""
    overlay = f"overlay auditlog\nauditlog {folder}/changes.ldif\n" + ("overlay memberof" if member_of else "")
    settings = _SLAPD.format(
        folder=folder, suffix=SUFFIX, admin=ADMIN, password=f'"{PASSWORD}"', tls=tls, overlay=overlay
    )
    (folder / "slapd.conf").write_text(settings)
    (folder / "entries.ldif").write_text(f"dn: {SUFFIX}\nobjectClass: domain\ndc: example\n\n{ldif}")
    conf = ["-f", str(folder / "slapd.conf")]
    subprocess.run(["slapadd", *conf, "-q", "-l", folder / "entries.ldif"], check=True, env=_path())
    port = free_port()
    url = f"ldap://127.0.0.1:{port}/"
    process = subprocess.Popen(["slapd", *conf, "-h", url, "-d", "0"], env=_path(), stderr=subprocess.DEVNULL)
    try:
        directory = Directory(port, folder)
        _wait(directory.answers, process)
        yield directory
    finally:
        process.terminate()
        process.wait()


def _path() -> dict[str, str]:
    return {**os.environ, "PATH": f"{os.environ['PATH']}:/usr/sbin"}


@contextmanager
def a_scim_server(*options: str) -> Iterator[str]:
    """Start scim2-server and yield its URL; stop it at the end."""
    port = free_port()
    program = str(Path(sys.executable).with_name("scim2-server"))
    command = [program, "--hostname", "127.0.0.1", "--port", str(port), "--bearer-token", TOKEN, *options]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    url = f"http://127.0.0.1:{port}"
    try:
        _wait(lambda: _answers(url), process)
        yield url
    finally:
        process.terminate()
        process.wait()


def _answers(url: str) -> bool:
    try:
        httpx2.get(f"{url}/ServiceProviderConfig", headers={"Authorization": f"Bearer {TOKEN}"})
    except httpx2.TransportError:
        return False
    return True


def _wait(is_ready: Callable[[], bool], process: subprocess.Popen[bytes]) -> None:
    while not is_ready():
        assert process.poll() is None, "the server ended"
        time.sleep(0.05)
