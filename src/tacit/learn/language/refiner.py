"""Calls a language model to reword candidates and to propose missed lessons, with versioned prompt files.

A prompt file, such as `wording-1`, is never changed once used; an improved prompt gets the next number.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

from tacit.domain.candidate import Candidate
from tacit.domain.errors import ModelOutage, OverBudget
from tacit.domain.lifecycle import CodedReason, coded
from tacit.domain.ports import LanguageModel, Prompt, Spending
from tacit.domain.skill import Kind, SkillVersion
from tacit.domain.trajectory import Trajectory
from tacit.learn.language.answer_checks import AnswerCheck, AnswerFault
from tacit.learn.language.answers import ANSWER, ModelRemark, does_the_same, keep_wording, proposals, reword
from tacit.learn.language.material import Material, records_material, wording_material

WORDING = "wording-1"
MISSED = "missed-1"
_HASH_LENGTH = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptFile:
    """One versioned prompt."""

    name: str
    instructions: str
    schema: Mapping[str, Any]
    digest: str

    @property
    def version(self) -> str:
        """The version recorded in provenance: the name, and the start of the files' hash."""
        return f"{self.name}@{self.digest[:_HASH_LENGTH]}"

    def request(self, material: str) -> Prompt:
        """Return the prompt for some quoted material."""
        return Prompt(instructions=self.instructions, material=material, schema=self.schema)


@cache
def prompt_file(name: str) -> PromptFile:
    """Read one prompt with its schema."""
    folder = resources.files("tacit.learn.language") / "prompts"
    instructions = (folder / f"{name}.md").read_bytes()
    schema = (folder / f"{name}.json").read_bytes()
    return PromptFile(
        name=name,
        instructions=instructions.decode("utf-8"),
        schema=json.loads(schema),
        digest=hashlib.sha256(instructions + b"\0" + schema).hexdigest(),
    )


KINDS = frozenset({Kind.PROCEDURE, Kind.LESSON})
"""The kinds that a model may reword; norms and preferences are a person's own words."""
PATIENCE = 3
"""Consecutive failures after which the model is not called again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Refined:
    """The result for some candidates."""

    candidates: tuple[Candidate, ...]
    """As many as given, in their order."""
    proposed: tuple[Candidate, ...] = ()
    """Further candidates that the model proposed."""
    remarks: tuple[ModelRemark, ...] = ()
    spent: Spending = Spending()
    new_candidates: tuple[Candidate, ...] = ()
    """New candidates of a kind that a model may reword."""
    worded: int = 0
    """How many of these the model reworded."""


class Refiner:
    """Calls a model for many candidates until its budget ends or it fails too often. One per learning pass."""

    def __init__(self, model: LanguageModel) -> None:
        """Use this model."""
        self._model = model
        self._failures = 0
        self._over = False
        self._shown: set[tuple[str, ...]] = set()
        self._remarks: list[ModelRemark] = []

    @property
    def ended(self) -> bool:
        """Whether the model is no longer called."""
        return self._over or self._failures >= PATIENCE

    def word(
        self,
        candidates: Iterable[Candidate],
        trajectories: Mapping[str, Trajectory],
        *,
        known: Mapping[str, SkillVersion] | None = None,
    ) -> Refined:
        """Reword candidates; `known` maps names to the versions they would revise: where only counts changed, their
        wording is kept without a call.
        """
        mined, before = tuple(candidates), self._model.spent
        linked = _linked_names(mined)
        made: list[Candidate] = []
        new_candidates: list[Candidate] = []
        worded = 0
        for each in mined:
            version = (known or {}).get(each.content.name)
            if each.content.kind not in KINDS:
                made.append(each)
            elif version is not None and does_the_same(each.content, version.content):
                made.append(keep_wording(each, version))
            else:
                made.append(self._reword(each, trajectories, renames=each.content.name not in linked))
                new_candidates.append(made[-1])
                worded += made[-1] is not each
        return Refined(
            candidates=tuple(made),
            remarks=self._take_remarks(),
            spent=self._model.spent - before,
            new_candidates=tuple(new_candidates),
            worded=worded,
        )

    def missed(self, candidates: Iterable[Candidate], trajectories: Mapping[str, Trajectory]) -> Refined:
        """Ask once per set of records for missed lessons; equal lessons are taken once."""
        mined, before = tuple(candidates), self._model.spent
        found: dict[str, Candidate] = {}
        for candidate in mined:
            for made in self._propose(candidate, trajectories):
                found.setdefault(made.content.hash(), made)
        return Refined(
            candidates=mined,
            proposed=tuple(found.values()),
            remarks=self._take_remarks(),
            spent=self._model.spent - before,
        )

    def _reword(self, candidate: Candidate, trajectories: Mapping[str, Trajectory], *, renames: bool) -> Candidate:
        if self.ended:
            return candidate
        prompt, material = prompt_file(WORDING), wording_material(candidate, trajectories)
        answer = self._ask(prompt, material, skill=candidate.content.name)
        if answer is None:
            return candidate
        made, remarks = reword(candidate, answer, check=AnswerCheck(material), renames=renames)
        self._remarks += remarks
        return made if made is candidate else self._with_model(made, prompt)

    def _propose(self, candidate: Candidate, trajectories: Mapping[str, Trajectory]) -> list[Candidate]:
        if candidate.content.kind not in KINDS or self.ended:
            return []
        prompt, material = prompt_file(MISSED), records_material(candidate, trajectories)
        records = tuple(dict.fromkeys(span.trajectory_id for span in material.spans.values())) if material else ()
        if material is None or records in self._shown:
            return []
        self._shown.add(records)
        answer = self._ask(prompt, material, skill=candidate.content.name)
        if answer is None:
            return []
        made, remarks = proposals(candidate, answer, check=AnswerCheck(material), trajectories=trajectories)
        self._remarks += remarks
        return [self._with_model(each, prompt) for each in made]

    def _ask(self, prompt: PromptFile, material: Material, *, skill: str) -> Mapping[str, object] | None:
        """Return the answer, or nothing."""
        try:
            answer = self._model.ask(prompt.request(material.text))
        except OverBudget as refusal:
            self._over = True
            self._remark(skill, coded(AnswerFault.OVER_BUDGET, message=refusal.message))
            return None
        except ModelOutage as outage:
            self._failures += 1
            fault = AnswerFault.MODEL_STOPPED if self.ended else AnswerFault.NO_ANSWER
            self._remark(skill, coded(fault, message=outage.message))
            return None
        self._failures = 0
        return answer

    def _with_model(self, candidate: Candidate, prompt: PromptFile) -> Candidate:
        """Record the model and the prompt in the provenance."""
        provenance = dataclasses.replace(candidate.provenance, model=self._model.name, prompt_version=prompt.version)
        return dataclasses.replace(candidate, provenance=provenance)

    def _remark(self, skill: str, reason: CodedReason) -> None:
        self._remarks.append(ModelRemark(skill=skill, field=ANSWER, reason=reason))

    def _take_remarks(self) -> tuple[ModelRemark, ...]:
        remarks, self._remarks = tuple(self._remarks), []
        return remarks


def _linked_names(candidates: Sequence[Candidate]) -> frozenset[str]:
    """Return names by which skills refer to each other: these are not reworded."""
    names: set[str] = set()
    for candidate in candidates:
        content = candidate.content
        links = (*content.after, *content.sub_skills, *([content.extends] if content.extends else ()))
        names.update(links)
        compared = len(candidate.provenance.trajectory_ids) > 1
        if links or content.cases or content.cues or compared:  # the next mining run finds it by this name
            names.add(content.name)
    return frozenset(names)
