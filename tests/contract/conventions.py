"""The rules of the code base as functions: a parsed module → its offences. Reads no files.

`test_conventions.py` runs every rule over `src/tacit` and shows that every rule can fail.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath

FILE_LINES_MAX = 700
FUNCTION_LINES_MAX = 60
POSITIONAL_MAX = 2
PUBLIC_METHODS_MAX = 30

BROAD_EXCEPT_ALLOWED = {
    "surfaces/cli/__init__.py",
    "surfaces/hook/entry.py",
    "surfaces/hook/learner.py",
    "evidence/journal_uses.py",
    "features/evaluate/actors/external.py",
}
"""Where a process ends, and where somebody else's function is called, which may raise anything."""
ENVIRONMENT_ALLOWED = ("config.py", "config/")
PURE = ("domain/", "text/")
Function = ast.FunctionDef | ast.AsyncFunctionDef
LOOKED_AT = (ast.ClassDef, ast.ExceptHandler, ast.Call, ast.Attribute, ast.Import, ast.ImportFrom)


@dataclass(frozen=True, slots=True)
class Module:
    """One source file: its path below `src/tacit`, its text, its tree and, found once for all rules, nodes and functions."""

    path: str
    text: str
    tree: ast.Module
    nodes: tuple[ast.AST, ...]
    """Those of the kinds that a rule looks at."""
    functions: tuple[Definition, ...]

    @classmethod
    def parse(cls, path: str, text: str) -> Module:
        tree = ast.parse(text)
        nodes = tuple(node for node in ast.walk(tree) if isinstance(node, LOOKED_AT))
        return cls(path, text, tree, nodes, tuple(_definitions(tree, prefix="", owner=None, public=True)))

    @property
    def lines(self) -> int:
        return len(self.text.splitlines())


@dataclass(frozen=True, slots=True)
class Definition:
    """A function with the names that lead to it and the class it belongs to, if any."""

    name: str
    node: Function
    owner: ast.ClassDef | None
    public: bool

    @property
    def lines(self) -> int:
        return (self.node.end_lineno or self.node.lineno) - self.node.lineno + 1

    @property
    def positional(self) -> list[ast.arg]:
        """Parameters that may be given by position, without self or cls."""
        arguments = [*self.node.args.posonlyargs, *self.node.args.args]
        bound = self.owner is not None and "staticmethod" not in _decorators(self.node)
        return arguments[1:] if bound else arguments

    @property
    def is_command(self) -> bool:
        """Whether a CLI framework calls it, so that its parameters are the command's options."""
        last_words = {name.rsplit(".", 1)[-1] for name in _decorators(self.node)}
        return bool(last_words & {"command", "group", "option", "argument"})


Offence = tuple[int, str]
Rule = Callable[[Module], Iterator[Offence]]


def _definitions(parent: ast.AST, *, prefix: str, owner: ast.ClassDef | None, public: bool) -> Iterator[Definition]:
    """Every function below a node, nested ones too; an expression holds none."""
    for node in ast.iter_child_nodes(parent):
        if isinstance(node, ast.expr):
            continue
        if isinstance(node, Function):
            seen = public and not node.name.startswith("_")
            yield Definition(prefix + node.name, node, owner, seen)
            yield from _definitions(node, prefix=f"{prefix}{node.name}.", owner=None, public=False)
        elif isinstance(node, ast.ClassDef):
            seen = public and not node.name.startswith("_")
            yield from _definitions(node, prefix=f"{prefix}{node.name}.", owner=node, public=seen)
        else:
            yield from _definitions(node, prefix=prefix, owner=owner, public=public)


def _decorators(node: Function | ast.ClassDef) -> list[str]:
    calls = (d.func if isinstance(d, ast.Call) else d for d in node.decorator_list)
    return [ast.unparse(call) for call in calls]


def file_fits(module: Module) -> Iterator[Offence]:
    if module.lines > FILE_LINES_MAX:
        yield 1, f"{module.lines} lines, at most {FILE_LINES_MAX}"


def functions_fit(module: Module) -> Iterator[Offence]:
    for item in module.functions:
        if item.lines > FUNCTION_LINES_MAX:
            yield item.node.lineno, f"{item.name} has {item.lines} lines, at most {FUNCTION_LINES_MAX}"


def options_are_keyword_only(module: Module) -> Iterator[Offence]:
    for item in module.functions:
        # An option is a parameter with a default; required ones may follow by position.
        options = item.positional[len(item.positional) - len(item.node.args.defaults) :]
        late = [argument.arg for argument in item.positional[POSITIONAL_MAX:] if argument in options]
        if late and item.public and not item.is_command:
            yield item.node.lineno, f"{item.name}: make {', '.join(late)} keyword-only"


def classes_are_small(module: Module) -> Iterator[Offence]:
    for node in module.nodes:
        if not isinstance(node, ast.ClassDef) or _may_be_large(module, node):
            continue
        methods = [n for n in node.body if isinstance(n, Function) and not n.name.startswith("_")]
        if len(methods) > PUBLIC_METHODS_MAX:
            yield node.lineno, f"{node.name} has {len(methods)} public methods, at most {PUBLIC_METHODS_MAX}"


def _may_be_large(module: Module, node: ast.ClassDef) -> bool:
    return module.path.startswith("store/") and node.name == "Store"


def module_has_docstring(module: Module) -> Iterator[Offence]:
    if PurePosixPath(module.path).name == "__init__.py" and not module.text.strip():
        return
    if len((ast.get_docstring(module.tree) or "").split()) < 2:
        yield 1, "open the module with its job: input, output, and what it does not do"


def excepts_are_narrow(module: Module) -> Iterator[Offence]:
    if module.path in BROAD_EXCEPT_ALLOWED:
        return
    for node in module.nodes:
        if isinstance(node, ast.ExceptHandler) and (node.type is None or _is_broad(node.type)):
            if _passes_on(node):
                continue
            yield node.lineno, "name the errors this expects"
        elif isinstance(node, ast.Call) and _is_broad_suppress(node):
            yield node.lineno, "name the errors this suppresses"


def _passes_on(handler: ast.ExceptHandler) -> bool:
    """Whether it only cleans up and raises the same error again: that swallows nothing."""
    last = handler.body[-1]
    return isinstance(last, ast.Raise) and last.exc is None


def _is_broad_suppress(call: ast.Call) -> bool:
    name = getattr(call.func, "attr", getattr(call.func, "id", ""))
    return name == "suppress" and any(_is_broad(kind) for kind in call.args)


def _is_broad(caught: ast.expr) -> bool:
    kinds = caught.elts if isinstance(caught, ast.Tuple) else [caught]
    return any(ast.unparse(kind) in {"Exception", "BaseException"} for kind in kinds)


def environment_is_read_in_config(module: Module) -> Iterator[Offence]:
    if module.path.startswith(ENVIRONMENT_ALLOWED):
        return
    readers = {"environ", "environb", "getenv"}
    for node in module.nodes:
        if isinstance(node, ast.Attribute) and node.attr in readers and ast.unparse(node.value) == "os":
            yield node.lineno, f"os.{node.attr} belongs to config"
        elif isinstance(node, ast.ImportFrom) and node.module == "os":
            for name in sorted(readers & {alias.name for alias in node.names}):
                yield node.lineno, f"os.{name} belongs to config"


def imports_are_absolute(module: Module) -> Iterator[Offence]:
    for node in module.nodes:
        if isinstance(node, ast.ImportFrom) and node.level:
            yield node.lineno, "import from the defining module by its full name"


def pure_modules_use_the_standard_library_only(module: Module) -> Iterator[Offence]:
    if not module.path.startswith(PURE):
        return
    for line, name in _imported(module):
        root = name.split(".", 1)[0]
        if root != "tacit" and root not in sys.stdlib_module_names:
            yield line, f"{root} is not in the standard library"


def _imported(module: Module) -> Iterator[tuple[int, str]]:
    for node in module.nodes:
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.lineno, node.module


def surfaces_leave_the_store_alone(module: Module) -> Iterator[Offence]:
    """A surface translates and calls the API; it never reads or writes the store itself."""
    if not module.path.startswith("surfaces"):
        return
    for node in module.nodes:
        if isinstance(node, ast.Attribute) and node.attr == "store" and isinstance(node.ctx, ast.Load):
            owner = ast.unparse(node.value)
            if owner.endswith(("memory", ".context")):
                yield node.lineno, "call a method of the API instead of the store"


def printing_is_for_surfaces(module: Module) -> Iterator[Offence]:
    if module.path.startswith(("surfaces", "features")):
        return
    for node in module.nodes:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print":
            yield node.lineno, "print belongs to surfaces"


RULES: tuple[Rule, ...] = (
    file_fits,
    functions_fit,
    options_are_keyword_only,
    classes_are_small,
    module_has_docstring,
    excepts_are_narrow,
    environment_is_read_in_config,
    imports_are_absolute,
    pure_modules_use_the_standard_library_only,
    surfaces_leave_the_store_alone,
    printing_is_for_surfaces,
)
