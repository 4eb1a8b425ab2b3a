"""What a skill touches outside its own text: content → hosts, addresses, packages, commands, paths, variables, effects.

Deterministic and in linear time; it reads words and code and understands neither. Paths inside the workspace are no
touch. It lists and does not judge: whether something is at home in a skill is for the checks and for people.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tacit.domain.skill import Capabilities, SkillContent
from tacit.domain.trust import Touch, Touched
from tacit.text.touches.fields import field_texts
from tacit.text.touches.reading import is_overfull, touches_in
from tacit.text.touches.running import run_by_a_shell

__all__ = ["field_texts", "is_overfull", "needs", "touches", "touches_in"]

TEXT_MAX = 1 << 20
"""Characters of one field that are read."""
TOTAL_MAX = 8 << 20
"""Characters of all fields together."""


def touches(content: SkillContent) -> tuple[Touch, ...]:
    """All that a content touches, field by field and in the order of their text; the same thing as often as it stands."""
    names = {f"files.{number}": file.path for number, file in enumerate(content.files)}
    found: list[Touch] = []
    texts = dict(_within(field_texts(content)))
    for path, text in texts.items():
        found.extend(touches_in(path, text, file=names.get(path, "")))
    told = {(touch.field, touch.kind, touch.value) for touch in found}
    return (*found, *run_by_a_shell(content, texts, told))


def _within(texts: Iterable[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """As much as is read of texts beyond all measure; a check tells what was left."""
    room = TOTAL_MAX
    for path, text in texts:
        if len(text) <= room:
            room -= len(text)
            yield path, text[:TEXT_MAX]


def needs(content: SkillContent, found: Iterable[Touch] | None = None) -> Capabilities:
    """The same as capabilities: what a caller would have to allow; `found` are its touches, where they are known."""
    found = touches(content) if found is None else tuple(found)
    return Capabilities(
        hosts=_values(found, Touched.HOST),
        reads=_values(found, Touched.READ),
        writes=_values(found, Touched.WRITE),
        commands=_values(found, Touched.COMMAND),
        secrets=_values(found, Touched.VARIABLE, Touched.SECRET),
        effects=_values(found, Touched.EFFECT),
    )


def _values(found: Iterable[Touch], *kinds: Touched) -> tuple[str, ...]:
    return tuple(sorted({touch.value for touch in found if touch.kind in kinds}))
