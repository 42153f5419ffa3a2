"""Derive the parameters of a command from the signature of its call."""

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

import rich_click as click

from rolecall.cli.options import A_PERSON, HELP, PEOPLE, WORDS
from rolecall.client import calls
from rolecall.client.answers import Json


def parameters(noun: str, call: Callable[..., Any]) -> Iterator[click.Parameter]:
    hints = get_type_hints(call)
    for parameter in inspect.signature(call).parameters.values():
        hint, default = hints[parameter.name], parameter.default
        if parameter.kind is parameter.VAR_KEYWORD:
            (fields,) = get_args(hint)
            for name, kind in get_type_hints(fields).items():
                yield _option(noun, name, kind, required=False)
        elif parameter.kind is parameter.KEYWORD_ONLY:
            yield _option(noun, parameter.name, hint, required=default is parameter.empty)
        else:
            yield _argument(noun, parameter.name, hint, required=default is parameter.empty)


def _argument(noun: str, name: str, hint: Any, required: bool) -> click.Parameter:
    settings = _settings(noun, name, hint)
    settings.pop("multiple", None)
    return click.Argument([name], required=required, metavar=_spoken(name).upper(), **settings)


def _option(noun: str, name: str, hint: Any, required: bool) -> click.Parameter:
    word, settings = _spoken(name), _settings(noun, name, hint)
    if hint is bool:
        # Without a default, an omitted flag is not passed on, and the default of the call applies.
        return click.Option([f"--{word}/--no-{word}", name], default=None, help=HELP.get(name))
    if settings.get("multiple"):
        # Each use of a repeatable option gives one value, so its name is in the singular.
        word = word.removesuffix("s")
    words = _known_words(noun, name)
    help = HELP.get(name) or (f"One of {', '.join(words)}." if words else None)
    return click.Option([f"--{word}", name], required=required, help=help, **settings)


def argument_help(call: Callable[..., Any]) -> Iterator[str]:
    """Yield a line of help text for each argument that names a person, because click shows no help for arguments."""
    for parameter in inspect.signature(call).parameters.values():
        if parameter.name in PEOPLE and parameter.kind is parameter.POSITIONAL_OR_KEYWORD:
            yield f"{_spoken(parameter.name).upper()}: {A_PERSON[0].lower()}{A_PERSON[1:]}"


def _spoken(name: str) -> str:
    return name.removesuffix("_ids").removesuffix("_id").replace("_", "-")


def _settings(noun: str, name: str, hint: Any) -> dict[str, Any]:
    """Return the click settings of an option, according to the type hint of the parameter; the default is text."""
    plain = _without_none(hint)
    if plain is int:
        return {"type": click.INT}
    if plain == Mapping[int, str]:
        return {"type": _numbered, "metavar": "NUMBER=TEXT", "multiple": True, "callback": _merged}
    if get_origin(plain) is Sequence and get_args(plain)[0] in (str, calls.Id):
        return {"multiple": True, "shell_complete": _words(noun, name)}
    if plain == Json or get_origin(plain) is Sequence:
        return {"type": json_value, "metavar": "JSON|@FILE"}
    return {"shell_complete": _words(noun, name)}


def _without_none(hint: Any) -> Any:
    if get_origin(hint) not in (Union, UnionType):
        return hint
    rest = [kind for kind in get_args(hint) if kind is not NoneType]
    return rest[0] if len(rest) == 1 else str


def _known_words(noun: str, name: str) -> list[str]:
    return WORDS.get((noun, name)) or WORDS.get(("", name), [])


def _words(noun: str, name: str) -> Callable[[Any, Any, str], list[Any]]:
    words = _known_words(noun, name)
    return lambda _context, _parameter, typed: [word for word in words if word.lower().startswith(typed.lower())]


def json_value(text: str) -> Any:
    """Parse JSON that is given inline, or the content of a file that is given as `@FILE`."""
    import msgspec

    try:
        return msgspec.json.decode(Path(text[1:]).read_bytes() if text.startswith("@") else text.encode())
    except (OSError, msgspec.DecodeError) as error:
        raise click.BadParameter(str(error)) from None


def _numbered(text: str) -> tuple[int, str]:
    number, equals, value = text.partition("=")
    if not equals or not number.isdecimal():
        raise click.BadParameter("write it as 3=Text")
    return int(number), value


def _merged(_context: Any, _parameter: Any, pairs: Sequence[tuple[int, str]]) -> dict[int, str] | None:
    return dict(pairs) or None
