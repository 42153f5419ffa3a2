"""Create the Jinja environments of the packages that render HTML."""

from collections.abc import Callable
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined


def environment(package: str, **filters: Callable[..., Any]) -> Environment:
    """Return an autoescaping environment for the templates of a package; an unknown name in a template is an error."""
    made = Environment(
        loader=PackageLoader(package),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= filters
    return made
