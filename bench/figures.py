"""Record results of benchmarks and the bars that they must meet; `python -m bench` prints them in one table."""

import os
from pathlib import Path

import msgspec

FILE = "BENCH_FIGURES"
# The exit status of a benchmark that missed a bar; one that failed with an exception exits with 1.
MISSED = 2


class Found(msgspec.Struct):
    bench: str
    what: str
    value: float
    unit: str = ""
    bar: float | None = None
    # Whether the bar is an upper limit, because lower values are better.
    at_most: bool = False

    @property
    def held(self) -> bool | None:
        if self.bar is None:
            return None
        return self.value <= self.bar if self.at_most else self.value >= self.bar

    @property
    def cells(self) -> tuple[str, str, str, str]:
        bar = "" if self.bar is None else f"{'≤' if self.at_most else '≥'} {shown(self.bar, self.unit)}"
        verdict = {None: "", True: "held", False: "**missed**"}[self.held]
        return f"{self.bench}: {self.what}", shown(self.value, self.unit), bar, verdict


def shown(value: float, unit: str) -> str:
    digits = 0 if abs(value) >= 100 else 1 if abs(value) >= 10 else 2
    return f"{value:,.{digits}f}{' ' if unit[:1].isalpha() else ''}{unit}"


def tell(found: Found) -> bool:
    """Print a result and store it for the table; return False only if the result misses its bar."""
    print("  ".join(cell for cell in found.cells if cell), flush=True)
    if path := os.environ.get(FILE):
        with Path(path).open("ab") as file:
            file.write(msgspec.json.encode(found) + b"\n")
    return found.held is not False


def gathered(path: Path) -> list[Found]:
    return [msgspec.json.decode(line, type=Found) for line in path.read_bytes().splitlines()] if path.exists() else []


def busy_seconds() -> float:
    """Return the CPU time used so far by all programs on all processors."""
    user, nice, system, _, _, *interrupts = map(int, Path("/proc/stat").read_text().splitlines()[0].split()[1:8])
    return (user + nice + system + sum(interrupts)) / os.sysconf("SC_CLK_TCK")
