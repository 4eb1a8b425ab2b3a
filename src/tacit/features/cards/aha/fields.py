"""One field of a line: any JSON value → the value an entry can hold, or `MISFIT` where it has another shape.

What does not fit is kept beside the entry as it came, so that nothing is lost on the way back to a file.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from tacit.domain.card import CardStatus
from tacit.domain.recommendation import RecommendationStatus

MISFIT: Final = object()
SCOPES = ("project", "portable")
Reader = Callable[[Any], Any]

_ALIASES = {
    "implemented": RecommendationStatus.DONE,
    "complete": RecommendationStatus.DONE,
    "completed": RecommendationStatus.DONE,
    "in-progress": RecommendationStatus.IN_PROGRESS,
    "inprogress": RecommendationStatus.IN_PROGRESS,
}
_NO = frozenset({"", "0", "false", "no", "off", "null", "none"})


def text(value: Any) -> Any:
    """A text; nothing is the empty one."""
    if value is None:
        return ""
    return value if isinstance(value, str) else MISFIT


def texts(value: Any) -> Any:
    """A list of texts; one text alone is a list of one."""
    if value is None or value == "":
        return ()
    if isinstance(value, str):
        return (value,)
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        return MISFIT
    return tuple(value)


def mapping(value: Any) -> Any:
    """An object."""
    if value is None:
        return {}
    return value if isinstance(value, dict) else MISFIT


def impact(value: Any) -> Any:
    """An object of texts."""
    if value is None:
        return {}
    fits = isinstance(value, dict) and all(isinstance(item, str) for item in value.values())
    return value if fits else MISFIT


def flag(value: Any) -> bool:
    """Yes or no; what nobody said is no, for to share something takes somebody's yes."""
    return value.strip().lower() not in _NO if isinstance(value, str) else bool(value)


def scope(value: Any) -> str:
    """One of the two scopes; anything else is the narrower one."""
    said = value.strip().lower() if isinstance(value, str) else ""
    return said if said in SCOPES else SCOPES[0]


def card_status(value: Any) -> CardStatus:
    """Where a card stands; unknown words mean that it is proposed."""
    said = value.strip() if isinstance(value, str) else ""
    return CardStatus(said) if said in set(CardStatus) else CardStatus.PROPOSED


def recommendation_status(value: Any) -> RecommendationStatus:
    """Where a recommendation stands; older words are understood, unknown ones mean that it is proposed."""
    said = value.strip() if isinstance(value, str) else ""
    if said in _ALIASES:
        return _ALIASES[said]
    return RecommendationStatus(said) if said in set(RecommendationStatus) else RecommendationStatus.PROPOSED


def is_alias(value: Any) -> bool:
    """Whether a status is an older or unknown word, which `repair` writes anew."""
    return isinstance(value, str) and value.strip() not in {"", *RecommendationStatus}


def written(value: Any) -> Any:
    """An entry's value as JSON has it."""
    return list(value) if isinstance(value, tuple) else dict(value) if isinstance(value, Mapping) else value
