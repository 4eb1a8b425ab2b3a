"""Text that attacks a terminal, planted in every field and name: no command ever lets it act, or hide.

The skill and the session that hold it are real, the commands are real processes, and what they write is looked at byte by
byte, through a pipe and through a terminal.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import unicodedata
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import Ran, Terminal
from tests.person import give_key

NASTY = [
    "\x1b[31mred", "\x1b[2J\x1b[H", "\x1b[8mhidden\x1b[0m", "\x1b[1A\x1b[2Kovertype", "\x1b[?1049h", "\x1b[6n",
    "\x1b]0;title\x07", "\x1b]2;title\x1b\\", "\x1b]8;;http://evil.example\x1b\\text\x1b]8;;\x1b\\", "\x1b]52;c;YWJj\x07",
    "\x1b]1337;File=name=eA==:AAAA\x07", "\x1b]4;1;?\x07", "\x1bP1$r0m\x1b\\", "\x1b_apc\x1b\\", "\x1b^pm\x1b\\", "\x1bX sos",
    "\x1bc", "\x1b(0qqq", "\x1b#8", "\x1bD\x1bE\x1bM", "\x9b31mC1", "\x9d0;title\x9c", "\x90dcs\x9c", "\x85next", "\x84ind",
    "safe\rrm -rf", "abc\x08\x08\x08xyz", "\x07bell", "\x0b\x0c", "\x7f\x7f", "\x00nul", "\x0e\x0fshift", "\x1a\x05ctrl",
    "\u202egpj.exe", "\u202d\u2066x\u2069\u202c", "\u200e\u200f\u061c", "\u200b\u200c\u200d", "\ufeffbom",
    "\U000e0041\U000e0042\U000e007f", "\u2028line\u2029para", "\u2060\u2061\u2064", "\u00ad\u034f\u3164\uffa0",
    "\ufe01\U000e0101", "\U000f0000\ue000", "\ufff9a\ufffab\ufffb", "[bold red]markup[/]",
    "[link=http://evil.example]x[/link]", "[/]", "\\[x]",
]  # fmt: skip
DRIVER = """
import io, json, os, sys
from tacit.surfaces.cli import main
kept = os.dup(1)
for number, arguments in enumerate(json.load(sys.stdin)):
    for stream in (1, 2):
        os.dup2(os.open(f"{sys.argv[1]}/{number}.{stream}", os.O_WRONLY | os.O_CREAT | os.O_TRUNC), stream)
    held, sys.argv[1:] = sys.argv[1:], arguments
    try:
        main()
    except SystemExit as ended:
        code = ended.code
    sys.stdout.flush(), sys.stderr.flush()
    sys.argv[1:] = held
    os.write(kept, f"{code}\\n".encode())
"""
"""Runs many command lines in one process, each into files of its own."""
ALLOWED = re.compile(r"\x1b\[[0-9;]*m|\x1b\[\?25[lh]|\x1b\[2K|\x1b\[1A")
"""Colours, and what a progress bar needs."""
CONCEAL = re.compile(r"\x1b\[(?:[0-9]+;)*8(?:;[0-9]+)*m")
FILLERS = "\u00ad\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0\ufe00\ufe01"


def acting(text: str, *, terminal: bool = False) -> list[str]:
    """The characters that a terminal obeys or does not show."""
    assert not CONCEAL.search(text)
    rest = ALLOWED.sub("", text)
    if terminal:
        rest = rest.replace("\r\n", "\n").replace("\r", "")
    return [
        c for c in rest if (c not in "\n\t" and unicodedata.category(c)[0] == "C") or c in FILLERS or ord(c) >= 0xE0000
    ]


def planted(number: int) -> str:
    """A text with several of them, so that few skills hold all."""
    return " ".join(f"w{number}{piece}e" for piece in NASTY[number::8]).replace("\n", " ")


def printable(text: str) -> str:
    """As a file name can hold it."""
    return text.replace("/", "_").replace("\0", "")[:60]


def session_log(number: int) -> dict[str, Any]:
    bad = planted(number).replace("\0", "")
    calls = [
        {
            "tool_call_id": "c",
            "function_name": f"Bash{bad[:20]}",
            "arguments": {"command": f"echo {bad}", bad[:30]: bad},
        }
    ]
    results = [{"source_call_id": "c", "content": f"Error: {bad}", "extra": {"exit_code": 1}}]
    fixed = [{"tool_call_id": "d", "function_name": "Bash", "arguments": {"command": f"make fix {bad}"}}]
    done = [{"source_call_id": "d", "content": f"3 passed {bad}", "extra": {"exit_code": 0}}]
    return {
        "schema_version": "ATIF-v1.8",
        "session_id": f"s{number}{bad}",
        "agent": {"name": bad, "version": bad},
        "steps": [
            {"step_id": 1, "source": "user", "message": f"Deploy the billing service {bad}"},
            {"step_id": 2, "source": "agent", "message": bad, "tool_calls": calls, "observation": {"results": results}},
            {"step_id": 3, "source": "agent", "message": bad, "tool_calls": fixed, "observation": {"results": done}},
            {"step_id": 4, "source": "agent", "message": "",
             "tool_calls": [{"tool_call_id": "e", "function_name": "Bash", "arguments": {"command": "pytest -q"}}],
             "observation": {"results": [{"source_call_id": "e", "content": "3 passed", "extra": {"exit_code": 0}}]}},
        ],
    }  # fmt: skip


def skill_md(number: int) -> str:
    bad = planted(number)
    told = json.dumps(bad)
    return (
        f"---\nname: deploy-{number}\ndescription: {json.dumps('Deploy the billing service ' + bad)}\nlicense: {told}\n"
        f"compatibility: {told}\nallowed-tools: {told}\nmetadata:\n  note: {told}\n  tacit-category: {told}\n"
        f"  tacit-tags: {json.dumps(json.dumps([bad]))}\n  tacit-signature: {told}\n---\n\nUse it. {bad}\n\n"
        "<!-- tacit: the sections below are read back as structure -->\n\n"
        f"## When to use\n- deploy billing {bad}\n\n## Parameters\n- name: {bad}\n\n## Before you start\n- Ready {bad}\n"
        f"  - check: test {bad}\n\n## Steps\n1. Run it {bad}\n   - tool: Bash {json.dumps({'command': bad})}\n\n"
        f"## Check\n- Works {bad}\n\n## Pitfalls\n- Fails {bad}\n"
    )


@pytest.fixture(scope="module")
def attacked(tmp_path_factory: pytest.TempPathFactory) -> Terminal:
    folder = tmp_path_factory.mktemp("attacked")
    give_key(folder / "home" / ".tacit")
    project = folder / printable("shop\x1b]0;t\x07\u202ex")
    project.mkdir()
    terminal = Terminal(project=project, home=folder / "home")
    terminal.variables["USER"] = "ann"
    for number in range(8):
        place = project / "skills" / f"deploy-{number}"
        (place / "references").mkdir(parents=True)
        (place / "SKILL.md").write_text(skill_md(number).replace("\0", ""))
        (place / "references" / "a.md").write_text(planted(number).replace("\0", ""))
        (place / printable(f"f{NASTY[number]}")).write_text("x")
        (project / f"log-{number}.json").write_text(json.dumps(session_log(number)))
        broken = project / "broken" / printable(f"b{NASTY[number * 3]}")
        broken.mkdir(parents=True)
        (broken / "SKILL.md").write_text(f"---\nname: {planted(number)}\nx: [\n---\n".replace("\0", ""))
    static = project / ".claude" / "skills" / "static-one"
    static.mkdir(parents=True)
    (static / "SKILL.md").write_text(skill_md(3).replace("deploy-3", "static-one").replace("\0", ""))
    terminal.run("skills", "import", "skills", "--by", f"m{NASTY[0]}{NASTY[6]}")
    terminal.run("learn", *(f"log-{number}.json" for number in range(8)))
    terminal.unlocked = True
    for item in terminal.run("review", "--json").json["waiting"][:3]:
        ticks = [word for tick in item["ticks"] for word in ("--tick", tick["key"])]
        reason = ("--reason", f"why {planted(2)}".replace("\0", ""))
        terminal.run(
            "review", item["version_id"], "--approve", "--by", f"a{NASTY[6]}n", "--despite-findings", *reason, *ticks
        )
    terminal.unlocked = False
    return terminal


def versions(terminal: Terminal) -> list[str]:
    return [each["version_id"] for each in terminal.run("skills", "list", "--all", "--json").json["skills"]]


def commands(terminal: Terminal) -> list[tuple[str, ...]]:
    """Every command that prints what others wrote, with hostile words in its arguments too."""
    bad = planted(1).replace("\0", "")
    known = versions(terminal)
    shown = [("skills", "show", version) for version in known]
    return [
        ("skills", "list", "--all"), *shown, *((*show, "--raw") for show in shown),
        *(("skills", "show", version, "--file", "references/a.md") for version in known[:8]),
        ("skills", "show", known[0], "--file", bad), ("skills", "show", bad), ("skills", "diff", known[0], known[1]),
        ("skills", "import", "--dry-run", "skills", "broken"), ("skills", "import", "--dry-run", f"no{bad}"),
        ("skills", "import", "--dry-run", *(f"broken/{path.name}" for path in (terminal.project / "broken").iterdir())),
        ("skills", "export", "--all", "--to", printable(f"out{NASTY[34]}")), ("skills", "sync"),
        ("skills", "edit", bad), ("skills", "rollback", bad),
        ("review",), ("review", bad, "--approve"), ("review", known[0], "--approve", "--by", bad),
        ("recall", f"Deploy the billing service {bad}"), ("recall", "--explain", "Deploy the billing service"),
        ("recall", "Error:", "--error", bad), ("recall", f"xyzzy {bad}"),
        ("history",), ("stats",), ("verify",), ("doctor",), ("config",), ("check", "skills"), ("check", "broken"),
        ("check", "--library"), ("learn", *(f"log-{n}.json" for n in range(8))), ("learn", f"no{bad}.json"),
        ("record", bad, "--success"), ("feedback", bad, "good"), ("propose", bad), ("purge", bad), ("restore", f"no{bad}"),
        ("backup", printable(f"b{NASTY[34]}.db")), ("verify", f"no{bad}"), ("index",), ("pause", "--for", bad),
        (bad,), ("skills", bad), (f"--{bad}",), ("--store", f"no{bad}.db", "stats"), ("init", "--client", bad), ("eval", bad),
    ]  # fmt: skip


def ran(terminal: Terminal, lines: list[tuple[str, ...]], folder: Path) -> list[Ran]:
    """Run command lines one after another; starting Python for each would take minutes."""
    done = subprocess.run(
        [sys.executable, "-c", DRIVER, str(folder)], cwd=terminal.project, env=terminal.environment, text=True,
        input=json.dumps(lines), capture_output=True, timeout=300, check=False,
    )  # fmt: skip
    codes = done.stdout.split()
    assert len(codes) == len(lines), (lines[len(codes)], done.stderr)
    texts = [
        [(folder / f"{n}.{stream}").read_bytes().decode("utf-8", "replace") for stream in (1, 2)]
        for n in range(len(lines))
    ]
    return [Ran(int(code), *text) for code, text in zip(codes, texts, strict=True)]


def checked(done: Ran, arguments: tuple[str, ...], *, terminal: bool = False) -> None:
    assert not acting(done.out, terminal=terminal), (arguments, acting(done.out, terminal=terminal), done.out[:2000])
    assert not acting(done.err), (arguments, acting(done.err), done.err[:2000])
    assert done.code != 1, (arguments, done.err)
    assert "Traceback" not in done.err


def test_no_command_lets_text_act_on_whoever_reads_it(attacked: Terminal, tmp_path: Path) -> None:
    assert len(NASTY) >= 40
    assert len(versions(attacked)) >= 8, "they came in"
    tried = commands(attacked)
    tried += [(*arguments, "--json") for arguments in tried if not arguments[0].startswith("-")]
    for arguments, done in zip(tried, ran(attacked, tried, tmp_path), strict=True):
        checked(done, arguments)


def test_nor_at_a_terminal(attacked: Terminal) -> None:
    known = versions(attacked)
    for arguments in [
        ("skills", "list", "--all"), ("skills", "show", known[0]), ("history",), ("review",),
        ("recall", "Deploy the billing service"),
        ("check", "skills"), ("skills", "list", "--json"),
    ]:  # fmt: skip
        checked(attacked.type(*arguments, answers={"[q]uit": "q\n"}, timeout_s=15), arguments, terminal=True)


def test_what_is_planted_is_still_told_of(attacked: Terminal) -> None:
    shown = attacked.run("skills", "show", versions(attacked)[0], "--raw").out
    assert "\N{REPLACEMENT CHARACTER}" in shown
    assert "title" in shown or "red" in shown or "ind" in shown


def test_a_broken_file_name_is_shown_whole(attacked: Terminal) -> None:
    done = attacked.run("skills", "import", "--dry-run", "broken")
    assert "b\N{REPLACEMENT CHARACTER}[31mred" in done.out
    assert Path(attacked.project / "broken").is_dir()
