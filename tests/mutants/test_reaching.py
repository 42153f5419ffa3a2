"""Test which mutants are judged by importing the service again."""

from pathlib import Path

from tests.mutants.mutate import mutants_of
from tests.mutants.reaching import Reach

SOURCE = """
def condition(column):
    return _quoted(column) == "x"

def _quoted(column):
    return column or None

def read(db):
    return db or None

QUERY = f"SELECT 1 WHERE {condition('a')}"

if __name__ == "__main__":
    read(None)
"""


def test_functions_that_constants_call_run_on_import(tmp_path: Path) -> None:
    path = tmp_path / "rolecall" / "accounts" / "queries.py"
    path.parent.mkdir(parents=True)
    path.write_text(SOURCE)
    mutants = mutants_of("rolecall/accounts/queries.py", SOURCE.encode())

    reach = Reach(tmp_path, [])

    assert {mutant.function for mutant in mutants if reach.runs_on_import(mutant)} == {"condition", "_quoted", ""}
    assert {mutant.function for mutant in mutants if not reach.runs_on_import(mutant)} == {"read"}
