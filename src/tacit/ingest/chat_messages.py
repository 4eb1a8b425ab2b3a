"""Lists of chat messages with tool calls, as OpenAI's interface has them → trajectories.

In this form: plain lists and training sets, results of tau-bench, runs of mini-swe-agent, and SWE-agent's `.traj` files.
A list is one attempt. Where a model played the other side, or a program set the task, nobody typed the words.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any, ClassVar

from tacit.domain.trajectory import ASKED_BY_PROGRAM, Claim, StepResult
from tacit.ingest.log_files import amount_of, bounded, count_of, text_of
from tacit.ingest.session_log import (
    DocumentReader,
    Record,
    SessionLog,
    exit_code_of,
    mapping,
    records,
    since_epoch,
    texts_in,
)

_ERROR = re.compile(r"\s*(?:Error\b|Error:|\{\s*\"error\"\s*:|Traceback \(most recent call last\))")


class ChatLog(SessionLog):
    """Follows one list of messages."""

    client = "chat-messages"
    whole = True
    asked_by: ClassVar[str] = ""

    def __init__(self, path: Path | str, *, agent_id: str = "") -> None:
        super().__init__(path, agent_id=agent_id)
        self._is_begun = False
        self._number = 0
        self._open: list[str] = []

    def take(self, record: Record) -> None:
        """Take in one message."""
        role, text = text_of(record.get("role")), texts_in(record.get("content"))
        begun, self._is_begun, self._number = self._is_begun, True, self._number + 1
        if role in ("system", "developer") and not begun:
            self.system(text)
        elif role == "user":
            self.prompt(self.words_of(text), by=self.asked_by)
        elif role == "assistant":
            self._answer(record, text)
        elif role in ("tool", "function"):
            self._result(record, text)
        else:
            self.context(text, role=role)

    def words_of(self, text: str) -> str:
        """Return what is asked for in a message of the other side."""
        return text

    def outcome(self, record: Record, text: str) -> tuple[StepResult, int | None]:
        """Say how a call ended: a list tells no more than the text that came back."""
        return StepResult.FAILED if _ERROR.match(text) else StepResult.OK, None

    def _answer(self, record: Record, text: str) -> None:
        message_id, at = (
            f"message {self._number}",
            since_epoch(mapping(record.get("extra")).get("timestamp"), per_second=1),
        )
        self.answer(text, at=at, message_id=message_id)
        called = mapping(record.get("function_call"))
        for number, call in enumerate(
            [*records(record.get("tool_calls")), *([{"function": called}] if called else [])]
        ):
            function = mapping(call.get("function")) or call
            call_id = text_of(call.get("id")) or f"{message_id}.{number}"
            self._open.append(call_id)
            given = function.get("arguments", function.get("input"))
            self.call(text_of(function.get("name")), given, call_id=call_id, at=at, message_id=message_id)
        spent = mapping(record.get("usage")) or mapping(
            mapping(mapping(record.get("extra")).get("response")).get("usage")
        )
        self.spend(message_id, sent=spent.get("prompt_tokens"), written=spent.get("completion_tokens"))

    def _result(self, record: Record, text: str) -> None:
        named = text_of(record.get("tool_call_id")) or next(map(text_of, _listed(record.get("tool_call_ids"))), "")
        waiting = [call_id for call_id in self._open if self.attempts.waiting(call_id) is not None]
        self._open = waiting
        call_id = named if named in waiting or not waiting else waiting[0]
        ended, code = self.outcome(record, text)
        self.result(call_id, text, ended, exit_code=code)


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


class ChatMessagesReader(DocumentReader):
    """Reads lists of messages: bare, or in an object under `messages`."""

    name = "chat-messages"
    keys = ((b'"role"',), (b'"content"', b'"tool_calls"'))
    log = ChatLog
    lists = True

    def recognises(self, head: bytes, path: Path | None) -> bool:
        """Whether the first bytes begin a list of messages, or an object that holds one."""
        opens = head.lstrip()[:400]
        begins = opens.startswith(b"[") or b'"messages"' in head[:4096]
        return begins and super().recognises(head, path) and b'"parts"' not in opens

    def records(self, document: Any) -> Iterable[Record] | None:
        """Return the messages."""
        found = document if isinstance(document, list) else mapping(document).get("messages")
        return records(found) if isinstance(found, list) and any("role" in each for each in records(found)) else None


class TauBenchLog(ChatLog):
    """Follows one conversation of tau-bench, where a model plays the customer."""

    client = "tau-bench"
    asked_by = ASKED_BY_PROGRAM

    def introduce(self, record: Record) -> None:
        """Take in the task and the reward of this run."""
        if "reward" in record:
            self.note(session_id=f"task {record.get('task_id')} trial {record.get('trial')}")
            score = amount_of(record.get("reward"))
            if score is not None:
                self.claim = Claim(result="success" if score >= 1 else "failure", score=score, verified_by="tau-bench")

    def take(self, record: Record) -> None:
        """Take in one message; the record of the run itself is none."""
        if "role" in record:
            super().take(record)


class TauBenchReader(DocumentReader):
    """Reads the results of tau-bench: a list of runs with their conversation and reward."""

    name = "tau-bench"
    keys = ((b'"task_id"',), (b'"reward"',), (b'"traj"', b'"trial"', b'"info"'))
    log = TauBenchLog

    def records(self, document: Any) -> Iterable[Record] | None:
        """Return what a run says of itself and its messages."""
        run = mapping(document)
        messages = run.get("traj", run.get("messages"))
        if not isinstance(messages, list):
            return None
        return [{key: run.get(key) for key in ("task_id", "trial", "reward")}, *records(messages)]


_TASK = "{{task}}"


class MiniSweAgentLog(ChatLog):
    """Follows one run of mini-swe-agent; the task stands inside a template."""

    client = "mini-swe-agent"

    def __init__(self, path: Path | str, *, agent_id: str = "") -> None:
        super().__init__(path, agent_id=agent_id)
        self._template = ""
        self._is_persons = True

    def introduce(self, record: Record) -> None:
        """Take in the settings of the run."""
        config = mapping(record.get("config"))
        agent = mapping(config.get("agent"))
        if agent:
            self._template = text_of(agent.get("instance_template"))
            self._is_persons = "interactive" in text_of(config.get("agent_type")).casefold()
            self.note(
                version=record.get("mini_version"),
                model=mapping(config.get("model")).get("model_name"),
                workspace=mapping(config.get("environment")).get("cwd"),
            )
            if status := text_of(record.get("exit_status")):
                self.claim = Claim(result=bounded(status))

    def take(self, record: Record) -> None:
        """Take in one message; the task is what the template was filled with, and the rest is the program's."""
        role = record.get("role")
        if role is None or role == "exit":
            return
        if role != "user" or self.attempts.has_goal:
            if role == "user":
                self.context(texts_in(record.get("content")), role="user")
            else:
                super().take(record)
            return
        before, task, after = self._parts_of(texts_in(record.get("content")))
        self._is_begun = True
        self.context(before)
        self.prompt(task, by="" if self._is_persons else ASKED_BY_PROGRAM)
        self.context(after)

    def _parts_of(self, text: str) -> tuple[str, str, str]:
        before, found, after = self._template.replace("{{ task }}", _TASK).partition(_TASK)
        follows = after.partition("{")[0].strip()[:60] if found else ""
        if not found or not text.startswith(before) or (follows and follows not in text):
            return "", text, ""
        end = text.find(follows, len(before)) if follows else len(text)
        return before, text[len(before) : end].strip(), text[end:]

    def outcome(self, record: Record, text: str) -> tuple[StepResult, int | None]:
        """Say how a command ended, by what the program noted."""
        noted = mapping(record.get("extra"))
        code = exit_code_of(noted.get("returncode"))
        if code == -1 and noted.get("exception_info"):
            return StepResult.UNKNOWN, None  # it ended the run, or ran out of time
        return StepResult.UNKNOWN if code is None else StepResult.OK, code

    def _result(self, record: Record, text: str) -> None:
        printed = mapping(record.get("extra")).get("raw_output")
        super()._result(record, printed if isinstance(printed, str) else text)


class MiniSweAgentReader(DocumentReader):
    """Reads the runs that mini-swe-agent saves."""

    name = "mini-swe-agent"
    keys = ((b'"mini_version"', b"mini-swe-agent-1", b'"instance_template"'), (b'"info"',))
    log = MiniSweAgentLog
    places = ("last_mini_run.traj.json",)

    def records(self, document: Any) -> Iterable[Record] | None:
        """Return the settings and the messages."""
        run = mapping(document)
        messages = run.get("messages")
        return [mapping(run.get("info")), *records(messages)] if isinstance(messages, list) else None


class SweAgentLog(ChatLog):
    """Follows one run of SWE-agent on an issue."""

    client = "swe-agent"
    asked_by = ASKED_BY_PROGRAM

    def introduce(self, record: Record) -> None:
        """Take in what the run says of itself."""
        if status := text_of(record.get("exit_status")):
            self.claim = Claim(result=bounded(status))
        if stats := mapping(record.get("model_stats")):
            sent, written = count_of(stats.get("tokens_sent")), count_of(stats.get("tokens_received"))
            self.spend("run", sent=sent, written=written, usd=stats.get("instance_cost"))

    def take(self, record: Record) -> None:
        """Take in a message of the history, or a step that holds a thought, an action and what came of it."""
        if "observation" in record and "role" not in record:
            self._number += 1
            message_id = f"message {self._number}"
            thought = text_of(record.get("thought")) or text_of(record.get("response"))
            self.answer(thought, message_id=message_id)
            action = text_of(record.get("action")).strip()
            if action:
                self.call("bash", {"command": action}, call_id=message_id, message_id=message_id)
                text = text_of(record.get("observation"))
                self.result(message_id, text, StepResult.UNKNOWN)
        elif "role" in record and record.get("role") in ("system", "user") and not self.attempts.has_goal:
            super().take(record)


class SweAgentReader(DocumentReader):
    """Reads SWE-agent's `.traj` files."""

    name = "swe-agent"
    keys = (
        (b'"trajectory"',),
        (b'"action"', b'"environment"'),
        (b'"observation"', b'"thought"', b'"response"', b'"history"'),
    )
    log = SweAgentLog

    def records(self, document: Any) -> Iterable[Record] | None:
        """Return what stands before the first step, the steps, and what the run says of itself."""
        run = mapping(document)
        steps = run.get("trajectory")
        if not isinstance(steps, list):
            return None
        turns = [each for each in records(run.get("history")) if not each.get("is_demo")]
        opening = [each for each in turns if each.get("role") in ("system", "user")][:2]
        return [mapping(run.get("info")), *opening, *records(steps)]
