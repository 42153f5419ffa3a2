"""Test that hostile texts and long hierarchies take linear time; quadratic code would take minutes."""

import time
from collections.abc import Callable
from itertools import product
from string import ascii_lowercase

import pytest

from rolecall.application_imports.read import ldif
from rolecall.application_imports.read.access_signs import sign_of_access
from rolecall.application_imports.read.code_pages import likely_code_page
from rolecall.application_imports.read.column_uses import Section, uses_of
from rolecall.applications.file_shape import FileShape
from rolecall.applications.model import Content
from rolecall.console.screens import drafts
from rolecall.core.cycles import cycles
from rolecall.core.json_paths import value_at
from rolecall.file_shapes.accounts import ending, statuses, unread_locks
from rolecall.file_shapes.cells import groups_held, numbered_pairs
from rolecall.file_shapes.columns import header_names, profiles, secret_values
from rolecall.file_shapes.columns.profiles import Profile
from rolecall.file_shapes.grants import matrix_headers, matrix_rows
from rolecall.file_shapes.parts import Part, View, view_of
from rolecall.file_shapes.tables import last_lines
from rolecall.file_shapes.tables.sample_table import SampleTable

COLUMNS = [{"header": f"c{n}", "field": "Name"} for n in range(20_000)]
PARTS = [{"content": content, "place": None, "columns": COLUMNS} for content in ("users", "groups")]

WORDS = ["".join(letters) for letters in product(ascii_lowercase, repeat=3)]


def wide(headers: list[str], cell: str = "x") -> View:
    """Return a table with one row that has the same cell in each column."""
    return view_of(SampleTable("CSV", headers, [[cell] * len(headers)]))


def of_users() -> Part:
    return Part(Content.USERS, {}, {}, 1.0, [])


ROLES = wide([f"role {word} {n}" for word in WORDS[:6_000] for n in (2, 3)], "Yes")
LOCKS = wide([f"locked {word}" for word in WORDS[:15_000]], "Yes")
TEAMS = [Profile(f"team {word}", n, [word]) for n, word in enumerate(WORDS[:15_000])]
PATHS = [f"{word}[].x" for word in WORDS[:15_000]]

READERS: dict[str, Callable[[], object]] = {
    "words of a code page": lambda: likely_code_page(b"a" * 60_000 + b"\xe4"),
    "times in a cell": lambda: sign_of_access("Used", ["1:11" * 50_000]),
    "brackets in a path": lambda: value_at({}, "[" * 200_000),
    "paths of objects": lambda: profiles._OPAQUE.fullmatch("/" + "=" * 200_000 + "\n"),
    "dates of a status": lambda: statuses._ENDED.search("delet" * 40_000),
    "dates of a removal": lambda: statuses._REMOVED.search("delet" * 40_000),
    "last days": lambda: ending._LAST_DAY.search("expir" * 40_000),
    "dates of a grant": lambda: ending._REVOKED.search("delet" * 40_000),
    "numbered groups": lambda: groups_held._NUMBERED.fullmatch("_" * 200_000 + "!"),
    "logins": lambda: matrix_headers._LOGIN.fullmatch("a" * 100_000 + "1" * 100_000 + "!"),
    "rows of a matrix": lambda: matrix_rows._PARTED.fullmatch("a" + ":a" * 100_000 + "!"),
    "actions": lambda: matrix_rows._ONLY_ACTIONS.fullmatch("read and " * 40_000 + "!"),
    "paths of members": lambda: header_names._PATH.fullmatch("a." * 100_000),
    "supervisors": lambda: list(cycles({n: n // 8 for n in range(1, 200_000)})),
    "columns of a draft": lambda: drafts._read_elsewhere({"files": [{"contents": PARTS}]}),
    "numbered roles": lambda: numbered_pairs.numbered_pairs(wide([f"role {word} 2" for word in WORDS[:8_000]])),
    "numbered ticks": lambda: numbered_pairs.numbered_pairs(ROLES),
    "columns of locks": lambda: unread_locks.ask_for_unread_locks(LOCKS, of_users()),
    "columns of groups": lambda: groups_held.held_together(TEAMS),
    "paths into lists": lambda: uses_of(PATHS, [Section(Content.USERS, dict.fromkeys(PATHS, "Name"), FileShape())]),
    "code blocks around LDIF": lambda: ldif._FENCE.fullmatch("```" + " " * 200_000 + "!"),
    "distinguished names": lambda: ldif.name_in(" " * 200_000 + ","),
    "passwords": lambda: secret_values.are_secret(["aA1" * 70_000, "a@" + ".aa" * 70_000 + "!"]),
    "last lines": lambda: last_lines._FOOTER.search("abc" * 70_000),
}


@pytest.mark.parametrize("name", READERS)
def test_hostile_input_is_read_in_linear_time(name: str) -> None:
    start = time.process_time()

    READERS[name]()

    assert time.process_time() - start < 5
