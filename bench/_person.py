"""The person of a benchmark: a key of its own, made for the run, whose passphrase nobody sees."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from tacit.config.signers import approval_body, set_unlocked_key
from tacit.config.signing_key import KeyCost, UnlockedKey, create_key
from tacit.domain.stored import StoredVersion
from tacit.domain.trust import Approval
from tacit.recall import publishing
from tacit.store import Store
from tacit.text.context_frame import split_standing


def sign_in(home: Path) -> UnlockedKey:
    """Make a key in this home, the folder `.tacit`, and let this process sign with it."""
    key = create_key(home, secrets.token_hex(), name="bench", at=datetime.now(UTC), cost=KeyCost(1, 8 << 20))
    set_unlocked_key(key)
    return key


def approve_directly(
    store: Store, key: UnlockedKey, versions: Sequence[StoredVersion], *, by: str, at: datetime
) -> None:
    """Sign approvals of versions that are on trial already, as many as there are."""
    for stored in versions:
        version = stored.version
        approval = Approval(version_id=version.id, content_hash=version.hash, by=by, at=at, origins=version.origins)
        body = approval_body(
            content_hash=version.hash,
            kind=stored.skill.kind,
            name=version.name,
            scope=str(stored.skill.scope),
            store=store.id,
            shown=approval.shown,
            ticked=(),
            by=by,
            at=at.isoformat(),
            text=split_standing(publishing.text_for_hooks(store, stored))[0],
        )
        store.add(replace(approval, signed=key.sign(body)))
