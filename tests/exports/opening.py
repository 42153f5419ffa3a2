"""Open exported files with other programs, to compare them with the list."""

import json
from datetime import UTC, datetime
from io import BytesIO
from pathlib import Path
from typing import Any

import duckdb
import httpx2
import openpyxl
import polars as pl

from rolecall.core.formats.columns import Column, ColumnType, cells
from rolecall.core.formats.spreadsheets import harmless

Row = dict[str, Any]


async def whole_list(client: httpx2.AsyncClient, path: str, **query: Any) -> list[Any]:
    """Return the items of all pages of a list."""
    items: list[Any] = []
    page, pages = 1, 1
    while page <= pages:
        answer = await client.get(path, params={**query, "page": page})
        assert answer.status_code == 200, answer.text
        items += answer.json()["items"]
        page, pages = page + 1, answer.json()["totalPages"]
    return items


def as_rows(items: list[Any], columns: tuple[Column, ...]) -> list[Row]:
    """Return the rows that an export of these items should have: nested values as JSON text, times as datetimes."""
    by_column = cells(items, columns)
    rows = [dict(zip(by_column, row, strict=True)) for row in zip(*by_column.values(), strict=True)]
    times = [column.name for column in columns if column.type == ColumnType.TIME]
    return [{**row, **{name: moment(row[name]) for name in times}} for row in rows]


def moment(text: str | None) -> datetime | None:
    return datetime.fromisoformat(text).astimezone(UTC) if text else None


def safe(rows: list[Row]) -> list[Row]:
    return [{name: harmless(cell) if isinstance(cell, str) else cell for name, cell in row.items()} for row in rows]


def from_csv(content: bytes, columns: tuple[Column, ...]) -> list[Row]:
    types = {ColumnType.INTEGER: pl.Int64, ColumnType.NUMBER: pl.Float64, ColumnType.BOOLEAN: pl.Boolean}
    schema = {column.name: types.get(column.type, pl.String) for column in columns}
    # In the CSV, an empty string is quoted and a missing value is not.
    frame = pl.read_csv(BytesIO(content), schema=schema)
    times = [column.name for column in columns if column.type == ColumnType.TIME]
    return [{**row, **{name: moment(row[name]) for name in times}} for row in frame.to_dicts()]


def from_parquet(content: bytes) -> list[Row]:
    return pl.read_parquet(BytesIO(content)).to_dicts()


def from_duckdb(file: Path) -> list[Row]:
    with duckdb.connect() as db:
        db.execute("SET TimeZone = 'UTC'")
        types = {name: type for name, type, *_ in db.execute(f"DESCRIBE SELECT * FROM '{file}'").fetchall()}
        # Cast times with a zone to text, because DuckDB needs another package to return them.
        chosen = [f'"{name}"::text' if "TIME ZONE" in type else f'"{name}"' for name, type in types.items()]
        rows = db.execute(f"SELECT {', '.join(chosen)} FROM '{file}'").fetchall()
    times = {name for name, type in types.items() if "TIME ZONE" in type}
    return [
        {name: moment(cell) if name in times else cell for name, cell in zip(types, row, strict=True)} for row in rows
    ]


def from_xlsx(content: bytes) -> tuple[list[Row], dict[str, str]]:
    """Return the rows of the first sheet, and the manifest in the last sheet."""
    book = openpyxl.load_workbook(BytesIO(content))
    header, *rows = book["List"].iter_rows(values_only=True)
    return [dict(zip(header, row, strict=True)) for row in rows], dict(
        book[book.sheetnames[-1]].iter_rows(values_only=True)
    )


def from_jsonl(content: bytes) -> list[Any]:
    return [json.loads(line) for line in content.splitlines()]
