"""Who is measured on ranking: Tacit with written skills, Tacit with learned ones, and BM25. A library in, ranked ids out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import _recall_sets as sets
import bm25s
from _recall_sets import Asked, Part, Told, Written

import tacit
from tacit.config.settings import Config, RecallSettings
from tacit.domain.ports import Embedder
from tacit.domain.selection import Query, Selection

K = 50
UNLIMITED = 10_000_000


class Ranker:
    """A system that is measured: a library in, ranked ids out."""

    def rank(self, asked: Asked, *, without: frozenset[str] = frozenset()) -> tuple[list[str], float]:
        """Ids, best first, and a confidence that is comparable between questions."""
        raise NotImplementedError


# --- Tacit ----------------------------------------------------------------------------------------------------------


class Memory(Ranker):
    """Recall through the public API, on a library of its own."""

    def __init__(self, skills: Iterable[Written], *, embedder: Embedder | None = None) -> None:
        self.with_tools = False
        self.memory = opened(embedder)
        expected = 0
        for skill in skills:
            self.memory.propose(content_of(skill), by="bench", origin=tacit.Origin.USER)
            expected += 1
        approve(self.memory)
        held = self.memory.skills()
        self.ids = {stored.version.id: stored.version.content.metadata["id"] for stored in held}
        self.versions = {id_: version_id for version_id, id_ in self.ids.items()}
        self.turned_away = expected - len(self.ids)

    def rank(self, asked: Asked, *, without: frozenset[str] = frozenset()) -> tuple[list[str], float]:
        """All that recall weighed, what it would give first."""
        tools = asked.tools if self.with_tools else None
        excluded = tuple(self.versions[id_] for id_ in without if id_ in self.versions)
        selection = weigh(self.memory, asked.text, tools=tools, without=excluded)
        weighed = sorted((one for one in selection.left_out if one.score > 0), key=lambda one: -one.score)
        versions = [item.version_id for item in selection.items] + [one.version_id for one in weighed]
        return list(dict.fromkeys(self.ids[version_id] for version_id in versions)), selection.confidence


class Learned(Ranker):
    """Recall of what was learned from the siblings' own calls; what it would do stands for the skill with that sequence."""

    def __init__(self, part: Part, *, embedder: Embedder | None = None) -> None:
        self.with_tools = False
        self.memory = opened(embedder)
        self.memory.capture(tacit.read([document_of(told) for told in part.siblings]), trust_outcomes=True)
        self.memory.learn()
        approve(self.memory)
        self.ids = {skill.tools: skill.id for skill in part.skills}

    def rank(self, asked: Asked, *, without: frozenset[str] = frozenset()) -> tuple[list[str], float]:
        """The plan, where there is one, then each skill by itself; a sequence that nobody wrote down is a miss."""
        if without:
            raise ValueError("what was learned is spread over skills; one sequence cannot be taken out")
        selection = weigh(self.memory, asked.text, tools=asked.tools if self.with_tools else None)
        plans = [tuple(step.tool for step in selection.plan.steps if step.tool)]
        plans += [tuple(step.tool for step in item.steps if step.tool) for item in selection.items]
        ranked = [self.ids.get(plan, f"unknown: {' '.join(plan)}") for plan in plans if plan]
        return list(dict.fromkeys(ranked)), selection.confidence


def opened(embedder: Embedder | None) -> tacit.Tacit:
    """A fresh memory; the embedder is handed in, so that libraries share what it has embedded."""
    memory = tacit.open(":memory:", config=Config(recall=RecallSettings(embedder="none")))
    memory.context.embedder = embedder
    return memory


def approve(memory: tacit.Tacit) -> None:
    """Approve all that waits: no person sits in a benchmark."""
    for stored in memory.reviews.waiting():
        ticked = [each.key for each in memory.reviews.examine(stored.version.id).external_values]
        memory.review(stored.version.id, "approve", by="bench", content_hash=stored.version.hash, ticked=ticked)


def weigh(
    memory: tacit.Tacit, text: str, *, tools: Sequence[str] | None = None, without: Sequence[str] = ()
) -> Selection:
    """All that recall would consider, without a limit of tokens and without a trace."""
    at_hand = None if tools is None else tuple(tools)
    query = Query(
        text=text, k=K, budget_tokens=UNLIMITED, scope=memory.context.scope, tools=at_hand, without=tuple(without)
    )
    return memory.rank(query)


def document_of(told: Told) -> dict[str, object]:
    """A request and its reference calls as a successful attempt."""
    calls = [
        {
            "step_id": number,
            "source": "agent",
            "message": "",
            "tool_calls": [
                {"tool_call_id": f"call_{number}", "function_name": call["name"], "arguments": call["arguments"]}
            ],
        }
        for number, call in enumerate(told.calls, start=2)
    ]
    tools = {"available_tools": list(told.tools)} if told.tools is not None else {}
    return {
        "schema_version": "ATIF-v1.8",
        "trajectory_id": told.id,
        "agent": {"name": "reference", "version": "1"},
        "steps": [{"step_id": 1, "source": "user", "message": told.text}, *calls],
        "extra": {"result": "success", "verified_by": "the benchmark", **tools},
    }


class Remembering:
    """An embedder that embeds no text twice: folds share most of theirs."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._known: dict[str, bytes] = {}
        self.identity, self.dimensions = embedder.identity, embedder.dimensions

    def embed(self, texts: Sequence[str]) -> list[bytes]:
        """Vectors as the embedder gives them."""
        new = list(dict.fromkeys(text for text in texts if text not in self._known))
        if new:
            self._known.update(zip(new, self._embedder.embed(new), strict=True))
        return [self._known[text] for text in texts]


def content_of(skill: Written) -> tacit.SkillContent:
    """A written skill as content."""
    return tacit.SkillContent(
        kind=tacit.Kind.PROCEDURE,
        name=skill.name,
        description=skill.description,
        body=skill.body,
        example_queries=skill.examples,
        steps=tuple(tacit.SkillStep(text=f"Call `{tool}`.", tool=tool) for tool in skill.tools),
        metadata={"id": skill.id},
    )


# --- BM25 -----------------------------------------------------------------------------------------------------------


class Bm25(Ranker):
    """BM25 (bm25s, Lucene weighting) over documents that belong to skills; the best document of a skill counts."""

    def __init__(self, documents: Iterable[tuple[str, str]], part: Part) -> None:
        self.with_tools = False
        self.digits = part.digits
        self.tools = {skill.id: frozenset(skill.tools) for skill in part.skills}
        self.owners: list[str] = []
        texts: list[str] = []
        for owner, text in documents:
            self.owners.append(owner)
            texts.append(text)
        self.index = bm25s.BM25(method="lucene", k1=1.5, b=0.75)
        self.index.index([self._words(text) or ["_"] for text in texts], show_progress=False)

    @classmethod
    def by_skill(cls, part: Part) -> Bm25:
        """One document for all that a skill says."""
        # Real skills' bodies repeat name and description: that is how the published baseline reads them.
        real = part.name == "real skills"
        return cls(((skill.id, skill.body if real else skill.text) for skill in part.skills), part)

    @classmethod
    def by_request(cls, part: Part) -> Bm25:
        """One document for each example query."""
        requests = ((skill.id, example) for skill in part.skills for example in skill.examples)
        return cls(requests, part)

    @classmethod
    def by_sibling(cls, part: Part) -> Bm25:
        """One document for each sibling, those too that are no example query."""
        ids = {skill.tools: skill.id for skill in part.skills}
        return cls(((ids[told.sequence], told.text) for told in part.siblings), part)

    def _usable(self, owner: str, asked: Asked) -> bool:
        return not self.with_tools or asked.tools is None or self.tools[owner] <= set(asked.tools)

    def _words(self, text: str) -> list[str]:
        words = sets.words(text)
        return words if self.digits else [word for word in words if word.isalpha()]

    def rank(self, asked: Asked, *, without: frozenset[str] = frozenset()) -> tuple[list[str], float]:
        """The ids by score; the confidence is the best score."""
        known = [word for word in self._words(asked.text) if word in self.index.vocab_dict]
        scores = self.index.get_scores(known) if known else [0.0] * len(self.owners)
        best: dict[str, float] = {}
        for owner, score in zip(self.owners, scores, strict=True):
            if owner not in without and self._usable(owner, asked):
                best[owner] = max(float(score), best.get(owner, 0.0))
        ranked = sorted(best, key=lambda owner: -best[owner])
        return ranked[:K], best[ranked[0]] if ranked else 0.0
