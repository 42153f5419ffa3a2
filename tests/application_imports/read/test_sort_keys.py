"""Test that imported names have the same sort keys as names that are entered one by one."""

import httpx2
import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from rolecall.application_imports.read.names import sort_keys
from rolecall.core.db import Db
from rolecall.core.text import sort_key
from tests.application_imports.apply.test_identity_source import hr
from tests.application_imports.running import Imports

LAST_NAMES = ["Zed", "Élan", "elan", "ELAND", "Eden", "Ångström", "abel", "Østby", "Orr", "Ozil", "Müller", "muller"]
IN_ORDER = ["abel", "Ångström", "Eden", "elan", "Élan", "ELAND", "muller", "Müller", "Orr", "Østby", "Ozil", "Zed"]


@given(st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\x00"))))
def test_sort_keys_of_a_column_equal_the_sort_key_of_each_name(names: list[str]) -> None:
    assert sort_keys(pl.Series("name", names, pl.String)).to_list() == [sort_key(name) for name in names]


async def test_imported_names_sort_by_unicode_rules_and_ignore_case(
    imports: Imports, client: httpx2.AsyncClient, db: Db
) -> None:
    lines = [f"E{n},Ada,{last}\n" for n, last in enumerate(LAST_NAMES)]
    lines += [f"F{n},{first},Same\n" for n, first in enumerate(LAST_NAMES)]

    await imports.finish(await hr(db), {"People": "Employee ID,First Name,Last Name\n" + "".join(lines)})

    items = (await client.get("/api/identities")).json()["items"]
    last = [item["lastName"] for item in items if item["firstName"] == "Ada"]
    first = [item["firstName"] for item in items if item["lastName"] == "Same"]
    assert (last, first) == (IN_ORDER, IN_ORDER)
