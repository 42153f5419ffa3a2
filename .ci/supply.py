"""List the dependencies: `sbom` prints the shipped ones as CycloneDX, `ages` prints the last release date of each."""

import json
import re
import sys
import tomllib
import urllib.request
import uuid
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path

SHIPPED = ("requirements.lock", "requirements-build.lock")
ALL = (*SHIPPED, "requirements-dev.lock", "requirements-bench.lock", "requirements-lake.lock", "requirements-ldap.lock")
OLDEST = timedelta(days=365)
# Packages without a recent release that are kept, each with the reason.
FINISHED = {
    "jinja2": "finished: its project answers advisories and releases its other parts",
    "pyyaml": "finished: one format, read for twenty years",
    "pytest-xdist": "finished: part of pytest, tests alone",
}


def pinned(file: str) -> dict[str, tuple[str, list[str]]]:
    """Return the packages of a lock file by name: the version, and the digest of each of its files."""
    found: dict[str, tuple[str, list[str]]] = {}
    for line in Path(file).read_text().splitlines():
        if pin := re.match(r"([A-Za-z0-9._-]+)==([^\s;\\]+)", line):
            digests: list[str] = []
            found[pin[1]] = (pin[2], digests)
        elif digest := re.search(r"--hash=sha256:([0-9a-f]{64})", line):
            digests.append(digest[1])
    return found


def sbom() -> str:
    project = tomllib.loads(Path("pyproject.toml").read_text())["project"]
    text = "".join(Path(file).read_text() for file in SHIPPED)
    version = re.search(r'__version__ = "(.+)"', Path("rolecall/__init__.py").read_text())
    components = [
        {
            "type": "library",
            "bom-ref": f"pkg:pypi/{name}@{version}",
            "name": name,
            "version": version,
            "purl": f"pkg:pypi/{name}@{version}",
            "hashes": [{"alg": "SHA-256", "content": digest} for digest in digests],
        }
        for file in SHIPPED
        for name, (version, digests) in pinned(file).items()
    ]
    assert version
    rolecall = {"type": "application", "bom-ref": "rolecall", "name": project["name"], "version": version[1]}
    # Generate the document from the lock files alone, so that the same lock files give the same document.
    return json.dumps(
        {
            "bomFormat": "CycloneDX",
            "specVersion": "1.6",
            "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, text)}",
            "version": 1,
            "metadata": {"component": rolecall},
            "components": components,
        },
        indent=2,
    )


def last_release(name: str) -> datetime:
    with urllib.request.urlopen(f"https://pypi.org/pypi/{name}/json", timeout=30) as answer:
        releases = json.load(answer)["releases"].values()
    return max(datetime.fromisoformat(file["upload_time_iso_8601"]) for files in releases for file in files)


def asked_for() -> set[str]:
    """Return the names of our direct dependencies; all others are dependencies of these."""
    project = tomllib.loads(Path("pyproject.toml").read_text())["project"]
    asked = [*project["dependencies"], *(line for lines in project["optional-dependencies"].values() for line in lines)]
    return {re.split(r"[\[<>=;~! ]", line)[0].lower() for line in asked}


def ages() -> list[str]:
    """Print the last release date of each package.

    Return direct dependencies without a release in a year, except those that are kept for a reason.
    """
    names = sorted({name: file for file in reversed(ALL) for name in pinned(file)}.items())
    with ThreadPoolExecutor(8) as threads:
        released = list(threads.map(lambda each: last_release(each[0]), names))
    ours, old = asked_for(), []
    for moment, (name, file) in sorted(zip(released, names, strict=True)):
        is_old = datetime.now(UTC) - moment > OLDEST
        if is_old and name in ours and name not in FINISHED:
            old.append(name)
        word = FINISHED.get(name, "too old" if name in ours else "comes along") if is_old else ""
        print(f"{moment:%Y-%m-%d}  {name:<28} {file:<24} {word}".rstrip())
    return old


if __name__ == "__main__":
    if sys.argv[1] == "sbom":
        print(sbom())
    elif old := ages():
        sys.exit(f"without a release in a year: {', '.join(old)}")
