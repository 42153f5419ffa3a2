"""Run one of the programs that the service is compared with. Each is a short but fair implementation of its kind.

    python -m bench.rivals NAME PORT ANSWERS

NAME is `bytes`, `select` or `conventional`. ANSWERS is a JSON file with the response for each path.
"""

import asyncio
import hashlib
import os
import signal
import sys
from collections.abc import AsyncIterator
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any
from uuid import UUID

import msgspec
import uvloop
from fastapi import Depends, FastAPI, Header, HTTPException
from granian.constants import Interfaces
from granian.server.embed import Server
from psycopg_pool import AsyncConnectionPool
from pydantic import BaseModel, ConfigDict
from pydantic.alias_generators import to_camel
from sqlalchemy import ForeignKey, func, select
from sqlalchemy.ext.asyncio import AsyncSession, async_sessionmaker, create_async_engine
from sqlalchemy.orm import DeclarativeBase, Mapped, joinedload, mapped_column, relationship

from rolecall.core.config import Config
from rolecall.core.db import make_pool
from rolecall.identities.queries import COLUMNS, SUPERVISOR
from rolecall.identities.shapes import IdentityDetail

URL = os.environ.get("BENCH_DATABASE_URL", "")


class Bytes:
    """Send stored responses without a token check, to measure the cost of HTTP alone."""

    def __init__(self, answers: dict[str, bytes]) -> None:
        self.answers = answers

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "lifespan":
            await _live(receive, send)
        else:
            await _answer(send, self.answers[scope["path"]])


class OneSelect:
    """Serve one prepared SELECT as JSON, without a token check, a total or a framework."""

    one = f"SELECT {COLUMNS} FROM identities i {SUPERVISOR} WHERE i.id = %s"
    page = f"""SELECT {COLUMNS} FROM (SELECT * FROM identities ORDER BY list_key LIMIT 50) i {SUPERVISOR}
               ORDER BY i.list_key"""

    def __init__(self) -> None:
        self.pool: AsyncConnectionPool[Any] = make_pool(Config(database_url=URL))

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "lifespan":
            async with self.pool:
                await _live(receive, send)
            return
        id = scope["path"].removeprefix("/api/identities").strip("/")
        async with self.pool.connection() as db, db.cursor(binary=True) as cursor:
            await cursor.execute(self.one if id else self.page, (UUID(id),) if id else ())
            rows = [IdentityDetail(*row) for row in await cursor.fetchall()]
        await _answer(send, msgspec.json.encode(rows[0] if id else rows))


async def _live(receive: Any, send: Any) -> None:
    for phase in ("startup", "shutdown"):
        await receive()
        await send({"type": f"lifespan.{phase}.complete"})


async def _answer(send: Any, body: bytes) -> None:
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def conventional() -> FastAPI:
    """Build a FastAPI program with an async ORM, response model, COUNT and OFFSET, and the service's token lookup."""
    engine = create_async_engine(URL.replace("postgresql://", "postgresql+psycopg://"), pool_size=10)
    sessions = async_sessionmaker(engine, expire_on_commit=False)
    app = FastAPI()

    async def session() -> AsyncIterator[AsyncSession]:
        async with sessions() as opened:
            yield opened

    Session = Annotated[AsyncSession, Depends(session)]  # noqa: N806

    async def known_token(db: Session, authorization: Annotated[str, Header()]) -> "Token":
        digest = hashlib.sha256(authorization.removeprefix("Bearer ").encode()).digest()
        token = await db.scalar(select(Token).where(Token.secret_sha256 == digest))
        if token is None or token.revoked_at is not None or "identities:read" not in token.scopes:
            raise HTTPException(401)
        return token

    @app.get("/api/identities", dependencies=[Depends(known_token)])
    async def list_identities(db: Session, page: int = 1) -> "IdentityPage":
        total = await db.scalar(select(func.count()).select_from(Identity)) or 0
        rows = await db.scalars(
            select(Identity)
            .options(joinedload(Identity.supervisor))
            .order_by(Identity.list_key)
            .offset((page - 1) * 50)
            .limit(50)
        )
        items = [IdentityOut.model_validate(row) for row in rows]
        return IdentityPage(items=items, total_count=total, page=page, page_size=50, total_pages=-(-total // 50))

    @app.get("/api/identities/{id}", dependencies=[Depends(known_token)])
    async def get_identity(db: Session, id: UUID) -> "IdentityOut":
        found = await db.get(Identity, id, options=[joinedload(Identity.supervisor)])
        if found is None:
            raise HTTPException(404)
        return IdentityOut.model_validate(found)

    return app


async def serve(name: str, port: int, answers: bytes) -> None:
    """Serve the program `name` with the server and the event loop that the service uses."""
    match name:
        case "bytes":
            app: Any = Bytes({path: text.encode() for path, text in msgspec.json.decode(answers).items()})
        case "select":
            app = OneSelect()
        case _:
            app = conventional()
    server = Server(app, port=port, interface=Interfaces.ASGI, websockets=False, backlog=1024, log_enabled=False)
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, server.stop)
    await server.serve()


class Base(DeclarativeBase):
    pass


class Token(Base):
    __tablename__ = "tokens"

    id: Mapped[UUID] = mapped_column(primary_key=True)
    secret_sha256: Mapped[bytes]
    scopes: Mapped[str]
    revoked_at: Mapped[datetime | None]


class Identity(Base):
    __tablename__ = "identities"

    id: Mapped[UUID] = mapped_column(primary_key=True)
    first_name: Mapped[str]
    last_name: Mapped[str]
    email_address: Mapped[str]
    type: Mapped[str]
    title: Mapped[str]
    company: Mapped[str]
    division: Mapped[str]
    department: Mapped[str]
    office: Mapped[str]
    created_date: Mapped[datetime]
    updated_date: Mapped[datetime]
    first_seen_date: Mapped[datetime]
    inactivated_date: Mapped[datetime | None]
    status: Mapped[str]
    list_key: Mapped[str]
    supervisor_id: Mapped[UUID | None] = mapped_column(ForeignKey("identities.id"))
    supervisor: Mapped["Identity | None"] = relationship(remote_side="Identity.id")

    kind = "Identity"

    @property
    def supervisor_name(self) -> str:
        return f"{self.supervisor.last_name}, {self.supervisor.first_name}" if self.supervisor else ""


class Out(BaseModel):
    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, from_attributes=True)


class IdentityOut(Out):
    id: UUID
    kind: str
    first_name: str
    last_name: str
    email_address: str
    type: str
    title: str
    company: str
    division: str
    department: str
    office: str
    supervisor_name: str
    created_date: datetime
    updated_date: datetime
    first_seen_date: datetime
    inactivated_date: datetime | None
    status: str


class IdentityPage(Out):
    items: list[IdentityOut]
    total_count: int
    page: int
    page_size: int
    total_pages: int


if __name__ == "__main__":
    uvloop.run(serve(sys.argv[1], int(sys.argv[2]), Path(sys.argv[3]).read_bytes()))
