"""Write an evidence bundle about one person: data, a readable report, and a manifest of checksums."""

import hashlib
from datetime import datetime
from pathlib import Path
from typing import IO
from uuid import UUID
from zipfile import ZIP_DEFLATED, ZipFile

import msgspec

from rolecall.audit import queries as audit
from rolecall.audit.model import seal_of
from rolecall.core.db import Db
from rolecall.evidence import queries
from rolecall.evidence.report import report

_VERIFIER = Path(__file__).with_name("verify.py")


class _Bundle:
    """Write members and hash each one; the manifest of digests is written last."""

    def __init__(self, file: IO[bytes]) -> None:
        self.archive = ZipFile(file, "w", ZIP_DEFLATED)
        self.digests: dict[str, str] = {}

    def add(self, name: str, *pieces: bytes) -> None:
        with self.writing(name) as member:
            for piece in pieces:
                member.write(piece)

    def writing(self, name: str) -> "_Member":
        return _Member(self, name)


class _Member:
    def __init__(self, bundle: _Bundle, name: str) -> None:
        self.bundle, self.name = bundle, name
        self.sha256 = hashlib.sha256()

    def __enter__(self) -> "_Member":
        self.file = self.bundle.archive.open(self.name, "w", force_zip64=True)
        return self

    def write(self, piece: bytes) -> None:
        self.sha256.update(piece)
        self.file.write(piece)

    def __exit__(self, *_: object) -> None:
        self.file.close()
        self.bundle.digests[self.name] = self.sha256.hexdigest()


async def write_bundle(db: Db, file: IO[bytes], id: UUID, as_of: datetime | None, now: datetime) -> str:
    """Write the bundle from one database snapshot; return its seal, the digest of the manifest."""
    evidence = await queries.evidence_of(db, id, as_of, now)
    things = await queries.things_of(db, id, evidence)
    heads = await audit.heads(db)
    bundle = _Bundle(file)
    with bundle.archive:
        for name in evidence.__struct_fields__:
            bundle.add(f"{name}.json", _readable(getattr(evidence, name)))
        entries = []
        with bundle.writing("audit.jsonl") as member:
            async for row in audit.rows(db, "entity_id = ANY(%(things)s)", things=things):
                member.write(audit.as_line(row))
                entries.append(audit.item_of(row))
        with bundle.writing("links.txt") as member:
            async for chain, number, digest in queries.links(db):
                member.write(f"{chain} {number} {digest}\n".encode())
        bundle.add("heads.json", _readable({"head": seal_of(heads), "heads": heads}))
        bundle.add("report.html", report(evidence, entries, seal_of(heads), now).encode())
        bundle.add("verify.py", _VERIFIER.read_bytes())
        manifest = _readable({"identityId": id, "asOf": as_of, "createdDate": now, "members": dict(bundle.digests)})
        bundle.add("manifest.json", manifest)
        seal = hashlib.sha256(manifest).hexdigest()
        bundle.add("manifest.sha256", f"{seal}\n".encode())
    return seal


def _readable(value: object) -> bytes:
    return msgspec.json.format(msgspec.json.encode(value), indent=1) + b"\n"
