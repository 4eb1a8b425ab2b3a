"""Selecting through a store by meaning, situation and the evidence of one's own language model."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tacit.domain.evidence import Outcome
from tacit.domain.lifecycle import Status
from tacit.domain.reason_code import ReasonCode
from tacit.domain.selection import Query, Selection
from tacit.domain.skill import Condition, Kind, SkillStep
from tacit.domain.stored import StoredVersion
from tacit.recall import publishing
from tacit.recall.filters import NOT_FOR
from tacit.recall.retrieval import choose
from tacit.store import Store, open_store
from tests.spelling import SpellingEmbedder
from tests.unit.store.samples import at, evidence, put_version, step_to

EMBEDDER = SpellingEmbedder()
MISSPELT = "rotat signning kays"


@pytest.fixture
def store() -> Iterator[Store]:
    opened: Store = open_store(":memory:")
    yield opened
    opened.close()


def put(store: Store, name: str, description: str, **more: Any) -> StoredVersion:
    stored = put_version(store, name, description=description, **{"steps": (), **more})
    publishing.publish(store, EMBEDDER)
    return stored


def ask(store: Store, text: str, *, by_meaning: bool = True, **query: Any) -> Selection:
    asked = Query(text=text, **query)
    return choose(store, asked, now=at(600), min_relevance=0.18, embedder=EMBEDDER if by_meaning else None)


def names(selection: Selection) -> list[str]:
    return [item.name for item in selection.items]


def test_what_shares_no_word_is_found_by_its_vector(store: Store) -> None:
    put(store, "signing-kay", "Rotation of signning kay", steps=())
    asked = "signningkays"
    assert ask(store, asked, by_meaning=False).abstained
    selection = ask(store, asked)
    assert names(selection) == ["signing-kay"]
    assert selection.items[0].signals["words"] == 0
    assert selection.items[0].signals["meaning"] > 0
    assert selection.items[0].signals["words"] == 0


@pytest.mark.parametrize("status", [Status.RETIRED, Status.QUARANTINED, Status.STALE])
def test_what_was_withdrawn_is_not_found_by_meaning_either(store: Store, status: Status) -> None:
    stored = put(store, "rotate-signing-keys", "Rotate signing keys")
    assert names(ask(store, "rotate signing keys")) == ["rotate-signing-keys"]
    store.add_transition(step_to(stored, status))
    publishing.publish(store, EMBEDDER)
    selection = ask(store, "rotate signing keys")
    assert selection.abstained
    assert selection.left_out == ()


def test_kinds_hold_for_meaning_too(store: Store) -> None:
    put(store, "rotate-signing-keys", "Rotate signing keys")
    put(store, "signing-key-facts", "About signing keys", kind=Kind.REFERENCE)
    assert names(ask(store, "signing keys", kinds=(Kind.REFERENCE,))) == ["signing-key-facts"]


def test_a_query_without_words_is_not_embedded(store: Store) -> None:
    put(store, "rotate-signing-keys", "Rotate signing keys")
    for text in ("", "  \n\t"):
        selection = ask(store, text)
        assert selection.abstained
        assert selection.note == ""


def test_without_takes_a_skill_as_absent(store: Store) -> None:
    one, two = put(store, "rotate-keys", "Rotate signing keys"), put(store, "rotate-logs", "Rotate the logs")
    for name in (one.version.id, one.skill.id, "rotate-keys"):
        selection = ask(store, "rotate the signing keys", without=(name,))
        assert "rotate-keys" not in names(selection)
        assert ReasonCode.EXCLUDED in {left.code for left in selection.left_out}
    assert ask(store, "rotate", without=(one.version.id, two.version.id)).abstained


def test_the_evidence_of_the_model_that_will_use_it_goes_before_that_of_others(store: Store) -> None:
    stored = put(store, "rotate-keys", "Rotate signing keys")
    for minute in range(8):
        store.add(evidence(stored.version.id, minutes=minute, model="large", use_id=f"l{minute}"))
        failed = evidence(
            stored.version.id, minutes=minute, model="small", outcome=Outcome.FAILURE, use_id=f"s{minute}"
        )
        store.add(failed)
    shares = {
        model: ask(store, "rotate the signing keys", model=model).items[0].reliability
        for model in ("large", "small", "unheard", "")
    }
    assert shares["large"].low > 0.5 > shares["small"].high
    assert shares["unheard"] == shares[""]
    assert shares["small"].high < shares[""].high < shares["large"].high
    assert ask(store, "rotate the signing keys", model="small", min_reliability=0.5).abstained
    assert not ask(store, "rotate the signing keys", model="large", min_reliability=0.5).abstained


def test_a_skill_is_spared_the_models_that_do_better_without_it(store: Store) -> None:
    put(store, "rotate-keys", "Rotate signing keys", metadata={NOT_FOR: "*-mini"})
    selection = ask(store, "rotate the signing keys", model="gpt-5-mini")
    assert selection.abstained
    assert selection.code is ReasonCode.NOT_USABLE_HERE
    assert selection.left_out[0].code is ReasonCode.EXCLUDED_MODEL
    assert names(ask(store, "rotate the signing keys", model="gpt-5")) == ["rotate-keys"]


def test_the_situation_separates_what_the_words_do_not(store: Store) -> None:
    for tool in ("alembic", "flyway"):
        step = SkillStep(text=f"Run {tool}", tool="Bash", arguments={"command": f"{tool} upgrade"})
        put(store, f"migrate-with-{tool}", "Migrate the database", steps=(step,))
    for tool in ("alembic", "flyway"):
        best = ask(store, "migrate the database", state={"last_action": f"{tool} history"}).items[0]
        assert best.name == f"migrate-with-{tool}"
        assert best.signals["state"] > 0


def test_what_is_known_not_to_hold_bars_and_what_holds_does_not(store: Store) -> None:
    clean = Condition(text="the tree is clean", check="git status --porcelain")
    put(store, "release", "Release the package", preconditions=(clean,))
    selection = ask(store, "release the package", state={"holds": {clean.check: False}})
    assert selection.abstained
    assert selection.left_out[0].code is ReasonCode.PRECONDITION_FALSE
    assert clean.text in selection.reason
    assert names(ask(store, "release the package", state={"holds": {clean.check: True}})) == ["release"]


def test_a_norm_stands_for_any_task_and_is_an_item_where_it_is_asked_for(store: Store) -> None:
    put(store, "friday-rule", "Never deploy on Fridays", kind=Kind.NORM)
    other = ask(store, "water the plants", by_meaning=False)
    assert other.abstained
    assert [norm.name for norm in other.standing] == ["friday-rule"]
    assert "friday-rule" not in {left.name for left in other.left_out}
    asked = ask(store, "may I deploy on Fridays", by_meaning=False)
    assert (names(asked), asked.standing) == (["friday-rule"], ())
    assert ask(store, "water the plants", kinds=(Kind.LESSON,)).standing == ()


def test_a_skill_without_a_vector_is_not_left_out_for_it(store: Store) -> None:
    put(store, "rotate-keys", "Rotate the keys")
    put(store, "rotate-logs", "Rotate the logs")
    put_version(store, "rotate-tokens", description="Rotate the tokens", steps=())
    selection = ask(store, "rotate keys logs tokens")
    assert set(names(selection)) == {"rotate-keys", "rotate-logs", "rotate-tokens"}
    assert not any("meaning" in item.signals for item in selection.items)
    assert selection.note


@pytest.mark.parametrize("kind", [Kind.LESSON, Kind.FACT])
def test_what_comes_at_another_moment_is_named_and_not_given_for_words_or_meaning(store: Store, kind: Kind) -> None:
    put(store, "fix-lint", "fix the linter of npm", kind=kind, tags=("call:npm run lint",), example_queries=())
    selection = ask(store, "fix the linter of npm")
    assert (selection.items, selection.note, selection.code) == ((), "", ReasonCode.NOT_USABLE_HERE)
    assert [left.code for left in selection.left_out] == [ReasonCode.OTHER_MOMENT]
    assert names(ask(store, "fix the linter of npm", kinds=(kind,))) == ["fix-lint"]
    assert ask(store, "water the plants").code is ReasonCode.NO_SHARED_WORDS
