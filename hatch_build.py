"""Takes the console's third-party browser code out of the packages that carry it, checked, into the static folder."""

import hashlib
import re
from importlib.resources import files
from pathlib import Path
from typing import Any
from zipfile import ZipFile

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

STATIC = Path(__file__).parent / "rolecall" / "console" / "static"
TEMPLATES = Path(__file__).parent / "rolecall" / "console"
HTMX_SHA256 = "71ea67185bfa8c98c39d31717c6fce5d852370fcdfd129db4543774d3145c0de"
_ICON = re.compile(r"""icon\("([a-z0-9-]+)"\)|"[^"]*", "/[^"]*", "([a-z0-9-]+)",""")


class TakeBrowserCode(BuildHookInterface):  # type: ignore[type-arg]
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        htmx = files("django_htmx").joinpath("static/django_htmx/htmx-2.min.js").read_bytes()
        if hashlib.sha256(htmx).hexdigest() != HTMX_SHA256:
            raise SystemExit("htmx is not the file this version was made with; check it, then change HTMX_SHA256")
        (STATIC / "htmx.min.js").write_bytes(htmx)
        (STATIC / "icons.svg").write_text(sprite(sorted(icons_used())))
        build_data["artifacts"] += ["rolecall/console/static/htmx.min.js", "rolecall/console/static/icons.svg"]


def icons_used() -> set[str]:
    texts = [file.read_text() for file in [*TEMPLATES.rglob("*.html"), *TEMPLATES.rglob("*.py")]]
    return {first or second for text in texts for first, second in _ICON.findall(text)}


def sprite(names: list[str]) -> str:
    archive = ZipFile(files("lucide").joinpath("lucide.zip").open("rb"))
    symbols = "".join(_symbol(name, archive.read(f"{name}.svg").decode()) for name in names)
    return f'<svg xmlns="http://www.w3.org/2000/svg">{symbols}</svg>'


def _symbol(name: str, svg: str) -> str:
    shapes = " ".join(svg.partition(">")[2].rpartition("</svg>")[0].split())
    return (
        f'<symbol id="{name}" viewBox="0 0 24 24" fill="none" stroke="currentColor" stroke-width="2"'
        f' stroke-linecap="round" stroke-linejoin="round">{shapes}</symbol>'
    )
