"""Python expressions → the texts they build, as far as they can be told without running anything.

Follows joined, formatted, reversed, encoded and looked-up constants, and names assigned once. Used to see what a script
would really run, open or call.
"""

from __future__ import annotations

import ast
import base64
import binascii
import codecs
import zlib
from collections.abc import Iterator, Mapping, Sequence

LONGEST = 1 << 17
"""Of a text that is followed."""
_DEPTH = 40
Value = str | bytes | int | list[object] | None


class Values:
    """What the names of one module are known to hold."""

    def __init__(self, tree: ast.AST) -> None:
        self.aliases: dict[str, str] = {}
        """Local name → the dotted name of what was imported."""
        self.others: Mapping[str, Values] = {}
        """The other modules of the same skill, by their last name."""
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
        """The text an expression builds; bytes read as Latin-1; nothing where that is not known."""
        value = self._value(node, depth)
        if isinstance(value, bytes):
            return value.decode("latin-1")
        return value if isinstance(value, str) else None

    def dotted(self, node: ast.AST, depth: int = _DEPTH) -> str:
        """The full name of what is called or read, imports and look-ups undone; empty if it is not known."""
        if depth <= 0:
            return ""
        if isinstance(node, ast.Name):
            known = self._constants.get(node.id)
            if node.id in self.aliases:
                return self.aliases[node.id]
            if isinstance(known, ast.Call | ast.Attribute | ast.Name) and (told := self.dotted(known, depth - 10)):
                return told if isinstance(known, ast.Attribute | ast.Name) or _is_lookup(known) else node.id
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
        """A name that another module of the skill assigns."""
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
        """`chr(c) for c in [104, 116]`, also with a key that each number is combined with."""
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
    """Texts that a module puts together instead of writing them down."""
    found = 0
    for node in ast.walk(tree):
        if not isinstance(node, ast.BinOp | ast.Call | ast.Subscript) or found > 300:
            continue
        text = values.text(node)
        if text and len(text) > 3:
            found += 1
            yield node, text
