"""Copy third-party browser code from the Python packages that contain it to static folders, and verify its checksum."""

import hashlib
import re
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from zipfile import ZipFile

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

ROOT = Path(__file__).parent
STATIC = ROOT / "rolecall" / "console" / "static"
TEMPLATES = ROOT / "rolecall" / "console"
_SWAGGER = "static/drf_spectacular_sidecar/swagger-ui-dist"
# Each package with its file, the target and the SHA-256 of the file.
TAKEN = (
    ("django_htmx", "static/django_htmx/htmx-2.min.js", "rolecall/console/static/htmx.min.js",
     "71ea67185bfa8c98c39d31717c6fce5d852370fcdfd129db4543774d3145c0de"),
    ("drf_spectacular_sidecar", f"{_SWAGGER}/swagger-ui-bundle.js", "rolecall/web/static/swagger-ui-bundle.js",
     "050bc415ee7048dcd881682678f720264e7da5e373f7461d7c58c755305255f7"),
    ("drf_spectacular_sidecar", f"{_SWAGGER}/swagger-ui.css", "rolecall/web/static/swagger-ui.css",
     "1ac324f7dcd27e4b9386b4bd6421271ec147e922a22c05ba24b11515e9aa6321"),
)  # fmt: skip
_ICON = re.compile(r"""icon\("([a-z0-9-]+)"\)|"[^"]*", "/[^"]*", "([a-z0-9-]+)",""")


class TakeBrowserCode(BuildHookInterface):  # type: ignore[type-arg]
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        for package, source, target, sha256 in TAKEN:
            content = (folder_of(package) / source).read_bytes()
            if hashlib.sha256(content).hexdigest() != sha256:
                raise SystemExit(f"{source} is not the file this version was built with; verify it, then change TAKEN")
            (ROOT / target).write_bytes(content)
        (STATIC / "icons.svg").write_text(sprite(sorted(icons_used())))
        build_data["artifacts"] += [*(target for _, _, target, _ in TAKEN), "rolecall/console/static/icons.svg"]


def folder_of(package: str) -> Path:
    """Find a package without importing it: some would import Django, which is not installed."""
    found = find_spec(package)
    assert found
    assert found.origin
    return Path(found.origin).parent


def icons_used() -> set[str]:
    texts = [file.read_text() for file in [*TEMPLATES.rglob("*.html"), *TEMPLATES.rglob("*.py")]]
    return {first or second for text in texts for first, second in _ICON.findall(text)}


def sprite(names: list[str]) -> str:
    archive = ZipFile(folder_of("lucide") / "lucide.zip")
    symbols = "".join(_symbol(name, archive.read(f"{name}.svg").decode()) for name in names)
    return f'<svg xmlns="http://www.w3.org/2000/svg">{symbols}</svg>'


def _symbol(name: str, svg: str) -> str:
    shapes = " ".join(svg.partition(">")[2].rpartition("</svg>")[0].split())
    return (
        f'<symbol id="{name}" viewBox="0 0 24 24" fill="none" stroke="currentColor" stroke-width="2"'
        f' stroke-linecap="round" stroke-linejoin="round">{shapes}</symbol>'
    )
