"""Records the transcripts in this folder again: scenarios → rollouts written by the real Codex.

python3 record.py SCRIPTED_MODEL_SERVER CODEX_BINARY NEW_FOLDER [SCENARIO]...   (the untrimmed files stay in the folder)

The server answers the Responses API from a scenario's `rules` (`--port N --script FILE --log DIR`). Each scenario has
its own project and home, and `runs`: `exec`, `resume` and `fork` go through `codex exec`, `app` through the app server,
where a person can decline a call, stop a turn or have the history compacted. Only the scenarios for the given client's
version are played. Judges nothing.
"""

import json
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
VERSION = "0.166.0"  # of scenarios that name no other
HOSTS = "[the client's own instructions, left out here]"
KEPT = {
    "agents_md.instructions", "environments.environment_context", "hooks.additional_context", "shell.user_command",
    "user.text",
}  # fmt: skip
LEFT_OUT = {"additional_tools", "reasoning"}
CONFIG = """
model = "{model}"
model_provider = "scripted"
check_for_update_on_startup = false
{top}
[analytics]
enabled = false
[model_providers.scripted]
name = "scripted"
base_url = "http://127.0.0.1:{port}/v1"
env_key = "SCRIPTED_KEY"
wire_api = "responses"
request_max_retries = 0
stream_max_retries = 0
[projects."{project}"]
trust_level = "trusted"
[mcp_servers.orders]
command = "python3"
args = ["{here}/orders_mcp.py"]
"""


class Run:
    """One scenario's project, home, model server and client."""

    def __init__(self, scenario, work, server, codex):
        self.scenario, self.work, self.codex = scenario, work, codex
        self.project, self.home = work / "workspace/abacus", work / "users/dev"
        self.home.joinpath(".codex").mkdir(parents=True)
        self.project.mkdir(parents=True)
        for name, text in scenario.get("files", {}).items():
            (self.project / name).parent.mkdir(parents=True, exist_ok=True)
            (self.project / name).write_text(text)
        self.environment = {
            "PATH": "/usr/local/bin:/usr/bin:/bin", "SHELL": "/bin/bash", "TERM": "dumb", "LANG": "C.UTF-8",
            "HOME": str(self.home), "CODEX_HOME": f"{self.home}/.codex", "SCRIPTED_KEY": "scripted-key-for-loopback",
            "PYTHONDONTWRITEBYTECODE": "1",
        }  # fmt: skip
        identity = ["-c", "user.name=dev", "-c", "user.email=dev@example.invalid"]
        for words in ("init -q -b main", "add -A", "commit -q --allow-empty -m abacus"):
            subprocess.run(["git", *identity, *words.split()], cwd=self.project, check=True)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        top = scenario.get("config", "")
        text = CONFIG.format(
            model=scenario.get("model", "gpt-5.5"), port=port, project=self.project, here=HERE, top=top
        )
        self.home.joinpath(".codex/config.toml").write_text(text)
        if "hooks" in scenario:
            self.home.joinpath(".codex/hooks.json").write_text(json.dumps({"hooks": scenario["hooks"]}))
        script = work / "script.json"
        script.write_text(json.dumps({"rules": scenario["rules"]}).replace("@PROJECT@", str(self.project)))
        options = ["--port", str(port), "--script", script, "--log", work / "log", "--model", "gpt-5.5"]
        self.model = subprocess.Popen([sys.executable, server, *options], stderr=subprocess.DEVNULL)
        time.sleep(1)

    def play(self):
        try:
            for run in self.scenario["runs"]:
                (self.app if "app" in run else self.command)(run)
        finally:
            self.model.terminate()
            self.model.wait()

    def command(self, run):
        """`codex exec`, once; `stop_after_s` sends what Ctrl-C sends."""
        words = ["exec", "--json"]
        if "hooks" in self.scenario:
            words.append("--dangerously-bypass-hook-trust")
        words += run.get("options", ["--dangerously-bypass-approvals-and-sandbox"])
        if "resume" in run:
            words += ["resume", "--last"]
        elif "fork" in run:
            words += ["fork", self.rollouts()[0].stem[-36:]]
        prompt = run.get("exec") or run.get("resume") or run.get("fork")
        with (self.work / "stdout.jsonl").open("a") as out, (self.work / "stderr.txt").open("a") as err:
            client = subprocess.Popen(
                [self.codex, *words, prompt], cwd=self.project, env=self.environment, stdin=subprocess.DEVNULL,
                stdout=out, stderr=err,
            )  # fmt: skip
            try:
                client.wait(run.get("stop_after_s", 90))
            except subprocess.TimeoutExpired:
                client.send_signal(signal.SIGINT)
                client.wait(20)

    def app(self, run):
        """The app server, as an editor drives it: each of `app` is a prompt, "/compact" or "!command"."""
        client = App(self)
        thread = client.ask("thread/start", cwd=str(self.project), **run.get("thread", {}))["thread"]["id"]
        for words in run["app"]:
            if words == "/compact":
                client.ask("thread/compact/start", threadId=thread)
            elif words.startswith("!"):
                client.ask("thread/shellCommand", threadId=thread, command=words[1:])
            else:
                turn = client.ask("turn/start", threadId=thread, input=[{"type": "text", "text": words}])["turn"]["id"]
            client.until("turn/completed", stop=(thread, turn) if words.startswith("(stop)") else None)
        client.end()

    def rollouts(self):
        return sorted(self.home.glob(".codex/sessions/**/*.jsonl"))


class App:
    """A client of the app server that declines whatever it is asked."""

    def __init__(self, run):
        self.log = (run.work / "app.jsonl").open("a")
        self.process = subprocess.Popen(
            [run.codex, "app-server"], cwd=run.project, env=run.environment, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.log,
        )  # fmt: skip
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.to, self.back = self.process.stdin, self.process.stdout
        self.count = 0
        self.ask("initialize", clientInfo={"name": "recorder", "title": "recorder", "version": "1"},
                 capabilities={"experimentalApi": True})  # fmt: skip
        self.tell({"method": "initialized"})

    def tell(self, message):
        self.to.write(json.dumps(message) + "\n")
        self.to.flush()

    def ask(self, method, **params):
        self.count += 1
        self.tell({"id": self.count, "method": method, "params": params})
        while True:
            message = self.hear()
            if message.get("id") == self.count and "method" not in message:
                return message["result"]

    def until(self, method, *, stop=None):
        while (message := self.hear()).get("method") != method:
            item = message.get("params", {}).get("item", {})
            if stop and message.get("method") == "item/started" and item.get("type") == "commandExecution":
                time.sleep(1)
                self.count += 1
                names = {"threadId": stop[0], "turnId": stop[1]}
                self.tell({"id": self.count, "method": "turn/interrupt", "params": names})

    def hear(self):
        line = self.back.readline()
        if not line:
            raise SystemExit("the app server ended")
        self.log.write(line)
        message = json.loads(line)
        if "id" in message and "method" in message:
            self.tell({"id": message["id"], "result": {"decision": "decline"}})
        return message

    def end(self):
        self.to.close()
        self.process.wait(30)


def neutral(text, folder):
    """Without this machine's folders; the first agent's name, which reads like one, is changed too."""
    for name, ours, theirs in (
        ("originator", "codex_exec", "codex-tui"),
        ("source", "exec", "cli"),
        ("turn_trigger", "exec", "user"),
    ):
        text = text.replace(f'"{name}":"{ours}"', f'"{name}":"{theirs}"')  # as where a person types
    return text.replace(f"{folder}/", "/").replace(str(HERE), "/opt/tools").replace("/root", "/lead")


def trim(lines):
    """Without the client's own instructions, tool lists, state dumps and rate limits."""
    for line in lines:
        record = json.loads(line)
        payload = record["payload"]
        if record["type"] == "world_state" or payload.get("type") in LEFT_OUT:
            continue
        if record["type"] == "session_meta":
            for key in ("base_instructions", "agent_nickname"):
                payload.pop(key, None)
            if isinstance(payload["source"], dict):
                payload["source"]["subagent"]["thread_spawn"].pop("agent_nickname", None)
        if payload.get("type") == "token_count":
            payload.pop("rate_limits", None)
        if record["type"] == "compacted":
            payload["message"] = payload["message"].rpartition("\n")[2]
            payload["replacement_history"] = []
        without_hosts_words(payload)
        yield json.dumps(record, ensure_ascii=False, separators=(",", ":")) + "\n"


def without_hosts_words(message):
    """The client's own texts replaced, as far as it says that they are its own."""
    if message.get("type") != "message" or message.get("role") == "assistant":
        return
    kinds = (message.get("internal_chat_message_metadata_passthrough") or {}).get("content_item_kinds")
    if kinds is None and message["role"] == "user":
        return  # older versions do not say; they keep their own instructions out of the user's place
    for part, kind in zip(message["content"], kinds or [""] * len(message["content"]), strict=True):
        if kind not in KEPT:
            part["text"] = HOSTS


def main():
    server, codex, work = (Path(word).resolve() for word in sys.argv[1:4])
    version = subprocess.run([codex, "--version"], capture_output=True, text=True, check=True).stdout.split()[-1]
    for path in sorted((HERE / "scenarios").glob("*.json")):
        scenario = json.loads(path.read_text())
        if scenario.get("version", VERSION) != version or (sys.argv[4:] and path.stem not in sys.argv[4:]):
            continue
        print(path.stem, flush=True)
        folder = work / path.stem
        run = Run(scenario, folder, server, codex)
        run.play()
        target = HERE / "transcripts" / path.stem
        shutil.rmtree(target, ignore_errors=True)
        target.mkdir(parents=True)
        for rollout in run.rollouts():
            (target / rollout.name).write_text("".join(trim(neutral(rollout.read_text(), folder).splitlines())))


if __name__ == "__main__":
    main()
