"""What bubblewrap is told: everything is unshared, nothing of the host is writable, and secrets stay off the command line."""

from __future__ import annotations

from itertools import pairwise

import pytest

from tacit.domain.sandbox import HOME, WORKSPACE, Confines
from tacit.providers.sandbox import profile


def told(**more: object) -> list[str]:
    grounds = profile.Grounds(links={"lib": "usr/lib", "bin": "usr/bin"}, **more)  # type: ignore[arg-type]
    return profile.options(grounds, confines=Confines(), environment={"TOKEN": "secret"}, seccomp=7)


@pytest.mark.parametrize(
    "option",
    ["--unshare-all", "--unshare-user", "--disable-userns", "--die-with-parent", "--new-session", "--clearenv"],
)
def test_everything_is_unshared_and_dies_with_the_caller(option: str) -> None:
    assert option in told()


def test_all_rights_are_dropped_and_the_filter_is_loaded() -> None:
    assert {("--cap-drop", "ALL"), ("--seccomp", "7")} <= set(pairwise(told()))


def test_of_the_host_only_system_folders_are_bound_and_all_of_them_read_only() -> None:
    words = told(given="/tmp/x/given", alternatives=True, folders=("sbin",))
    bound = [words[i + 1] for i, word in enumerate(words) if word == "--ro-bind"]
    assert sorted(bound) == ["/etc/alternatives", "/sbin", "/tmp/x/given", "/usr"]
    assert not {"--bind", "--dev-bind", "--bind-try", "--share-net", "--overlay", "--ro-bind-try"} & set(words)


def test_every_writable_place_has_a_size_and_the_root_is_closed() -> None:
    words = told(witness=9)
    places = [i for i, word in enumerate(words) if word == "--tmpfs"]
    assert [words[i + 1] for i in places] == ["/dev/shm", "/tmp", HOME, WORKSPACE, "/run"]
    assert all(words[i - 2] == "--size" and int(words[i - 1]) > 0 for i in places)
    closed = [words[i + 1] for i, word in enumerate(words) if word == "--remount-ro"]
    assert closed == ["/dev", "/"]
    assert words.index("--tmpfs") < len(words) - words[::-1].index("--remount-ro")


def test_options_and_their_secrets_are_on_no_command_line() -> None:
    line = profile.arguments("/usr/bin/bwrap", told=5, confines=Confines(), command=("true",))
    assert line[:4] == ["/usr/bin/bwrap", "--args", "5", "--"]
    assert "secret" not in " ".join(line)
    assert ("TOKEN", "secret") in set(pairwise(told()))


def test_limits_are_set_before_the_command_and_are_fatal_where_they_cannot_be() -> None:
    text = profile.script(Confines(cpu_s=5, address_mb=512, file_mb=16, open_files=128, processes=64))
    limits = next(line for line in text.splitlines() if line.startswith("ulimit -c"))
    assert limits == "ulimit -c 0 && ulimit -t 5 && ulimit -f 32768 && ulimit -v 524288 && ulimit -n 128 || exit 125"
    assert text.index("ulimit -p 64") < text.index('"$@" 3>&- 4>&-')


def test_root_becomes_somebody_without_groups_and_rights() -> None:
    line = profile.as_user("/usr/bin/setpriv", 65533)
    assert {"--reuid=65533", "--regid=65533", "--clear-groups", "--no-new-privs", "--bounding-set=-all"} <= set(line)
    assert line[-1] == "--"
