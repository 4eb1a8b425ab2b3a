"""Python scripts of one skill, read as one program → where secrets are sent, and where fetched or hidden text is run.

Follows values by name through assignments, calls, returns and attributes, over all files, without running anything. It
errs towards seeing a flow: names are not told apart by branch or order.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from tacit.domain.candidate import Finding, Severity
from tacit.gate.checks import secret_places as secret
from tacit.gate.checks.hosts import Place, places
from tacit.gate.checks.pieces import Piece
from tacit.gate.checks.python_values import Values

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
    piece: Piece
    tree: ast.Module
    values: Values
    index: int


@dataclass(slots=True)
class _Program:
    """What is known of values, by name: locals by module and function, functions and attributes for all modules."""

    modules: list[_Module]
    kinds: dict[str, Kinds] = field(default_factory=dict)
    parameters: dict[str, list[str]] = field(default_factory=dict)
    given: set[str] = field(default_factory=set)
    """Names that a function is given."""
    changed: bool = False

    def add(self, key: str, kinds: Kinds) -> None:
        known = self.kinds.get(key, _NONE)
        if not kinds <= known:
            self.kinds[key] = known | kinds
            self.changed = True


def python_flows(pieces: Iterable[Piece]) -> Iterator[Finding]:
    """What the Python files and blocks of a skill do with secrets, and with text that is not in them."""
    program = _Program([module for index, piece in enumerate(pieces) if (module := parsed(piece, index))])
    if not any(SUSPECT.search(module.piece.text) for module in program.modules):
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
        yield module.piece.finding("unreadable_code", Severity.MEDIUM, reason=reason, span=(0, 80))


def parsed(piece: Piece, index: int = 0) -> _Module | None:
    """A piece as a Python module, if it is one."""
    if piece.language != "python" or len(piece.text) > SIZE_MAX:
        return None
    try:
        tree = ast.parse(piece.text)
        return _Module(piece, tree, Values(tree), index)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _learn_signatures(program: _Program, module: _Module) -> None:
    for node in ast.walk(module.tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            names = [a.arg for a in (*node.args.posonlyargs, *node.args.args) if a.arg not in ("self", "cls")]
            program.parameters[node.name] = [f"{module.index}.{node.name}.{name}" for name in names]
            program.given.update(program.parameters[node.name])


class _Reader(ast.NodeVisitor):
    """One pass over a module that notes what each name may hold."""

    def __init__(self, program: _Program, module: _Module) -> None:
        self.program, self.module, self.values = program, module, module.values
        self.scope = ""

    def visit(self, node: ast.AST) -> None:
        """Note what one node says, then go into it."""
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
        """What goes into a function's parameters, or by a method into the thing it belongs to."""
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
        """Note that a target may hold such values."""
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
        """What sorts of values an expression may give."""
        if node is None:
            return _NONE
        if isinstance(node, ast.Constant):
            text = node.value if isinstance(node.value, str) else ""
            return frozenset({_FILE}) if len(text) < 300 and secret.PLACES.pattern.search(f'"{text}"') else _NONE
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
        return frozenset({f"${text}"}) if secret.SECRET_VARIABLE.search(text) else _NONE

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
            flowing = flowing - {_ENVIRONMENT, _FILE} | own  # what comes back is the other side's answer
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
    """The last pass: what is sent, and what is run."""

    def findings(self) -> Iterator[Finding]:
        found: list[Finding] = []
        self._found = found
        self._guarded = 0
        self.visit(self.module.tree)
        return iter(found)

    def visit(self, node: ast.AST) -> None:
        """Judge one node, then go into it."""
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
        where = places(text)
        if where and where[0][0] is Place.LOCAL:
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
            weight = Severity.HIGH if _PROGRAMS.match(name) else Severity.CRITICAL
            self._note(node, "fetch_and_run", weight, "runs text that it fetched from the network")
        elif name.rpartition(".")[2] in ("exec", "eval") and not _PROGRAMS.match(name):
            given = isinstance(first, ast.Name) and f"{self.key(first.id)}" in self.program.given
            weight = Severity.HIGH if given and len(node.args) == 1 else Severity.LOW
            if not isinstance(first, ast.Constant):
                self._note(node, "runs_text", weight, f"runs whatever text it is given as code, with {name}")

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
        piece = self.module.piece
        self._found.append(piece.finding(rule, severity, reason=reason, span=span_of(piece.text, node)))


_ENDS = (ast.Break, ast.Return, ast.Raise, ast.Yield, ast.YieldFrom, ast.Await)


def _pauses(node: ast.AST) -> bool:
    """Whether a call waits for somebody or something, as a server's loop does."""
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
    """The characters of a node; columns are counted in bytes by ast, which differs only behind other letters."""
    line, column = getattr(node, "lineno", 1), getattr(node, "col_offset", 0)
    end_line, end_column = getattr(node, "end_lineno", line) or line, getattr(node, "end_col_offset", column) or column
    lines = text.split("\n")
    start = sum(len(each) + 1 for each in lines[: line - 1]) + column
    end = sum(len(each) + 1 for each in lines[: end_line - 1]) + end_column
    return min(start, len(text)), min(max(end, start), len(text))
