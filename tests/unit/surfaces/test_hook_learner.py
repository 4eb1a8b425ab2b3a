"""The learner behind the hooks: journals become uses once, requests are neither lost nor done twice, old files go."""

from __future__ import annotations

import json
import os
import time
from datetime import UTC, datetime
from importlib import resources
from pathlib import Path

import pytest

from tacit.api import Tacit
from tacit.config.environment import UserEnvironment
from tacit.config.location import HookEnvironment, find_location
from tacit.config.settings import Strictness
from tacit.config.signers import forget_unlocked_key
from tacit.config.signing_key import add_statement, unlock
from tacit.domain.errors import StoreOutage
from tacit.evidence import journal_uses
from tacit.evidence.journal_uses import SessionTexts, fold_journals, remove_old_journals, uses_of
from tacit.ingest import sources
from tacit.ingest.journal import digest
from tacit.store import open_store
from tacit.surfaces.hook import learner, learner_requests, log
from tacit.surfaces.hook.events import find, parse
from tacit.surfaces.hook.learner import config_for
from tacit.surfaces.hook.learner_requests import TRIES
from tests.person import PASSPHRASE, give_key
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
    context = find(parse(stdin(event | {"cwd": str(project.folder)})), HookEnvironment({"HOME": str(project.home)}))
    assert context is not None
    learner_requests.request(parse(stdin(event)), context)


def run(project):
    learner.run({"--cwd": str(project.folder)}, home=str(project.home / ".tacit"))


def uses(project):
    with Tacit(open_store(project.database)) as loop:
        found = [loop.context.store.use(entry.subject) for entry in loop.archive.history() if entry.action == "use"]
        assert loop.archive.verify() == []
        return found


def test_what_was_shown_held_back_or_there_already_becomes_a_use_once(project, sessions):
    project.send(claude("SessionStart", source="startup"))
    project.send(claude("UserPromptSubmit", prompt=TASK))
    project.send(claude("UserPromptSubmit", prompt=TASK))
    project.send(claude_failure("x", f"Exit code 1\n{STALE}"))
    with Tacit(open_store(project.database)) as loop:
        added = fold_journals(loop.context, sessions)
        again = fold_journals(loop.context, sessions)
        (sessions / journal_uses.FOLDED).unlink()
        once_more = fold_journals(loop.context, sessions)
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
    with Tacit(open_store(project.database)) as loop:
        first = fold_journals(loop.context, sessions)
        project.send(claude("SessionStart", source="compact"))
        second = fold_journals(loop.context, sessions)
    assert (first, second) == (1, 1)


def test_the_words_and_the_model_come_from_the_transcript_where_it_has_them():
    with resources.as_file(resources.files("tacit") / "demo" / "transcripts") as folder:
        trajectory = next(iter(sources.read(folder)))
    texts = SessionTexts()
    texts.add(trajectory)
    line = {
        "at": 7.5,
        "moment": "prompt",
        "about": digest(trajectory.task.text.strip()),
        "shown": ["v_1"],
        "held": ["v_2"],
    }
    data = json.dumps(line).encode()
    shown, held = uses_of(f"claude-code-{trajectory.session_id}.jsonl", data, texts)
    assert (shown.task, held.task) == (trajectory.task.text, trajectory.task.text)
    assert (shown.held_back, held.held_back) == (False, True)
    assert shown.model == trajectory.environment.model != ""
    (without,) = uses_of(
        "codex-t1.jsonl", json.dumps({"at": 1, "moment": "call", "shown": ["v"]}).encode(), SessionTexts()
    )
    assert (without.task, without.session_id) == ("an error at work", "t1")


@pytest.mark.parametrize(
    "line",
    [
        {"moment": "prompt"},
        {"at": "x", "shown": ["v"]},
        {"at": 1, "shown": "v"},
        {"at": 1, "shown": [7]},
        {"at": 1e300, "shown": ["v"]},
        {"at": -1e300, "shown": ["v"]},
        {"at": 10**400, "shown": ["v"]},
        {"at": float("nan"), "shown": ["v"]},
        {"at": float("inf"), "shown": ["v"]},
        {"at": True, "shown": ["v"]},
    ],
)
def test_odd_lines_of_a_journal_tell_of_no_use(line):
    assert list(uses_of("codex-t1.jsonl", json.dumps(line).encode() + b'\n{"at":1,"sho', SessionTexts())) == []


def test_odd_words_of_a_line_become_text_that_can_be_stored():
    line = {"at": 1, "shown": ["v"], "model": "\ud800" * 9, "agent": [[1]], "about": {"a": 1}, "moment": [2]}
    (use,) = uses_of("codex-\udcff.jsonl", json.dumps(line).encode(), SessionTexts())
    assert (use.model, use.task, use.session_id) == ("?" * 9, "", "?")


def test_one_bad_journal_keeps_no_other_from_being_folded(project, sessions):
    project.send(claude("SessionStart", source="startup"))
    norm = project.ids["use-pnpm"]
    (sessions / "aaa.jsonl").mkdir()
    os.mkfifo(sessions / "aab.jsonl")
    (sessions / "aac.jsonl").symlink_to("/dev/zero")
    odd = [{"at": 1e300, "shown": ["v_x"]}, {"at": 1_700_000_000.5, "shown": ["v_x", norm, "\ud800"]}]
    (sessions / "codex-aad.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in odd) + "[" * 9_000)
    (sessions / "codex-aae.jsonl").write_text(json.dumps({"at": 1_700_000_000.5, "skipped": ["v_x"]}))
    faults: list[Exception] = []
    with Tacit(open_store(project.database)) as loop:
        assert fold_journals(loop.context, sessions, on_fault=faults.append) == 2
    assert [use.version_ids for use in uses(project)] == [(norm,), (norm,)]
    assert {use.session_id for use in uses(project)} == {SESSION, "aad"}
    assert len(faults) == 3
    remove_old_journals(sessions, now=time.time() + 90 * 86_400)
    assert sorted(path.name for path in sessions.glob("*.jsonl")) == ["aaa.jsonl", "aab.jsonl", "aac.jsonl"]


def test_a_learner_pass_reads_each_journal_once_and_logs_a_bad_one_once(project, sessions, alone):
    project.send(claude("UserPromptSubmit", prompt=TASK))
    (sessions / "aaa.jsonl").mkdir()
    request(project, claude("Stop", transcript_path=transcript_in(project)))
    run(project)
    assert sum(" fold: " in line for line in log.recent(str(project.home / ".tacit"))) == 1
    assert len(uses(project)) == 1


def test_how_far_folding_got_is_not_written_for_every_journal(project, sessions, monkeypatch):
    sessions.mkdir()
    for number in range(2 * journal_uses.FOLDED_EVERY + 1):
        (sessions / f"codex-{number}.jsonl").write_text(f'{{"at":{number},"moment":"call"}}\n')
    written: list[str] = []
    replace = os.replace

    def noted(new, path):
        written.append(Path(path).name)
        return replace(new, path)

    monkeypatch.setattr(os, "replace", noted)
    with Tacit(open_store(project.database)) as loop:
        fold_journals(loop.context, sessions)
        assert written == [journal_uses.FOLDED] * 3
        fold_journals(loop.context, sessions)
        remove_old_journals(sessions, now=time.time())
    assert written == [journal_uses.FOLDED] * 3, "and nothing is written where nothing is new"


def strictness(project, home, **around):
    environment = UserEnvironment(home=home, **around)
    return config_for(find_location(environment, start=project.folder), environment).policy.strictness


def with_policy(folder, word):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "tacit.toml").write_text(f'[policy]\nstrictness = "{word}"\n')
    return folder


def test_a_looser_policy_counts_only_where_a_person_signed_it(project, tmp_path):
    forget_unlocked_key()
    own, named = with_policy(tmp_path / "own", "open"), with_policy(tmp_path / "named", "open")
    assert strictness(project, own) is Strictness.STANDARD
    give_key(own)
    assert strictness(project, own, config_file=str(named / "tacit.toml")) is Strictness.STANDARD
    add_statement(own, unlock(own, PASSPHRASE), {"what": "policy", "strictness": "open"})
    assert strictness(project, own) is Strictness.OPEN
    with_policy(project.folder, "strict")
    assert strictness(project, own) is Strictness.STRICT, "a project's file may tighten it"
    with_policy(project.folder, "open")
    assert strictness(project, with_policy(tmp_path / "own", "standard")) is Strictness.STANDARD
    with_policy(tmp_path / "own", "open")
    add_statement(own, unlock(own, PASSPHRASE), {"what": "policy", "strictness": "standard"})
    assert strictness(project, own) is Strictness.STANDARD, "the last statement counts"


def test_an_answer_that_nobody_took_is_no_use():
    lines = [{"at": 1.5, "moment": "prompt", "shown": ["v_1"]}, {"moment": "lost", "lost": 1.5}]
    data = b"\n".join(json.dumps(line).encode() for line in lines)
    assert list(uses_of("codex-t1.jsonl", data, SessionTexts())) == []


def test_a_request_is_captured_learned_from_and_gone(project, sessions, alone):
    project.send(claude("UserPromptSubmit", prompt=TASK))
    request(project, claude("Stop", transcript_path=transcript_in(project)))
    run(project)
    with Tacit(open_store(project.database)) as loop:
        counts = loop.archive.stats()
    assert (counts.trajectories, counts.learned, counts.uses) == (1, 1, 1)
    assert sorted(path.suffix for path in sessions.iterdir()) == [".json", ".jsonl", ".lock"]
    request(project, claude("SessionEnd", transcript_path=transcript_in(project)))
    run(project)
    with Tacit(open_store(project.database)) as loop:
        assert loop.archive.stats() == counts, "asked again, it adds nothing"


def test_requests_of_several_sessions_are_all_served_and_a_bad_one_harms_nobody(project, sessions, alone):
    request(project, claude("Stop", session_id="bad", transcript_path="/nowhere/at/all.jsonl"))
    binary = project.folder.parent / "noise.jsonl"
    binary.write_bytes(bytes(range(256)) * 50)
    request(project, codex("Stop", session_id="noise", transcript_path=str(binary)))
    request(project, codex("Stop", session_id="none", transcript_path=""))
    request(project, claude("Stop", session_id="good", transcript_path=transcript_in(project)))
    (sessions / "codex-torn.wanted").write_text("{")
    (sessions / "codex-a-folder.wanted").mkdir()
    os.mkfifo(sessions / "codex-a-pipe.wanted")
    run(project)
    with Tacit(open_store(project.database)) as loop:
        assert loop.archive.stats().trajectories == 1
    assert [path.name for path in sessions.glob("*.taken")] == ["codex-noise.taken"], "it may be readable next time"
    assert not list(sessions.glob("*.wanted"))
    aside = ["codex-a-folder.failed", "codex-a-pipe.failed", "codex-torn.failed"]
    assert sorted(path.name for path in sessions.glob("*.failed")) == aside
    assert sum("cannot be read" in line for line in log.recent(str(project.home / ".tacit"))) == 3


def test_what_a_killed_learner_had_taken_is_done_by_the_next_one(project, sessions, alone):
    request(project, claude("Stop", transcript_path=transcript_in(project)))
    (wanted,) = sessions.glob("*.wanted")
    wanted.rename(wanted.with_suffix(".taken"))
    run(project)
    with Tacit(open_store(project.database)) as loop:
        assert loop.archive.stats().trajectories == 1
    assert not list(sessions.glob("*.taken"))


def test_a_request_is_given_up_after_several_tries_however_long_they_take_and_kept_aside(project, sessions, alone):
    request(project, claude("Stop", transcript_path=transcript_in(project)))
    (wanted,) = sessions.glob("*.wanted")
    taken = wanted.rename(wanted.with_suffix(".taken"))
    said = json.loads(taken.read_text())
    taken.write_text(json.dumps(said | {"tries": TRIES}))
    run(project)
    with Tacit(open_store(project.database)) as loop:
        assert loop.archive.stats().trajectories == 0
    assert not taken.exists()
    (aside,) = sessions.glob("*.failed")
    assert json.loads(aside.read_text())["transcript"] == said["transcript"]
    assert any(f"in {TRIES} tries" in line for line in log.recent(str(project.home / ".tacit")))
    aside.write_text(json.dumps(said | {"tries": TRIES - 1}))
    taken = aside.rename(taken)
    long_ago = time.time() - 90 * 86_400
    os.utime(taken, (long_ago, long_ago))
    run(project)
    with Tacit(open_store(project.database)) as loop:
        assert loop.archive.stats().trajectories == 1, "age alone is no reason to give up"


def test_a_transcript_that_makes_trouble_stays_for_another_try_and_comes_after_the_others(project, sessions, alone):
    request(project, claude("Stop", session_id="bad", transcript_path="/nowhere/\0.jsonl"))
    request(project, claude("Stop", session_id="good", transcript_path=transcript_in(project)))
    run(project)
    with Tacit(open_store(project.database)) as loop:
        assert loop.archive.stats().learned == 1
    (taken,) = sessions.glob("*.taken")
    assert json.loads(taken.read_text())["tries"] == 1
    (sessions / "codex-new.wanted").write_text(json.dumps({"transcript": ""}))
    assert [each.path.stem for each in learner_requests.take(sessions, home="")] == ["codex-new", "claude-code-bad"]
    for _ in range(TRIES):
        run(project)
    assert [path.name for path in sessions.glob("claude-code-bad.*")] == ["claude-code-bad.failed"]
    assert sum("capture: ValueError" in line for line in log.recent(str(project.home / ".tacit"))) == TRIES
    assert not list(sessions.glob("*.new"))


def test_a_request_that_cannot_be_taken_is_not_waited_for_without_end(project, sessions, alone):
    request(project, claude("Stop", transcript_path=""))
    (wanted,) = sessions.glob("*.wanted")
    (wanted.with_suffix(".taken") / "x").mkdir(parents=True)
    wanted.with_suffix(".failed").mkdir()
    wanted.with_suffix(".failed").joinpath("x").touch()
    run(project)
    assert wanted.exists()
    assert any(line.partition(" ")[2].startswith("take:") for line in log.recent(str(project.home / ".tacit")))


def test_a_store_in_trouble_keeps_the_request_for_later(project, sessions, alone):
    request(project, claude("Stop", transcript_path=transcript_in(project)))
    whole = project.database.read_bytes()
    project.database.write_bytes(b"SQLite format 3\0" + b"\xa5" * 8_000)
    with pytest.raises(StoreOutage):
        run(project)
    assert len(list(sessions.glob("*.taken"))) == 1
    project.database.write_bytes(whole)
    run(project)
    with Tacit(open_store(project.database)) as loop:
        assert loop.archive.stats().trajectories == 1


def test_a_second_learner_leaves_at_once(project, sessions, alone):
    request(project, claude("Stop", transcript_path=transcript_in(project)))
    held = learner_requests.lock(str(sessions))
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


def test_a_session_that_ran_while_paused_is_not_captured_later(project, sessions, alone):
    (project.folder / ".tacit" / "paused").write_text(f"0 {time.time()}")
    request(project, claude("Stop", transcript_path=transcript_in(project)))
    run(project)
    with Tacit(open_store(project.database)) as loop:
        assert loop.archive.stats().trajectories == 0
    assert not list(sessions.glob("*.wanted"))


def test_a_newer_request_replaces_an_older_one_and_both_may_wait(project, sessions):
    request(project, claude("Stop", transcript_path="/a.jsonl"))
    request(project, claude("SessionEnd", transcript_path="/b.jsonl"))
    (wanted,) = sessions.glob("*.wanted")
    assert json.loads(wanted.read_text())["transcript"] == "/b.jsonl"


def test_old_journals_go_once_they_are_folded(project, sessions):
    project.send(claude("UserPromptSubmit", prompt=TASK))
    (journal,) = sessions.glob("*.jsonl")
    later = time.time() + (journal_uses.KEEP_DAYS + 1) * 86_400
    remove_old_journals(sessions, now=later)
    assert journal.exists(), "nothing goes before it is folded"
    with Tacit(open_store(project.database)) as loop:
        fold_journals(loop.context, sessions)
    remove_old_journals(sessions, now=time.time())
    assert journal.exists(), "a session may go on"
    for left in ("codex-x.wanted.123", "codex-x.taken.new", "codex-x.failed"):
        (sessions / left).write_text("half")
    remove_old_journals(sessions, now=later)
    learner_requests.remove_leftovers(sessions, now=later)
    assert [path.name for path in sessions.iterdir()] == [journal_uses.FOLDED]
    assert json.loads((sessions / journal_uses.FOLDED).read_text()) == {}


def test_line_that_is_dated_ahead_is_no_use():
    lines = [{"at": time.time() + ahead, "moment": "prompt", "shown": ["v"]} for ahead in (86_400, 90, 30, -5)]
    data = b"".join(json.dumps(line).encode() + b"\n" for line in lines)
    assert len(list(uses_of("codex-t1.jsonl", data, SessionTexts()))) == 2
