"""Records the demo's transcripts again: scenarios + project → transcripts written by the real Claude Code.

python3 record.py SCRIPTED_MODEL_SERVER CLAUDE_BINARY NEW_FOLDER   (the untrimmed files stay in the folder)

The server answers the Messages API from a scenario's `rules` (`--port N --script FILE --log DIR`). Each
scenario is one session. They run in turn in one repository, so that later ones find what earlier ones left;
between two, ignored files are removed, as in a fresh clone. Judges nothing: see `show.py`.
"""

import json
import shutil
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
DEMO = HERE.parents[2] / "src/tacit/demo/transcripts"
PORT = "8791"
LARGE = 800  # characters of an attachment's record above which it is dropped
ENVIRONMENT = {
    "PATH": "/usr/bin:/bin", "SHELL": "/bin/bash", "TERM": "dumb", "LANG": "C.UTF-8", "IS_SANDBOX": "1",
    "ANTHROPIC_BASE_URL": f"http://127.0.0.1:{PORT}", "ANTHROPIC_API_KEY": "scripted",
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "CLAUDE_CODE_MAX_RETRIES": "1",
    "DISABLE_AUTOUPDATER": "1", "PYTHONDONTWRITEBYTECODE": "1",
}  # fmt: skip


def git(project, *words):
    identity = ["-c", "user.name=dev", "-c", "user.email=dev@example.invalid"]
    subprocess.run(["git", *identity, *words], cwd=project, check=True, stdout=subprocess.DEVNULL)


def play(scenario, work, server, claude):
    """One session: the client's prompts, answered by the scenario's rules."""
    project = work / "workspace/invoice-app"
    for name, text in scenario.get("files", {}).items():
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        (project / name).write_text(text)
    script = work / "script.json"
    script.write_text(json.dumps({"rules": scenario["rules"]}).replace("@CWD@", str(project)))
    options = ["--port", PORT, "--script", script, "--log", work / "log"]
    model = subprocess.Popen([sys.executable, server, *options])
    try:
        time.sleep(1)
        for number, prompt in enumerate(scenario["prompts"]):
            which = "--resume" if number else "--session-id"
            words = ["-p", prompt, which, scenario["session"], "--model", "claude-sonnet-4-5"]
            words += ["--dangerously-skip-permissions", "--strict-mcp-config"]
            environment = {**ENVIRONMENT, "HOME": f"{work}/home/dev"}
            subprocess.run([claude, *words], cwd=project, env=environment, stdin=subprocess.DEVNULL, check=True)
    finally:
        model.terminate()
        model.wait()
    git(project, "add", "-A")
    end = ["reset", "--hard"] if scenario.get("discard") else ["commit", "-m", scenario["prompts"][0]]
    git(project, *end)
    git(project, "clean", "-qfdX")


def neutral(text, work):
    """The recording machine's folder names, replaced as plain text and as the client's slug."""
    slug = "".join(c if c.isalnum() else "-" for c in str(work))
    return as_typed(text.replace(f"{work}/", "/").replace(slug, ""))


def as_typed(text):
    """The fields that say who speaks, as the client writes them where a person types: it was run without one."""
    for name, ours, theirs in (
        ("entrypoint", "sdk-cli", "cli"),
        ("promptSource", "sdk", "typed"),
        ("turnOrigin", "sdk", "human"),
    ):
        text = text.replace(f'"{name}":"{ours}"', f'"{name}":"{theirs}"')
    return text


def trim(lines):
    """Without request copies, large and repeated attachments; parents are linked across the gaps."""
    parents: dict[str, str] = {}
    kinds = set()
    for line in lines:
        record = json.loads(line)
        for key in ("parentUuid", "leafUuid"):
            while record.get(key) in parents:
                record[key] = parents[record[key]]
        if record["type"] == "attachment":
            kind = record["attachment"]["type"]
            if len(line) > LARGE or kind in kinds:
                parents[record["uuid"]] = record["parentUuid"]
                continue
            kinds.add(kind)
        if not record["type"].startswith("api-request"):
            yield json.dumps(record, ensure_ascii=False, separators=(",", ":")) + "\n"


def collect(scenario, work):
    folder = HERE / "transcripts" if scenario.get("tests_only") else DEMO
    shutil.rmtree(folder / scenario["session"], ignore_errors=True)
    [slug] = (work / "home/dev/.claude/projects").iterdir()
    found = [slug / f"{scenario['session']}.jsonl", *(slug / scenario["session"]).rglob("*")]
    for source in filter(Path.is_file, found):
        target = folder / source.relative_to(slug)
        target.parent.mkdir(parents=True, exist_ok=True)
        text = neutral(source.read_text(), work)
        if source.suffix == ".jsonl":
            text = "".join(trim(text.strip("\n").split("\n")))
        target.write_text(text)


def main():
    server, claude, work = (Path(word).resolve() for word in sys.argv[1:])
    (work / "home/dev").mkdir(parents=True)
    project = work / "workspace/invoice-app"
    shutil.copytree(HERE.parents[2] / "src/tacit/demo/project", project, ignore=shutil.ignore_patterns("__pycache__"))
    (project / "gitignore").rename(project / ".gitignore")
    for words in ("init -b main", "add -A", "commit -m invoice-app"):
        git(project, *words.split())
    for path in sorted((HERE / "scenarios").glob("*.json")):
        print(path.stem)
        play(scenario := json.loads(path.read_text()), work, server, claude)
        collect(scenario, work)


if __name__ == "__main__":
    main()
