"""Sameness and project-agnosticism of learnings, with whatever can tell: an embedder or words; rules and a language model."""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterator
from operator import mul

from tacit import gate
from tacit.config.settings import Policy
from tacit.domain.errors import ModelOutage, TacitError
from tacit.domain.model import Embedder, LanguageModel
from tacit.domain.skill import SkillContent
from tacit.gate.portability import Local, portability
from tacit.learn.language.prompt import prompt_file
from tacit.maintain.refinement.promotion import SAME_MEANING, SAME_WORDS, Judge, Ruling, meaning_of, same_learning
from tacit.text.similarity import text_similarity

AGNOSTIC = "agnostic-1"
_READ = 600
"""Characters that an embedder is given; it reads a few hundred words at most."""
_FILE = re.compile(
    r"(?<![\w/.:{<>~$-])(?!path/|node_modules/|dist/|build/)(?:[\w-]{1,64}/){1,12}[\w.-]{1,64}\.[a-z]\w{0,4}\b"
)
_OURS = re.compile(
    r"\b(?:this|our) (?:repo(?:sitory)?|project|codebase|monorepo|team|app|company|product)\b", re.IGNORECASE
)


class Sameness:
    """Whether two contents are the same learning: by vectors where there is an embedder that answers, else by words."""

    def __init__(self, embedder: Embedder | None = None, policy: Policy | None = None) -> None:
        self._embedder = embedder
        self._policy = policy or Policy()
        self._vectors: dict[str, array[float]] = {}

    def __call__(self, left: SkillContent, right: SkillContent) -> bool:
        """Whether they are."""
        if left.hash() == right.hash():
            return True
        if (left.steps and right.steps) or (
            left.signature and right.signature
        ):  # what is done, or the error, says more
            done = gate.similarity(left, right)
            if same_learning(left, right, nearness=done, least=self._policy.duplicate_similarity):
                return True
        near = self._cosine(left, right)
        if near is not None:
            return same_learning(left, right, nearness=near, least=SAME_MEANING)
        words = text_similarity(meaning_of(left), meaning_of(right))
        return same_learning(left, right, nearness=words, least=SAME_WORDS)

    def _cosine(self, left: SkillContent, right: SkillContent) -> float | None:
        try:
            return sum(map(mul, self._vector(left), self._vector(right))) if self._embedder else None
        except TacitError:  # a model that is broken or away: words must do
            self._embedder = None
            return None

    def _vector(self, content: SkillContent) -> array[float]:
        text = meaning_of(content)[:_READ]
        if text not in self._vectors and self._embedder:
            vector = array("f")
            vector.frombytes(self._embedder.embed([text])[0])
            self._vectors[text] = vector
        return self._vectors[text]


def by_rules(local: Local) -> Judge:
    """A judge that knows what ties a content to one project: names of it, its files, and talk of "this project"."""

    def judge(content: SkillContent) -> Ruling:
        ties = next(_ties(content, local), "")
        return Ruling(agnostic=not ties, reason=ties or "nothing in it is one project's own", judge="rules")

    return judge


def by_model(model: LanguageModel) -> Judge:
    """A judge that asks a language model. What it cannot answer plainly is a failure, and so a no."""

    def judge(content: SkillContent) -> Ruling:
        answer = model.ask(prompt_file(AGNOSTIC).about("\n".join([content.name, meaning_of(content)])))
        said, reason = answer.get("agnostic"), answer.get("reason")
        if not isinstance(said, bool) or not isinstance(reason, str):
            raise ModelOutage("the model gave no plain answer", hint="ask again, or name another model")
        return Ruling(agnostic=said, reason=" ".join(reason.split())[:300], judge=model.name)

    return judge


def _ties(content: SkillContent, local: Local) -> Iterator[str]:
    for finding in portability(content, local):
        yield finding.message
    own = {file.path for file in content.files}
    steps = [f"{step.text} {' '.join(map(str, step.arguments.values()))}" for step in content.steps]
    told = "\n".join([content.description, content.body, *steps, *(c.check for c in content.postconditions)])
    for match in _FILE.finditer(told):
        if match.group() not in own:
            yield f"it names `{match.group()}`, a file of one project"
    for match in _OURS.finditer(told):
        yield f'it speaks of "{match.group()}"'
