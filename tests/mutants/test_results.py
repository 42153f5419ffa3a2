"""Test how long a stored verdict is valid, what the tracer records, and the report of a process that ended early."""

import ast
from pathlib import Path
from typing import Any

import pytest

from tests.mutants import results, tracing
from tests.mutants.__main__ import require_results
from tests.mutants.mutate import Mutant, mutants_of
from tests.mutants.results import Results

NOTICED = "tests/test_a.py::test_a[1]"
TRIED = ["tests/test_a.py::test_b", NOTICED]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "tests").mkdir()
    write_tests(tmp_path)
    return tmp_path


def write_tests(root: Path, a: str = "1", b: str = "1") -> None:
    (root / "tests/test_a.py").write_text(f"def test_a(n):\n    assert {a}\n\n\ndef test_b():\n    assert {b}\n")
    results._functions.cache_clear()


def write_mutated(root: Path, text: str) -> None:
    (root / "rolecall").mkdir(exist_ok=True)
    (root / "rolecall/x.py").write_text(text)
    results._digest_of.cache_clear()


def a_mutant() -> Mutant:
    return mutants_of("rolecall/x.py", b"def f():\n    g()\n")[0]


def kept(root: Path, code: str = "code") -> Results:
    return Results(root, root / "results.jsonl", root / "kills.json", code)


def shared(root: Path, by: str = NOTICED) -> Results:
    """Share a kill, and return the results of a checkout that has nothing else."""
    kept(root).add(a_mutant(), TRIED, "killed", by, 0.5)
    kept(root).share([a_mutant()])
    (root / "results.jsonl").unlink()
    return kept(root, "other code")


def test_kill_is_valid_until_the_test_that_detected_it_changes(root: Path) -> None:
    kept(root).add(a_mutant(), TRIED, "killed", NOTICED, 0.5)

    write_tests(root, b="2")
    assert kept(root).known(a_mutant(), TRIED)
    write_tests(root, a="2")
    assert kept(root).known(a_mutant(), TRIED) is None
    assert kept(root).killers == {a_mutant().key: NOTICED}


def test_survival_is_valid_until_any_tried_test_changes(root: Path) -> None:
    kept(root).add(a_mutant(), TRIED, "survived", "", 0.5)

    assert kept(root).known(a_mutant(), TRIED)
    assert kept(root).known(a_mutant(), TRIED[:1]) is None
    write_tests(root, b="2")
    assert kept(root).known(a_mutant(), TRIED) is None


def test_survival_is_valid_only_for_its_version_of_the_service(root: Path) -> None:
    kept(root).add(a_mutant(), TRIED, "survived", "", 0.5)

    assert kept(root).of(a_mutant())
    assert kept(root, "other code").of(a_mutant()) is None


def test_kill_is_valid_until_the_mutated_file_changes(root: Path) -> None:
    kept(root).add(a_mutant(), TRIED, "killed", NOTICED, 0.5)

    assert kept(root, "other code").of(a_mutant())
    write_mutated(root, "other")
    assert kept(root).of(a_mutant()) is None
    assert kept(root).killers == {a_mutant().key: NOTICED}


def test_shared_kill_is_valid_until_its_test_or_the_mutated_file_changes(root: Path) -> None:
    assert shared(root).known(a_mutant(), [])
    write_tests(root, a="2")
    assert kept(root).known(a_mutant(), []) is None
    write_tests(root)
    assert kept(root).known(a_mutant(), [])
    write_mutated(root, "other")
    assert kept(root).known(a_mutant(), []) is None


def test_kill_without_a_test_is_not_shared(root: Path) -> None:
    assert shared(root, by="import").of(a_mutant()) is None


def test_new_verdict_replaces_a_shared_kill(root: Path) -> None:
    found = shared(root)
    found.add(a_mutant(), TRIED, "survived", "", 0.5)

    result = found.of(a_mutant())
    assert result
    assert result.verdict == "survived"


def test_tracer_records_each_statement_and_keeps_docstrings() -> None:
    source = b"""
def f(x):
    "What it does."
    if x:
        return 1
    return 2
"""
    first = len(tracing._places)
    hit: set[int] = set()
    names: dict[str, Any] = {"_record_line": hit.add}
    exec(compile(tracing.recording("x.py", source, every_line=True), "x.py", "exec"), names)

    assert names["f"](0) == 2
    assert {tracing._places[place] for place in hit} == {("x.py", line) for line in (2, 3, 4, 6)}
    assert min(hit) >= first
    assert names["f"].__doc__ == "What it does."


def test_tracer_records_only_the_start_of_functions_in_files_that_are_not_mutated() -> None:
    tree = tracing.recording("y.py", b"@d\ndef f():\n    g()\n    h()\n", every_line=False)

    assert ast.unparse(tree).count("_record_line") == 1
    assert tracing._places[-1] == ("y.py", 1)


@pytest.mark.parametrize("written", ["{}\n", "{}\n{", None])
def test_output_of_the_process_that_ended_early_is_printed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], written: str | None
) -> None:
    (tmp_path / "0.results").write_text("{}\n{}\n")
    if written is not None:
        (tmp_path / "1.results").write_text(written)
    for number in (0, 1):
        (tmp_path / f"{number}.out").write_text(f"output {number}")

    with pytest.raises(SystemExit, match="ended early"):
        require_results(tmp_path, {0: 2, 1: 2})

    assert capsys.readouterr().out == "Process 1 ended early:\noutput 1\n"


def test_run_with_all_results_goes_on(tmp_path: Path) -> None:
    (tmp_path / "0.results").write_text("{}\n{}\n")

    require_results(tmp_path, {0: 2})
