"""Marks the slow files of the core, which `make quick` leaves out: each takes over a second of processor time."""

from __future__ import annotations

from pathlib import Path

import pytest

SLOW = frozenset(
    {
        "evidence/test_control_runs.py",
        "evidence/test_independence.py",
        "evidence/test_statistics.py",
        "evidence/test_verifiers_independence.py",
        "evidence/test_verifiers_results.py",
        "gate/checks/test_examine.py",
        "gate/checks/test_severity_by_position.py",
        "ingest/test_codex.py",
        "ingest/test_seen_surroundings.py",
        "learn/test_consensus.py",
        "learn/test_fixes.py",
        "learn/test_hostile_text.py",
        "learn/test_language.py",
        "learn/test_learning_passes.py",
        "maintain/test_promotion_stores.py",
        "providers/embedding/test_remote_embedder.py",
        "providers/test_http.py",
        "recall/test_fusion.py",
        "recall/test_retrieval.py",
        "recall/test_skill_kinds.py",
        "recall/test_small_libraries.py",
        "render/test_hostile_text.py",
        "store/test_restore.py",
        "store/test_vectors.py",
        "surfaces/test_hook_event_handlers.py",
        "surfaces/test_hook_learner.py",
        "surfaces/test_visibility.py",
        "text/test_error_signatures.py",
        "text/test_redaction.py",
        "text/test_resource_uses.py",
        "text/test_safe_markdown.py",
    }
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        if item.path.is_relative_to(here) and item.path.relative_to(here).as_posix() in SLOW:
            item.add_marker(pytest.mark.slow)
