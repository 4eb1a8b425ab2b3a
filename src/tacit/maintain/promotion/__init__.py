"""Promotion, through gates and memory: learnings move to broader scopes, and what is kept there comes back to every project.

team → session → project live in a project's store; organisation and global in the person's own, which projects mirror.
What may pass is decided by `refinement.promotion`; this package fetches what it must know, and keeps what it answers.
"""

from tacit.maintain.promotion.caring import cares, cares_at
from tacit.maintain.promotion.meaning import Sameness, by_model, by_rules
from tacit.maintain.promotion.meeting import asked, could_move, left_at_home, meant, meet, move_up, weigh
from tacit.maintain.promotion.mirroring import MIRROR, Adopted, adopt
from tacit.maintain.promotion.moving import AT_HOME, Ask, Memory, Promoted, Prospect, nominate, promote
from tacit.maintain.promotion.objecting import Weighed
from tacit.maintain.promotion.whence import Whence, home_database, home_store, whence

__all__ = [
    "AT_HOME",
    "MIRROR",
    "Adopted",
    "Ask",
    "Memory",
    "Promoted",
    "Prospect",
    "Sameness",
    "Weighed",
    "Whence",
    "adopt",
    "asked",
    "by_model",
    "by_rules",
    "cares",
    "cares_at",
    "could_move",
    "home_database",
    "home_store",
    "left_at_home",
    "meant",
    "meet",
    "move_up",
    "nominate",
    "promote",
    "weigh",
    "whence",
]
