"""Compile filters to SQL over stored resources. To prevent SQL injection, values and paths are query parameters.

Frequent filters of identity providers, such as `userName eq`, use indexes (`uses_index`).
"""

import msgspec

from rolecall.core.ids import guid
from rolecall.core.text import name_key
from rolecall.scim_server.filters import (
    EQUALITIES,
    OF_TEXTS,
    AllOf,
    AnyOf,
    CompareOperator,
    Comparison,
    Filter,
    Negation,
    Presence,
    ScalarValue,
    ValueFilter,
    as_flag,
    as_moment,
    invalid_filter,
)
from rolecall.scim_server.schema import MEMBERS, AttributePath, ResourceType, find_path

_SIGNS = {
    CompareOperator.EQ: "=",
    CompareOperator.GT: ">",
    CompareOperator.GE: ">=",
    CompareOperator.LT: "<",
    CompareOperator.LE: "<=",
}
# The parts of a path inside a value filter, as in `manager.value`.
_MOST_PARTS = 2
# Do not use LIKE, which treats `%` and `_` in a value as wildcards.
_TEXT = {
    CompareOperator.CO: "strpos({found}, {wanted}) > 0",
    CompareOperator.SW: "starts_with({found}, {wanted})",
    CompareOperator.EW: "right({found}, length({wanted})) = {wanted}",
}
_META = ("resourcetype", "created", "lastmodified", "location", "version")
_MOMENTS = {"created": "r.created_at", "lastmodified": "r.changed_at"}
_MEMBERS = """(SELECT jsonb_strip_nulls(jsonb_build_object(
                   'value', m.member_id, 'display', nullif(m.display, ''), 'type', u.kind)) AS v
               FROM scim_members m JOIN scim_resources u ON u.id = m.member_id WHERE m.group_id = r.id) AS e"""


def uses_index(term: Filter, kind: ResourceType) -> bool:
    """Return whether the filter can use an index instead of reading every resource."""
    if isinstance(term, AllOf):
        return any(uses_index(each, kind) for each in term.terms)
    if not isinstance(term, Comparison) or term.operator is not CompareOperator.EQ or not isinstance(term.value, str):
        return False
    names = [key.lower() for key in find_path(term.path, kind).keys]
    return names in (["id"], [kind.naming.lower()], ["externalid"], [MEMBERS], [MEMBERS, "value"])


class SqlFilter:
    """Compile one filter. `params` collects the parameters of the SQL."""

    def __init__(self, kind: ResourceType) -> None:
        self._kind = kind
        self.params: dict[str, object] = {}

    def compile(self, term: Filter) -> str:
        match term:
            case AllOf(terms=terms):
                return self._joined(" AND ", [self.compile(each) for each in terms])
            case AnyOf(terms=terms):
                return self._joined(" OR ", [self.compile(each) for each in terms])
            case Negation(term=inner):
                return _negated(self.compile(inner))
            case ValueFilter():
                return self._value_filter(term)
            case Presence(path=path):
                return self._presence(find_path(path, self._kind))
            case Comparison():
                return self._comparison(term)

    def _joined(self, word: str, terms: list[str]) -> str:
        return f"({word.join(terms)})"

    def _comparison(self, term: Comparison) -> str:
        path = find_path(term.path, self._kind)
        if indexed := self._indexed(path, term):
            return indexed
        if term.operator is CompareOperator.NE:
            # Negate the whole condition, so that `ne` also matches resources without the attribute.
            return _negated(self._comparison(msgspec.structs.replace(term, operator=CompareOperator.EQ)))
        if term.value is None:
            # Attributes with the value null are not stored, so `eq null` means that the attribute is absent.
            self._require_equality(term)
            return _negated(self._exists(path, "true"))
        is_exact = path.declared is not None and path.declared.case_exact
        value = as_flag(term.value) if path.declared and path.declared.type == "boolean" else term.value
        # Compare `emails.value` where a filter names only `emails`.
        if path.declared and path.declared.type == "complex" and "value" in path.declared.parts and not path.part:
            path = path._replace(part="value")
        return self._exists(path, self._test("v", term.operator, value, is_exact))

    def _indexed(self, path: AttributePath, term: Comparison) -> str | None:
        names = [key.lower() for key in path.keys]
        if names == ["id"] and term.operator is CompareOperator.EQ:
            # A value that is not a GUID becomes NULL, which matches no resource.
            return f"r.id = {self._param(guid(str(term.value)))}::uuid"
        if names[0] == "meta":
            return self._meta(names, term)
        if term.operator is not CompareOperator.EQ or not isinstance(term.value, str):
            return None
        if names == [self._kind.naming.lower()]:
            return f"r.name_key = {self._param(name_key(term.value))}"
        if names == ["externalid"]:
            return f"r.external_id = {self._param(term.value)}"
        if names in ([MEMBERS], [MEMBERS, "value"]):
            member = self._param(guid(term.value))
            return f"r.id IN (SELECT group_id FROM scim_members WHERE member_id = {member}::uuid)"
        return None

    def _meta(self, names: list[str], term: Comparison) -> str:
        column = _MOMENTS.get(names[-1]) if len(names) == 2 else None
        if column is None or term.operator in OF_TEXTS:
            raise invalid_filter("Filters on meta can compare only meta.created and meta.lastModified")
        sign = "<>" if term.operator is CompareOperator.NE else _SIGNS[term.operator]
        return f"{column} {sign} {self._param(as_moment(term.value))}::timestamptz"

    def _presence(self, path: AttributePath) -> str:
        names = [key.lower() for key in path.keys]
        if names[0] == "meta":
            # Every resource has it, but it is not stored with the other attributes.
            return "true" if names[-1] in ("meta", *_META) else "false"
        return self._exists(path, "v NOT IN ('null', '\"\"', '[]', '{}')")

    def _value_filter(self, term: ValueFilter) -> str:
        path = find_path(term.path, self._kind)
        if path.keys[0] in ("id", "meta"):
            raise invalid_filter(f"{path.keys[0]} cannot have a value filter")
        inner = self._inner(term.term, path)
        if term.then:
            inner = f"({inner} AND {self._inner(term.then, path)})"
        return f"EXISTS (SELECT FROM {self._list(path)} WHERE {inner})"

    def _inner(self, term: Filter, path: AttributePath) -> str:
        """Compile a filter on the elements of a list; `e.v` is the element."""
        match term:
            case AllOf(terms=terms):
                return self._joined(" AND ", [self._inner(each, path) for each in terms])
            case AnyOf(terms=terms):
                return self._joined(" OR ", [self._inner(each, path) for each in terms])
            case Negation(term=negated):
                return _negated(self._inner(negated, path))
            case Presence(path=name):
                return f"coalesce({self._part(name, path)} NOT IN ('null', '\"\"', '[]', '{{}}'), false)"
            case Comparison():
                return self._inner_comparison(term, path)
            case ValueFilter():
                raise invalid_filter("A value filter cannot contain another one")

    def _inner_comparison(self, term: Comparison, path: AttributePath) -> str:
        if term.operator is CompareOperator.NE:
            equal = msgspec.structs.replace(term, operator=CompareOperator.EQ)
            return _negated(self._inner_comparison(equal, path))
        part = self._part(term.path, path)
        if term.value is None:
            self._require_equality(term)
            return f"({part} IS NULL)"
        declared = path.declared.parts.get(term.path.lower()) if path.declared else None
        value = as_flag(term.value) if declared and declared.type == "boolean" else term.value
        return self._test(part, term.operator, value, bool(declared and declared.case_exact))

    def _part(self, name: str, path: AttributePath) -> str:
        declared = path.declared.parts.get(name.lower()) if path.declared else None
        keys = [declared.name] if declared else name.split(".")
        if len(keys) > _MOST_PARTS:
            raise invalid_filter(f"{name[:50]!r} has too many parts")
        return f"(e.v{''.join(f' -> {self._param(key)}::text' for key in keys)})"

    def _list(self, path: AttributePath) -> str:
        if path.keys == [MEMBERS]:
            return _MEMBERS
        return f"(SELECT v FROM jsonb_path_query(r.resource, {self._param(_json_path(path))}::jsonpath) AS v) AS e"

    def _exists(self, path: AttributePath, test: str) -> str:
        if path.keys == ["id"]:
            return f"EXISTS (SELECT FROM (SELECT to_jsonb(r.id) AS v) AS found WHERE {test})"
        if path.keys[0] == MEMBERS:
            inner = f"(SELECT e.v -> {self._param(path.part or 'value')}::text AS v FROM {_MEMBERS}) AS found"
            return f"EXISTS (SELECT FROM {inner} WHERE v IS NOT NULL AND {test})"
        found = f"jsonb_path_query(r.resource, {self._param(_json_path(path))}::jsonpath)"
        return f"EXISTS (SELECT FROM {found} AS v WHERE {test})"

    def _test(self, found: str, operator: CompareOperator, value: ScalarValue | object, is_exact: bool) -> str:
        """Compile a comparison of a JSON value. A number or boolean matches only values of its own type."""
        # Return false, not NULL, for a missing value: the negation of NULL would not match either.
        if isinstance(value, bool | int | float):
            wanted = f"{self._param(msgspec.json.encode(value).decode())}::jsonb"
            if operator in OF_TEXTS or (isinstance(value, bool) and operator not in EQUALITIES):
                kind = "booleans" if isinstance(value, bool) else "numbers"
                raise invalid_filter(f"{operator} cannot compare {kind}")
            same_type = f"jsonb_typeof({found}) = jsonb_typeof({wanted})"
            return f"coalesce({same_type} AND {found} {_SIGNS[operator]} {wanted}, false)"
        text, wanted = f"({found} #>> '{{}}')", f"{self._param(value)}::text"
        if not is_exact:
            text, wanted = f"lower({text})", f"lower({wanted})"
        if operator in OF_TEXTS:
            return f"coalesce({_TEXT[operator].format(found=text, wanted=wanted)}, false)"
        # Compare by code point, as `matches` does, regardless of the collation of the database.
        return f'coalesce({text} {_SIGNS[operator]} {wanted} COLLATE "C", false)'

    def _require_equality(self, term: Comparison) -> None:
        if term.operator not in EQUALITIES:
            raise invalid_filter(f"{term.operator} cannot compare with null")

    def _param(self, value: object) -> str:
        name = f"f{len(self.params)}"
        self.params[name] = value
        return f"%({name})s"


def _negated(condition: str) -> str:
    # NOT alone would leave out resources for which the condition is NULL because a value is missing.
    return f"(({condition}) IS NOT TRUE)"


def _json_path(path: AttributePath) -> str:
    """Return a jsonpath in lax mode, which also searches the elements of lists at each step."""
    steps = "".join(f".{msgspec.json.encode(key).decode()}" for key in path.keys)
    return f"${steps}[*]"
