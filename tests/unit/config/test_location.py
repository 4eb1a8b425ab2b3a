"""Where the store lives: precedence, worktrees, the folder's own ignore file, and pausing."""

from __future__ import annotations

import dataclasses
import subprocess
import time
from pathlib import Path

import pytest

from tacit.config.environment import UserEnvironment
from tacit.config.location import StoreLocation, find_location, project_root
from tacit.domain.errors import ConfigError, Mistake, NotPermitted, StoreOutage
from tests.raising import raises


@pytest.fixture
def around(tmp_path: Path) -> UserEnvironment:
    return UserEnvironment.read({"HOME": str(tmp_path / "home")})


def git(folder: Path, *arguments: str) -> None:
    identity = ["-c", "user.name=Ann", "-c", "user.email=ann@example.org", "-c", "init.defaultBranch=main"]
    subprocess.run(["git", *identity, *arguments], cwd=folder, check=True, capture_output=True)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "invoices"
    folder.mkdir()
    git(folder, "init")
    git(folder, "commit", "--allow-empty", "-m", "first")
    return folder


def place_at(folder: Path) -> StoreLocation:
    return StoreLocation(database=str(folder / "tacit.db"), project=folder.parent, chosen_by="a test")


def test_a_new_project_gets_its_store_at_the_root_of_its_repository(repository, around):
    inside = repository / "src" / "deep"
    inside.mkdir(parents=True)
    place = find_location(around, start=inside)
    assert place.database == str(repository / ".tacit" / "tacit.db")
    assert (place.project, place.project_name) == (repository, "invoices")
    assert place.chosen_by == "default for this project"
    assert not (repository / ".tacit").exists(), "looking creates nothing"


def test_the_nearest_store_is_taken(repository, around):
    (repository / ".tacit").mkdir()
    (repository / "packages" / "web" / ".tacit").mkdir(parents=True)
    inside = repository / "packages" / "web" / "src"
    inside.mkdir()
    near = find_location(around, start=inside)
    assert near.database == str(repository / "packages" / "web" / ".tacit" / "tacit.db")
    assert near.project_name == "web"
    assert find_location(around, start=repository / "packages").folder == repository / ".tacit"
    assert find_location(around, start=repository).chosen_by == "nearest .tacit folder"


def test_a_store_above_the_repository_is_not_its_store(repository, around):
    (repository.parent / ".tacit").mkdir()
    assert find_location(around, start=repository).folder == repository / ".tacit"


def test_outside_a_repository_the_nearest_store_above_counts_else_the_folder_itself(tmp_path, around):
    folder = tmp_path / "notes" / "a"
    folder.mkdir(parents=True)
    assert find_location(around, start=folder).folder == folder / ".tacit"
    (tmp_path / "notes" / ".tacit").mkdir()
    assert find_location(around, start=folder).folder == tmp_path / "notes" / ".tacit"


def test_the_global_store_in_the_home_is_nobodys_project_store(tmp_path, around):
    below = tmp_path / "home" / "scratch"
    below.mkdir(parents=True)
    around.home.mkdir()
    assert find_location(around, start=below).folder == below / ".tacit"


def test_a_worktree_shares_the_store_of_its_main_checkout(repository, around, tmp_path):
    tree = tmp_path / "elsewhere" / "fix"
    git(repository, "worktree", "add", str(tree))
    (tree / "src").mkdir()
    assert (tree / ".git").is_file()
    for existing in (False, True):
        if existing:
            (repository / ".tacit").mkdir()
        place = find_location(around, start=tree / "src")
        assert place.database == str(repository / ".tacit" / "tacit.db")
        assert place.project == repository


def test_a_worktree_inside_its_main_checkout_shares_its_store(repository, around):
    tree = repository / ".worktrees" / "fix"
    git(repository, "worktree", "add", str(tree))
    (repository / ".tacit").mkdir()
    assert find_location(around, start=tree).database == str(repository / ".tacit" / "tacit.db")


def test_a_submodule_stands_for_itself(repository, tmp_path):
    part = repository / "vendor" / "part"
    part.mkdir(parents=True)
    (part / ".git").write_text("gitdir: ../../.git/modules/part\n")
    assert project_root(str(part)) == str(part)


@pytest.mark.parametrize("text", ["", "nonsense", "gitdir:", "\x00"])
def test_a_damaged_git_file_stands_for_its_folder(tmp_path, text):
    (tmp_path / ".git").write_text(text)
    assert project_root(str(tmp_path)) == str(tmp_path)


def test_the_option_beats_the_environment_which_beats_the_nearest(repository, tmp_path):
    (repository / ".tacit").mkdir()
    around = UserEnvironment.read({"HOME": str(tmp_path), "TACIT_STORE": str(tmp_path / "env.db")})
    assert find_location(around, start=repository).database == str(tmp_path / "env.db")
    assert find_location(around, start=repository).chosen_by == "TACIT_STORE"
    chosen = find_location(around, store=str(tmp_path / "option.db"), start=repository)
    assert (chosen.database, chosen.chosen_by) == (str(tmp_path / "option.db"), "--store")
    assert chosen.project == repository, "the project is where one works, not where the store is"


def test_an_address_may_be_a_folder_a_file_or_memory(tmp_path, around):
    assert find_location(around, store=str(tmp_path), start=tmp_path).database == str(tmp_path / "tacit.db")
    new = f"{tmp_path}/new/"
    assert find_location(around, store=new, start=tmp_path).database == str(tmp_path / "new" / "tacit.db")
    assert find_location(around, store="a.db", start=tmp_path).database == str(Path.cwd() / "a.db")
    assert find_location(around, store=":memory:", start=tmp_path).database == ":memory:"


@pytest.mark.parametrize(
    ("address", "code"),
    [
        ("postgresql://db/x", "store_not_sqlite"),
        ("postgres://db/x", "store_not_sqlite"),
        ("~nobody-of-that-name/x.db", "unknown_user"),
    ],
)
def test_an_address_that_cannot_be_is_refused_by_its_source(tmp_path, around, address, code):
    with raises(ConfigError, code) as refused:
        find_location(around, store=address, start=tmp_path)
    assert refused.value.message.startswith("--store: ")
    assert ".tacit/tacit.db" in refused.value.hint


def test_the_home_is_moved_by_its_variable(tmp_path):
    moved = UserEnvironment.read({"HOME": str(tmp_path), "TACIT_HOME": str(tmp_path / "elsewhere")})
    assert moved.home == tmp_path / "elsewhere"
    usual = UserEnvironment.read({"HOME": str(tmp_path)})
    assert usual.home == tmp_path / ".tacit"


def test_the_environment_is_read_once_into_a_value():
    read = UserEnvironment.read({"HOME": "/h", "USERNAME": "ann", "EDITOR": "vi", "CLAUDECODE": "1", "GEMINI_CLI": ""})
    assert (read.user, read.editor, read.agent_markers) == ("ann", "vi", ("CLAUDECODE",))
    assert (read.store, read.config_file, read.user_home) == ("", "", Path("/h"))


def test_a_prepared_folder_keeps_itself_out_of_version_control(repository, around):
    place = find_location(around, start=repository)
    place.prepare()
    (place.folder / "tacit.db").write_text("x")
    assert (place.folder / ".gitignore").read_text() == "*\n"
    seen = subprocess.run(["git", "status", "--porcelain"], cwd=repository, capture_output=True, text=True)
    assert seen.stdout == ""


def test_preparing_again_leaves_a_persons_ignore_file_alone_and_other_folders_get_none(tmp_path):
    place = place_at(tmp_path / ".tacit")
    place.prepare()
    (place.folder / ".gitignore").write_text("mine\n")
    place.prepare()
    assert (place.folder / ".gitignore").read_text() == "mine\n"
    other = place_at(tmp_path / "data")
    other.prepare()
    assert list(other.folder.iterdir()) == []


def test_a_folder_that_cannot_be_made_is_an_outage_with_a_way_out(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreOutage) as refused:
        place_at(tmp_path / "file" / ".tacit").prepare()
    assert "TACIT_STORE" in refused.value.hint


def test_a_pause_lasts_until_it_is_ended(tmp_path):
    place = place_at(tmp_path / ".tacit")
    seen = [place.paused_until]
    place.pause(None)
    seen.append(place.paused_until)
    place.resume()
    seen.append(place.paused_until)
    place.resume()
    assert seen == [None, float("inf"), None]


def test_a_pause_for_a_while_ends_by_itself(tmp_path):
    place = place_at(tmp_path / ".tacit")
    place.pause(60)
    assert place.paused_until == pytest.approx(time.time() + 60, abs=5)
    place.pause(-1)
    assert place.paused_until is None
    (place.folder / "paused").write_text("1000000000")
    assert place.paused_until is None


@pytest.mark.parametrize("damage", [b"soon", b"\xff\xfe", b"", b" \n"])
def test_a_damaged_pause_file_pauses_rather_than_breaks(tmp_path, damage):
    place = place_at(tmp_path)
    (tmp_path / "paused").write_bytes(damage)
    assert place.paused_until == float("inf")


def test_a_store_in_memory_leaves_no_trace_and_reads_none(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "paused").write_text("")
    place = StoreLocation(database=":memory:", project=tmp_path, chosen_by="a test")
    place.prepare()
    place.resume()
    assert place.paused_until is None
    with raises(Mistake, "store_in_memory"):
        place.pause(None)
    assert [path.name for path in tmp_path.iterdir()] == ["paused"]


def test_a_pause_that_cannot_be_written_or_ended_is_an_outage(tmp_path):
    place = place_at(tmp_path)
    (tmp_path / "paused").mkdir()
    with raises(StoreOutage, "cannot_write"):
        place.pause(None)


def test_a_pause_that_ended_is_remembered(tmp_path):
    place = place_at(tmp_path / ".tacit")
    place.pause(60)
    place.pause(None)  # longer; it is the same pause
    place.resume()
    place.resume()
    ((begun, end),) = place.pauses
    assert begun <= end <= time.time()
    place.pause(None)
    assert [each[1] for each in place.pauses] == [end, float("inf")]


def test_a_store_that_came_with_the_repository_is_refused_until_it_is_named(repository, around):
    folder = repository / ".tacit"
    folder.mkdir()
    (folder / "tacit.db").write_bytes(b"skills of a stranger")
    git(repository, "add", "-f", ".tacit/tacit.db")
    with raises(NotPermitted, "store_from_repository"):
        find_location(around, start=repository)
    assert find_location(around, store=str(folder / "tacit.db"), start=repository).chosen_by == "--store"


@pytest.mark.parametrize(
    "way",
    [
        "below",
        "by a link",
        "index of version 4",
        "split index",
        "separate folder",
        "worktree of a bare clone",
        "submodule",
    ],
)
def test_there_is_no_way_to_bring_a_store_along_with_a_repository(way, tmp_path, repository, around):
    planted = repository / ("sub" if way == "below" else "")
    folder = planted / ("docs" if way == "by a link" else ".tacit")
    folder.mkdir(parents=True)
    (folder / "tacit.db").write_bytes(b"skills of a stranger")
    (folder / "tacit.da").write_bytes(b"a neighbour shortens the name in the index")
    if way == "by a link":
        (repository / ".tacit").symlink_to("docs")
    git(repository, "add", "-f", "-A")
    git(repository, "commit", "-qm", "with a gift")
    here = tmp_path / "clone"
    if way == "worktree of a bare clone":
        git(tmp_path, "clone", "-q", "--bare", str(repository), "bare.git")
        git(tmp_path / "bare.git", "worktree", "add", "-q", str(here))
    elif way == "submodule":
        here = tmp_path / "outer/inner"
        git(tmp_path, "init", "-q", "outer")
        git(
            tmp_path / "outer",
            "-c",
            "protocol.file.allow=always",
            "submodule",
            "--quiet",
            "add",
            str(repository),
            "inner",
        )
    else:
        apart = ["--separate-git-dir", str(tmp_path / "apart")] if way == "separate folder" else []
        git(tmp_path, "clone", "-q", *apart, str(repository), "clone")
    if way == "index of version 4":
        git(here, "update-index", "--index-version", "4")
    if way == "split index":
        git(here, "update-index", "--split-index")
    with raises(NotPermitted, "store_from_repository"):
        find_location(around, start=here / "sub" if way == "below" else here)


def test_a_store_of_ones_own_in_a_repository_is_used(repository, around):
    (repository / ".tacit").mkdir()
    assert find_location(around, start=repository).folder == repository / ".tacit"


def test_a_store_in_another_users_folder_is_refused(tmp_path, around):
    (tmp_path / "shared" / ".tacit").mkdir(parents=True)
    stranger = dataclasses.replace(around, owners=frozenset({4_000_000}))
    with raises(NotPermitted, "foreign_store"):
        find_location(stranger, start=tmp_path / "shared")
