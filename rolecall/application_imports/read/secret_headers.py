"""Recognize columns that hold secrets. They are not kept, unless a shape names them in `keep`."""

from collections.abc import Iterable, Sequence

from rolecall.applications.model import same_header
from rolecall.core.secret_names import looks_secret


def secret_headers(headers: Sequence[str], keep: Iterable[str]) -> list[str]:
    kept = {same_header(header) for header in keep}
    return [header for header in headers if looks_secret(header) and same_header(header) not in kept]
