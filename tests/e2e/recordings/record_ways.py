"""Records how sessions go on, end and are copied: resumed, forked, compacted, stopped, refused, with long output.

python3 record_ways.py SCRIPTED_MODEL_SERVER CLAUDE_BINARY NEW_FOLDER   (the untrimmed files stay in the folder)

Plays the table below with the real Claude Code in one small project, and writes the transcripts beside this file, for
tests only. Server, environment and trimming are those of `record.py`. Judges nothing.
"""

import json
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

from record import ENVIRONMENT, HERE, PORT, git, neutral, trim  # type: ignore[import-not-found]

FREE = "--dangerously-skip-permissions"
FILES = {
    "server.py": "PORT = 8000\n",
    "config.toml": 'name = "shop"\n',
    ".claude/skills/release-notes/SKILL.md": (
        "---\nname: release-notes\ndescription: how notes are written\n---\nOne line each.\n"
    ),
    ".claude/commands/mend.md": "---\ndescription: mends something\n---\nMEND-BODY look at $ARGUMENTS and mend it.\n",
    ".claude/settings.json": json.dumps(
        {
            "hooks": {
                "UserPromptSubmit": [
                    {"hooks": [{"type": "command", "command": "echo '<tacit-skills>run the linter</tacit-skills>'"}]}
                ]
            }
        }
    ),
}


def session(number):
    return f"{number:08d}-5e55-4000-8000-{number:012d}"


def shell(command):
    return {"name": "Bash", "input": {"command": command, "description": "Run it"}}


def file(tool, name, **more):
    return {"name": tool, "input": {"file_path": f"@CWD@/{name}", **more}}


def agent(prompt):
    given = {"description": "Count", "prompt": prompt, "subagent_type": "general-purpose", "run_in_background": False}
    return {"name": "Agent", "input": given}


def rule(prompt, *turns):
    answers = [{"text": text, "tools": tools} if tools else {"text": text} for text, *tools in turns]
    return {"when_prompt": prompt, "turns": answers}


RULES = [
    rule("health check", ("I add it.", shell("echo healthy")), ("The health check is there.",)),
    rule("config file", ("I rename it.", shell("ls config.toml")), ("Renamed.",)),
    rule("changelog", ("I write it.", shell("echo changelog")), ("The entry is written.",)),
    rule("dockerfile", ("I look.", shell("echo docker")), ("The image builds.",)),
    rule("slow report", ("It takes a while.", shell("python3 -c 'import time; time.sleep(30)'")), ("Done.",)),
    rule("shorter one", ("Shorter.", shell("echo short")), ("Done.",)),
    rule(
        "old backups",
        ("I delete them.", shell("rm -rf backups")),
        ("", file("Write", "note.txt", content="gone\n")),
        ("I was not allowed to.",),
    ),
    rule("row count", ("I count.", shell("seq 1 7000")), ("", shell("seq 1 3; exit 4")), ("Seven thousand.",)),
    rule(
        "release notes",
        ("", {"name": "Skill", "input": {"skill": "release-notes"}}),
        ("", file("Read", "server.py"), file("Read", "missing.py")),
        (
            "",
            file("Write", "server.py", content="PORT = 8000\nHOST = ''\n"),
            file("Edit", "server.py", old_string="TIMEOUT", new_string="x"),
        ),
        ("", shell("grep nothing server.py")),
        ("The notes are written.",),
    ),
    rule("MEND-BODY", ("Mending.", shell("echo mended")), ("Mended.",)),
    rule("COUNT-FILES", ("Counting.", shell("ls | wc -l")), ("Two files.",)),
    rule("files there are", ("I ask another agent.", agent("COUNT-FILES here")), ("There are two.",)),
]
FORK = ["--resume", session(11), "--fork-session", "--session-id"]
PLAYS = [
    ("Add a health check to the server.", ["--session-id", session(11), FREE], None),
    ("Please rename the config file `config.toml` to `settings.toml`.", ["--resume", session(11), FREE], None),
    ("Write a changelog entry for version 2.", [*FORK, session(12), FREE], None),
    ("/compact", ["--resume", session(11), FREE], None),
    ("Create a dockerfile for the deployment of the billing worker.", ["--resume", session(11), FREE], None),
    ("Print the slow report.", ["--session-id", session(13), FREE], 6),
    ("No, print the shorter one instead.", ["--resume", session(13), FREE], None),
    ("Delete the old backups.", ["--session-id", session(14)], None),
    ("Delete the old backups.", ["--session-id", session(15), FREE, "--disallowedTools", "Bash(rm:*)"], None),
    ("Tell me the row count.", ["--session-id", session(16), FREE], None),
    ("Write the release notes.", ["--session-id", session(17), FREE], None),
    ("/mend the build", ["--session-id", session(18), FREE], None),
    ("Say how many files there are.", ["--session-id", session(19), FREE], None),
]  # fmt: skip


def play(prompt, words, stop_after_s, work, claude):
    command = [claude, "-p", prompt, "--model", "claude-sonnet-4-5", "--strict-mcp-config", *words]
    environment = {**ENVIRONMENT, "HOME": f"{work}/users/dev"}
    run = subprocess.Popen(command, cwd=work / "workspace/shop", env=environment, stdin=subprocess.DEVNULL)
    if stop_after_s:
        time.sleep(stop_after_s)
        run.send_signal(signal.SIGINT)
    run.wait(60)


def collect(work):
    [slug] = (work / "users/dev/.claude/projects").iterdir()
    for source in filter(Path.is_file, slug.rglob("*")):
        target = HERE / "transcripts" / source.relative_to(slug)
        target.parent.mkdir(parents=True, exist_ok=True)
        text = neutral(source.read_text(), work)
        target.write_text("".join(trim(text.strip("\n").split("\n"))) if source.suffix == ".jsonl" else text)


def main():
    server, claude, work = (Path(word).resolve() for word in sys.argv[1:])
    project = work / "workspace/shop"
    (work / "users/dev").mkdir(parents=True)
    for name, text in FILES.items():
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        (project / name).write_text(text)
    for line in ("init -b main", "add -A", "commit -m shop"):
        git(project, *line.split())
    script = work / "script.json"
    script.write_text(json.dumps({"rules": RULES}).replace("@CWD@", str(project)))
    model = subprocess.Popen([sys.executable, server, "--port", PORT, "--script", script, "--log", work / "log"])
    try:
        time.sleep(1)
        for number in range(11, 20):
            shutil.rmtree(HERE / "transcripts" / session(number), ignore_errors=True)
        for prompt, words, stop_after_s in PLAYS:
            play(prompt, words, stop_after_s, work, claude)
    finally:
        model.terminate()
        model.wait()
    collect(work)


if __name__ == "__main__":
    main()
