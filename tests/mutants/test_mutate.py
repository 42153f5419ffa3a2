"""Test the generation of mutants, and that accepted survivors are mutants of the current code."""

import ast
from textwrap import dedent

import pytest

from tests.mutants.__main__ import ROOT, accepted_mutants, all_mutants
from tests.mutants.mutate import mutants_of, sql_edits
from tests.mutants.running import constants_after

PYTHON = {
    "if RANK[a] >= RANK[b]:\n    pass": {"if RANK[a] > RANK[b]:", "if True:", "if False:"},
    "own = {new.identity_id, reporter_id}": {
        "own = {reporter_id, reporter_id}",
        "own = {new.identity_id, new.identity_id}",
    },
    "for n in entries:\n    yield n": {"pass"},
    "await tell(db)": {"pass"},
    "return found": {"return None"},
    "return a is None and not b": {
        "return a is not None and not b",
        "return a is None or not b",
        "return a is None and b",
        "return None",
    },
    "x = min(a) + 1": {"x = max(a) + 1", "x = min(a) - 1", "x = min(a) + 2"},
    "x = [n for n in a if n not in b]": {
        "x = [n for n in a if n in b]",
        "x = [n for n in a if True]",
        "x = [n for n in a if False]",
    },
    "x = f(flag=True)": {"x = f(flag=False)"},
    "assert found": {"assert False"},
    "x = zip(a, b, strict=True)": set(),
}


@pytest.mark.parametrize("statement", PYTHON)
def test_each_operator_of_python_is_mutated(statement: str) -> None:
    body = "\n".join(f"    {line}" for line in statement.splitlines())

    assert {mutant.after for mutant in mutants_of("x.py", f"async def f():\n{body}".encode())} == PYTHON[statement]


SQL = {
    "WHERE r.created_at > %(since)s": {"WHERE r.created_at >= %(since)s", "WHERE true"},
    "WHERE a = b AND c IS NULL": {
        "WHERE a <> b AND c IS NULL",
        "WHERE true AND c IS NULL",
        "WHERE a = b OR c IS NULL",
        "WHERE a = b AND c IS NOT NULL",
        "WHERE a = b AND true",
    },
    "SELECT x FROM t ORDER BY last_name, id": {"SELECT x FROM t ORDER BY last_name DESC, id"},
    "UPDATE t SET status = 'Active' WHERE id = %(id)s": {
        "UPDATE t SET status = 'Other' WHERE id = %(id)s",
        "UPDATE t SET status = 'Active' WHERE id <> %(id)s",
        "UPDATE t SET status = 'Active' WHERE true",
    },
    "WHERE NOT EXISTS (SELECT FROM t WHERE {a >= b})": {
        "WHERE EXISTS (SELECT FROM t WHERE {a >= b})",
        "WHERE true",
        "WHERE NOT EXISTS (SELECT FROM t WHERE true)",
    },
}


@pytest.mark.parametrize("text", SQL)
def test_each_operator_of_sql_is_mutated(text: str) -> None:
    assert {text[:start] + new + text[end:] for start, end, new in sql_edits(text)} == SQL[text]


def test_docstrings_annotations_and_plain_text_are_not_mutated() -> None:
    source = '''
        def f(x: int | None = None) -> None:
            """SELECT x FROM t WHERE a = b."""
            y: tuple[int, 3]
            print(f"It is {x} and not {x > 3}")
    '''

    assert [mutant.after for mutant in mutants_of("x.py", dedent(source).encode())] == ["pass"]


CONSTANTS = {
    "A = 1\nB = f'{A}'\nC = Listing(B)\nD = 2": ["A = 1", "B = f'{A}'", "C = Listing(B)"],
    "A = 1\ndef f():\n    return A\nclass X:\n    def f(self):\n        return A": ["A = 1"],
    "A = 1\ndef f(a=A):\n    pass": [],
    "A = 1\nclass X:\n    a = A": [],
    "A = 1\nB = open(A)": [],
    "@f(1)\ndef g():\n    pass": [],
}


@pytest.mark.parametrize("source", CONSTANTS)
def test_constant_is_replaced_together_with_constants_that_depend_on_it(source: str) -> None:
    assert [ast.unparse(each) for each in constants_after(ast.parse(source).body, 1)] == CONSTANTS[source]


def test_mutants_can_be_compiled_and_differ() -> None:
    for mutant in all_mutants()[::20]:
        source = (ROOT / mutant.file).read_bytes()
        assert mutant.apply(source) != source
        ast.parse(mutant.apply(source))


def test_accepted_survivors_are_mutants_of_the_current_code() -> None:
    assert accepted_mutants().keys() <= {mutant.key for mutant in all_mutants()}
    assert all(accepted_mutants().values())
