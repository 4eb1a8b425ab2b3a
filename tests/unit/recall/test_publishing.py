"""What was approved is found at once: by its rendering and by vectors of one space, written with the change or waiting."""

from __future__ import annotations

import struct
from array import array
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from tacit.api import Tacit
from tacit.domain.errors import ModelOutage
from tacit.domain.lifecycle import Status
from tacit.domain.skill import Kind, SkillContent, SkillStep
from tacit.domain.trajectory import Origin
from tacit.recall import publishing
from tacit.recall.call_warnings import FILE, CallWarnings
from tacit.recall.publishing import BATCH_SIZE, BODY_CHARACTERS, BRIEF_TOKENS, MAX_VECTORS, embedding_texts
from tacit.render.context import LINE_CHARACTERS, ON_REQUEST
from tacit.store import Store, open_store
from tacit.text.context_frame import card_text
from tests.spelling import SpellingEmbedder
from tests.unit.store.samples import at, content, put_version, step_to

TASK = "rotate the signing keys"


class Failing(SpellingEmbedder):
    """Embeds by spelling, so many times; then it does not answer until it is mended."""

    def __init__(self, answers: int = 0, *, dimensions: int = 64) -> None:
        super().__init__(dimensions)
        self.answers = answers

    def embed(self, texts: Sequence[str]) -> list[bytes]:
        if self.answers <= 0:
            raise ModelOutage("the embedder is away")
        self.answers -= 1
        return super().embed(texts)


@pytest.fixture
def store() -> Iterator[Store]:
    opened: Store = open_store(":memory:")
    yield opened
    opened.close()


def loop_with(store: Store, embedder: Any) -> Tacit:
    return Tacit(store, embedder=embedder, clock=lambda: at(600))


def approved(loop: Tacit, name: str = "rotate-keys", description: str = "Rotate the signing keys", **more: Any) -> str:
    verdict = loop.propose(content(name, description=description, **more), by="ann", origin=Origin.USER)
    loop.review(verdict.version_id, "approve", by="ann")
    return verdict.version_id


def test_vectors_come_with_the_approval_and_go_with_the_retirement(store: Store) -> None:
    embedder = SpellingEmbedder()
    loop = loop_with(store, embedder)
    verdict = loop.propose(content("rotate-keys"), by="ann", origin=Origin.USER)
    assert store.vectors.spaces() == {}  # nobody has approved it yet
    loop.review(verdict.version_id, "approve", by="ann")
    assert store.vectors.spaces() == {embedder.identity: 1}
    assert store.vectors.missing(embedder.identity) == []
    loop.review(verdict.version_id, "retire", by="ann")
    (vector,) = embedder.embed([TASK])
    assert store.vectors.nearest(vector, space=embedder.identity) == []
    assert store.vectors.similarities(vector, [verdict.version_id], space=embedder.identity) == {}


def test_an_approval_that_is_undone_leaves_no_vectors(store: Store) -> None:
    embedder = SpellingEmbedder()
    loop = loop_with(store, embedder)
    verdict = loop.propose(content("rotate-keys"), by="ann", origin=Origin.USER)

    class Undone(Exception):
        pass

    def undone() -> None:
        with store.transaction():
            loop.review(verdict.version_id, "approve", by="ann")
            assert store.vectors.spaces() == {embedder.identity: 1}
            raise Undone

    with pytest.raises(Undone):
        undone()
    assert store.vectors.spaces() == {}
    assert store.version(verdict.version_id).status is Status.CANDIDATE
    assert store.renderings.get([verdict.version_id]).get(verdict.version_id) is None


def test_an_embedder_that_fails_otherwise_undoes_the_approval(store: Store) -> None:
    class Broken(SpellingEmbedder):
        def embed(self, texts: Sequence[str]) -> list[bytes]:
            raise RuntimeError(f"cannot embed {len(texts)} texts")

    loop = loop_with(store, Broken())
    verdict = loop.propose(content("rotate-keys"), by="ann", origin=Origin.USER)
    with pytest.raises(RuntimeError):
        loop.review(verdict.version_id, "approve", by="ann")
    assert store.version(verdict.version_id).status is Status.CANDIDATE
    assert store.renderings.get([verdict.version_id]).get(verdict.version_id) is None


def test_an_outage_loses_nothing_and_recall_says_that_it_went_by_words_alone(store: Store) -> None:
    embedder = Failing()
    loop = loop_with(store, embedder)
    version_id = approved(loop)
    assert store.version(version_id).status is Status.TRIAL
    assert store.renderings.get([version_id]).get(version_id) is not None
    assert store.vectors.missing(embedder.identity) == [version_id]
    selection = loop.recall(TASK)
    assert [item.name for item in selection.items] == ["rotate-keys"]
    assert "the embedder is away" in selection.note
    assert "meaning" not in selection.items[0].signals
    embedder.answers = 100
    assert loop.library.index().embedded == 1
    selection = loop.recall(TASK)
    assert selection.note == ""
    assert selection.items[0].signals["meaning"] > 0


def test_what_waited_through_an_outage_is_embedded_with_the_next_change(store: Store) -> None:
    embedder = Failing()
    loop = loop_with(store, embedder)
    approved(loop)
    embedder.answers = 100
    approved(loop, "purge-cache", "Purge the thumbnails")
    assert store.vectors.spaces() == {embedder.identity: 2}


def test_an_outage_during_indexing_is_told_and_taken_up_again(store: Store) -> None:
    count = 2 * BATCH_SIZE + 3
    for number in range(count):
        put_version(store, f"skill-{number}", description=f"Do number {number}")
    embedder = Failing(answers=1)
    loop = loop_with(store, embedder)
    with pytest.raises(ModelOutage):
        loop.library.index()
    assert store.vectors.spaces() == {embedder.identity: BATCH_SIZE}
    embedder.answers = 100
    told: list[tuple[int, int]] = []
    again = loop.library.index(progress=lambda done, of: told.append((done, of)))
    assert (again.embedded, again.waiting) == (count - BATCH_SIZE, 0)
    assert told == [(BATCH_SIZE, count - BATCH_SIZE), (count - BATCH_SIZE, count - BATCH_SIZE)]
    assert store.vectors.spaces() == {embedder.identity: count}


def test_a_new_embedder_finds_by_words_until_the_index_is_made(store: Store) -> None:
    before, after = SpellingEmbedder(32), SpellingEmbedder(48)
    version_id = approved(loop_with(store, before))
    loop = loop_with(store, after)
    found = loop.recall(TASK).items[0]
    assert found.version_id == version_id
    assert "meaning" not in found.signals  # its vectors are of another space
    indexed = loop.library.index()
    assert (indexed.embedded, indexed.waiting, indexed.space) == (1, 0, after.identity)
    assert indexed.dropped == (before.identity,)
    assert store.vectors.spaces() == {after.identity: 1}
    assert loop.recall(TASK).items[0].signals["meaning"] > 0
    assert loop.library.index() == publishing.Indexed(space=after.identity)


def test_spaces_are_never_mixed(store: Store) -> None:
    class Opposite(SpellingEmbedder):
        """As many numbers, and every one of them the other way round."""

        def __init__(self) -> None:
            super().__init__(32)
            self.identity = "opposite/32@1"

        def embed(self, texts: Sequence[str]) -> list[bytes]:
            return [struct.pack("<32f", *(-number for number in array("f", each))) for each in super().embed(texts)]

    first, second = SpellingEmbedder(32), Opposite()
    old = approved(loop_with(store, first))
    new = approved(loop_with(store, second), "rotate-keys-again", "Rotate the signing keys again")
    assert store.vectors.spaces() == {first.identity: 1, second.identity: 2}  # the one that waited came along
    for embedder in (first, second):
        (vector,) = embedder.embed([TASK])
        near = store.vectors.similarities(vector, [old, new], space=embedder.identity)
        assert all(value > 0 for value in near.values())  # across spaces they would be below
    assert set(store.vectors.similarities(first.embed([TASK])[0], [old, new], space=first.identity)) == {old}


def test_few_that_wait_are_embedded_with_the_next_change_and_many_are_left_to_the_index(store: Store) -> None:
    embedder = SpellingEmbedder(16)
    for number in range(BATCH_SIZE):
        put_version(store, f"skill-{number}", description=f"Do number {number}")
    assert publishing.publish(store, embedder) == BATCH_SIZE
    assert store.vectors.spaces() == {embedder.identity: BATCH_SIZE}
    other = SpellingEmbedder(24)
    put_version(store, "one-more", description="Do one more")
    assert publishing.publish(store, other) == 1
    assert other.identity not in store.vectors.spaces()
    assert len(store.vectors.missing(other.identity)) == BATCH_SIZE + 1
    assert store.vectors.spaces() == {embedder.identity: BATCH_SIZE}
    assert publishing.index(store, other).embedded == BATCH_SIZE + 1


def test_without_an_embedder_nothing_is_embedded_or_forgotten(store: Store) -> None:
    embedder = SpellingEmbedder()
    approved(loop_with(store, embedder))
    assert loop_with(store, None).library.index() == publishing.Indexed()
    assert store.vectors.spaces() == {embedder.identity: 1}


def test_a_rebuild_makes_words_and_vectors_anew(store: Store) -> None:
    embedder = SpellingEmbedder()
    loop = loop_with(store, embedder)
    version_id = approved(loop)
    store.vectors.put(version_id, embedder.embed(["something else altogether"]), space=embedder.identity)
    before = loop.recall(TASK).items[0].signals["meaning"]
    indexed = loop.library.index(rebuild=True)
    assert (indexed.embedded, indexed.waiting) == (1, 0)
    assert indexed.rows >= 1
    assert loop.recall(TASK).items[0].signals["meaning"] > before


def test_what_stops_being_recallable_while_it_is_embedded_is_passed_over(store: Store) -> None:
    kept, retired = (put_version(store, name, description=f"Do {name}") for name in ("kept", "retired"))

    class Slow(SpellingEmbedder):
        def embed(self, texts: Sequence[str]) -> list[bytes]:
            store.add_transition(step_to(store.version(retired.version.id), Status.RETIRED))
            return super().embed(texts)

    embedder = Slow()
    indexed = publishing.index(store, embedder)
    assert store.vectors.spaces() == {embedder.identity: 1}
    assert indexed.waiting == 0
    (vector,) = SpellingEmbedder().embed(["do"])
    assert [hit.stored.version.id for hit in store.vectors.nearest(vector, space=embedder.identity)] == [
        kept.version.id
    ]


def test_a_skill_is_what_it_says_of_itself_and_the_tasks_it_was_learned_from() -> None:
    made = content(
        "rotate_signing-keys", description="Rotate them", body="b" * 900, example_queries=("one", "two", "one")
    )
    assert embedding_texts(made) == [
        ["rotate signing keys: Rotate them", f"rotate signing keys: Rotate them {'b' * BODY_CHARACTERS}"],
        ["one"],
        ["two"],
    ]


def test_without_a_body_the_steps_are_told_and_without_steps_nothing() -> None:
    steps = (SkillStep(text="Stop it."), SkillStep(text="Start it."))
    assert (
        embedding_texts(content("restart", description="Restart", steps=steps))[0][1]
        == "restart: Restart Stop it. Start it."
    )
    assert embedding_texts(content("restart", description="Restart", steps=())) == [["restart: Restart"]]


def test_there_are_only_so_many_vectors_for_one_skill(store: Store) -> None:
    made = content("x", example_queries=tuple(f"example {number}" for number in range(30)))
    assert len(embedding_texts(made)) == MAX_VECTORS
    put_version(store, "many", example_queries=made.example_queries)
    assert publishing.publish(store, SpellingEmbedder()) == 1
    assert list(store.verify()) == []


def test_the_vector_of_several_texts_lies_between_them(store: Store) -> None:
    embedder = SpellingEmbedder()
    stored = put_version(store, "rotate-keys", description="Rotate keys", body="Stop the signer first.", steps=())
    publishing.publish(store, embedder)
    ((short, long),) = embedding_texts(stored.version.content)
    vectors = [array("f", each) for each in embedder.embed([short, long])]
    cosine = sum(a * b for a, b in zip(*vectors, strict=True))
    expected = ((1 + cosine) / 2) ** 0.5
    for vector in embedder.embed([short, long]):
        near = store.vectors.similarities(vector, [stored.version.id], space=embedder.identity)
        assert near[stored.version.id] == pytest.approx(expected, abs=0.02)  # kept in fewer digits
    assert expected < 0.999


@pytest.mark.parametrize("made", [content("x", description="", steps=()), content("", description="", steps=())])
def test_a_skill_that_says_nothing_is_embedded_all_the_same(store: Store, made: SkillContent) -> None:
    put_version(store, made.name, description="", steps=())
    assert publishing.publish(store, SpellingEmbedder()) == 1
    assert len(store.vectors.spaces()) == 1


LONG = "\n\n".join(f"# Part {number}\n\n{'word ' * 200}" for number in range(3))


@pytest.mark.parametrize("kind", [Kind.LESSON, Kind.NORM, Kind.PREFERENCE])
def test_lessons_and_rules_are_published_as_one_short_line(store: Store, kind: Kind) -> None:
    stored = put_version(store, kind=kind, body=LONG, steps=())
    publishing.publish(store)
    found = store.renderings.get([stored.version.id])[stored.version.id]
    assert found.text.startswith(("- ", "• "))
    assert len(found.text) <= LINE_CHARACTERS + 3
    assert not {"\n", "<"} & set(found.text)


@pytest.mark.parametrize("kind", [Kind.PROCEDURE, Kind.REFERENCE])
def test_procedures_and_references_are_published_as_short_blocks(store: Store, kind: Kind) -> None:
    stored = put_version(store, kind=kind, body=LONG)
    publishing.publish(store)
    found = store.renderings.get([stored.version.id])[stored.version.id]
    assert found.text.startswith("<tacit-skill ")
    assert found.tokens <= BRIEF_TOKENS


def test_a_procedure_whose_steps_do_not_fit_is_one_line_that_names_it(store: Store) -> None:
    steps = tuple(SkillStep(text=f"Step {number}: {'word ' * 30}") for number in range(9))
    stored = put_version(store, kind=Kind.PROCEDURE, steps=steps)
    publishing.publish(store)
    found = store.renderings.get([stored.version.id])[stored.version.id]
    assert found.text.startswith("- ")
    assert stored.version.content.description in found.text
    assert f"skills show {stored.version.name}" in found.text
    assert "\n" not in found.text


def test_a_card_is_published_line_by_line_and_follows_its_counts(store: Store) -> None:
    stored = put_version(
        store, kind=Kind.FACT, name="project-commands", body="- test: `make test`\n- check: `make lint`", steps=()
    )
    publishing.publish(store)
    found = store.renderings.get([stored.version.id])[stored.version.id]
    assert found.text == "- test: `make test`\n- check: `make lint`"
    publishing.publish_card(store, stored, f"- test: `make all-tests`\n{ON_REQUEST[0]}`make render`")
    after = store.renderings.get([stored.version.id])[stored.version.id]
    assert (after.text, after.tokens < found.tokens) == ("- test: `make all-tests`", True)


def test_an_approval_of_a_card_covers_what_no_session_starts_with(store: Store) -> None:
    body = f"- `make test`\n{ON_REQUEST[0]}`zola build`"
    stored = put_version(store, kind=Kind.FACT, name="project-commands", body=body, steps=())
    publishing.publish(store)
    signed = publishing.text_for_hooks(store, stored)
    assert store.renderings.get([stored.version.id])[stored.version.id].text == "- `make test`"
    later = "- `zola serve`\n- `go vet`\n- `hugo serve`"
    assert card_text(signed, later) == "- `zola serve`\n- `go vet`"
    assert card_text("- `make test`", later) == "- `go vet`"


def warned_of(folder: Path, goal: str) -> list[str]:
    found = CallWarnings.read(str(folder))
    return [] if found is None else found.versions_for(goal)


def test_which_calls_have_a_warning_is_published_beside_the_store(tmp_path: Path) -> None:
    store = open_store(tmp_path / "tacit.db")
    put_version(store, "not-worth-it", kind=Kind.LESSON, tags=("call:make",), steps=())
    put_version(store, "no-lesson", kind=Kind.PROCEDURE, tags=("call:make", "before"))
    waiting = put_version(
        store, "waiting", kind=Kind.LESSON, tags=("call:npm test", "before"), status=Status.CANDIDATE, steps=()
    )
    publishing.publish(store)
    assert not (tmp_path / FILE).exists()
    stored = put_version(store, "worth-it", kind=Kind.LESSON, tags=("call:uv run pytest", "before"), steps=())
    publishing.publish(store)
    assert warned_of(tmp_path, "uv run pytest") == [stored.version.id]
    assert warned_of(tmp_path, "make") == warned_of(tmp_path, "npm test") == []
    store.add_transition(step_to(waiting, Status.TRIAL))
    publishing.publish(store)
    assert warned_of(tmp_path, "npm test") == [waiting.version.id]
    assert "pytest" not in (tmp_path / FILE).read_text()
    store.close()


def test_a_folder_that_cannot_be_written_to_keeps_nothing_from_being_published(tmp_path: Path) -> None:
    store = open_store(tmp_path / "tacit.db")
    (tmp_path / FILE).mkdir()
    stored = put_version(store, kind=Kind.LESSON, tags=("call:make", "before"), steps=())
    assert publishing.publish(store) == 1
    assert stored.version.id in store.renderings.get([stored.version.id])
    store.close()
