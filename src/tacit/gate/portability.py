"""Portability: would this make sense outside the project it came from? Content → findings, each naming the place.

A portable skill writes placeholders for what is local: absolute paths, private hosts, user names, ticket keys.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from tacit.domain.candidate import Finding, Severity
from tacit.domain.skill import Condition, SkillContent

_LOCAL_ROOTS = "home|Users|root|srv|opt|var|mnt|data|work|workspace"
_PRIVATE_NET = r"\b(?:10\.\d{1,3}|192\.168|172\.(?:1[6-9]|2\d|3[01]))(?:\.\d{1,3}){2}\b"
_PRIVATE_NAME = r"\b(?:[\w-]+\.)+(?:internal|local|corp|lan|intranet)\b"
_RULES = (
    ("absolute_path", re.compile(rf"(?<![\w.~/:])/(?:{_LOCAL_ROOTS})/[\w.\-/]+"), "<repo-root>"),
    ("windows_path", re.compile(r"\b[A-Za-z]:\\[\w\\.\- ]+"), "<repo-root>"),
    ("home_path", re.compile(r"(?<!\w)~/[\w.\-/]+"), "<home>"),
    ("private_host", re.compile(f"{_PRIVATE_NAME}|{_PRIVATE_NET}"), "<SERVICE>"),
    ("ticket_key", re.compile(r"\b(?!UTF-|ISO-|SHA-|RFC-|PEP-)[A-Z]{2,10}-\d{2,6}\b"), "<PROJECT_KEY>"),
)


def portability(content: SkillContent) -> Iterator[Finding]:
    """List what ties a skill to one project or machine."""
    texts = {"name": content.name, "description": content.description, "body": content.body}
    texts |= {f"steps.{i}": f"{step.text} {dict(step.arguments)}" for i, step in enumerate(content.steps)}
    texts |= {f"preconditions.{i}": c.text for i, c in enumerate(content.preconditions)}
    texts |= {f"postconditions.{i}": _words(c) for i, c in enumerate(content.postconditions)}
    texts |= {f"cases.{i}": " ".join(map(_words, case.conditions)) for i, case in enumerate(content.cases)}
    texts |= {f"pitfalls.{i}": pitfall.text for i, pitfall in enumerate(content.pitfalls)}
    for field, text in texts.items():
        for rule, pattern, placeholder in _RULES:
            match = pattern.search(text)
            if match:
                message = f"{field} mentions `{match.group()}`; write {placeholder} to make it portable"
                yield Finding(rule=rule, message=message, severity=Severity.LOW, field=field)


def _words(condition: Condition) -> str:
    return f"{condition.text} {condition.check} {condition.value}"
