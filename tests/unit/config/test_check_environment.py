"""The environment of a check: without what could tell it to do nothing, and with what honest checks need."""

from __future__ import annotations

import pytest

from tacit.config.environment import check_environment


@pytest.mark.parametrize(
    "name",
    [
        "PYTEST_ADDOPTS", "PYTEST_PLUGINS", "PYTHONPATH", "PYTHONSTARTUP", "NODE_OPTIONS", "LD_PRELOAD", "DYLD_LIBRARY_PATH",
        "GIT_DIR", "GIT_CONFIG_GLOBAL", "MAKEFLAGS", "MFLAGS", "GOFLAGS", "npm_config_script_shell", "BASH_ENV", "ENV", "SKIP",
        "BASH_FUNC_pytest%%", "RUBYOPT", "PERL5OPT", "JAVA_TOOL_OPTIONS", "COVERAGE_PROCESS_START", "RUSTFLAGS", "SHELLOPTS",
    ],
)  # fmt: skip
def test_what_could_weaken_a_check_is_left_out(tmp_path, name):
    assert name not in check_environment(tmp_path, variables={name: "x", "PATH": "/usr/bin"})


def test_what_honest_checks_need_stays(tmp_path):
    given = {"HOME": "/h", "LANG": "C.UTF-8", "DATABASE_URL": "sqlite://", "VIRTUAL_ENV": "/v", "PATH": "/usr/bin"}
    kept = check_environment(tmp_path, variables=given)
    assert given.items() <= kept.items()


def test_folders_of_the_workspace_are_not_searched_for_programs_but_its_environments_are(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "bin")
    inside = (
        f"{tmp_path}/bin:{tmp_path}/.venv/bin:{tmp_path}/node_modules/.bin:{tmp_path}:bin:.::{tmp_path}/link:/usr/bin"
    )
    found = check_environment(tmp_path, variables={"PATH": inside})["PATH"]
    assert found == f"{tmp_path}/.venv/bin:{tmp_path}/node_modules/.bin:/usr/bin"


def test_caller_may_say_where_programs_are(tmp_path):
    assert check_environment(tmp_path, search_path="/opt/bin", variables={"PATH": "/usr/bin"})["PATH"] == "/opt/bin"
