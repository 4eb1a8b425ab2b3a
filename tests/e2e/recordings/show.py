"""Prints what recorded transcripts hold: prompts, and each tool call with its exit status.

python3 show.py FILE_OR_FOLDER...
"""

import json
import re
import sys
from pathlib import Path


def show(path):
    calls = {}
    for line in path.open(encoding="utf-8"):
        record = json.loads(line)
        content = record.get("message", {}).get("content", [])
        if isinstance(content, str):
            print(f"  prompt: {content}")
            continue
        for block in content:
            if block["type"] == "tool_use":
                calls[block["id"]] = block
            elif block["type"] == "tool_result":
                print("  " + outcome(calls[block["tool_use_id"]], block))
            elif block["type"] == "text":
                print(f"  {record['type']}: {block['text']}")


def outcome(call, result):
    given = call["input"]
    subject = given.get("command") or given.get("file_path") or given.get("description")
    text = result["content"] if isinstance(result["content"], str) else json.dumps(result["content"])
    code = re.match(r"Exit code (\d+)", text)
    status = f"exit {code[1]}" if code else "error" if result.get("is_error") else "ok"
    return f"[{status}] {call['name']} {subject} | {' / '.join(text.split(chr(10)))[:160]}"


if __name__ == "__main__":
    for name in sys.argv[1:]:
        for path in sorted(Path(name).rglob("*.jsonl")) if Path(name).is_dir() else [Path(name)]:
            print(path)
            show(path)
