"""What a skill touches outside its own text: content → hosts, addresses, packages, commands, paths, variables, effects.

Deterministic and in linear time; it reads words and code and understands neither. Paths inside the workspace are no
touch. It lists and does not judge: whether something is at home in a skill is for the checks and for people.
"""

from __future__ import annotations

from collections.abc import Iterable

from tacit.domain.skill import Capabilities, SkillContent
from tacit.domain.trust import Touch, Touched
from tacit.text.touches.fields import field_texts
from tacit.text.touches.reading import touches_in
from tacit.text.touches.running import run_by_a_shell

__all__ = ["field_texts", "needs", "touches", "touches_in"]


def touches(content: SkillContent) -> tuple[Touch, ...]:
    """All that a content touches, field by field and in the order of their text; the same thing as often as it stands."""
    names = {f"files.{number}": file.path for number, file in enumerate(content.files)}
    found: list[Touch] = []
    texts = dict(field_texts(content))
    for path, text in texts.items():
        found.extend(touches_in(path, text, file=names.get(path, "")))
    told = {(touch.field, touch.value) for touch in found if touch.kind is Touched.COMMAND}
    return (*found, *run_by_a_shell(content, texts, told))


def needs(content: SkillContent, found: Iterable[Touch] | None = None) -> Capabilities:
    """The same as capabilities: what a caller would have to allow; `found` are its touches, where they are known."""
    found = touches(content) if found is None else tuple(found)
    return Capabilities(
        hosts=_values(found, Touched.HOST),
        reads=_values(found, Touched.READ),
        writes=_values(found, Touched.WRITE),
        commands=_values(found, Touched.COMMAND),
        secrets=_values(found, Touched.VARIABLE),
        effects=_values(found, Touched.EFFECT),
    )


def _values(found: Iterable[Touch], kind: Touched) -> tuple[str, ...]:
    return tuple(sorted({touch.value for touch in found if touch.kind is kind}))
