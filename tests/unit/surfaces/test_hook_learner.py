"""The learner behind the hooks: journals become uses once, requests are neither lost nor done twice, old files go."""

from __future__ import annotations

import json
import os
import time
from datetime import UTC, datetime
from importlib import resources

import pytest

from tacit import experience
from tacit.config.whereabouts import Variables
from tacit.domain.errors import StoreOutage
from tacit.loop import Loop
from tacit.memory import open_store
from tacit.surfaces.hook import detach, learner, log
from tacit.surfaces.hook.events import parse
from tacit.surfaces.hook.ground import find
from tacit.surfaces.hook.journal import digest
from tacit.surfaces.hook.learner import Said, fold, tidy, uses_of
from tests.unit.surfaces.hook_events import SESSION, claude, claude_failure, codex, stdin
from tests.unit.surfaces.hooked_project import LESSON, NORM, PROCEDURE, STALE, make_project

TASK = "Please add a migration that adds the column paid_at to the payments table"


@pytest.fixture
def project(tmp_path):
    return make_project(tmp_path, NORM, PROCEDURE, LESSON)


@pytest.fixture
def sessions(project):
    return project.folder / ".tacit" / "sessions"


@pytest.fixture
def alone(project, monkeypatch):
    """The learner's surroundings, with nothing of the machine's own."""
    for name in list(os.environ):
        if name.startswith(("TACIT_", "CLAUDE", "CODEX")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(project.home))


def transcript_in(project) -> str:
    with resources.as_file(resources.files("tacit") / "demo" / "transcripts") as folder:
        source = sorted(folder.glob("*.jsonl"))[0]
        target = project.folder.parent / source.name
        target.write_bytes(source.read_bytes())
    return str(target)


def request(project, event):
    ground = find(parse(stdin(event | {"cwd": str(project.folder)})), Variables({"HOME": str(project.home)}))
    assert ground is not None
    detach.request(parse(stdin(event)), ground)


def run(project):
    learner.run({"--cwd": str(project.folder)}, home=str(project.home / ".tacit"))


def uses(project):
    with Loop(open_store(project.database)) as loop:
        found = [loop.store.use(entry.subject) for entry in loop.history() if entry.action == "use"]
        assert loop.verify() == []
        return found


def test_what_was_shown_held_back_or_there_already_becomes_a_use_once(project, sessions):
    project.send(claude("SessionStart", source="startup"))
    project.send(claude("UserPromptSubmit", prompt=TASK))
    project.send(claude("UserPromptSubmit", prompt=TASK))
    project.send(claude_failure("x", f"Exit code 1\n{STALE}"))
    with Loop(open_store(project.database)) as loop:
        added = fold(loop.store, sessions, Said())
        again = fold(loop.store, sessions, Said())
        (sessions / learner.FOLDED).unlink()
        once_more = fold(loop.store, sessions, Said())
    assert (again, once_more) == (0, 0)
    found = uses(project)
    assert len(found) == added >= 3
    shown = [use for use in found if use.surface == "hook" and not use.held_back]
    assert {project.ids["use-pnpm"], project.ids["add-a-migration"]} <= {v for use in shown for v in use.version_ids}
    assert {use.session_id for use in found} == {SESSION}
    before = [use for use in found if use.surface == "hook, shown before"]
    assert any(project.ids["add-a-migration"] in use.version_ids for use in before)
    assert [use.task for use in found][:2] == ["session start", "a request"]
    assert shown[0].at == datetime.fromtimestamp(project.lines[0]["at"], UTC)


def test_a_journal_that_grew_adds_only_what_is_new(project, sessions):
    project.send(claude("UserPromptSubmit", prompt=TASK))
    with Loop(open_store(project.database)) as loop:
        first = fold(loop.store, sessions, Said())
        project.send(claude("SessionStart", source="compact"))
        second = fold(loop.store, sessions, Said())
    assert (first, second) == (1, 1)


def test_the_words_and_the_model_come_from_the_transcript_where_it_has_them():
    with resources.as_file(resources.files("tacit") / "demo" / "transcripts") as folder:
        trajectory = next(iter(experience.read(folder)))
    said = Said()
    said.add(trajectory)
    line = {
        "at": 7.5,
        "moment": "prompt",
        "about": digest(trajectory.task.text.strip()),
        "shown": ["v_1"],
        "held": ["v_2"],
    }
    data = json.dumps(line).encode()
    shown, held = uses_of(f"claude-code-{trajectory.session_id}.jsonl", data, said)
    assert (shown.task, held.task) == (trajectory.task.text, trajectory.task.text)
    assert (shown.held_back, held.held_back) == (False, True)
    assert shown.model == trajectory.environment.model != ""
    (without,) = uses_of("codex-t1.jsonl", json.dumps({"at": 1, "moment": "call", "shown": ["v"]}).encode(), Said())
    assert (without.task, without.session_id) == ("an error at work", "t1")


@pytest.mark.parametrize(
    "line", [{"moment": "prompt"}, {"at": "x", "shown": ["v"]}, {"at": 1, "shown": "v"}, {"at": 1, "shown": [7]}]
)
def test_odd_lines_of_a_journal_tell_of_no_use(line):
    assert list(uses_of("codex-t1.jsonl", json.dumps(line).encode() + b'\n{"at":1,"sho', Said())) == []


def test_an_answer_that_nobody_took_is_no_use():
    lines = [{"at": 1.5, "moment": "prompt", "shown": ["v_1"]}, {"moment": "lost", "lost": 1.5}]
    data = b"\n".join(json.dumps(line).encode() for line in lines)
    assert list(uses_of("codex-t1.jsonl", data, Said())) == []


def test_a_request_is_captured_learned_from_and_gone(project, sessions, alone):
    project.send(claude("UserPromptSubmit", prompt=TASK))
    request(project, claude("Stop", transcript_path=transcript_in(project)))
    run(project)
    with Loop(open_store(project.database)) as loop:
        counts = loop.stats()
    assert (counts.trajectories, counts.learned, counts.uses) == (1, 1, 1)
    assert sorted(path.suffix for path in sessions.iterdir()) == [".json", ".jsonl", ".lock"]
    request(project, claude("SessionEnd", transcript_path=transcript_in(project)))
    run(project)
    with Loop(open_store(project.database)) as loop:
        assert loop.stats() == counts, "asked again, it adds nothing"


def test_requests_of_several_sessions_are_all_served_and_a_bad_one_harms_nobody(project, sessions, alone):
    request(project, claude("Stop", session_id="bad", transcript_path="/nowhere/at/all.jsonl"))
    binary = project.folder.parent / "noise.jsonl"
    binary.write_bytes(bytes(range(256)) * 50)
    request(project, codex("Stop", session_id="noise", transcript_path=str(binary)))
    request(project, codex("Stop", session_id="none", transcript_path=""))
    request(project, claude("Stop", session_id="good", transcript_path=transcript_in(project)))
    (sessions / "codex-torn.wanted").write_text("{")
    run(project)
    with Loop(open_store(project.database)) as loop:
        assert loop.stats().trajectories == 1
    assert not list(sessions.glob("*.wanted")) + list(sessions.glob("*.taken"))
    assert any("capture:" in line for line in log.recent(str(project.home / ".tacit")))


def test_what_a_killed_learner_had_taken_is_done_by_the_next_one(project, sessions, alone):
    request(project, claude("Stop", transcript_path=transcript_in(project)))
    (wanted,) = sessions.glob("*.wanted")
    wanted.rename(wanted.with_suffix(".taken"))
    run(project)
    with Loop(open_store(project.database)) as loop:
        assert loop.stats().trajectories == 1
    assert not list(sessions.glob("*.taken"))


def test_a_request_that_ended_every_learner_for_a_day_is_dropped(project, sessions, alone):
    request(project, claude("Stop", transcript_path=transcript_in(project)))
    (wanted,) = sessions.glob("*.wanted")
    taken = wanted.rename(wanted.with_suffix(".taken"))
    long_ago = time.time() - learner.GIVE_UP_S - 60
    os.utime(taken, (long_ago, long_ago))
    run(project)
    with Loop(open_store(project.database)) as loop:
        assert loop.stats().trajectories == 0
    assert not list(sessions.glob("*.taken"))


def test_a_store_in_trouble_keeps_the_request_for_later(project, sessions, alone):
    request(project, claude("Stop", transcript_path=transcript_in(project)))
    whole = project.database.read_bytes()
    project.database.write_bytes(b"SQLite format 3\0" + b"\xa5" * 8_000)
    with pytest.raises(StoreOutage):
        run(project)
    assert len(list(sessions.glob("*.taken"))) == 1
    project.database.write_bytes(whole)
    run(project)
    with Loop(open_store(project.database)) as loop:
        assert loop.stats().trajectories == 1


def test_a_second_learner_leaves_at_once(project, sessions, alone):
    request(project, claude("Stop", transcript_path=transcript_in(project)))
    held = detach.lock(str(sessions))
    assert held is not None
    run(project)
    assert len(list(sessions.glob("*.wanted"))) == 1
    os.close(held)
    run(project)
    assert not list(sessions.glob("*.wanted"))


def test_a_paused_project_is_left_alone(project, sessions, alone):
    request(project, claude("Stop", transcript_path=transcript_in(project)))
    (project.folder / ".tacit" / "paused").write_text("")
    run(project)
    assert len(list(sessions.glob("*.wanted"))) == 1


def test_a_newer_request_replaces_an_older_one_and_both_may_wait(project, sessions):
    request(project, claude("Stop", transcript_path="/a.jsonl"))
    request(project, claude("SessionEnd", transcript_path="/b.jsonl"))
    (wanted,) = sessions.glob("*.wanted")
    assert json.loads(wanted.read_text())["transcript"] == "/b.jsonl"


def test_old_journals_go_once_they_are_folded(project, sessions):
    project.send(claude("UserPromptSubmit", prompt=TASK))
    (journal,) = sessions.glob("*.jsonl")
    later = time.time() + (learner.KEEP_DAYS + 1) * 86_400
    tidy(sessions, now=later)
    assert journal.exists(), "nothing goes before it is folded"
    with Loop(open_store(project.database)) as loop:
        fold(loop.store, sessions, Said())
    tidy(sessions, now=time.time())
    assert journal.exists(), "a session may go on"
    (sessions / "codex-x.wanted.123").write_text("half")
    tidy(sessions, now=later)
    assert [path.name for path in sessions.iterdir()] == [learner.FOLDED]
    assert json.loads((sessions / learner.FOLDED).read_text()) == {}
