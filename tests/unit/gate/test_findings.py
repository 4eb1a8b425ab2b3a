"""Names of fields as people read them."""

from __future__ import annotations

import pytest

from tacit.gate.findings import field_name


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("steps.1", "step 2"),
        ("steps.1.arguments", "step 2"),
        ("example_queries.0", "example query 1"),
        ("allowed_tools.0", "allowed tool 1"),
        ("metadata.author", "metadata author"),
        ("metadata", "metadata"),
        ("example_queries", "example queries"),
        ("body", "body"),
    ],
)
def test_a_path_is_named_as_a_person_counts(path: str, name: str) -> None:
    assert field_name(path) == name
