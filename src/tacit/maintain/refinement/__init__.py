"""Refinement: Evidence → what should become of a version: another status, or a next candidate. Pure; decides, applies nothing.

    votes ──────────► standing   trusted, on trial again, suspended, retired: with the reason and the votes it rests on
    uses, times ────► staleness  not seen to work for long
    uses, lift ─────► value      shown and never followed, or better left away

What these need to know is passed in, and what follows from them is carried out by `tending`.
"""

from tacit.maintain.refinement.standing import RULES, Rules, Standing, admitted_at, staleness, standing, value

__all__ = ["RULES", "Rules", "Standing", "admitted_at", "staleness", "standing", "value"]
