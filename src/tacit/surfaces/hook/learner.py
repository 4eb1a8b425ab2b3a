"""The detached learner behind the hooks: takes the requests that hooks left, captures their transcripts, and learns.

One learner works per store, at low priority. Everything it does may be repeated: a known capture adds nothing, a use has
its id from its journal line, learning is one transaction per trajectory. If it is killed, the next one finishes its
requests. A fault of one session is logged, and the others are still learned from.

Agents call hooks, and whoever calls a hook decides on the learner's environment. So the policy comes from the account's own
home, and no variable can loosen it. A language model is asked only where the person's settings say so, and never at an
address, or with a login, that the project's files name.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

from tacit.api import Tacit, open_at
from tacit.config.environment import UserEnvironment, drop_repository_variables
from tacit.config.location import StoreLocation, find_location
from tacit.config.settings import Config, load_config
from tacit.domain.errors import Outage, TacitError
from tacit.domain.ports import LanguageModel
from tacit.evidence.capture import capture_transcript
from tacit.evidence.journal_uses import remove_old_journals
from tacit.ingest.journal import FOLDER
from tacit.surfaces.hook import learner_requests, log, waiting
from tacit.surfaces.hook.learner_requests import Request

CARE_SECONDS = 20.0
"""How long a pass may look after the library."""
REVALIDATED = "revalidated"
"""A file in the folder of sessions; its time is when procedures were last tried again."""


def run(options: Mapping[str, str], *, home: str) -> None:
    """Work until no request is left; return at once if another learner is working."""
    environment = UserEnvironment.read()
    start = Path(options.get("--cwd") or Path.cwd())
    location = find_location(environment, store=options.get("--store", ""), start=start)
    sessions = location.folder / FOLDER
    left_over, before = True, set[tuple[str, int]]()
    while (
        wanted := learner_requests.waiting(sessions, left_over=left_over)
    ) - before and location.paused_until is None:
        lock_file = learner_requests.lock(str(sessions))
        if lock_file is None:
            return
        try:
            _work(location, sessions, environment, home=home)
        finally:
            os.close(lock_file)
        left_over, before = False, wanted


def config_for(location: StoreLocation, environment: UserEnvironment) -> Config:
    """Return the settings of a project; its files may only tighten the person's policy."""
    config, _ = load_config((location.project,), file=environment.config_file, home=environment.person_home)
    return config


def _work(location: StoreLocation, sessions: Path, environment: UserEnvironment, *, home: str) -> None:
    taken = learner_requests.take(sessions, home=home)
    own = environment.person_home
    with open_at(location, config=config_for(location, environment), home=own) as memory:
        done = [request for request in taken if _is_captured(memory, request, home=home)]
        with _model(memory.context.config, location.project, environment, home=home) as model:
            memory.learn(on_journal_fault=partial(log.fault, home, during="fold"), model=model)
        try:
            # Skills without vectors, as after a change of the embedder; until then they are found by keywords.
            memory.library.index()
        except TacitError as error:
            log.fault(home, error, during="index")
        try:
            care_for_library(memory, sessions)
        except TacitError as error:
            log.fault(home, error, during="care")
    for request in done:
        request.finish()
    now = time.time()
    remove_old_journals(sessions, now=now)
    learner_requests.remove_leftovers(sessions, now=now)


def care_for_library(memory: Tacit, sessions: Path) -> None:
    """Look after the library within a time limit, note what waits for the person, and try procedures again if that is due."""
    for extension in memory.context.extensions:  # before duplicates are merged into new text
        extension.in_background()
    suggestions = memory.library.care_by_itself(seconds=CARE_SECONDS)
    waiting.write(str(sessions.parent), len(memory.reviews.waiting(folded=False)), suggestions)
    days, stamp = memory.context.config.learn.revalidate_days, sessions / REVALIDATED
    if days and (not stamp.exists() or time.time() - stamp.stat().st_mtime >= days * waiting.DAY_S):
        stamp.touch()  # first, so that a procedure that kills the learner is not tried at every session
        memory.library.revalidate(keep=True)


@contextmanager
def _model(config: Config, project: Path, environment: UserEnvironment, *, home: str) -> Iterator[LanguageModel | None]:
    """Yield the model that may read in the background; none unless it is switched on, named and can be opened."""
    if not config.learn.read_in_background or not config.model.name:
        yield None
        return
    from tacit.providers.opening import open_model

    drop_repository_variables(project)
    own = environment.person_home
    try:
        opened = open_model(config.model, key=environment.model_key, home=own)
    except TacitError as error:
        log.fault(home, error, during="model")
        yield None
        return
    with opened as model:
        yield model


def _is_captured(memory: Tacit, request: Request, *, home: str) -> bool:
    """Capture the transcript of a request. A fault is logged, and the request stays for another try."""
    before = request.tries
    try:
        request.note(before + 1)
        if request.transcript:
            capture_transcript(memory.context, Path(request.transcript))
        request.note(0)  # if the learner ends later, this transcript is not the cause
    except Outage:
        with suppress(OSError):
            request.note(before)  # the store failed, not the transcript
        raise
    except Exception as error:  # one bad transcript must not keep the others from being captured
        log.fault(home, error, during="capture")
        return False
    return True
