"""Write an evidence bundle: data, audit entries with their links, a readable report, and a manifest of checksums."""

import hashlib
from collections.abc import AsyncIterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import IO
from uuid import UUID
from zipfile import ZIP_DEFLATED, ZipFile

import msgspec

from rolecall.audit import queries as audit
from rolecall.audit.model import Head, Row, seal_of
from rolecall.core.db import Db
from rolecall.evidence import queries
from rolecall.evidence.report import report

_VERIFIER = Path(__file__).with_name("verify.py")


class BundleWriter:
    """Write members and hash each one; the manifest of digests is written last."""

    def __init__(self, file: IO[bytes]) -> None:
        self.archive = ZipFile(file, "w", ZIP_DEFLATED)
        self.digests: dict[str, str] = {}

    def add(self, name: str, *pieces: bytes) -> None:
        with self.writing(name) as member:
            for piece in pieces:
                member.write(piece)

    def writing(self, name: str) -> "BundleMember":
        return BundleMember(self, name)

    def add_json(self, name: str, value: object) -> None:
        self.add(name, readable(value))

    async def add_entries(self, db: Db, which: str, **values: object) -> AsyncIterator[Row]:
        """Write the audit entries that a condition selects, and yield each one."""
        with self.writing("audit.jsonl") as member:
            async for row in audit.rows(db, which, "number", **values):
                member.write(audit.as_line(row))
                yield row

    async def add_links(self, db: Db, heads: Sequence[Head]) -> None:
        """Write the links of all audit entries, and the heads, so that each chain can be followed to its end."""
        with self.writing("links.txt") as member:
            async for chain, number, digest in queries.links(db):
                member.write(f"{chain} {number} {digest}\n".encode())
        self.add_json("heads.json", {"head": seal_of(heads), "heads": heads})

    def finish(self, **about: object) -> str:
        """Write the verifier and the manifest; return the seal, the digest of the manifest."""
        self.add("verify.py", _VERIFIER.read_bytes())
        manifest = readable({**about, "members": dict(self.digests)})
        self.add("manifest.json", manifest)
        seal = hashlib.sha256(manifest).hexdigest()
        self.add("manifest.sha256", f"{seal}\n".encode())
        return seal


class BundleMember:
    def __init__(self, bundle: BundleWriter, name: str) -> None:
        self.bundle, self.name = bundle, name
        self.sha256 = hashlib.sha256()

    def __enter__(self) -> "BundleMember":
        # Use ZIP64: the size is not known yet and may exceed the limit without it.
        self.file = self.bundle.archive.open(self.name, "w", force_zip64=True)
        return self

    def write(self, piece: bytes) -> None:
        self.sha256.update(piece)
        self.file.write(piece)

    def __exit__(self, *_: object) -> None:
        self.file.close()
        self.bundle.digests[self.name] = self.sha256.hexdigest()


async def write_bundle(db: Db, file: IO[bytes], id: UUID, as_of: datetime | None, now: datetime) -> str:
    """Write the bundle of a person and return its seal, the digest of the manifest.

    The calling code must open one database snapshot, so that all members agree.
    """
    evidence = await queries.evidence_of(db, id, as_of, now)
    things = await queries.things_of(db, id, evidence)
    heads = await audit.heads(db)
    bundle = BundleWriter(file)
    with bundle.archive:
        for name in evidence.__struct_fields__:
            bundle.add_json(f"{name}.json", getattr(evidence, name))
        which = "entity_id = ANY(%(things)s)"
        entries = [audit.item_of(row) async for row in bundle.add_entries(db, which, things=things)]
        await bundle.add_links(db, heads)
        bundle.add("report.html", report(evidence, entries, seal_of(heads), now).encode())
        return bundle.finish(identityId=id, asOf=as_of, createdDate=now)


def readable(value: object) -> bytes:
    return msgspec.json.format(msgspec.json.encode(value), indent=1) + b"\n"
