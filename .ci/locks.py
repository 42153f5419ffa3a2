"""Write and check the lock files of the dependencies in pyproject.toml.

`write` pins the newest versions, `add` keeps the versions that are pinned already, and `check` fails if the
dependencies have changed since the lock files were written.
"""

import hashlib
import json
import subprocess
import sys
import tomllib
from pathlib import Path

PYPROJECT = tomllib.loads(Path("pyproject.toml").read_text())
PROJECT = PYPROJECT["project"]
# The build needs `editables` for an editable install.
BUILD = [*PYPROJECT["build-system"]["requires"], "editables"]
# The build only copies files from django-htmx and drf-spectacular-sidecar, so it does not need their dependencies.
LEFT_OUT = {"requirements-build.lock": ["django", "asgiref", "sqlparse"]}
ASKED = {
    "requirements.lock": PROJECT["dependencies"],
    "requirements-build.lock": BUILD,
    "requirements-lake.lock": PROJECT["optional-dependencies"]["lake"],
    "requirements-dev.lock": PROJECT["optional-dependencies"]["dev"],
    "requirements-bench.lock": PROJECT["optional-dependencies"]["bench"],
    "requirements-ldap.lock": PROJECT["optional-dependencies"]["ldap"],
}


def made_from(file: str) -> str:
    """Return the first line of a lock file: a digest of the dependencies that it was written for."""
    asked = json.dumps([PROJECT["requires-python"], ASKED[file]])
    return f"# make lock, from dependencies {hashlib.sha256(asked.encode()).hexdigest()}\n"


def add() -> None:
    write(keep=True)


def write(keep: bool = False) -> None:
    earlier: list[str] = []
    for file, asked in ASKED.items():
        # The files are installed together: a later file omits the packages of earlier ones, and uses the same versions.
        options = [f"--constraint={name}" for name in earlier]
        # Without --upgrade, uv keeps the versions in the existing file.
        options += [f"--output-file={file}", *([] if keep else ["--upgrade"])]
        options += [f"--no-emit-package={name}" for name in [*names_in(earlier), *LEFT_OUT.get(file, [])]]
        command = ["-m", "uv", "pip", "compile", "-", "--universal", "--generate-hashes", "--no-header", "--quiet"]
        pinned = subprocess.run(
            [sys.executable, *command, "--python-version", "3.11", *options],
            input="\n".join(asked), capture_output=True, text=True, check=False,
        )  # fmt: skip
        if pinned.returncode:
            sys.exit(pinned.stderr)
        Path(file).write_text(made_from(file) + Path(file).read_text())
        earlier.append(file)


def names_in(files: list[str]) -> list[str]:
    lines = [line for file in files for line in Path(file).read_text().splitlines()]
    return [line.partition("==")[0] for line in lines if "==" in line and line[0].isalpha()]


def check() -> None:
    for file in ASKED:
        if not Path(file).is_file() or not Path(file).read_text().startswith(made_from(file)):
            sys.exit(f"{file} does not pin what pyproject.toml asks for: run make lock")


if __name__ == "__main__":
    {"write": write, "add": add, "check": check}[sys.argv[1]]()
