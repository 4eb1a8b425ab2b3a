"""Data flow through the Python scripts of one skill: where secrets are sent, and where fetched or hidden text is run.

Follows values by name through assignments, calls, returns and attributes across all files, and evaluates constant
expressions, without running anything. It ignores branches and order, so it reports too many flows rather than too few.
"""

from __future__ import annotations

import ast
import base64
import binascii
import codecs
import re
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from tacit.domain.candidate import Finding, Severity
from tacit.gate.checks.secret_flows import SECRET_PLACES, HostKind, addresses_in
from tacit.gate.checks.text_segments import TextSegment

SIZE_MAX = 300_000
_ROUNDS = 4
Kinds = frozenset[str]
_NONE: Kinds = frozenset()

_ENVIRONMENT, _FILE, _FETCHED = "all variables", "secret files", "fetched"
_DECODED, _PERSONAL, _MACHINE = "decoded", "personal", "what machine and user this is"
_STOLEN = frozenset({_ENVIRONMENT, _FILE, _PERSONAL})
_NAMES = re.compile(
    r"^(?:socket\.gethostname|socket\.getfqdn|getpass\.getuser|os\.getlogin|os\.uname|platform\.(?:node|uname|platform)|uuid\.getnode)$"
)

_FETCHES = re.compile(
    r"^(?:requests|httpx)\.(?:get|post|request|Session)$|urlopen$|urlretrieve$|^aiohttp\.|^urllib3\.|^http\.client\.|\.recv$|^socket\.create_connection$"
)
_DECODES = re.compile(
    r"b64decode$|b32decode$|b85decode$|a85decode$|a2b_base64$|unhexlify$|fromhex$|^(?:zlib|gzip|lzma|bz2)\.decompress$|^codecs\.decode$|^marshal\.loads$|\.decrypt$"
)
_SENDS = re.compile(
    r"^(?:requests|httpx)\.(?:post|put|patch|get|request)$|^urllib\.request\.(?:urlopen|Request)$|urlopen$|^(?:session|client|s|self\.session|self\.client|http)\.(?:post|put|patch|request)$|"
    r"\.(?:sendall|sendto|sendmail|send_message|storbinary)$|^socket\.gethostbyname$|^socket\.getaddrinfo$|^aiohttp\..*\.post$|^\?\.post$|\.send$|^http\.client\..*request$|\.resolve$|\.urlopen$"
)
_RUNS = re.compile(
    r"^(?:exec|eval|compile|builtins\.exec|builtins\.eval|os\.system|os\.popen|os\.exec[lv]\w{0,3}|subprocess\.(?:run|Popen|call|check_call|check_output|getoutput|getstatusoutput)|runpy\.run_path|marshal\.loads|pickle\.loads|types\.FunctionType|pty\.spawn|asyncio\.create_subprocess_shell|ctypes\.\w*CFUNCTYPE)$"
)
_SECRET_VARIABLE = re.compile(
    r"(?:^|_)(?:SECRET|TOKEN|PASSWORD|PASSWD|PRIVATE|CREDENTIALS?|API_?KEY|ACCESS_KEY|MNEMONIC|SEED|PASSPHRASE|KEY)(?:_|$)",
    re.IGNORECASE,
)
_CARRIER = re.compile(r"\b(?:curl|wget|nc|ncat|scp|rsync|nslookup|Invoke-WebRequest)\b")
_PROGRAMS = re.compile(r"^(?:os\.|subprocess\.|asyncio\.|pty\.)")
_WATCHES = re.compile(
    r"^(?:pyperclip\.paste|ImageGrab\.grab|PIL\.ImageGrab\.grab|pyautogui\.screenshot|mss\.mss|pynput\.keyboard\.Listener|keyboard\.(?:on_press|record|hook)|getpass\.getpass|win32clipboard\.GetClipboardData|browser_cookie3\.\w+|keyring\.get_password|win32crypt\.CryptUnprotectData)$"
)
_SILENT = frozenset(
    {"len", "bool", "isinstance", "print", "int", "float", "hash", "id", "range", "type", "hasattr", "logging.info"}
)
_HIDING = frozenset(
    {"exec", "eval", "system", "popen", "__import__", "Popen", "check_output", "b64decode", "urlopen", "connect"}
)
SUSPECT = re.compile(
    r"while (?:True|1)\b|chr\(|os\.system|subprocess|environ|getenv|\.ssh|\.aws|keyring|b64decode|fromhex|exec\(|eval\(|decompress|urlopen|requests|httpx|socket|__import__|getattr|clipboard|ImageGrab|pynput|marshal|Login Data|wallet|credential|\.netrc|\.gnupg",
    re.IGNORECASE,
)


@dataclass(slots=True)
class _Module:
    segment: TextSegment
    tree: ast.Module
    values: Values
    index: int


@dataclass(slots=True)
class _Program:
    """Kinds of values by name: locals by module and function, functions and attributes for all modules."""

    modules: list[_Module]
    kinds: dict[str, Kinds] = field(default_factory=dict)
    parameters: dict[str, list[str]] = field(default_factory=dict)
    given: set[str] = field(default_factory=set)
    """Parameter names of each function."""
    changed: bool = False

    def add(self, key: str, kinds: Kinds) -> None:
        known = self.kinds.get(key, _NONE)
        if not kinds <= known:
            self.kinds[key] = known | kinds
            self.changed = True


def python_flows(segments: Iterable[TextSegment]) -> Iterator[Finding]:
    """Yield findings on what Python code does with secrets and with fetched or decoded text."""
    program = _Program([module for index, segment in enumerate(segments) if (module := parsed(segment, index))])
    if not any(SUSPECT.search(module.segment.text) for module in program.modules):
        return
    try:
        for module in program.modules:
            _learn_signatures(program, module)
        for _ in range(_ROUNDS):
            program.changed = False
            for module in program.modules:
                _Reader(program, module).visit(module.tree)
            if not program.changed:
                break
        for module in program.modules:
            yield from _Judge(program, module).findings()
    except RecursionError:
        module = program.modules[0]
        reason = "is nested deeper than any person writes it"
        yield module.segment.finding("unreadable_code", Severity.MEDIUM, reason=reason, span=(0, 80))


def parsed(segment: TextSegment, index: int = 0) -> _Module | None:
    """Parse a segment as a Python module; None if it is none."""
    if segment.language != "python" or len(segment.text) > SIZE_MAX:
        return None
    try:
        tree = ast.parse(segment.text)
        return _Module(segment, tree, Values(tree), index)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _learn_signatures(program: _Program, module: _Module) -> None:
    for node in ast.walk(module.tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            names = [a.arg for a in (*node.args.posonlyargs, *node.args.args) if a.arg not in ("self", "cls")]
            program.parameters[node.name] = [f"{module.index}.{node.name}.{name}" for name in names]
            program.given.update(program.parameters[node.name])


class _Reader(ast.NodeVisitor):
    """One pass over a module that collects the kinds of values of each name."""

    def __init__(self, program: _Program, module: _Module) -> None:
        self.program, self.module, self.values = program, module, module.values
        self.scope = ""

    def visit(self, node: ast.AST) -> None:
        """Record one node, then visit its children."""
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            outer, self.scope = self.scope, node.name
            self.generic_visit(node)
            self.scope = outer
            return
        self._note_flow(node)
        self.generic_visit(node)

    def _note_flow(self, node: ast.AST) -> None:
        if isinstance(node, ast.Assign):
            kinds = self.kinds(node.value)
            for target in node.targets:
                self.hold(target, kinds)
        elif isinstance(node, ast.AnnAssign | ast.AugAssign | ast.NamedExpr):
            self.hold(node.target, self.kinds(node.value))
        elif isinstance(node, ast.For | ast.AsyncFor | ast.comprehension):
            self.hold(node.target, self.kinds(node.iter))
        elif isinstance(node, ast.withitem) and node.optional_vars is not None:
            self.hold(node.optional_vars, self.kinds(node.context_expr))
        elif isinstance(node, ast.Return | ast.Yield):
            self.program.add(f"returns {self.scope}", self.kinds(node.value))
        elif isinstance(node, ast.Call):
            self._note_call(node)

    def _note_call(self, node: ast.Call) -> None:
        """Pass the kinds of arguments on to a function's parameters, or to the object of a method."""
        short = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        for key, argument in zip(self.program.parameters.get(short, ()), node.args, strict=False):
            self.program.add(key, self.kinds(argument))
        for keyword in node.keywords:
            for key in self.program.parameters.get(short, ()):
                if keyword.arg and key.endswith(f".{keyword.arg}"):
                    self.program.add(key, self.kinds(keyword.value))
        if isinstance(node.func, ast.Attribute) and short in ("append", "extend", "update", "add", "write", "insert"):
            for argument in node.args:
                self.hold(node.func.value, self.kinds(argument))

    def hold(self, target: ast.expr, kinds: Kinds) -> None:
        """Record that a target may have such values."""
        if not kinds:
            return
        if isinstance(target, ast.Name):
            self.program.add(self.key(target.id), kinds)
        elif isinstance(target, ast.Attribute):
            self.program.add(f"attribute {target.attr}", kinds)
        elif isinstance(target, ast.Subscript | ast.Starred):
            self.hold(target.value, kinds)
        elif isinstance(target, ast.Tuple | ast.List):
            for item in target.elts:
                self.hold(item, kinds)

    def key(self, name: str) -> str:
        return f"{self.module.index}.{self.scope}.{name}"

    def kinds(self, node: ast.AST | None) -> Kinds:
        """Return the kinds of values that an expression may have."""
        if node is None:
            return _NONE
        if isinstance(node, ast.Constant):
            text = node.value if isinstance(node.value, str) else ""
            return frozenset({_FILE}) if len(text) < 300 and SECRET_PLACES.search(f'"{text}"') else _NONE
        if isinstance(node, ast.Name):
            known = self.program.kinds
            return known.get(self.key(node.id), _NONE) | known.get(f"{self.module.index}..{node.id}", _NONE)
        if isinstance(node, ast.Attribute):
            if self.values.dotted(node) == "os.environ":
                return frozenset({_ENVIRONMENT})
            return self.program.kinds.get(f"attribute {node.attr}", _NONE) | self.kinds(node.value)
        if isinstance(node, ast.Subscript) and self.values.dotted(node.value) == "os.environ":
            return self._variable(node.slice)
        if isinstance(node, ast.Call):
            return self._called(node)
        if isinstance(node, ast.Compare | ast.Lambda):
            return _NONE
        return frozenset().union(*(self.kinds(child) for child in ast.iter_child_nodes(node)))

    def _variable(self, name: ast.expr) -> Kinds:
        text = self.values.text(name) or ""
        return frozenset({f"${text}"}) if _SECRET_VARIABLE.search(text) else _NONE

    def _called(self, node: ast.Call) -> Kinds:
        name = self.values.dotted(node.func)
        if name in ("os.getenv", "os.environ.get", "os.environ.pop"):
            return self._variable(node.args[0]) if node.args else _NONE
        if name in _SILENT:
            return _NONE
        short = node.func.attr if isinstance(node.func, ast.Attribute) else name.rpartition(".")[2]
        own = self.program.kinds.get(f"returns {short}", _NONE)
        receiver = self.kinds(node.func.value) if isinstance(node.func, ast.Attribute) else _NONE
        inputs = [self.kinds(argument) for argument in node.args]
        inputs += [self.kinds(word.value) for word in node.keywords if word.arg not in ("env", "headers", "auth")]
        flowing = frozenset().union(own, receiver, *inputs)
        if name.startswith("subprocess.") or _SENDS.search(name):
            flowing = flowing - {_ENVIRONMENT, _FILE} | own  # the result is the server's answer
        if _FETCHES.search(name):
            flowing |= {_FETCHED}
        if _DECODES.search(name):
            flowing |= {_DECODED}
        if _WATCHES.search(name):
            flowing |= {_PERSONAL}
        if _NAMES.search(name):
            flowing |= {_MACHINE}
        return flowing


class _Judge(_Reader):
    """The last pass: finds what is sent and what is run."""

    def findings(self) -> Iterator[Finding]:
        found: list[Finding] = []
        self._found = found
        self._guarded = 0
        self.visit(self.module.tree)
        return iter(found)

    def visit(self, node: ast.AST) -> None:
        """Judge one node, then visit its children."""
        if isinstance(node, ast.Try):
            self._guarded += 1
            super().visit(node)
            self._guarded -= 1
            return
        if isinstance(node, ast.Call):
            self._judge_call(node)
        elif isinstance(node, ast.While):
            self._judge_loop(node)
        super().visit(node)

    def _judge_call(self, node: ast.Call) -> None:
        name = self.values.dotted(node.func)
        if _SENDS.search(name):
            self._sent(node)
        if _RUNS.search(name):
            self._run(node, name)
        if isinstance(node.func, ast.Call) or name in ("getattr", "builtins.getattr"):
            self._hidden_call(node, name)

    def _judge_loop(self, node: ast.While) -> None:
        forever = isinstance(node.test, ast.Constant) and bool(node.test.value)
        inner = [child for part in node.body for child in ast.walk(part)]
        if forever and not self._guarded and not any(isinstance(child, _ENDS) or _pauses(child) for child in inner):
            self._note(node, "endless_loop", Severity.HIGH, "loops for ever without a way out")

    def _sent(self, node: ast.Call) -> None:
        text = " ".join(self.values.text(argument) or "" for argument in node.args[:2])
        where = addresses_in(text)
        if where and where[0][0] is HostKind.LOCAL:
            return
        bodies = [
            *node.args,
            *(word.value for word in node.keywords if word.arg not in ("headers", "auth", "cert", "timeout", "verify")),
        ]
        headers = [word.value for word in node.keywords if word.arg == "headers"]
        kinds = frozenset().union(*(self.kinds(each) for each in bodies))
        stolen = (kinds | frozenset().union(*(self.kinds(each) for each in headers))) & _STOLEN
        services = {kind[1:].partition("_")[0] for kind in kinds if kind.startswith("$")}
        if stolen or len(services) >= 2:
            what = ", ".join(sorted(stolen)) or "keys of several services"
            place = f" to {where[0][0]}" if where else ""
            self._note(node, "secret_sent", Severity.HIGH, f"sends {what}{place}")
        elif _MACHINE in kinds:
            self._note(node, "machine_told", Severity.MEDIUM, f"sends {_MACHINE}")

    def _run(self, node: ast.Call, name: str) -> None:
        if not node.args:
            return
        first = node.args[0]
        if _PROGRAMS.match(name) and isinstance(first, ast.List | ast.Tuple):
            shell = [self.values.text(item) for item in first.elts[:2]]
            first = (
                first.elts[-1]
                if len(first.elts) > 2 and shell[1] in ("-c", "-e", "/c")
                else first.elts[0]
                if first.elts
                else first
            )
        kinds = self.kinds(first)
        stolen = frozenset().union(*(self.kinds(each) for each in node.args)) & _STOLEN
        if stolen and _CARRIER.search(ast.unparse(node)[:2000]):
            self._note(node, "secret_sent", Severity.HIGH, f"sends {', '.join(sorted(stolen))} by a command")
        elif _DECODED in kinds:
            self._note(node, "decode_and_run", Severity.CRITICAL, "runs text that was hidden by an encoding")
        elif _FETCHED in kinds and not name.endswith("pickle.loads"):
            severity_found = Severity.HIGH if _PROGRAMS.match(name) else Severity.CRITICAL
            self._note(node, "fetch_and_run", severity_found, "runs text that it downloaded")
        elif name.rpartition(".")[2] in ("exec", "eval") and not _PROGRAMS.match(name):
            given = isinstance(first, ast.Name) and f"{self.key(first.id)}" in self.program.given
            severity_found = Severity.HIGH if given and len(node.args) == 1 else Severity.LOW
            if not isinstance(first, ast.Constant):
                self._note(node, "runs_text", severity_found, f"runs whatever text it is given as code, with {name}")

    def _hidden_call(self, node: ast.Call, name: str) -> None:
        looked = node if name in ("getattr", "builtins.getattr") else node.func
        if not isinstance(looked, ast.Call) or len(looked.args) < 1:
            return
        key = looked.args[-1] if len(looked.args) < 3 else looked.args[1]
        short = (self.values.text(key) or "").rpartition(".")[2]
        if not isinstance(key, ast.Constant) and short in _HIDING:
            self._note(
                node, "hidden_call", Severity.HIGH, f"puts the name of `{short}` together to hide that it calls it"
            )

    def _note(self, node: ast.AST, rule: str, severity: Severity, reason: str) -> None:
        segment = self.module.segment
        self._found.append(segment.finding(rule, severity, reason=reason, span=span_of(segment.text, node)))


_ENDS = (ast.Break, ast.Return, ast.Raise, ast.Yield, ast.YieldFrom, ast.Await)


def _pauses(node: ast.AST) -> bool:
    """Whether a call waits for input, as a server's loop does."""
    name = getattr(getattr(node, "func", None), "attr", "") or getattr(getattr(node, "func", None), "id", "")
    return name in (
        "sleep",
        "accept",
        "recv",
        "get",
        "wait",
        "input",
        "poll",
        "select",
        "read",
        "readline",
        "exit",
        "next",
    )


def span_of(text: str, node: ast.AST) -> tuple[int, int]:
    """Return the character span of a node; `ast` counts columns in bytes, which differs only after non-ASCII letters."""
    line, column = getattr(node, "lineno", 1), getattr(node, "col_offset", 0)
    end_line, end_column = getattr(node, "end_lineno", line) or line, getattr(node, "end_col_offset", column) or column
    lines = text.split("\n")
    start = sum(len(each) + 1 for each in lines[: line - 1]) + column
    end = sum(len(each) + 1 for each in lines[: end_line - 1]) + end_column
    return min(start, len(text)), min(max(end, start), len(text))


LONGEST = 1 << 17
"""Characters of a text that is evaluated."""
_DEPTH = 40
Value = str | bytes | int | list[object] | None


class Values:
    """Constant values of the names of one module."""

    def __init__(self, tree: ast.AST) -> None:
        self.aliases: dict[str, str] = {}
        """Local name → the dotted name of what was imported."""
        self.others: Mapping[str, Values] = {}
        """The other modules of the skill, by their stem."""
        self._constants: dict[str, ast.expr | None] = {}
        for node in ast.walk(tree):
            self._note(node)

    def _note(self, node: ast.AST) -> None:
        if isinstance(node, ast.Import):
            for alias in node.names:
                self.aliases[alias.asname or alias.name.partition(".")[0]] = (
                    alias.name if alias.asname else alias.name.partition(".")[0]
                )
        elif isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                self.aliases[alias.asname or alias.name] = f"{node.module}.{alias.name}"
        elif isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            name = node.targets[0].id
            self._constants[name] = None if name in self._constants else node.value

    def text(self, node: ast.expr | None, depth: int = _DEPTH) -> str | None:
        """Return the text that an expression builds (bytes as Latin-1); None if unknown."""
        value = self._value(node, depth)
        if isinstance(value, bytes):
            return value.decode("latin-1")
        return value if isinstance(value, str) else None

    def dotted(self, node: ast.AST, depth: int = _DEPTH) -> str:
        """Return the full dotted name of what is called or read, with imports and lookups resolved; empty if unknown."""
        if depth <= 0:
            return ""
        if isinstance(node, ast.Name):
            known = self._constants.get(node.id)
            if node.id in self.aliases:
                return self.aliases[node.id]
            if isinstance(known, ast.Call | ast.Attribute | ast.Name) and (
                dotted_name := self.dotted(known, depth - 10)
            ):
                return dotted_name if isinstance(known, ast.Attribute | ast.Name) or _is_lookup(known) else node.id
            return node.id
        if isinstance(node, ast.Attribute):
            inner = self.dotted(node.value, depth - 1)
            return f"{inner}.{node.attr}" if inner else f"?.{node.attr}"
        if isinstance(node, ast.Call):
            return self._looked_up(node, depth)
        if isinstance(node, ast.Subscript):
            key = self.text(node.slice, depth - 1)
            inner = self.dotted(node.value, depth - 1)
            if key and inner.rpartition(".")[2] in ("__dict__", "__builtins__", "globals()", "vars()", "modules"):
                return key if inner.endswith(("globals()", "__builtins__", "modules")) else f"{inner[:-9]}.{key}"
        return ""

    def _looked_up(self, node: ast.Call, depth: int) -> str:
        name = self.dotted(node.func, depth - 1)
        if name in ("getattr", "builtins.getattr") and len(node.args) >= 2:
            attribute = self.text(node.args[1], depth - 1)
            owner = self.dotted(node.args[0], depth - 1)
            return f"{owner}.{attribute}".removeprefix("builtins.") if attribute else ""
        if name in ("__import__", "importlib.import_module", "builtins.__import__") and node.args:
            return self.text(node.args[0], depth - 1) or ""
        return f"{name}()" if name in ("globals", "vars", "locals") else ""

    def _value(self, node: ast.expr | None, depth: int) -> Value:
        if node is None or depth <= 0:
            return None
        value: Value = None
        if isinstance(node, ast.Constant):
            value = node.value if isinstance(node.value, str | bytes | int) else None
        elif isinstance(node, ast.Name):
            known = self._constants.get(node.id)
            value = self._value(known, depth - 5) if known is not None else self._imported(node, depth)
        elif isinstance(node, ast.Attribute):
            value = self._imported(node, depth)
        elif isinstance(node, ast.BinOp):
            value = self._combined(node, depth)
        elif isinstance(node, ast.JoinedStr):
            value = self._formatted(node, depth)
        elif isinstance(node, ast.List | ast.Tuple):
            items = [self._value(item, depth - 1) for item in node.elts[:20000]]
            value = None if any(item is None for item in items) else list(items)
        elif isinstance(node, ast.Subscript):
            value = self._sliced(node, depth)
        elif isinstance(node, ast.Call):
            value = self._called(node, depth)
        elif isinstance(node, ast.ListComp | ast.GeneratorExp):
            value = self._comprehended(node, depth)
        return value if not isinstance(value, str | bytes | list) or len(value) <= LONGEST else None

    def _imported(self, node: ast.expr, depth: int) -> Value:
        """Return the value of a name that another module of the skill assigns."""
        owner, _, name = self.dotted(node, depth - 1).rpartition(".")
        other = self.others.get(owner.rpartition(".")[2])
        return other._value(other._constants.get(name), depth - 5) if other is not None else None

    def _combined(self, node: ast.BinOp, depth: int) -> str | bytes | int | None:
        left, right = self._value(node.left, depth - 1), self._value(node.right, depth - 1)
        if isinstance(node.op, ast.Add):
            if isinstance(left, str) and isinstance(right, str):
                return left + right
            if isinstance(left, bytes) and isinstance(right, bytes):
                return left + right
        if isinstance(node.op, ast.Mod) and isinstance(left, str) and isinstance(right, str | list):
            try:
                return left % (tuple(right) if isinstance(right, list) else right)
            except (TypeError, ValueError, OverflowError, MemoryError):
                return None
        if isinstance(left, int) and isinstance(right, int) and isinstance(node.op, ast.Sub | ast.BitXor | ast.Add):
            return (
                left - right
                if isinstance(node.op, ast.Sub)
                else left + right
                if isinstance(node.op, ast.Add)
                else left ^ right
            )
        return None

    def _formatted(self, node: ast.JoinedStr, depth: int) -> str:
        parts: list[str] = []
        for part in node.values:
            inner = part.value if isinstance(part, ast.FormattedValue) else part
            parts.append(str(value) if (value := self._value(inner, depth - 1)) is not None else "{}")
        return "".join(parts)

    def _sliced(self, node: ast.Subscript, depth: int) -> str | bytes | None:
        value = self._value(node.value, depth - 1)
        step = node.slice.step if isinstance(node.slice, ast.Slice) else None
        backwards = isinstance(step, ast.UnaryOp) and isinstance(step.op, ast.USub)
        return value[::-1] if backwards and isinstance(value, str | bytes) else None

    def _comprehended(self, node: ast.ListComp | ast.GeneratorExp, depth: int) -> list[object] | None:
        """Evaluate `chr(c) for c in [104, 116]`, also with a key for each number."""
        loop = node.generators[0]
        items = self._value(loop.iter, depth - 1)
        if (
            len(node.generators) > 1
            or not isinstance(loop.target, ast.Name)
            or not isinstance(items, list | bytes | str)
        ):
            return None
        if len(items) > 5000:
            return None
        kept = self._constants.get(loop.target.id)
        results: list[object] = []
        for item in items:
            self._constants[loop.target.id] = ast.Constant(item) if isinstance(item, str | int) else None
            results.append(self._value(node.elt, depth - 6))
        self._constants[loop.target.id] = kept
        return None if any(result is None for result in results) else results

    def _called(self, node: ast.Call, depth: int) -> str | bytes | int | None:
        arguments = [self._value(argument, depth - 1) for argument in node.args]
        first = arguments[0] if arguments else None
        if isinstance(node.func, ast.Attribute):
            owner = self._value(node.func.value, depth - 1)
            if isinstance(owner, str | bytes):
                return _method(owner, node.func.attr, arguments)
        name = self.dotted(node.func, depth - 1)
        try:
            return _function(name, first, arguments)
        except (ValueError, TypeError, binascii.Error, zlib.error, LookupError, OverflowError):
            return None


def _is_lookup(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("getattr", "__import__")


def _method(owner: str | bytes, name: str, arguments: Sequence[object]) -> str | bytes | None:
    first = arguments[0] if arguments else None
    if isinstance(owner, bytes):
        return owner.decode("utf-8", "replace") if name == "decode" else None
    if name == "join" and isinstance(first, list | str):
        return owner.join(str(item) for item in first)
    if name == "encode":
        return owner.encode("utf-8", "replace")
    if name == "replace" and len(arguments) >= 2 and all(isinstance(item, str) for item in arguments[:2]):
        return owner.replace(str(arguments[0]), str(arguments[1])) if len(owner) < 20000 else None
    if name in ("strip", "lower", "upper", "rstrip", "lstrip") and not arguments:
        return str(getattr(owner, name)())
    if name == "format" and all(isinstance(item, str | int) for item in arguments) and len(owner) < 5000:
        for item in arguments:
            owner = owner.replace("{}", str(item), 1)
        return owner
    return None


def _function(name: str, first: object, arguments: Sequence[object]) -> str | bytes | int | None:
    short = name.rpartition(".")[2]
    data = first.encode("latin-1", "replace") if isinstance(first, str) else first
    if isinstance(data, bytes):
        if short in ("b64decode", "urlsafe_b64decode", "standard_b64decode", "a2b_base64", "decodebytes"):
            bare = data.strip().translate(bytes.maketrans(b"-_", b"+/"))
            return base64.b64decode(bare + b"=" * (-len(bare) % 4))
        if short in ("b32decode", "b85decode", "a85decode", "b16decode"):
            decoded: bytes = getattr(base64, short)(data)
            return decoded
        if short in ("unhexlify", "a2b_hex", "fromhex"):
            return bytes.fromhex(data.decode("latin-1"))
        if name in ("zlib.decompress", "gzip.decompress"):
            return zlib.decompressobj(zlib.MAX_WBITS | 32).decompress(data, LONGEST)
        if name == "codecs.decode" and len(arguments) > 1 and isinstance(first, str):
            return codecs.decode(first, "rot13") if "rot" in str(arguments[1]) else bytes.fromhex(first)
        if short in ("unquote", "str", "bytes", "bytearray"):
            return data
    if name == "chr" and isinstance(first, int):
        return chr(first)
    if name == "ord" and isinstance(first, str) and len(first) == 1:
        return ord(first)
    if short in ("bytes", "bytearray") and isinstance(first, list):
        return bytes(item for item in first if isinstance(item, int))
    if name == "map" and len(arguments) > 1 and isinstance(arguments[1], list):
        return "".join(chr(item) for item in arguments[1] if isinstance(item, int))
    if name == "reversed" and isinstance(first, str):
        return first[::-1]
    return None


def built_texts(tree: ast.AST, values: Values) -> Iterator[tuple[ast.expr, str]]:
    """Yield the texts that a module builds from parts."""
    found = 0
    for node in ast.walk(tree):
        if not isinstance(node, ast.BinOp | ast.Call | ast.Subscript) or found > 300:
            continue
        text = values.text(node)
        if text and len(text) > 3:
            found += 1
            yield node, text
