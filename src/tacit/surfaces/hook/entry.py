"""`tacit hook`: an event on stdin → an answer on stdout or nothing, and always exit 0.

Any fault becomes one line in the log: an agent must never wait for Tacit or see its faults. `tacit hook learn` starts the
detached learner.
"""

from __future__ import annotations

import os
import signal
import time

from tacit.config.location import HookEnvironment
from tacit.ingest.journal import append_late
from tacit.recall.call_warnings import CallWarnings
from tacit.surfaces.hook import learner_requests, log
from tacit.surfaces.hook.events import BEFORE, LEARN, START, Event, EventContext, InvalidEvent, find, parse

LIMIT_S = 2.0
"""After so long a hook gives up; clients wait longer, people should not."""
LEARNER_LIMIT_S = 1800
"""A learner that takes longer is stuck; the system ends it, and the next one goes on."""
MAX_EVENT_BYTES = 32 * 1024 * 1024


def main(arguments: list[str]) -> None:
    """Run one hook, or the learner; never returns."""
    variables = HookEnvironment()
    during = "learn" if arguments[:1] == ["learn"] else "hook"
    try:
        if variables.is_model_call:
            os._exit(0)  # Tacit itself asks this client, as a language model
        if during == "learn":
            from tacit.surfaces.hook.learner import run

            signal.alarm(LEARNER_LIMIT_S)
            run(_options(arguments[1:], ("--cwd", "--store")), home=variables.home)
        else:
            _run(_options(arguments, ("--client", "--store")), variables)
    except (Exception, KeyboardInterrupt) as error:  # the top of the surface: logged, and the agent sees nothing
        log.fault(variables.home, error, during=during)
    os._exit(0)  # nothing is left to close, and the interpreter's own end takes time


def _run(options: dict[str, str], variables: HookEnvironment) -> None:
    in_progress: list[tuple[Event, EventContext]] = []
    signal.signal(signal.SIGALRM, lambda *_: _give_up(variables.home, in_progress))
    signal.setitimer(signal.ITIMER_REAL, LIMIT_S)
    event = parse(_read_all(), options.get("--client", ""))
    if not event.moment:
        return
    context = find(event, variables, store=options.get("--store", ""))
    if context is None:
        return
    if event.moment == LEARN:
        _stop_the_clock()
        if context.has_store or context.location.may_be_made(variables.home):
            learner_requests.request(event, context)
            learner_requests.start_learner(context)
        if context.ask_at_end and context.has_store:
            from tacit.surfaces.hook.end_question import ask

            ask(event, context, say=_say)
        return
    if event.is_all_that_comes and (context.has_store or context.location.may_be_made(variables.home)):
        learner_requests.request_for_later(event, context)
    if not answers(event, context):
        return
    in_progress.append((event, context))
    from tacit.surfaces.hook.event_handlers import respond

    respond(event, context, say=_say, before_write=_stop_the_clock)
    if event.moment == START and learner_requests.is_wanted(context):
        learner_requests.start_learner(context)  # the last one was killed before its time


def answers(event: Event, context: EventContext) -> bool:
    """Whether there may be something to say: there is a store, and, before a call, a lesson about such calls."""
    if not context.has_store or event.moment != BEFORE:
        return context.has_store
    warnings = CallWarnings.read(context.location.folder_path)
    return warnings is not None and any(warnings.may_concern(call.command) for call in event.calls)


def _give_up(home: str, in_progress: list[tuple[Event, EventContext]]) -> None:
    """End the hook, so that the agent can go on; the event is still journaled if it was read."""
    try:
        log.note(home, f"hook: gave up after {LIMIT_S:g} seconds")
        for event, context in in_progress:
            line: dict[str, object] = {"at": round(time.time(), 6), "moment": event.moment, "late": True}
            append_late(context.location.folder_path, event.client, event.session, line)
    finally:
        os._exit(0)


def _stop_the_clock() -> None:
    signal.setitimer(signal.ITIMER_REAL, 0)


def _options(arguments: list[str], known: tuple[str, ...]) -> dict[str, str]:
    """`--name value` and `--name=value` → values by name."""
    found: dict[str, str] = {}
    waiting = list(arguments)
    while waiting:
        name, equals, value = waiting.pop(0).partition("=")
        if name not in known or not (equals or waiting):
            raise InvalidEvent("unknown option of tacit hook", code="unknown_option")
        found[name] = value if equals else waiting.pop(0)
    return found


def _read_all() -> bytes:
    """Everything on stdin, to its end even if it is too much: a client may take a closed pipe for a fault."""
    parts: list[bytes] = []
    size = 0
    while data := os.read(0, 1 << 20):
        size += len(data)
        if size <= MAX_EVENT_BYTES:
            parts.append(data)
    if size > MAX_EVENT_BYTES:
        raise InvalidEvent("the event is too large", code="too_large")
    return b"".join(parts)


def _say(text: str) -> None:
    """Write the answer, all of it."""
    data = text.encode("utf-8", "replace")
    while data:
        data = data[os.write(1, data) :]
