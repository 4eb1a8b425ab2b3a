"""Service commands: what deploys, and what asks a running service, a CI server or a code host how the work is.

The forms are an allow-list, matched against the words of parsed commands. Whatever is not in it is none of these, which accuses
nobody. Nothing is run.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from tacit.text.shell import Command, nested_script, parse_command, without_heredocs


class ServiceKind(StrEnum):
    """What answers, and how."""

    HEALTH = "health"
    """An HTTP address that must answer without an error status."""
    OUTPUT = "output"
    """An HTTP address whose answer must contain a text."""
    ROLLOUT = "rollout"
    """A cluster or a service manager that must say that something runs."""
    CI = "ci run"
    """A CI server whose run must have passed."""
    MERGED = "merged"
    """A code host that must say that a pull request was merged."""


@dataclass(frozen=True, slots=True)
class ServiceCheck:
    """A command that asks about something that runs elsewhere."""

    kind: ServiceKind
    target: str = ""
    """The host with its port, the resource, or the number of a run or pull request; empty: that of the branch."""


_NAME = r"[A-Za-z0-9][\w.-]*"
_FILE = r"(?![/~-]|https?:|\.\.)[\w./-]+"
_K8S = rf"(?: (?:-n|--namespace|--context)[ =]{_NAME}| --timeout[ =]\w+)*"
_KIND = r"(?:deploy(?:ment)?s?|sts|statefulsets?|ds|daemonsets?|po|pods?|jobs?)(?:\.apps|\.batch)?"
_RESOURCE = rf"{_KIND}[/ ](?P<target>{_NAME})"
_ADDRESS = r"(?:https?://)?(?P<target>[A-Za-z0-9][\w.-]*(?::\d{1,5})?)(?:[/?][^\s$`{}\[\]\\]*)?"
_CURL_FLAG = (
    r"-[fsSLIikv46]*(?:[fsSLIikv46]|m ?[\d.]+|o ?/dev/null|w ?\S+)|--(?:fail|fail-with-body|silent|show-error|location|"
    r"include|head|verbose|retry-connrefused|retry-all-errors|no-progress-meter|insecure|ipv4|ipv6)|"
    r"--(?:max-time|connect-timeout|retry|retry-delay|retry-max-time)[ =][\d.]+|--output[ =]/dev/null|--write-out[ =]\S+"
)
_WGET_FLAG = r"-(?:q|S|nv|qO ?-|O ?-|O ?/dev/null|[Tt] ?\d+)|--(?:spider|quiet|timeout=\d+|tries=\d+)"
_FETCH = re.compile(
    rf"curl(?: (?:{_CURL_FLAG}))* {_ADDRESS}(?: (?:{_CURL_FLAG}))*|"
    rf"wget(?: (?:{_WGET_FLAG}))+ {_ADDRESS.replace('target', 'address')}"
)
_FAILS_ON_ERROR = re.compile(r"wget |.* (?:-[sSLIikv46]*f\w*|--fail(?:-with-body)?)(?: |$)")
_ROLLOUT = re.compile(
    rf"kubectl{_K8S} rollout status{_K8S} {_RESOURCE}{_K8S}(?: -w| --watch)?|"
    rf"kubectl{_K8S} wait{_K8S} (?:--for[ =]condition=(?:available|ready|complete)(?:=true)?{_K8S} "
    rf"{_RESOURCE.replace('target', 'waited')}|{_RESOURCE.replace('target', 'named')}{_K8S} "
    rf"--for[ =]condition=(?:available|ready|complete)(?:=true)?){_K8S}|"
    rf"systemctl(?: --user)? is-active(?: -q| --quiet)? (?P<unit>{_NAME})",
    re.IGNORECASE,
)
_CI = re.compile(
    r"gh run watch(?: --compact| -i \d+| --interval[ =]\d+)* (?P<target>\d+)(?: --compact| -i \d+| --exit-status)+|"
    r"gh run (?:watch|view) --exit-status (?P<run>\d+)|gh run view (?P<viewed>\d+) --exit-status|"
    r"gh pr checks(?: (?P<request>\d+))?(?: --watch| --fail-fast| -i \d+| --interval[ =]\d+)*"
)
_MERGED = re.compile(r"gh pr view(?: (?P<target>\d+))?(?: --json [\w,]+)?(?: (?:-q|--jq) \.state)?")
_STATE = re.compile(r"\s*(?P<only>[A-Z]+)\s*|(?:title:[^\n]*\n)?state:\s*(?P<listed>[A-Z]+)\n.*", re.DOTALL)
"""The state of a pull request as `gh pr view` prints it alone, or in its header; as JSON it is parsed."""
_GREP_FLAG = re.compile(r"-[qixFEwo]+|-m ?1|--quiet|--ignore-case|--fixed-strings|--extended-regexp")
_FILTER = re.compile(r"\.[\w.\"-]+ ?== ?(?:\"[^\"\\]+\"|true|\d+)")
_COMMON_WORDS = frozenset(
    "html head body http https error title doctype div span script the not found null none false".split()
)

_DEPLOYS = re.compile(
    "|".join(
        (
            rf"kubectl{_K8S} apply{_K8S}(?: (?:-R|--recursive))?(?: (?:-f|-k|--filename|--kustomize)[ =]{_FILE})+{_K8S}",
            rf"kubectl{_K8S} rollout (?:restart|undo) {_KIND}[/ ]{_NAME}{_K8S}",
            rf"kubectl{_K8S} set image{_K8S} {_KIND}[/ ](?P<set>{_NAME}) (?P<part>{_NAME})=(?:[\w.:-]+/)*(?:(?P=set)|(?P=part))"
            rf"(?::[\w.-]+)?{_K8S}",
            rf"helm upgrade(?: --install| -i)? (?P<release>{_NAME}) (?:\./{_FILE}|(?:[\w.-]+/)*(?P=release))"
            rf"(?: (?:-n|--namespace|--kube-context)[ =]{_NAME}| (?:-f|--values)[ =]{_FILE}| --install| --wait| --atomic|"
            r" --create-namespace| --timeout[ =]\w+| --version[ =][\w.-]+| --set[ =](?:image\.)?(?:tag|version)=[\w.-]+)*",
            rf"docker(?: |-)compose(?: -f {_FILE}| -p {_NAME})* (?:up|restart|pull|build)(?: -d| --detach| --build| --wait|"
            rf" --force-recreate| --remove-orphans| --no-deps| --quiet-pull| --pull always| {_NAME})*",
            rf"systemctl(?: --user)? (?:restart|start|reload|daemon-reload)(?: {_NAME})*|service {_NAME} (?:restart|reload)",
            rf"(?:fly|flyctl) deploy(?: --remote-only| --app {_NAME}| -a {_NAME})*|vercel(?: deploy)? --prod|wrangler deploy|"
            rf"netlify deploy --prod|gcloud app deploy|gcloud run deploy {_NAME}(?: --source \.| --region {_NAME})*|"
            rf"terraform apply(?: -auto-approve)?|nomad job run {_FILE}|ansible-playbook(?: -i {_FILE})? {_FILE}|"
            rf"serverless deploy|sls deploy|sam deploy|cdk deploy|pulumi up(?: --yes| -y)?|cap {_NAME} deploy",
            r"(?:make|gmake|just|task|(?:npm|pnpm|yarn|bun)(?: run)?)(?: -[sj]\d*)*"
            r" [\w:-]*(?:deploy|release|rollout|restart)[\w:-]*(?: (?!SHELL|MAKE)\w+=[\w.-]+| [A-Za-z0-9][\w.-]*)*",
            r"(?:\./|bin/|scripts?/|ops/|tools?/)(?:[\w-]+/)*[\w-]*(?:deploy|release|rollout|restart)[\w-]*(?:\.\w+)?"
            r"(?: -{0,2}[A-Za-z0-9][\w.=-]*)*",
        )
    )
)  # fmt: skip
"""What puts into service what the project's own files, which are not named by an address, or a version say."""
_IDLE = re.compile(
    r"(?<![a-z])(?:dry|noop|simulate|help|status|notes|check|plan|list|lint|tests?|diff|logs?|wait|info)(?![a-z])|--version",
    re.IGNORECASE,
)
"""In a script's or task's call: then it may deploy nothing."""
_ASKS = re.compile(
    rf"kubectl{_K8S} (?:get|describe|logs|top|version|diff|explain|rollout (?:status|history)|wait|config (?:current-context|"
    r"get-contexts))\b.*|helm (?:list|ls|status|history|get|template|lint)\b.*|"
    rf"docker (?:ps|images|logs|inspect|version|info|pull|push|build|login)\b.*|"
    rf"docker(?: |-)compose(?: -f {_FILE}| -p {_NAME})* (?:ps|logs|config|images|top)\b.*|systemctl(?: --user)? (?:status|"
    r"is-active|is-enabled|show|list-units|cat)\b.*|(?:fly|flyctl) (?:status|logs|releases)\b.*|"
    r"terraform (?:plan|validate|show|output|init|fmt)\b.*|"
    r"gh (?:pr (?:create|view|list|checks|comment|edit|ready|diff|status)|run (?:list|view|watch)|issue \w+|"
    r"repo view|auth status)\b.*"
)
"""What reads from a service, or builds what is deployed, and changes no service."""
SERVICE_TOOLS = frozenset(
    "kubectl helm docker docker-compose podman systemctl service fly flyctl vercel wrangler netlify gcloud az aws heroku "
    "terraform nomad ansible-playbook serverless sls sam cdk pulumi cap gh glab nc ncat socat ssh redis-cli iptables".split()
)
"""Programs that can change what answers, unless their call has one of the forms above."""


def deploys(command: Command) -> bool:
    """Whether a command puts the project's own files, or a version of them, into service."""
    line = _line(command)
    named = command.program not in ("kubectl", "helm", "docker", "docker-compose", "systemctl", "service")
    return bool(line) and _DEPLOYS.fullmatch(line) is not None and not (named and _IDLE.search(line))


def asks_only(command: Command) -> bool:
    """Whether a command only asks a service, or builds what is deployed."""
    line = _line(command)
    return bool(line) and not command.outputs and (_asked(line) is not None or _ASKS.fullmatch(line) is not None)


def commands_within(text: str) -> list[Command]:
    """The commands of a line, also those in a script that a shell is called to run."""
    found: list[Command] = []
    for command in parse_command(text, bare=True):
        script = nested_script(command)
        found += commands_within(script) if script else [command]
    return found


def service_check(text: str) -> ServiceCheck | None:
    """What a shell line asks a service, where its own exit status is the answer and nothing can hide it; None otherwise."""
    commands = list(parse_command(text, bare=True))
    if len(commands) == 1 and (script := nested_script(commands[0])) and not commands[0].assignments:
        return service_check(script)
    if text != without_heredocs(text) or _CONTROL_FLOW.search(text):
        return None
    while len(commands) > 1 and commands[-1].program in ("echo", "printf", "date") and commands[-2].connector == "&&":
        commands.pop()
    first = len(commands) - 1
    if first < 0 or commands[-1].connector not in ("", ";"):
        return None
    if first > 0 and commands[first - 1].connector == "|":
        first -= 1
    if any(each.connector not in ("&&", ";") for each in commands[:first]):
        return None
    line = _line(commands[first])
    if not line:
        return None
    if first == len(commands) - 1:
        return _asked(line) if not commands[first].outputs else None
    fetched = _FETCH.fullmatch(line)
    return ServiceCheck(ServiceKind.OUTPUT, _target(fetched)) if fetched and _finds_a_text(commands[-1]) else None


def request_state(observation: str) -> str:
    """The state of a pull request in the answer about it, such as MERGED; empty where it does not say."""
    try:
        document = json.loads(observation)
    except ValueError:
        found = _STATE.fullmatch(observation)
        return (found["only"] or found["listed"]) if found else ""
    return str(document.get("state", "")) if isinstance(document, dict) else ""


_CONTROL_FLOW = re.compile(r"(?:^|[;&|\n({]|\b(?:then|do|else))\s*(?:if|for|while|until|case|function|!)\s|\(\)\s*\{")


def _line(command: Command) -> str:
    """The words of a command that is started plainly, as one line; empty where something else may run than it says."""
    if command.assignments or (command.runner and command.runner not in ("bash", "sh")):
        return ""
    if any(re.search(r"[\s$`]", word) for word in command.words) or re.search(r"[$`]", command.text):
        return ""
    if "/" in command.typed and re.match(r"\.\./|/|~", command.typed):
        return ""
    return " ".join((command.typed if "/" in command.typed else command.program, *command.words[1:]))


def _asked(line: str) -> ServiceCheck | None:
    """What one command asks."""
    fetched = _FETCH.fullmatch(line)
    if fetched:
        return ServiceCheck(ServiceKind.HEALTH, _target(fetched)) if _FAILS_ON_ERROR.match(line) else None
    for kind, form in ((ServiceKind.ROLLOUT, _ROLLOUT), (ServiceKind.CI, _CI), (ServiceKind.MERGED, _MERGED)):
        if found := form.fullmatch(line):
            return ServiceCheck(kind, _target(found))
    return None


def _target(found: re.Match[str]) -> str:
    return next((value for value in found.groups() if value), "")


def _finds_a_text(command: Command) -> bool:
    """Whether a command at the end of a pipe fails unless a certain text comes in."""
    words: Sequence[str] = command.words[1:]
    if command.assignments or command.outputs or re.search(r"[$`]", command.text):
        return False
    if command.program == "jq" and command.typed == "jq":
        flags, operands = [word for word in words if word.startswith("-")], [w for w in words if not w.startswith("-")]
        exits = any(re.fullmatch(r"-[erMc]*e[rMc]*|--exit-status", flag) for flag in flags)
        return exits and len(operands) == 1 and _FILTER.fullmatch(operands[0]) is not None
    if command.program not in ("grep", "egrep", "fgrep") or command.typed != command.program:
        return False
    patterns = [word for word in words if not _GREP_FLAG.fullmatch(word)]
    if len(patterns) != 1 or patterns[0].startswith("-"):
        return False
    fixed = re.sub(r"\.\*|\\?\s\*|\\s\*|\[\[:space:\]\]\*", " ", patterns[0])
    words_in = re.findall(r"\d+(?:\\?\.\d+)+|[A-Za-z0-9]{2,}", fixed)
    known = [word for word in words_in if word.casefold() not in _COMMON_WORDS]
    return bool(known) and not re.search(r"[*?+|\[(\\]", fixed.replace("\\.", "."))
