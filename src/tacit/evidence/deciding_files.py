"""Deciding files: could a change of this file change what a check means? Only plain sources and documents could not.

The list names what is harmless, not what is dangerous: sources of the work, documents, and data inside the folders of an
application. Tests, settings, manifests, lock files, scripts, hidden files, installed packages and everything unknown decide.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from pathlib import PurePosixPath

from tacit.text.programs import CHECK_SCRIPT, CHECKERS

_SOURCES = frozenset(
    "py pyi js jsx ts tsx mjs cjs mts cts vue svelte astro go rs java kt scala rb erb haml slim "
    "c h cc cpp cxx hpp hh m mm "
    "swift cs fs vb php ex erl hs ml mli clj lua pm r jl dart zig nim sql proto graphql gql html htm css scss "
    "sass less jinja j2 "
    "tmpl hbs ejs md mdx rst txt adoc log diff svg png jpg jpeg gif webp ico woff woff2 ttf pdf ipynb".split()
)
_SCRIPTS = frozenset("sh bash zsh pl".split())
_DATA = frozenset("json yaml yml csv tsv xml toml po pot strings arb".split())
_DATA_FOLDERS = frozenset(
    "src app lib data docs doc public assets static locales locale i18n content translations".split()
)
_OUTPUTS = re.compile(
    r"(?:build|dist|out|target|coverage|htmlcov|__pycache__|\.(?:pytest|ruff|mypy)_cache|.*\.egg-info|.*\.pyc)/?"
)
_FOLDERS = re.compile(
    r"\..+|tests?|testing|testdata|testutils?|specs?|__tests__|__mocks__|__snapshots__|mocks?|fixtures?|e2e|cypress|"
    r"playwright|"
    r"integration|goldens?|snapshots?|stubs?|fakes?|junit\w*|rspec|minitest|testng|mockito|hamcrest|assertj|jest|vitest|mocha|chai|"
    r"node_modules|vendor|third_party|s?bin|v?env|site-packages|dist-packages|gems|ci|"
    r"_?pytest|pluggy|iniconfig|unittest|nose2?|coverage|xdist|hypothesis",
    re.IGNORECASE,
)
"""Folders of tests, of installed packages and of what is run; hidden ones too."""
_NAMES = re.compile(
    r"\..+|conftest|sitecustomize|usercustomize|tests?|testing|fixtures?|mocks?|stubs?|fakes?|test_.*|.*_tests?|.*test[-_]?(?:utils?|kit|support|setup)|setup_?tests?|.*[.-](?:test|spec|e2e|stories)|.*_spec|spec_.*|"
    r"(?:test|spec|rails)[-_]?helpers?|setup|noxfile|fabfile|build|.*[.-]conf(?:ig)?|jest.*|vitest.*|karma.*|"
    r"gulpfile|gruntfile|requirements.*|constraints.*|cmakelists|_?pytest.*|pluggy|iniconfig|nose2?|xdist|hypothesis",
    re.IGNORECASE,
)
_PLAIN_BUILD = re.compile(r"(?:GNU)?[Mm]akefile|[Jj]ustfile|Rakefile|Gemfile|Jenkinsfile|WORKSPACE|tests?|specs?")
_SETTINGS = frozenset("ini cfg mk gradle toml lock".split())
_JAVA_TEST = re.compile(r".*[a-z0-9](?:Tests?|Spec|IT|TestCase)|Test[A-Z].*")
_PLAIN_NAMES = frozenset(
    ".gitignore readme license licence changelog authors contributing notice copying todo version".split()
)
_SYSTEM = re.compile(r"/(?:usr|bin|sbin|lib\w*|etc|opt|var(?!/tmp/)|nix|snap|root/\.|System|Library)(?:/|$)")
_SCRATCH = re.compile(r"/(?:private/)?(?:var/)?tmp/[\w.-]+\.(?:log|txt|out|md|diff|patch|csv|html|png|json|xml)")

ENDS_PROCESS = re.compile(
    "|".join(
        (
            # any language: ends the process, or knows its test runner
            r"\b(?:sys|process|p?os|std::process|System|Runtime|Kernel|Process|syscall)(?:\.|::)_?"
            r"(?:[eE]xit!?|abort|halt|reallyExit|exec\w+|Exec|Raw\w+|Kill)\b",
            r"\b_exit\(|\bexit!|\bat_?exit\b|__attribute__\(\(constructor|^#!/\S*\btrue\b",
            r"^\s*(?:exit|abort)\s*(?:\d|$)|^\s*exec\s+['\"]",
            r"\b_pytest\b|\bpytest_[a-z]\w+|\bPYTEST_\w+|['\"]_?pytest['\"]|^\s*(?:import|from)\s+_?pytest\b",
            r"\bSkipTest\b|\bunittest\.(?:case|runner|result)\b|^\s*(?:import|from) unittest\b",
            r"\bJEST_WORKER_ID\b|\bVITEST\b|\bRSpec\b|\bMinitest\b",
            r"\b(?:TestAborted|AssumptionViolated|TestSkipped)\w*\b",
            # who calls, or by which program it was started: a test, or the real work
            r"\bError\([^)\n]*\)\)?\.stack\b|\.stack\.(?:includes|match|indexOf|split|search)\(|\bcaptureStackTrace\b|\bmodule\.parent\b",
            r"\brequire\.main\b(?!\s*[=!]==?\s*module\b)|\bprocess\.argv(?:\[[01]\]|0)|\bStackWalker\b|\bgetStackTrace\(|\bStackFrame\b",
            r"(?<![.\w@:'\"])caller(?:_locations)?(?:\(|\[|\.\w)|\bdebug_backtrace\b|\bnew StackTrace\b",
            r"\bruntime\.Callers?\(|\bos\.Args\[0\]|\benv::args(?:_os)?\(\)\.(?:next|nth\(0)|\bcurrent_exe\(|\bBacktrace::",
            r"\btesting\.(?:Testing|Short|Verbose|CoverMode|Benchmark)\(|\bcfg!\(test\)|\bcfg\(not\(test\)\)",
            r"\bflag\.(?:Set|Lookup)\(|^\s*#\[path\s*=|^\s*#\s*(?:el)?if(?:n?def)?\b.*\bTEST|\borg\.(?:junit|testng)\b|\bAssum(?:e|ptions?)\.\w",
            r"\btraceback\.(?:extract|walk|format|print)_stack\b|\bsys\.argv\[0\]|\bPPID\b|/proc/self\b",
            r"\bNODE_TEST\w*|\bnpm_\w+|\bMAKE(?:LEVEL|FLAGS)\b|\bsun\.java\.command\b",
            r"\bin os\.environ\b|\bos\.environ\.(?:keys|items|values)\(",
            r"\bthread::current\(\)\.name\b|\bcurrentThread\(\)\.get\w+|\bconst_defined\?|\bdefined\?\(?\s*[A-Z]|\bisatty\(",
            r"\[ -t \d \]|(?<!__FILE__ == )\$(?:0\.\w|0 *[=!]~|PROGRAM_NAME)\b",
            # Python: frames, hooks, names made at run time
            r"\bsys\.(?:set(?:trace|profile)|_getframe|monitoring|excepthook|meta_path|path_hooks|modules)\b|\bSystemExit\b",
            r"\bf_(?:back|globals|locals)\b|\binspect\.(?:stack|currentframe)\b|\b__(?:eq|code|builtins|import)__\b|\bbuiltins\b",
            r"\bgc\.get_|\bctypes\b|^\s*(?:import|from) (?:posix|gc)\b|\bsignal\.(?:alarm|setitimer|raise_signal)\b",
            r"(?<![.\w])(?:exec|eval|compile)\(|\bgetattr\([^)\n]*['\"]\s*\+",
            # JavaScript
            r"\bprocess\s*\[|\}\s*=\s*(?:global(?:This)?\.)?process\b|\bglobal(?:This)?\s*(?:\[|\.process\b)|\bprocess\.exitCode\b",
            r"\bprocess\.(?:on|once)\(\s*['\"`](?:exit|beforeExit|uncaught|unhandled)|\bprocess\.(?:emit|kill|binding|dlopen)\b",
            r"\b(?:require\(|from|import\()\s*['\"`](?:node:)?(?:assert|module|vm|worker_threads|inspector|test)\b",
            r"\brequire\((?!\s*['\"`][^'\"`\n]*['\"`]\s*\))|\bModule\._|\brequire\.cache\b|(?<![.\w])Function\(|\.constructor\(",
            r"\[\s*['\"`]\w+['\"`]\s*\+",
            # Go, Rust, Java, Ruby
            r"\"(?:syscall|unsafe|plugin|testing)\"|^\s*(?:import\s+)?[\w.]+\s+\"(?:os|runtime)\"|\bruntime\.Goexit\b|\bgo:linkname\b",
            r"\bprocess::(?:exit|abort)\b|\bprocess\s+as\b|\bprocess::\{[^}\n]*\b(?:exit|abort|self as)\b",
            r"\b(?:global_)?asm!|\bextern \"C\"|\blink_section\b|\blibc::|\bset_hook\b",
            r"\bcatch_unwind\b|\bmacro_rules!\s*(?:debug_)?assert",
            r"\bimpl\s+PartialEq<|\bgetRuntime\(\)\.\w+|\bClass\.forName\b|\.get(?:Declared)?Method\(|\bclass \w*Assert\w*",
            r"^\s*(?:class|module) (?:Integer|String|Object|Array|Hash|Symbol|NilClass|BasicObject|Kernel|Numeric)\b",
            r"UncaughtExceptionHandler|\bdef ==|\.(?:public_|__)?send(?:__)?\(\s*['\"]",
            r"\b(?:instance|class|module)_eval\b|\bTracePoint\b",
        )
    ),
    re.MULTILINE,
)
"""Code that ends the process itself, or acts on what runs the tests: then the exit status is not the word of the tests."""
SILENCES_CHECK = re.compile(
    r"#\s*(?:ruff|flake8|type|pyright|mypy|pylint|rubocop|pragma|noqa|nosec)\b|\b(?:eslint|tslint|stylelint|biome)-(?:disable|ignore)|"
    r"@ts-(?:ignore|nocheck|expect-error)|//\s*nolint|#!?\[allow\(|@SuppressWarnings|@phpstan-ignore|@psalm-suppress"
)
"""Comments that tell a linter or a type checker to overlook something."""
TESTS_INSIDE = re.compile(
    r"#\[(?:cfg\((?:any\(\)|.*\btest\b)|test\b)|\bmod tests?\b|\bassert_(?:eq|ne|matches)!|\bimport\.meta\.vitest\b|"
    r"\bexpect\([^\n]*\)\.(?:not\.)?to[A-Z.]|^[ \t]*>>> |^[ \t]*//[/!].*\bassert",
    re.MULTILINE,
)
"""Tests that stand inside a source, and examples that are run as tests."""


def decides_checks(path: str, workspace: str = "") -> bool:
    """Whether a change of this file could change what a check means; what is not known to be harmless could."""
    inside = path.removeprefix(workspace.rstrip("/") + "/") if workspace else path
    inside = inside.replace("\\", "/") if re.match(r"[A-Za-z]:\\", inside) else inside.removeprefix("./")
    if inside == "/dev/null" or _SCRATCH.fullmatch(inside):
        return False
    if not inside or len(inside) > 1024 or re.search(r"[$`*?\[{\\]", inside) or _SYSTEM.match(inside):
        return True
    parts = PurePosixPath(inside.lower() if inside.isupper() else inside).parts
    if not parts or parts[-1] in ("..", "/"):
        return True
    stem, _, suffix = parts[-1].rpartition(".")
    if not stem:
        return parts[-1].casefold() not in _PLAIN_NAMES or is_of_checks(str(PurePosixPath(*parts[:-1], "a.md")))
    if is_of_checks("/".join(parts)):
        return True
    if suffix in _DATA:
        return parts[0] not in _DATA_FOLDERS or len(parts) == 1
    return suffix not in _SOURCES


def is_of_checks(path: str) -> bool:
    """Whether a file's folders or name say that it belongs to tests, settings or installed packages."""
    parts = PurePosixPath(path).parts
    stem, _, suffix = parts[-1].rpartition(".")
    if any(_FOLDERS.fullmatch(part) for part in parts[:-1] if part not in ("..", ".")):
        return True
    if not stem:
        return (
            bool(suffix and path.endswith(f".{suffix}"))
            or bool(_PLAIN_BUILD.fullmatch(parts[-1]))
            or parts[-1] in CHECKERS
        )
    if _NAMES.fullmatch(stem) or _JAVA_TEST.fullmatch(stem) or CHECK_SCRIPT.fullmatch(parts[-1]) or suffix in _SETTINGS:
        return True
    # Python looks at the top of the project before its own library.
    top = suffix in ("py", "pyc", "so") and len(parts) == 1
    return top and (stem in sys.stdlib_module_names or stem in CHECKERS)


def is_output(path: str) -> bool:
    """Whether a file or folder is only what a build or a test run left."""
    return _OUTPUTS.fullmatch(path.removeprefix("./")) is not None


def is_named_by(path: str, build_files: Iterable[str]) -> bool:
    """Whether one of these build files runs this file; a shell script need only be mentioned."""
    name, file = PurePosixPath(path).name, re.escape(path)
    called = re.compile(
        rf"(?:^|[\s;&|(@\"'-])(?:python[\d.]*|node|ruby|php|perl|source|\.)\s+(?:-\w+\s+)*[\"']?(?:\./)?{file}(?![\w/])"
        rf"|(?:^|[\s;&|(@\"'=])\./{file}(?![\w/])|-m\s+{re.escape(path.removesuffix('.py').replace('/', '.'))}(?![\w.])",
        re.MULTILINE,
    )
    is_script = path.rpartition(".")[2] in _SCRIPTS
    return any(called.search(text) or (is_script and name in text) for text in build_files)


def is_script(path: str) -> bool:
    """Whether a file is a shell script or the like, which may be part of the work or run the checks."""
    stem, _, suffix = PurePosixPath(path).name.rpartition(".")
    if suffix not in _SCRIPTS or CHECK_SCRIPT.fullmatch(f"{stem}.{suffix}"):
        return False
    return not decides_checks(str(PurePosixPath(path).with_suffix(".md")))
