"""Which commands of the build a check runs, and which files these run: products and data are no scripts."""

from __future__ import annotations

import json

import pytest

from tacit.evidence.independence.build_files import lines_run, runs

MAKEFILE = """\
OUT = dist/app.js
RUNNER := tools/runner.sh

.PHONY: test
test: build
\t@sh scripts/run.sh
\t$(RUNNER) --all

build: $(OUT)

$(OUT): src/app.js
\tmkdir -p dist && node bundle.js > $@

notes:
\tpython3 gen.py > NOTES.md
\techo done >> CHANGELOG.md
\ttest -s NOTES.md && grep -q 2 NOTES.md

serve: app.py
\tpython3 $<
"""


@pytest.mark.parametrize("path", ["dist/app.js", "NOTES.md", "CHANGELOG.md", "src/app.js", "README.md"])
def test_what_a_rule_writes_reads_or_depends_on_is_not_run(path):
    assert not runs(path, lines_run("", {"Makefile": MAKEFILE}))


@pytest.mark.parametrize("path", ["scripts/run.sh", "tools/runner.sh", "bundle.js", "gen.py", "app.py"])
def test_what_a_rule_calls_is_run(path):
    assert runs(path, lines_run("", {"Makefile": MAKEFILE}))


def test_only_the_rules_that_the_check_asks_for_count():
    lines = lines_run("make test", {"Makefile": MAKEFILE})
    assert runs("scripts/run.sh", lines)
    assert runs("bundle.js", lines)  # what the goal needs is made first
    assert not runs("app.py", lines)
    assert not runs("gen.py", lines)
    assert lines_run("python3 -m pytest -q", {"Makefile": MAKEFILE}) == []
    assert lines_run("grep -q 2 NOTES.md", {"Makefile": MAKEFILE}) == []


@pytest.mark.parametrize("check", ["", "./check.sh", "make", "make unknown-goal", "bash -c 'make test; ./more'", "tox"])
def test_where_the_executed_rules_are_unknown_all_count(check):
    assert runs("app.py", lines_run(check, {"Makefile": MAKEFILE}))


@pytest.mark.parametrize("more", ["include rules.mk\n", "all:\n\t$(MAKE) serve\n"])
def test_makefile_that_goes_on_elsewhere_counts_whole(more):
    assert runs("app.py", lines_run("make test", {"Makefile": MAKEFILE + more}))


@pytest.mark.parametrize(
    "line",
    [
        "sh run.sh", "./run.sh", ". ./run.sh", "cat run.sh | sh", "bash < run.sh", "eval \"$(cat run.sh)\"",
        "xargs sh < run.sh",
        "cp run.sh /tmp/x && sh /tmp/x", "gen > run.sh; sh run.sh", "mv run.sh x.sh", "python tool.py run.sh", "X=1 ./run.sh",
        "grep -l x run.sh | xargs sh", "source run.sh", "env sh ./run.sh", "$(shell sh run.sh)", "cat run.sh > other.sh",
    ],
)  # fmt: skip
def test_script_cannot_pass_for_data(line):
    assert runs("run.sh", [line])


@pytest.mark.parametrize(
    "line",
    [
        "gen > run.sh", "gen >> ./run.sh", "gen -o run.sh", "gen --outfile=run.sh", "rm -f run.sh", "test -s run.sh",
        "[ -f run.sh ]", "cp template run.sh", "gen | tee run.sh", "cat run.sh", "sha256sum run.sh", "# see run.sh",
        "touch run.sh",
    ],
)  # fmt: skip
def test_data_does_not_pass_for_a_script(line):
    assert not runs("run.sh", [line])


def test_script_is_found_where_the_build_goes_into_its_folder_first():
    assert runs("tools/runner", ["cd tools && ./runner"])
    assert runs("tools/runner.py", ["cd tools && python3 runner.py"])
    assert runs("tools/runner.py", ["python3 -m tools.runner"])
    assert not runs("tools/runner.py", ["python3 other/runner.py"])


def test_scripts_of_a_package_count_with_what_they_call():
    scripts = {
        "build": "esbuild src/app.js --bundle --outfile=dist/app.js",
        "pretest": "node prepare.js",
        "test": "npm run unit && node check.js",
        "unit": "node unit.js",
        "start": "node server.js",
    }
    package = {"package.json": json.dumps({"main": "dist/app.js", "scripts": scripts})}
    lines = lines_run("npm test", package)
    assert [runs(path, lines) for path in ("check.js", "prepare.js", "unit.js")] == [True] * 3
    assert not runs("server.js", lines)
    assert runs("server.js", lines_run("", package))
    assert not runs("dist/app.js", lines_run("", package))
