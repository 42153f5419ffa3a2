"""Generate mutants: small wrong variants of a source file, each with one piece of its text replaced.

Python is mutated through its syntax tree, SQL inside string literals by regular expressions.
"""

import ast
import re
from collections.abc import Iterator

import msgspec

Edit = tuple[int, int, str]  # The start, the end and the replacement.


class Mutant(msgspec.Struct, frozen=True):
    file: str
    line: int
    # The first and last line of the statement; a tracer may report any of its lines.
    lines: tuple[int, int]
    # The enclosing function; empty for code that runs on import.
    function: str
    # The names that a top-level statement defines.
    names: tuple[str, ...]
    start: int
    end: int
    text: str
    before: str
    after: str

    @property
    def key(self) -> tuple[str, str, str, str]:
        """Return a key that stays the same when other lines of the file change."""
        return self.file, self.function, self.before, self.after

    def apply(self, source: bytes) -> bytes:
        return source[: self.start] + self.text.encode() + source[self.end :]


_COMPARISONS = {
    ast.Eq: ("==", "!="),
    ast.NotEq: ("!=", "=="),
    ast.Lt: ("<", "<="),
    ast.LtE: ("<=", "<"),
    ast.Gt: (">", ">="),
    ast.GtE: (">=", ">"),
    ast.Is: ("is", "is not"),
    ast.IsNot: (r"is\s+not", "is"),
    ast.In: ("in", "not in"),
    ast.NotIn: (r"not\s+in", "in"),
}
_CALLS = {"any": "all", "all": "any", "min": "max", "max": "min"}
_SQL = re.compile(r"\b(SELECT|UPDATE|DELETE FROM|WHERE|ORDER BY|JOIN|FROM|AND)\b|%\(\w+\)s")
# The end of a condition or sort term, outside parentheses.
_STOP = re.compile(
    r"\b(AND|OR|WHERE|GROUP|HAVING|ORDER|LIMIT|OFFSET|FOR|RETURNING|UNION|EXCEPT|JOIN|LEFT|CROSS|THEN|DO|ASC|DESC)\b|[,;\"]"
)
_REPLACED = [
    (r"(?<![-<>@!=:])<>(?![-<>@=])", "="),
    (r"(?<![-<>@!=:])<=(?![-<>@=])", "<"),
    (r"(?<![-<>@!=:])>=(?![-<>@=])", ">"),
    (r"(?<![-<>@!=:])<(?![-<>@=])", "<="),
    (r"(?<![-<>@!=:])>(?![-<>@=])", ">="),
    (r"\bAND\b", "OR"),
    (r"(?<!CREATE )\bOR\b", "AND"),
    (r"\bIS NULL\b", "IS NOT NULL"),
    (r"\bIS NOT NULL\b", "IS NULL"),
    (r"\bIS DISTINCT FROM\b", "IS NOT DISTINCT FROM"),
    (r"\bIS NOT DISTINCT FROM\b", "IS DISTINCT FROM"),
    (r"(?<!NOT )(?<!IF )\bEXISTS\b", "NOT EXISTS"),
    (r"(?<!IS )\bNOT (?!NULL|MATERIALIZED)", ""),
    (r"(?<!NOT )\bIN (?=\()", "NOT IN "),
    (r"\bDESC\b", "ASC"),
    (r"\bASC\b", "DESC"),
    (r"\bLEFT JOIN\b", "JOIN"),
    (r"\bmin(?=\()", "max"),
    (r"\bmax(?=\()", "min"),
    (r"\bbool_and(?=\()", "bool_or"),
    (r"\bbool_or(?=\()", "bool_and"),
    (r"\btrue\b", "false"),
    (r"\bfalse\b", "true"),
    (r"'[A-Z][A-Za-z -]*'", "'Other'"),
    (r' COLLATE "\w+"', ""),
]
_REPLACEMENTS = [(re.compile(pattern), text) for pattern, text in _REPLACED]
_EQUALS = re.compile(r"(?<![<>!=:])=(?![=>])")
_ASSIGNMENTS = re.compile(r"\bSET\b.*?(?=\bWHERE\b|\bFROM\b|\bRETURNING\b|\"\"\"|$)", re.DOTALL)
_CONDITION = re.compile(r"\b(WHERE|HAVING|AND|(?<!DISTINCT )ON(?! CONFLICT| true))\s+")


def sql_edits(literal: str) -> Iterator[Edit]:
    """Yield the mutations of the SQL in a string literal, outside the braces of an f-string."""
    text = re.sub(r"\{[^{}]*\}", lambda hole: "x" * len(hole[0]), literal)
    for pattern, replacement in _REPLACEMENTS:
        for found in pattern.finditer(text):
            yield found.start(), found.end(), replacement
    assigned = [found.span() for found in _ASSIGNMENTS.finditer(text)]
    for found in _EQUALS.finditer(text):
        if not any(start <= found.start() < end for start, end in assigned):
            yield found.start(), found.end(), "<>"
    for found in _CONDITION.finditer(text):
        end = _end_of_term(text, found.end())
        if text[found.end() : end] not in ("", "true"):
            yield found.end(), end, "true"
    for found in re.finditer(r"\bORDER BY\s+", text):
        end = _end_of_term(text, found.end())
        if not re.match(r"\s*(ASC|DESC)\b", text[end:]):
            yield end, end, " DESC"


def _end_of_term(text: str, start: int) -> int:
    depth, at = 0, start
    while at < len(text):
        if depth == 0 and (_STOP.match(text, at) or text[at] == ")"):
            break
        depth += {"(": 1, ")": -1}.get(text[at], 0)
        at += 1
    return start + len(text[start:at].rstrip())


class _Walk:
    def __init__(self, file: str, source: bytes) -> None:
        self.file, self.source = file, source
        self.lines = source.split(b"\n")
        self.starts = [0]
        for line in self.lines:
            self.starts.append(self.starts[-1] + len(line) + 1)
        self.found: dict[Edit, Mutant] = {}
        self.function = ""
        self.names: tuple[str, ...] = ()
        self.statement = (0, 0)

    def span(self, node: ast.AST) -> tuple[int, int]:
        assert isinstance(node, ast.expr | ast.stmt)
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        return (
            self.starts[node.lineno - 1] + node.col_offset,
            self.starts[node.end_lineno - 1] + node.end_col_offset,
        )

    def add(self, start: int, end: int, text: str) -> None:
        line = self.source.count(b"\n", 0, start)
        first, last = self.starts[line], self.starts[self.source.count(b"\n", 0, end) + 1]
        before = " ".join(self.source[first:last].decode().split())
        changed = self.source[first:start] + text.encode() + self.source[end:last]
        after = " ".join(changed.decode().split())
        where = (self.file, line + 1, self.statement, self.function, self.names)
        self.found.setdefault((start, end, text), Mutant(*where, start, end, text, before, after))

    def replace(self, node: ast.AST, text: str) -> None:
        self.add(*self.span(node), text)

    def between(self, left: ast.AST, right: ast.AST, pattern: str, text: str) -> None:
        start, end = self.span(left)[1], self.span(right)[0]
        word = pattern if not pattern[0].isalpha() else rf"\b{pattern}\b"
        if found := re.search(word.encode(), self.source[start:end]):
            self.add(start + found.start(), start + found.end(), text)

    def top(self, node: ast.stmt, owner: str = "") -> None:
        """Walk a statement of a module or class body."""
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            self.names = self.names if owner else (node.name,)
            for outside in (*node.decorator_list, *node.args.defaults, *filter(None, node.args.kw_defaults)):
                self.walk(outside)
            self.function = f"{owner}{node.name}"
            self.body(node.body)
            self.function = ""
        elif isinstance(node, ast.ClassDef):
            self.names = self.names if owner else (node.name,)
            for statement in _without_docstring(node.body):
                self.top(statement, f"{owner}{node.name}.")
        elif not isinstance(node, ast.Import | ast.ImportFrom | ast.If):
            targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
            names = [name.id for target in targets if target for name in ast.walk(target) if isinstance(name, ast.Name)]
            self.names = self.names if owner else tuple(names)
            self.walk(node)

    def body(self, statements: list[ast.stmt]) -> None:
        for statement in _without_docstring(statements):
            self.walk(statement)

    def walk(self, node: ast.AST) -> None:
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                self.body(node.body)
                return
            case ast.AnnAssign():
                if node.value:
                    self.walk(node.value)
                return
            case ast.JoinedStr():
                self.literal(node)
                return
            case ast.keyword(arg="strict"):
                # `strict=` of `zip` only asserts that lengths are equal.
                return
        outer = self.statement
        if isinstance(node, ast.stmt):
            body = getattr(node, "body", None)
            last = body[0].lineno - 1 if body else node.end_lineno
            self.statement = (node.lineno, max(node.lineno, last or 0))
        self.mutate(node)
        for child in ast.iter_child_nodes(node):
            self.walk(child)
        self.statement = outer

    def literal(self, node: ast.expr) -> None:
        start, end = self.span(node)
        text = self.source[start:end].decode()
        if _SQL.search(text):
            for first, last, replacement in sql_edits(text):
                offset, length = len(text[:first].encode()), len(text[first:last].encode())
                self.add(start + offset, start + offset + length, replacement)

    def mutate(self, node: ast.AST) -> None:
        match node:
            case ast.Constant(value=bool()):
                self.replace(node, str(not node.value))
            case ast.Constant(value=int() as number):
                self.replace(node, str(number + 1))
            case ast.Constant(value=str()):
                self.literal(node)
            case ast.Compare():
                operands = [node.left, *node.comparators]
                for operator, left, right in zip(node.ops, operands, operands[1:], strict=False):
                    self.between(left, right, *_COMPARISONS[type(operator)])
                    if isinstance(operator, ast.In | ast.NotIn):
                        self.elements(right)
            case ast.BoolOp(op=operator):
                words = ("and", "or") if isinstance(operator, ast.And) else ("or", "and")
                for left, right in zip(node.values, node.values[1:], strict=False):
                    self.between(left, right, *words)
            case ast.BinOp(op=ast.Add() | ast.Sub() as operator):
                signs = (r"\+", "-") if isinstance(operator, ast.Add) else ("-", "+")
                if not any(isinstance(side, ast.JoinedStr | ast.List) for side in (node.left, node.right)):
                    self.between(node.left, node.right, *signs)
            case ast.UnaryOp(op=ast.Not()):
                start, _ = self.span(node)
                self.add(start, start + len("not "), "")
            case ast.Set():
                self.elements(node)
            case ast.Call(func=ast.Name(id=name)) if name in _CALLS:
                self.replace(node.func, _CALLS[name])
            case ast.Expr(value=ast.Call() | ast.Await() | ast.Yield()):
                self.replace(node, "pass")
            case ast.Return(value=ast.expr() as value) if not isinstance(value, ast.Constant):
                self.replace(value, "None")
            case ast.Assign(value=ast.Tuple() as value) if not self.function:
                self.elements(value)
        conditions = [getattr(node, "test", None), getattr(node, "guard", None), *getattr(node, "ifs", ())]
        for condition in conditions:
            if condition and not any(isinstance(part, ast.NamedExpr) for part in ast.walk(condition)):
                # Assertions are for the type checker: mutating them to True changes nothing.
                if not isinstance(node, ast.Assert) and not isinstance(condition, ast.Constant):
                    self.replace(condition, "True")
                if not isinstance(node, ast.While):
                    self.replace(condition, "False")

    def elements(self, node: ast.AST) -> None:
        """Replace each name in a collection of names with the next one: one name is missing, another occurs twice."""
        names: list[ast.expr] = getattr(node, "elts", [])
        if len(names) > 1 and all(isinstance(name, ast.Name | ast.Attribute) for name in names):
            for name, other in zip(names, [*names[1:], names[0]], strict=True):
                self.replace(name, ast.unparse(other))


def _without_docstring(body: list[ast.stmt]) -> list[ast.stmt]:
    match body:
        case [ast.Expr(value=ast.Constant()), *rest]:
            return rest
    return body


def mutants_of(file: str, source: bytes) -> list[Mutant]:
    """Return all mutants of a file, in the order of its text."""
    walk = _Walk(file, source)
    for statement in _without_docstring(ast.parse(source).body):
        walk.names = ()
        walk.top(statement)
    return sorted(walk.found.values(), key=lambda mutant: (mutant.start, mutant.end, mutant.text))
