"""Variables that files of the checkout set are ignored, so a repository cannot redirect the store or the home."""

from __future__ import annotations

from pathlib import Path

import pytest

from tacit.config.environment import UserEnvironment
from tacit.config.location import FILES, HookEnvironment, StoreLocation, find_location, without_repository_settings
from tacit.domain.errors import Mistake, NotPermitted
from tests.raising import raises
from tests.unit.config.test_location import git


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "shop"
    (folder / "src").mkdir(parents=True)
    git(folder, "init")
    monkeypatch.chdir(folder / "src")
    return folder


def write(folder: Path, name: str, text: str) -> str:
    file = folder / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    return str(file)


def kept(variables: dict[str, str], folder: Path) -> dict[str, str]:
    return dict(without_repository_settings(variables, (str(folder),))[0])


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (".claude/settings.json", '{"env": {"TACIT_STORE": "/tmp/theirs.db"}}'),
        (".claude/settings.local.json", '{"env":{"TACIT_STORE":"./theirs.db"}}'),
        (".mcp.json", '{"mcpServers": {"tacit": {"env": {"TACIT_STORE": "x"}}}}'),
        (".codex/config.toml", '[shell_environment_policy]\nset = { TACIT_STORE = "x" }\n'),
        (".codex/config.toml", 'mcp_servers.tacit.env.TACIT_STORE = "x"\n'),
        (".env", "TACIT_STORE=theirs.db\n"),
        (".envrc", 'export TACIT_STORE="$PWD/theirs.db"\n'),
        ("mise.toml", '[env]\nTACIT_STORE = "theirs.db"\n'),
    ],
)
def test_a_variable_that_the_checkout_sets_is_ignored(checkout: Path, name: str, text: str) -> None:
    file = write(checkout, name, text)
    variables = {"HOME": str(checkout.parent), "TACIT_STORE": "/somewhere/theirs.db"}
    assert "TACIT_STORE" not in kept(variables, checkout / "src")
    environment = UserEnvironment.read(variables)
    assert (environment.store, environment.ignored) == ("", (("TACIT_STORE", file),))
    assert HookEnvironment(variables).store == ""
    assert find_location(environment).database == str(checkout / ".tacit" / "tacit.db")


def test_home_folders_that_the_checkout_sets_are_ignored(checkout: Path) -> None:
    write(checkout, ".claude/settings.json", '{"env": {"TACIT_HOME": "/x", "HOME": "/y", "CODEX_HOME": "/z"}}')
    read = UserEnvironment.read({"HOME": "/y", "TACIT_HOME": "/x", "CODEX_HOME": "/z"})
    assert read.account_home is not None
    assert (read.user_home, read.home) == (read.account_home, read.account_home / ".tacit")
    assert read.codex_home == read.account_home / ".codex"


def test_a_variable_that_is_only_mentioned_or_set_by_the_person_is_used(checkout: Path) -> None:
    write(checkout, ".envrc", "# see TACIT_STORE in the manual\nexport PATH=$HOME:$PATH MY_TACIT_STORE=1\n")
    write(checkout.parent, ".claude/settings.json", '{"env": {"TACIT_STORE": "/central.db"}}')
    variables = {"HOME": str(checkout.parent), "TACIT_STORE": "/central.db"}
    assert kept(variables, checkout / "src") == variables
    assert UserEnvironment.read(variables).ignored == ()


def test_no_file_is_read_when_nothing_is_set(checkout: Path) -> None:
    assert without_repository_settings({"PATH": "/bin"}, (str(checkout), "", "relative")) == ({"PATH": "/bin"}, ())
    assert len(set(FILES)) == len(FILES)


def test_a_store_of_the_repository_is_not_used_by_a_variable(checkout: Path) -> None:
    write(checkout, "data/tacit.db", "")
    git(checkout, "add", "data")
    read = UserEnvironment.read({"HOME": str(checkout.parent), "TACIT_STORE": str(checkout / "data" / "tacit.db")})
    with raises(NotPermitted, "store_from_repository"):
        find_location(read)
    assert find_location(read, store=str(checkout / "data")).is_chosen


@pytest.mark.parametrize(("marker", "sessions"), [("pyproject.toml", False), (".git", False), ("", True)])
def test_a_project_may_get_a_store(tmp_path: Path, marker: str, sessions: bool) -> None:
    if marker:
        (tmp_path / marker).touch()
    here = location(tmp_path)
    here.require_project(has_sessions=sessions)
    assert not Path(here.database).exists(), "asking creates nothing"


def test_other_folders_get_no_store_unless_it_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with raises(Mistake, "not_a_project"):
        location(tmp_path).require_project()
    with raises(Mistake, "not_a_project"):
        location(Path("/")).require_project(has_sessions=True)
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / ".git").mkdir()
    with raises(Mistake, "not_a_project"):
        location(tmp_path).require_project(has_sessions=True)
    assert not location(tmp_path).may_be_made(str(tmp_path))
    location(tmp_path, chosen_by="--store").require_project()


def location(folder: Path, *, chosen_by: str = "default for this project") -> StoreLocation:
    return StoreLocation(database=str(folder / ".tacit" / "tacit.db"), project=folder, chosen_by=chosen_by)


@pytest.mark.parametrize("name", ["TACIT_HOME", "HOME"])
def test_a_home_inside_the_checkout_is_ignored_whoever_names_it(checkout: Path, name: str) -> None:
    outside, inside = str(checkout.parent / "mine"), str(checkout / "vendor" / "home")
    assert kept({"HOME": str(checkout.parent), name: outside}, checkout / "src")[name] == outside
    assert name not in kept({"HOME": str(checkout.parent), name: inside}, checkout / "src")


def test_a_store_that_git_tracks_in_another_case_is_not_used(checkout: Path) -> None:
    write(checkout, ".Tacit/tacit.db", "")
    git(checkout, "add", ".Tacit")
    (checkout / ".Tacit").rename(checkout / ".tacit")  # the same folder where the file system ignores case
    with raises(NotPermitted, "store_from_repository"):
        find_location(UserEnvironment.read({"HOME": str(checkout.parent)}))
