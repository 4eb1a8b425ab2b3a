"""What is known of the tools of agents, and of commands that only look: which read, which write, which are no part of the work.

Tools of coding agents are known by name, others by how their names begin or end. Tables, and the plainest questions to them;
what a call did to the world, and how two calls stand to each other, is found by those who ask.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from tacit.text.shell import Command

ASIDES = frozenset(
    "todowrite todoread todo_write update_plan think skill toolsearch exitplanmode enterplanmode askuserquestion "
    "slashcommand bashoutput killshell taskoutput taskstop write_stdin report_intent save_memory wait_agent list_agents "
    "followup_task interrupt_agent close_agent tool_search request_user_input get_goal create_goal update_goal".split()
)
"""Planning, thinking, loading a skill: what only serves the agent itself."""
FILE_READERS = frozenset(
    "read read_file view view_image read_many_files notebookread ls list_dir list_directory glob file_search grep "
    "grep_search search_file_content codebase_search open_file find_path".split()
)
WEB_READERS = frozenset("webfetch web_fetch websearch web_search google_web_search".split())
FILE_WRITERS = frozenset(
    "write write_file create create_file edit edit_file multiedit replace str_replace str_replace_based_edit_tool "
    "str_replace_editor apply_patch notebookedit insert insert_edit_into_file multi_replace_string_in_file".split()
)
DESCRIBING = frozenset("description timeout timeout_ms run_in_background explanation justification".split())
"""Arguments that only describe a call."""
FRAMING = frozenset("workdir cwd login yield_time_ms max_output_tokens sandbox_permissions".split())
"""Arguments that say where and how a command runs, not what it does."""
PATHS = ("file_path", "path", "filePath", "absolute_path", "notebook_path", "filename")
"""Arguments that name the one file that a call is about, the surest first."""
SILENT = frozenset({"cd", "export", "set", "source", ".", "unset", "pushd", "popd", "true", ":"})
"""Commands that do nothing by themselves."""
READERS = frozenset(
    "ls cat head tail grep egrep fgrep rg ag find fd tree pwd which whereis type wc stat file less more bat awk sed "
    "date id whoami uname hostname du df ps top env printenv man info sort uniq cut diff cmp jq yq tr column xxd "
    "hexdump basename dirname realpath readlink strings nl echo printf test [ [[ sleep history lsof netstat ss "
    "nproc free".split()
)
"""Programs that only look or print, as long as they are not told to write."""
_ASKING = frozenset({"--help", "--version", "-V"})
_ACTING = frozenset({"-delete", "-exec", "-execdir"})
"""With these `find` does something to what it finds."""
_READING_SUBCOMMANDS = {
    program: frozenset(subcommands.split(", "))
    for programs, subcommands in (
        (
            "git",
            "status, log, diff, show, blame, branch, remote, reflog, ls-files, grep, describe, rev-parse, shortlog, cat-file",
        ),
        ("docker", "ps, images, logs, inspect, stats, version, info"),
        ("kubectl", "get, describe, logs, top, version"),
        ("pip pip3", "list, show, freeze"),
        ("npm", "ls, list, view, outdated"),
        ("cargo", "tree, metadata"),
        ("systemctl", "status, list-units"),
    )
    for program in programs.split()
}
_STREAM_EDITORS = frozenset({"sed", "perl"})
_IN_PLACE = re.compile(r"-\w*i|--in-place")
_FORGES = frozenset({"gh", "glab"})
_READING_PAIRS = re.compile(r"(?:pr|issue|run|repo|release) (?:view|list|diff|checks|status)")
_READING = re.compile(
    r"(?:get|find|list|search|check|calculate|read|fetch|lookup|look_up|query|describe|show|view|can|is|has|count|inspect|"
    r"retrieve|browse|status|whoami|explain|compute|convert|validate|web_?fetch|web_?search)(?:_|$)"
)
_PROBING = re.compile(
    r"(?:^|_)(?:test|ping|diagnose|diagnostics|health|healthcheck|dry_run|lookup)(?:_|$)|_(?:search|status|list|info)$"
)


def plain_name(tool: str) -> str:
    """A tool's own name: without the server it comes from, in lower case."""
    return tool.rsplit("__", 1)[-1].rsplit(".", 1)[-1].casefold()


def reads_by_name(name: str) -> bool:
    """Whether a tool that nothing else is known of only looks, going by its plain name."""
    snake = re.sub(r"[-\s]+", "_", name)
    return _READING.match(snake) is not None or _PROBING.search(snake) is not None


def named_file(arguments: Mapping[str, Any]) -> str | None:
    """The one file that a call names as such."""
    return next((value for key in PATHS if isinstance(value := arguments.get(key), str)), None)


def only_looks(command: Command) -> bool:
    """Whether a command only looks or prints."""
    if command.outputs or edits_in_place(command) or _ACTING & set(command.flags):
        return False
    if _ASKING & set(command.flags):
        return True
    if command.program == "git" and command.subcommand == "branch" and command.operands:
        return False
    if command.program in _FORGES and _READING_PAIRS.fullmatch(command.subcommand):
        return True
    return command.program in READERS or command.subcommand in _READING_SUBCOMMANDS.get(command.program, ())


def edits_in_place(command: Command) -> bool:
    """Whether a stream editor writes back to the files it reads."""
    return command.program in _STREAM_EDITORS and any(_IN_PLACE.match(flag) for flag in command.flags)
