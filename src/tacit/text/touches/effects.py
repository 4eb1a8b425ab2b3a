"""What a text would do to the world: sentence or command → deletes, sends, publishes, reveals, installs, pays, persists.

Prose is read by what is ordered in it, commands by their program. It says that something is done, not whether that is right.
"""

from __future__ import annotations

from collections.abc import Iterator

from tacit.text.shell import Command
from tacit.text.touches.meaning import Meaning, meaning_of
from tacit.text.touches.sentences import sentences

_SAID = {
    "deletes": (("delete!", "overwrite!"), ("data", "private", "secret", "all", "result")),
    "sends": (("send!",), ("literal", "outside", "public", "private", "secret")),
    "publishes": (("publish!",), ("public",)),
    "reveals": (("reveal!",), ("secret", "private")),
    "pays": (("pay!",), ("money", "literal")),
    "persists": (("reveal!", "copy!", "change!", "install!", "run!", "use!"), ("persist",)),
}
"""Effect → a deed that is ordered, and what it must concern."""
_COMMANDS = {
    "deletes": """rm rmdir shred srm unlink dropdb wipefs mkfs|git clean|git branch -d|docker rm|docker rmi|docker system
        |kubectl delete|aws s3 rm|terraform destroy|helm uninstall|gh repo delete""",
    "sends": """scp sftp ftp mail mutt sendmail nc ncat telnet rclone|git push|aws s3 cp|aws s3 sync|docker push|gsutil cp
        |gh gist""",
    "publishes": """|npm publish|cargo publish|twine upload|gh release|gem push|poetry publish|uv publish|vercel deploy|gh gist
        |docker push""",
    "reveals": "printenv",
    "installs": """|pip install|pip3 install|uv add|uv pip|npm install|npm i|pnpm add|yarn add|brew install|apt install
        |apt-get install|dnf install|yum install|cargo install|gem install|go install|conda install|apk add
        |snap install|poetry add""",
    "persists": "crontab launchctl schtasks at|systemctl enable|service enable",
}
"""Effect → programs, and after the bar programs with their subcommand."""
_SENDING_FLAGS = frozenset(
    "-d --data --data-binary --data-raw --data-urlencode -F --form -T --upload-file --post-file --post-data".split()
)


def effects_said(text: str, *, code: bool = False) -> Iterator[tuple[str, int, int]]:
    """Effects that a text's sentences order, with their places."""
    for sentence in sentences(text, code=code):
        if sentence.kind == "heading":
            continue
        meaning = meaning_of(sentence.text)
        for effect in _ordered(meaning):
            yield effect, sentence.start, sentence.end


def _ordered(meaning: Meaning) -> Iterator[str]:
    for effect, (deeds, things) in _SAID.items():
        if meaning.holds(*deeds) and meaning.holds(*things):
            yield effect
    if "install" in meaning.text.lower() and meaning.holds("install!"):
        yield "installs"


def effects_of(command: Command) -> Iterator[str]:
    """What one command does to the world."""
    label = f"{command.program} {command.subcommand}".strip()
    for effect, (programs, labels) in _TABLE.items():
        if command.program in programs or any(label == known or label.startswith(f"{known} ") for known in labels):
            yield effect
    if command.program in ("curl", "wget") and _sends(command):
        yield "sends"
    if command.program == "rsync" and any(":" in operand for operand in command.operands):
        yield "sends"
    if command.program == "env" and len(command.words) == 1:
        yield "reveals"


def _sends(command: Command) -> bool:
    if any(flag.split("=")[0] in _SENDING_FLAGS for flag in command.flags):
        return True
    words = " ".join(command.words).upper()
    return any(f"{flag} {verb}" in words for flag in ("-X", "--REQUEST") for verb in ("POST", "PUT", "PATCH", "DELETE"))


def _table(text: str) -> tuple[frozenset[str], tuple[str, ...]]:
    programs, _, labels = text.partition("|")
    return frozenset(programs.split()), tuple(" ".join(label.split()) for label in labels.split("|") if label.strip())


_TABLE = {effect: _table(text) for effect, text in _COMMANDS.items()}
