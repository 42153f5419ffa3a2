"""Fill templates such as `{firstName}.{lastName|lower}` with the fields of a person."""

import re
from collections.abc import Callable, Mapping

from rolecall.carriers.model import Inexpressible

# The fields of an identity, in the order of the columns that `request_facts.py` reads.
STORED = (
    "identityId",
    "firstName",
    "lastName",
    "email",
    "employeeId",
    "type",
    "title",
    "company",
    "division",
    "department",
    "office",
)
FIELDS = (*STORED, "username")
_FORMS: dict[str, Callable[[str], str]] = {
    "lower": str.lower,
    "upper": str.upper,
    "first": lambda text: text[:1],
    "local": lambda text: text.partition("@")[0],
}
_PLACE = re.compile(r"\{([^{}|]*)((?:\|[^{}|]*)*)\}")
_LONGEST = 1024


def template_problem(template: str) -> str | None:
    """Return why a template is invalid; None if it is valid."""
    for field, forms in _PLACE.findall(template):
        if field not in FIELDS:
            return f"{{{field}}} is unknown; use one of {', '.join(FIELDS)}"
        for form in filter(None, forms.split("|")):
            if form not in _FORMS:
                return f"|{form} is unknown; use one of {', '.join(_FORMS)}"
    return "Braces must enclose the name of a field" if set(_PLACE.sub("", template)) & set("{}") else None


def filled(template: str, person: Mapping[str, str]) -> str:
    """Return the template filled with the person's fields; raise Inexpressible if a field or the result is unusable."""

    def value(place: re.Match[str]) -> str:
        text = person[place[1]].strip()
        if not text:
            # An empty field must not give a name such as `.lovelace`.
            raise Inexpressible(f"the person has no {place[1]}, which the carrier needs for {template}")
        for form in filter(None, place[2].split("|")):
            text = _FORMS[form](text)
        return text

    made = _PLACE.sub(value, template).strip()
    if not made or not made.isprintable() or len(made) > _LONGEST:
        raise Inexpressible(
            f"{template} gives a value that is blank, unprintable or longer than {_LONGEST:,} characters; "
            "correct the template or the person"
        )
    return made
