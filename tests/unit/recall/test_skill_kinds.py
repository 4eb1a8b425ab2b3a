"""Each kind as it is recalled: norms within a cap, preferences for one person, documents quoted, and room shared out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tacit import render
from tacit.api import Tacit
from tacit.config.location import HookEnvironment, account_name
from tacit.domain.candidate import Relation
from tacit.domain.errors import Mistake, NotFound
from tacit.domain.identity import digest
from tacit.domain.reason_code import ReasonCode
from tacit.domain.scope import Level, Scope
from tacit.domain.selection import Budget, Query, Selection
from tacit.domain.skill import Kind, Skill, SkillContent, of_person
from tacit.domain.stored import ABSTRACT, Passage
from tacit.domain.trajectory import Origin
from tacit.recall.retrieval import MAX_WEIGHED_NORMS
from tacit.store import Store, open_store
from tacit.text.words import estimate_tokens
from tests.raising import raises
from tests.unit.making import candidate
from tests.unit.store.samples import at, put_version

TASK = "format the invoices module with black"
ANSWER = "The autovacuum daemon must freeze tuples before wraparound; the threshold is an age of transactions."
QUESTION = "autovacuum freeze wraparound threshold"


@pytest.fixture
def store() -> Iterator[Store]:
    opened: Store = open_store(":memory:")
    yield opened
    opened.close()


@pytest.fixture
def loop(store: Store) -> Tacit:
    return Tacit(store, clock=lambda: at(600))


def approved(loop: Tacit, kind: Kind, name: str, description: str, **more: Any) -> str:
    made = SkillContent(kind=kind, name=name, description=description, **more)
    verdict = loop.propose(made, by="ann", origin=Origin.USER)
    loop.review(verdict.version_id, "approve", by="ann")
    return verdict.version_id


def taste(loop: Tacit, person: str, *, name: str = "", tool: str = "black") -> str:
    said = f"Format the invoices module with {tool}"
    return approved(loop, Kind.PREFERENCE, name or f"{person or 'any'}-{tool}", said, person=person)


def document(store: Store, name: str, *passages: str, **more: Any) -> str:
    title = more.pop("title", f"Notes on {name}")
    sections = [ABSTRACT, *(f"Part {number}" for number in range(1, len(passages)))]
    where = tuple(
        Passage(index=place, text=text, section=section, first_page=place + 1, last_page=place + 1)
        for place, (text, section) in enumerate(zip(passages, sections, strict=True))
    )
    told = {"title": title, "text_digest": digest(where), "authors": "Ann Lee", "year": "2019", **more}
    metadata = {f"document.{key}": str(value) for key, value in told.items()}
    kind, fields = Kind.REFERENCE, {"description": title, "metadata": metadata, "steps": ()}
    version_id = put_version(store, name, kind=kind, **fields).version.id
    store.passages.put(version_id, where)
    return version_id


def names(selection: Selection) -> list[str]:
    return [item.name for item in selection.items]


def budget(selection: Selection, kind: Kind) -> Budget:
    return next(each for each in selection.budgets if each.kind is kind)


# --- preferences -------------------------------------------------------------------------------------------------


def test_a_preference_is_given_to_its_person_alone(loop: Tacit) -> None:
    taste(loop, "ann")
    taste(loop, "bo", tool="ruff")
    assert names(loop.recall(TASK, person="ann")) == ["ann-black"]
    assert names(loop.recall(TASK, person="bo")) == ["bo-ruff"]
    assert names(loop.recall(TASK, person="cy")) == []


def test_a_preference_that_names_nobody_is_of_whoever_works_there(loop: Tacit) -> None:
    taste(loop, "")
    assert names(loop.recall(TASK, person="ann")) == names(loop.recall(TASK)) == ["any-black"]


def test_nobody_reads_what_another_prefers_not_even_by_its_name(loop: Tacit) -> None:
    theirs = taste(loop, "ann", name="anns-secret-taste")
    selection = loop.recall(TASK, person="bo")
    assert "secret" not in repr((selection.left_out, selection.text, selection.reason, selection.crowded_out))
    (left,) = [each for each in selection.left_out if each.version_id == theirs]
    assert left.code is ReasonCode.OTHER_PERSON
    assert not left.signals, "it is taken out before anything is ranked"


def test_what_another_prefers_shadows_and_outranks_nothing(loop: Tacit) -> None:
    taste(loop, "", name="format")
    alone = loop.recall(TASK, person="bo", scope="team")
    said: dict[str, Any] = {"description": "Format the invoices module with black", "body": "As ann does.", "steps": ()}
    made = SkillContent(kind=Kind.PREFERENCE, name="format", person="ann", **said)
    narrow = Skill.create(made, Scope(Level.TEAM), at=at())
    put_version(loop.context.store, "format", skill=narrow, kind=Kind.PREFERENCE, person="ann", **said)
    assert [item.version.content.person for item in loop.recall(TASK, person="ann", scope="team").items] == ["ann"]
    beside = loop.recall(TASK, person="bo", scope="team")
    assert names(beside) == names(alone) == ["format"]
    assert [item.version_id for item in beside.items] == [item.version_id for item in alone.items]


def test_whoever_works_here_is_told_by_the_account_and_by_no_variable(loop: Tacit, monkeypatch) -> None:
    mine = taste(loop, account_name(), tool="ruff")
    taste(loop, "mallory")
    for name in ("USER", "USERNAME", "LOGNAME", "TACIT_USER"):
        monkeypatch.setenv(name, "mallory")
    assert account_name()
    assert HookEnvironment({"USER": "mallory", "HOME": "/srv/mallory"}).account == account_name() != "mallory"
    assert [item.version_id for item in loop.recall(TASK).items] == [mine]


def test_another_persons_preference_is_neither_offered_nor_applied(loop: Tacit) -> None:
    taste(loop, "mallory", name="theirs")
    taste(loop, account_name(), name="mine", tool="ruff")
    assert [entry.name for entry in loop.catalogue().entries] == ["mine"]
    assert loop.apply("mine").use_id
    with pytest.raises(NotFound):
        loop.apply("theirs")


def test_a_preference_that_was_learned_is_of_whoever_works_here(loop: Tacit) -> None:
    learned = SkillContent(kind=Kind.PREFERENCE, name="use-black", description="Format with black, not by hand")
    verdict = loop.admit(candidate(learned))
    assert loop.version(verdict.version_id).version.content.person == account_name()
    norm = SkillContent(kind=Kind.NORM, name="use-uv", description="Install packages with uv in this project")
    assert loop.version(loop.admit(candidate(norm)).version_id).version.content.person == ""


def test_an_owner_is_never_changed() -> None:
    theirs = SkillContent(kind=Kind.PREFERENCE, name="a", description="b", person="ann")
    assert of_person(theirs, "bo") is theirs
    assert of_person(SkillContent(kind=Kind.LESSON, name="a", description="b"), "bo").person == ""


def test_the_same_taste_of_two_people_is_two_preferences(loop: Tacit) -> None:
    first = loop.propose(
        SkillContent(kind=Kind.PREFERENCE, name="use-black", description="Format with black", person="ann"), by="ann"
    )
    other = loop.propose(
        SkillContent(kind=Kind.PREFERENCE, name="use-black", description="Format with black", person="bo"), by="bo"
    )
    again = loop.propose(
        SkillContent(kind=Kind.PREFERENCE, name="use-black", description="Format with black", person="bo"), by="bo"
    )
    assert other.skill_id != first.skill_id
    assert again.relation is not Relation.NEW
    assert again.skill_id == other.skill_id


def test_a_person_who_is_no_text_is_refused() -> None:
    with raises(Mistake, "person_not_text"):
        Query(text="x", person=7)  # type: ignore[arg-type]


# --- norms -------------------------------------------------------------------------------------------------------


def test_norms_stand_within_their_share_and_what_had_no_room_is_named(loop: Tacit) -> None:
    for number in range(12):
        approved(
            loop,
            Kind.NORM,
            f"norm-{number:02}",
            f"Convention {chr(97 + number) * 6} holds. " + f"{chr(97 + number) * 7} " * 30,
        )
    selection = loop.recall("water the plants", budget_tokens=900)
    assert selection.abstained
    spent = budget(selection, Kind.NORM)
    assert 0 < spent.used_tokens <= spent.allowed_tokens <= 900 * 0.25
    assert spent.given == len(selection.standing)
    assert spent.given + spent.left_out == 12
    assert len(selection.crowded_out) == spent.left_out > 0
    assert f"no room for {spent.left_out} more that hold here" in selection.text
    assert estimate_tokens(selection.text) <= 900


def test_norms_beyond_the_number_that_is_weighed_are_told_too(loop: Tacit) -> None:
    for number in range(MAX_WEIGHED_NORMS + 3):
        approved(loop, Kind.NORM, f"norm-{number:02}", f"Convention {chr(97 + number) * 6} holds")
    selection = loop.recall("water the plants", budget_tokens=40_000)
    assert len(selection.standing) == MAX_WEIGHED_NORMS
    assert len(selection.crowded_out) == budget(selection, Kind.NORM).left_out == 3
    codes = {left.name: left.code for left in selection.left_out}
    assert {codes[name] for name in selection.crowded_out} == {ReasonCode.NOT_WEIGHED}


def test_where_all_norms_have_room_nothing_is_said_of_it(loop: Tacit) -> None:
    approved(loop, Kind.NORM, "use-uv", "Install packages with uv")
    selection = loop.recall("water the plants")
    assert not selection.crowded_out
    assert "no room" not in selection.text


def test_a_norm_whose_rule_has_no_room_is_left_out_whole(loop: Tacit) -> None:
    for number in range(8):
        letters = chr(97 + number) * 6
        body = f"Rule: {letters}. " + f"{letters} " * 60
        approved(loop, Kind.NORM, f"norm-{number}", f"Convention {letters} holds", body=body)
    for tokens in range(300, 1500, 50):
        selection = loop.recall("water the plants", budget_tokens=tokens)
        assert all("Rule: " in norm.text for norm in selection.standing)
        assert len(selection.standing) + len(selection.crowded_out) == 8
        left = {each.name: each.reason for each in selection.left_out}
        assert all(left[name].startswith("does not fit into the ") for name in selection.crowded_out)


def test_the_line_about_norms_without_room_never_breaks_the_budget(loop: Tacit) -> None:
    for number in range(9):
        approved(loop, Kind.NORM, f"norm-{number}", f"Convention {chr(97 + number) * 6} holds. " + "words " * 40)
    for tokens in range(60, 700, 20):
        assert loop.recall("water the plants", budget_tokens=tokens).tokens <= tokens


# --- room --------------------------------------------------------------------------------------------------------


def test_every_kind_has_a_line_in_the_budgets(loop: Tacit) -> None:
    taste(loop, "")
    selection = loop.recall(TASK, budget_tokens=1000)
    assert [each.kind for each in selection.budgets] == list(Kind)
    shares = {each.kind: each.share for each in selection.budgets}
    assert (shares[Kind.PROCEDURE], shares[Kind.PREFERENCE], shares[Kind.REFERENCE]) == (1.0, 0.25, 0.4)
    spent = budget(selection, Kind.PREFERENCE)
    assert (spent.given, spent.used_tokens) == (1, selection.items[0].tokens)
    assert sum(each.used_tokens for each in selection.budgets) <= 1000


def test_a_paused_memory_shares_out_nothing() -> None:
    assert Selection(query=Query(text="x")).budgets == ()


# --- documents ---------------------------------------------------------------------------------------------------


def test_a_document_is_quoted_with_page_and_section(loop: Tacit, store: Store) -> None:
    document(store, "vacuum", "We study storage.", ANSWER, title="On storage")
    selection = loop.recall(QUESTION)
    (item,) = selection.items
    assert [passage.first_page for passage in item.passages] == [2]
    assert f"> {ANSWER}\n> — On storage (Ann Lee, 2019), p. 2, §Part 1" in selection.text
    assert "Steps:" not in selection.text
    assert budget(selection, Kind.REFERENCE).given == 1


def test_a_document_without_an_answer_stays_out_and_is_told(loop: Tacit, store: Store) -> None:
    document(store, "minutes", "The committee met in spring and served coffee with a threshold of sugar.")
    selection = loop.recall(QUESTION)
    assert selection.abstained
    (left,) = selection.left_out
    assert left.code is ReasonCode.NO_CLOSE_PASSAGE
    assert left.name == "minutes"


def test_a_document_whose_title_alone_fits_is_quoted_by_its_abstract(loop: Tacit, store: Store) -> None:
    document(
        store, "vacuum", "We study storage.", "Coffee was served.", title="Autovacuum, freeze and wraparound threshold"
    )
    (item,) = loop.recall(QUESTION).items
    assert [passage.text for passage in item.passages] == ["We study storage."]


def test_passages_that_are_not_those_of_the_approved_document_are_not_quoted(loop: Tacit, store: Store) -> None:
    """An approval covers the digest that the document names; whoever can write the file can write other passages."""
    document(store, "vacuum", ANSWER, text_digest="sha256:of-other-passages")
    assert loop.recall(QUESTION).abstained
    document(store, "wraparound", ANSWER)
    assert names(loop.recall(QUESTION)) == ["wraparound"]


def test_a_document_without_passages_is_never_shown(loop: Tacit, store: Store) -> None:
    metadata = {"document.text_digest": "d", "document.title": QUESTION}
    put_version(store, "empty", kind=Kind.REFERENCE, description=QUESTION, metadata=metadata, steps=())
    assert loop.recall(QUESTION).abstained


def test_a_reference_that_is_no_document_is_given_as_ever(loop: Tacit) -> None:
    approved(loop, Kind.REFERENCE, "vacuum-notes", "Autovacuum freeze wraparound threshold", body="See the manual.")
    assert names(loop.recall(QUESTION)) == ["vacuum-notes"]


def test_documents_come_after_everything_else_and_change_nothing_of_it(loop: Tacit, store: Store) -> None:
    approved(
        loop, Kind.LESSON, "freeze-early", "Lower the autovacuum freeze threshold before wraparound", body="Do it."
    )
    approved(loop, Kind.PROCEDURE, "tune-vacuum", "Tune the autovacuum threshold", body="Set the threshold.")
    before = loop.recall(QUESTION)
    document(store, "vacuum", ANSWER, ANSWER + " " + QUESTION, citations=90_000, evidence_type="peer-reviewed")
    after = loop.recall(QUESTION)
    assert names(after) == [*names(before), "vacuum"]
    assert [item.text for item in after.items[:-1]] == [item.text for item in before.items]
    assert [item.score for item in after.items[:-1]] == pytest.approx([item.score for item in before.items])


@pytest.mark.parametrize("lessons", [0, 6])
def test_documents_take_more_than_their_share_only_where_nothing_else_wants_it(
    loop: Tacit, store: Store, lessons: int
) -> None:
    for number in range(4):
        document(store, f"paper-{number}", f"{ANSWER} Chapter {number}. " * 8)
    for number, setting in enumerate(("age", "cost", "delay", "limit", "scale", "naptime")[:lessons]):
        text = f"Set the {setting} of autovacuum before the freeze threshold of wraparound number {number}. "
        approved(loop, Kind.LESSON, f"set-{setting}", text, body=f"{text}Then watch {setting} for a day. " * 6)
    selection = loop.recall(QUESTION, k=10, budget_tokens=1500)
    spent = budget(selection, Kind.REFERENCE)
    assert spent.given > 0
    assert (spent.used_tokens > spent.allowed_tokens) is (lessons == 0)
    assert selection.tokens <= 1500


def test_only_those_kinds_that_were_asked_for_are_quoted(loop: Tacit, store: Store) -> None:
    document(store, "vacuum", ANSWER)
    assert loop.recall(QUESTION, kinds="lesson").abstained
    assert names(loop.recall(QUESTION, kinds="reference")) == ["vacuum"]


def test_a_document_that_is_seen_from_nowhere_near_is_not_quoted(loop: Tacit, store: Store) -> None:
    document(store, "vacuum", ANSWER)
    assert names(loop.recall(QUESTION)) == ["vacuum"]
    assert loop.recall(QUESTION, scope="organisation:acme").abstained


def test_hooks_get_the_abstract_quoted(loop: Tacit, store: Store) -> None:
    version_id = document(store, "vacuum", "We study storage. " * 100, ANSWER)
    loop.library.index()
    rendering = store.renderings.get([version_id]).get(version_id)
    assert rendering is not None
    assert "\n> We study storage." in rendering.text
    assert "p. 1, §Abstract" in rendering.text
    assert rendering.tokens < 400


def test_whose_a_preference_is_survives_being_edited_as_text() -> None:
    theirs = SkillContent(kind=Kind.PREFERENCE, name="use-black", description="Format with black", person="ann")
    written = render.render(theirs)
    assert "tacit-person: ann" in written
    assert render.parse(written, strict=True).content == theirs
