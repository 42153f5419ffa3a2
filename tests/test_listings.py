"""Test that every Listing has the indexes and triggers that it needs."""

import sys
from itertools import combinations
from typing import Any
from uuid import UUID

import pytest

from rolecall import app
from rolecall.core.db import Db, fetch_rows, fetch_value
from rolecall.core.paging import Listing, fetch_listed

LISTINGS: dict[str, Listing[Any]] = {
    f"{name}.{word}": value
    for name, module in sorted(sys.modules.items())
    if name.startswith(f"{app.__package__}.") and name.endswith("queries")
    for word, value in vars(module).items()
    if isinstance(value, Listing)
}


def test_lists_of_the_contract_are_listings() -> None:
    tables = {listing.table for listing in LISTINGS.values()}

    assert tables >= {"identities", "applications", "application_imports", "access_requests", "personnel_events"}


@pytest.mark.parametrize("name", LISTINGS)
async def test_facets_of_a_listing_match_an_index_in_order(db: Db, name: str) -> None:
    listing = LISTINGS[name]
    columns = ", ".join([*listing.facets, "list_key"])

    rows = await fetch_rows(db, "SELECT indexdef FROM pg_indexes WHERE tablename = %(table)s", table=listing.table)

    assert any(row[0].endswith(f"({columns})") for row in rows)


@pytest.mark.parametrize("name", LISTINGS)
async def test_listing_can_be_read_with_all_filters_combined(db: Db, name: str) -> None:
    listing = LISTINGS[name]
    types = await fetch_value(
        db,
        """SELECT array_agg(format_type(atttypid, atttypmod) ORDER BY array_position(%(facets)s, attname::text))
           FROM pg_attribute WHERE attrelid = %(table)s::regclass AND attname = ANY(%(facets)s)""",
        facets=list(listing.facets),
        table=listing.table,
    )
    samples = {"uuid": UUID(int=1), "boolean": True}
    filters = {column: samples.get(type, "x") for column, type in zip(listing.facets, types or [], strict=True)}

    page = await fetch_listed(db, listing, 1, **filters)

    assert (page.items, page.total_count) == ([], 0)


# Lists that exist only for one record at a time: the members of a model, and the holders of a duty.
UNLISTED = {("access_model_members", ()), ("duty_holders", ())}


async def test_every_list_has_an_index_for_each_combination_of_its_filters(db: Db) -> None:
    lists = await fetch_rows(db, "SELECT name, facets, within FROM lists")
    indexes = await fetch_rows(db, "SELECT tablename, indexdef FROM pg_indexes WHERE schemaname = 'public'")
    found = {(table, definition.rpartition(" USING btree ")[2]) for table, definition in indexes}

    missing = [
        (name, chosen)
        for name, facets, within in lists
        for size in range(len(facets) + 1)
        for chosen in combinations(facets, size)
        if {*within} <= {*chosen}
        and (name, chosen) not in UNLISTED
        and (name, f"({', '.join([*chosen, 'list_key'])})") not in found
    ]

    assert missing == []
    assert {name for name, *_ in lists} == {listing.table for listing in LISTINGS.values()}
