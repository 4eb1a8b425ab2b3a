"""Where cards lie: the repository that is named, found or stood in; the user's folder; the folder that projects share."""

from __future__ import annotations

from pathlib import Path

import pytest

from tacit.config.location import card_places
from tacit.features.cards.cards import shared_folder
from tacit.features.cards.folder import ignore_folder


def test_a_repository_that_is_named_goes_before_any_that_is_found(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "named").mkdir()
    assert card_places(str(tmp_path), {"SELF_LEARNING_REPO_ROOT": str(tmp_path / "named")}).root == str(
        tmp_path / "named"
    )


def test_the_nearest_repository_goes_before_a_clients_folder(tmp_path: Path) -> None:
    inside = tmp_path / "repo" / ".claude" / "skills" / "one"
    inside.mkdir(parents=True)
    assert card_places(str(inside), {}).root == str(tmp_path / "repo")
    (tmp_path / ".git").mkdir()
    assert card_places(str(inside), {}).root == str(tmp_path)
    (inside / ".git").write_text("gitdir: elsewhere", encoding="utf-8")
    assert card_places(str(inside), {}).root == str(inside)


@pytest.mark.parametrize("client", [".github", ".claude", ".codex"])
def test_a_clients_folder_tells_where_the_repository_is(tmp_path: Path, client: str) -> None:
    (tmp_path / client / "skills").mkdir(parents=True)
    assert card_places(str(tmp_path / client / "skills"), {}).root == str(tmp_path)


def test_elsewhere_cards_belong_where_one_stands(tmp_path: Path) -> None:
    assert card_places(str(tmp_path), {}).root == str(tmp_path)


def test_the_shared_folder_is_the_one_named_word_for_word_or_the_users_at_home(tmp_path: Path) -> None:
    named = card_places(str(tmp_path), {"SELF_LEARNING_GLOBAL_DIR": str(tmp_path / "shared"), "USER": "ann"})
    assert shared_folder(named) == tmp_path / "shared"
    usual = card_places(str(tmp_path), {"USERNAME": "ann@example.com"})
    assert shared_folder(usual) == Path.home() / ".agent-skills" / "self-learning" / "v1" / "users" / "ann"


def test_the_folder_is_kept_out_of_version_control_once(tmp_path: Path) -> None:
    (tmp_path / ".gitignore").write_text("*.log", encoding="utf-8")
    assert ignore_folder(tmp_path)
    assert not ignore_folder(tmp_path)
    lines = (tmp_path / ".gitignore").read_text(encoding="utf-8").splitlines()
    assert (lines[0], lines.count(".agent-skills/")) == ("*.log", 1)


def test_a_file_that_cannot_be_changed_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / ".gitignore").write_bytes(b"\xff\xfe")
    assert not ignore_folder(tmp_path)
    assert (tmp_path / ".gitignore").read_bytes() == b"\xff\xfe"
