"""A library of skills that nobody learned: a seed in → skills, queries and vectors as unevenly spread as real ones.

Words follow Zipf's law; every skill is of a topic with words of its own, topics are of uneven size, and bodies have a long
tail. The vector of a text is the sum of its words' vectors, so that texts of one topic lie together and no model is needed.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import accumulate

import numpy as np

from tacit.domain.lifecycle import Status, Transition
from tacit.domain.scope import Level, Scope
from tacit.domain.skill import Kind, Provenance, Skill, SkillContent, SkillStep, SkillVersion
from tacit.text.error_signatures import error_signature

DIMENSIONS = 384
BEGUN = datetime(2026, 1, 1, tzinfo=UTC)
SYLLABLES = "ba ce di fo gu ha je ki lo mu na pe qui ro su ta ve wi xo zu bra cle dri flo gru pla ste tri".split()
SUBJECTS = (
    "add build cache cargo check client clone column commit compile config container coverage database debug deploy "
    "docker download endpoint environment error export file fixture flag folder format function git handler header image "
    "import index install interface invoice json key kubernetes lint load lock log login merge message method migration "
    "module network node npm package page parser patch path permission pipeline plugin port postgres process profile "
    "project proxy push pytest query queue read redis refactor release remote rename render report request response "
    "restart retry review rollback route run schema script secret server session setting shell signal socket sort source "
    "staging start state stream string style sync table tag task template terminal test thread timeout token tool trace "
    "type update upload user value variable version volume watch worker workspace write yaml the a to of and in for with"
).split()
VOCABULARY = 60_000
TOPIC_WORDS = 40
SKILLS_PER_TOPIC = 25
OWN_SHARE = 0.4
"""The part of a text that is in the topic's own words."""
KINDS = ((Kind.PROCEDURE, 65), (Kind.LESSON, 20), (Kind.NORM, 5), (Kind.PREFERENCE, 5), (Kind.REFERENCE, 5))


class Library:
    """Makes `size` skills, one in a hundred made of others, and queries. Equal sizes and seeds make equal libraries."""

    def __init__(self, size: int, *, seed: int = 5) -> None:
        self.size = size
        self._chooser = random.Random(seed)
        self._words = _vocabulary(self._chooser)
        self._zipf = list(accumulate(1 / (rank + 10) for rank in range(len(self._words))))
        topics = max(1, size // SKILLS_PER_TOPIC)
        self._topics = [self._chooser.choices(self._words, k=TOPIC_WORDS) for _ in range(topics)]
        self._own = list(accumulate(1 / (rank + 3) for rank in range(TOPIC_WORDS)))
        self._sizes = list(accumulate(1 / (rank + 20) for rank in range(topics)))

    def skills(self) -> Iterator[tuple[Skill, SkillVersion, Transition]]:
        """All skills with their only version, approved."""
        names: list[str] = []
        composites = self.size // 100
        for number in range(self.size):
            content, at = self._content(number), BEGUN + timedelta(minutes=number)
            if number >= self.size - composites:
                content = replace(content, sub_skills=tuple(self._chooser.sample(names, 2)))
            names.append(content.name)
            skill = Skill.create(content, Scope(Level.PROJECT, ""), at=at)
            version = SkillVersion(
                skill_id=skill.id, content=content, origins={}, provenance=Provenance(made_by="bench"), created_at=at
            )
            yield skill, version, _birth(version, at)

    def queries(self, count: int, *, seed: int = 11) -> list[str]:
        """What one would ask: a dozen words of a topic and of the rest, half a dozen or a few dozen now and then."""
        self._chooser = random.Random(seed)
        lengths = self._chooser.choices((5, 12, 40), (3, 5, 2), k=count)
        return [self._text(self._topic(), length) for length in lengths]

    def _content(self, number: int) -> SkillContent:
        chooser, topic = self._chooser, self._topic()
        kind = chooser.choices([kind for kind, _ in KINDS], [share for _, share in KINDS])[0]
        words = min(
            3000, int(chooser.lognormvariate(4.9, 0.55))
        )  # half of all between 90 and 190, one in 500 beyond 600
        steps = [
            SkillStep(text=self._text(topic, 9), tool="Bash", arguments={"command": self._text(topic, 4)})
            for _ in range(chooser.randint(5, 8))
        ]
        return SkillContent(
            kind=kind,
            name=f"{'-'.join(self._text(topic, 3).split())}-{number}",
            description=self._text(topic, chooser.randint(10, 25)),
            body=self._text(topic, max(50, words)),
            tags=tuple(self._text(topic, 3).split()),
            example_queries=(self._text(topic, 10),) if chooser.random() < 0.5 else (),
            steps=tuple(steps) if kind is Kind.PROCEDURE else (),
            signature=error_signature(f"error: cannot find {self._text(topic, 3)}") if kind is Kind.LESSON else "",
        )

    def _topic(self) -> list[str]:
        return self._chooser.choices(self._topics, cum_weights=self._sizes)[0]

    def _text(self, topic: Sequence[str], count: int) -> str:
        own = round(count * OWN_SHARE)
        words = self._chooser.choices(topic, cum_weights=self._own, k=own)
        words += self._chooser.choices(self._words, cum_weights=self._zipf, k=count - own)
        self._chooser.shuffle(words)
        return " ".join(words)


class WordSum:
    """An embedder without a model: a text's vector is the sum of vectors that stand for its words."""

    dimensions = DIMENSIONS
    identity = "bench-word-sum"

    def __init__(self) -> None:
        self._known: dict[str, np.ndarray] = {}

    def embed(self, texts: Sequence[str]) -> list[bytes]:
        """One unit vector for each text."""
        return [self._vector(text).tobytes() for text in texts]

    def _vector(self, text: str) -> np.ndarray:
        total = sum((self._word(word) for word in text.split()), np.zeros(DIMENSIONS, "<f4"))
        length = float(np.linalg.norm(total))
        return total / length if length else self._word("")

    def _word(self, word: str) -> np.ndarray:
        found = self._known.get(word)
        if found is None:
            seed = int.from_bytes(hashlib.sha256(word.encode()).digest()[:8], "little")
            found = np.random.default_rng(seed).standard_normal(DIMENSIONS).astype("<f4")
            self._known[word] = found = found / np.float32(np.linalg.norm(found))
        return found


def _vocabulary(chooser: random.Random) -> list[str]:
    made = dict.fromkeys(SUBJECTS)
    while len(made) < VOCABULARY:
        made["".join(chooser.choices(SYLLABLES, k=chooser.choice((2, 3, 3, 4))))] = None
    return list(made)


def _birth(version: SkillVersion, at: datetime) -> Transition:
    return Transition(
        version_id=version.id,
        content_hash=version.hash,
        before=None,
        after=Status.TRIAL,
        reason="",
        by="bench",
        at=at,
    )
