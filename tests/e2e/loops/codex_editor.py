"""An editor with Codex in it, for one message that a person types: `codex_editor.py PROMPT THREAD COMMAND…`.

The command starts the client's app server, which is spoken to as an editor's extension does, in the current folder. THREAD
is the thread that goes on, or empty for a new one. What the server says is printed.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

Message = dict[str, Any]


def until(server: IO[str], is_it: Callable[[Message], bool]) -> Message:
    """Print what the server says, up to one message; return that."""
    for line in server:
        print(line, end="")
        message: Message = json.loads(line)
        if is_it(message):
            return message
    raise SystemExit("the app server has ended")


def main(prompt: str, thread: str, *command: str) -> int:
    """Trust the hooks, start or resume a thread and send the prompt; return the server's exit code after the turn."""
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        to, back = process.stdin, process.stdout
        assert to
        assert back

        def ask(number: int, method: str, **params: Any) -> Any:
            print(json.dumps({"id": number, "method": method, "params": params}), file=to, flush=True)
            return until(back, lambda message: message.get("id") == number and "method" not in message)["result"]

        ask(1, "initialize", clientInfo={"name": "editor", "title": "editor", "version": "1"})
        print(json.dumps({"method": "initialized"}), file=to, flush=True)
        [folder] = ask(2, "hooks/list", cwds=[str(Path.cwd())])["data"]
        trust = {each["key"]: {"trusted_hash": each["currentHash"]} for each in folder["hooks"]}
        edit = {"keyPath": "hooks.state", "value": trust, "mergeStrategy": "upsert"}
        ask(3, "config/batchWrite", edits=[edit], reloadUserConfig=True)
        free = {"cwd": str(Path.cwd()), "approvalPolicy": "never", "sandbox": "danger-full-access"}
        begun = ask(4, "thread/resume", threadId=thread, **free) if thread else ask(4, "thread/start", **free)
        ask(5, "turn/start", threadId=begun["thread"]["id"], input=[{"type": "text", "text": prompt}])
        until(back, lambda message: message.get("method") == "turn/completed")
        to.close()
        print(back.read(), end="")
    return process.returncode


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
