"""Upload files over HTTP, run pending imports as a worker does, and read the results."""

import json
from collections.abc import Mapping
from typing import Any
from uuid import UUID

import httpx2

from rolecall.application_imports.run.next_dry_run import run_next_dry_run
from rolecall.application_imports.run.next_import import run_next_import
from rolecall.core import clock
from rolecall.core.config import Config
from rolecall.core.db import make_pool

Files = Mapping[str, str | bytes | list[str | bytes]]


def _named(files: Files) -> list[tuple[str, tuple[str, bytes]]]:
    """Return each file with the name of its file group and a file name."""
    return [
        (name, (f"{name.lower()}.csv", content.encode() if isinstance(content, str) else content))
        for name, given in files.items()
        for content in (given if isinstance(given, list) else [given])
    ]


class Imports:
    def __init__(self, client: httpx2.AsyncClient, config: Config) -> None:
        self.client = client
        self.config = config

    async def upload(self, application_id: UUID, files: Files) -> dict[str, Any]:
        """Upload files and return the pending import. `files` maps the names of file groups to their files."""
        detail = (await self.client.get(f"/api/applications/{application_id}")).json()
        groups = {group["name"]: group["fileGroupId"] for group in detail["connector"]["files"]}
        sent = [(groups[name], file) for name, file in _named(files)]
        answer = await self.client.post(
            "/api/application-imports/upload", params={"applicationId": str(application_id)}, files=sent
        )
        assert answer.status_code == 201, answer.text
        return dict(answer.json())

    async def work(self) -> None:
        """Run all pending imports."""
        pool = make_pool(self.config)
        async with pool:
            while await run_next_import(pool, self.config, clock.now()):
                pass

    async def start_dry_run(self, application_id: UUID, files: Files, connector: Any = None) -> dict[str, Any]:
        """Start a dry run and return it. `files` maps the names of file groups to their files."""
        answer = await self.client.post(
            f"/api/applications/{application_id}/dry-run",
            files=_named(files),
            data={"connector": json.dumps(connector)} if connector else None,
        )
        assert answer.status_code == 201, answer.text
        return dict(answer.json())

    async def work_on_dry_runs(self) -> None:
        pool = make_pool(self.config)
        async with pool:
            while await run_next_dry_run(pool, self.config, clock.now()):
                pass

    async def dry_run(self, application_id: UUID, files: Files, connector: Any = None) -> dict[str, Any]:
        """Start a dry run, run it, and return it after its end."""
        id = (await self.start_dry_run(application_id, files, connector))["id"]
        await self.work_on_dry_runs()
        return dict((await self.client.get(f"/api/dry-runs/{id}")).json())

    async def get(self, id: str) -> dict[str, Any]:
        return dict((await self.client.get(f"/api/application-imports/{id}")).json())

    async def run(self, application_id: UUID, files: Files) -> dict[str, Any]:
        """Upload and run an import; return it after its end."""
        id = (await self.upload(application_id, files))["id"]
        await self.work()
        return await self.get(id)

    async def finish(self, application_id: UUID, files: Files) -> dict[str, Any]:
        run = await self.run(application_id, files)
        assert run["status"] == "Finished", run["log"]
        return run

    async def items(self, path: str, **params: Any) -> list[dict[str, Any]]:
        answer = await self.client.get(path, params=params)
        assert answer.status_code == 200, answer.text
        return list(answer.json()["items"])
