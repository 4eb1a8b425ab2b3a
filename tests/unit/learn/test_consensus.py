from __future__ import annotations

import random
import re
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.domain.candidate import Candidate
from tacit.domain.skill import Kind
from tacit.domain.trajectory import Origin, StepResult, Trajectory
from tacit.learn.consensus import MADE_BY, consensus
from tacit.learn.like_steps import align, load_source, words_of_one_task
from tacit.learn.single_attempt import distil
from tacit.learn.values import FieldOrigins
from tests.unit.learn.attempts import VERIFIED, attempt, bash, call, edit, migration, read, the_procedure, write


def agreed(attempts: Sequence[Trajectory]) -> Candidate:
    drafts = [the_procedure(trajectory) for trajectory in attempts]
    return consensus(drafts, {trajectory.id: trajectory for trajectory in attempts})


def texts(candidate: Candidate) -> list[str]:
    return [("(optional) " if step.optional else "") + step.text for step in candidate.content.steps]


def names(candidate: Candidate) -> list[str]:
    return [parameter.name for parameter in candidate.content.parameters]


def flag(name: str, kind: str, way: int) -> Trajectory:
    """Add a command line flag: the same change, gone about in five ways."""
    look = read("src/cli.py", "1\tdef main():\n2\t    parser = Parser()\n3\t    run(args)\n")
    option = f'    parser.add("--{name}", type={kind})'
    places = [
        ("    parser = Parser()", f"    parser = Parser()\n{option}"),
        ("    run(args)", f"    run(args, {name}=args.{name})"),
    ]
    declare, hand_on = (edit("src/cli.py", old, new) for old, new in places)
    documented = edit("README.md", "## Options", f"## Options\n\n- `--{name}`: sets the {name}")
    body = f"import cli\n\n\ndef test_{name}():\n    assert cli.parse(['--{name}', '1']).{name}\n"
    tested = edit("tests/test_cli.py", "import cli", body)
    lint, check = bash("ruff check src"), bash("python -m pytest -q tests/test_cli.py", "ok")
    red = bash("python -m pytest -q tests/test_cli.py", "FAILED", code=1)
    ways: list[list[dict[str, Any]]] = [
        [look, declare, hand_on, tested, documented, lint, check],
        [bash("git log --oneline -5"), look, declare, red, hand_on, tested, check, lint],
        [bash("rg add src", "src/cli.py"), look, declare, tested, hand_on, check, bash("rm -rf build")],
        [
            look,
            hand_on,
            declare,
            documented,
            tested,
            lint,
            check,
        ],
        [look, declare, hand_on, tested, lint, check, bash(f"python -m cli --{name} 1")],
    ]
    asked = [
        f"Add a command line flag `--{name}` of type {kind}.",
        f"The CLI needs an option --{name} ({kind}).",
        f"Add flag `--{name}` please, type {kind}",
    ]
    return attempt(asked[way % len(asked)], *ways[way])


FLAGS = [flag(*each) for each in (("depth", "int", 0), ("label", "str", 1), ("ratio", "float", 2))]
FLAGS += [flag("limit", "int", 3), flag("theme", "str", 4)]


def endpoint(name: str, *before: dict[str, Any], check: str = "pytest -q", message: str = "") -> Trajectory:
    snake = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()
    inner = "\n".join(f"        step_{letter}()" for letter in name.lower())
    return attempt(
        f"Add an endpoint `{name}` to the API.",
        *before,
        read("src/api/routes.py", "1\tROUTES = [\n2\t]\n"),
        write(f"src/api/{snake}.py", f"class {name}(Endpoint):\n    def get(self):\n{inner}\n"),
        edit("src/api/routes.py", "ROUTES = [", f"ROUTES = [\n    {name},"),
        bash(check, "3 passed"),
        *([bash(f"git commit -am '{message}'")] if message else []),
    )


def release(version: str, *before: dict[str, Any], chained: bool = False, log_first: bool = False) -> Trajectory:
    changes = [
        edit("pyproject.toml", 'version = "0.0.0"', f'version = "{version}"'),
        edit("CHANGELOG.md", "## Unreleased", f"## Unreleased\n\n## {version}"),
    ]
    git = [f"git commit -am 'Release {version}'", f"git tag v{version}", "git push --tags"]
    return attempt(
        f"Release version {version}",
        *before,
        *(reversed(changes) if log_first else changes),
        bash("make test", "ok"),
        *(bash(line) for line in ([" && ".join(git)] if chained else git)),
    )


def bump(package: str, old: str, new: str, *before: dict[str, Any], by_sed: bool = False) -> Trajectory:
    line = f'    "{package}=={old}",'
    change = bash(f"sed -i 's/{package}=={old}/{package}=={new}/' pyproject.toml")
    if not by_sed:
        change = edit("pyproject.toml", line, line.replace(old, new))
    return attempt(
        f"Bump {package} from {old} to {new}.",
        *before,
        bash("cat pyproject.toml", f"dependencies = [\n{line}\n]"),
        change,
        bash("uv lock", "Resolved"),
        bash("uv sync"),
        bash("pytest -q", "ok"),
    )


def bug(module: str, old: str, new: str, *before: dict[str, Any]) -> Trajectory:
    return attempt(
        f"`pytest tests/test_{module}.py` fails, fix it.",
        bash(f"pytest tests/test_{module}.py", "1 failed", code=1),
        *before,
        read(f"src/{module}.py", f"1\t{old}"),
        edit(f"src/{module}.py", old, new),
        bash("pytest", "ok"),
    )


def test_five_ways_of_one_change_become_one_short_procedure() -> None:
    found = agreed(FLAGS)
    assert texts(found) == [
        "Read `src/cli.py`",
        'In `src/cli.py`, add `parser.add("--{flag}", type={type})` after `parser = Parser()`',
        "In `src/cli.py`, replace `run(args)` with `run(args, {flag}=args.{flag})`",
        "In `tests/test_cli.py`, replace one line by 5 lines",
        "(optional) In `README.md`, add `` - `--{flag}`: sets the {flag} `` after `## Options`",
        "Check with `ruff check src`",
        "Check with `python -m pytest -q tests/test_cli.py`",
    ]
    assert found.content.description.startswith("Add a command line flag `--{flag}` of type {type}.")
    assert names(found) == ["flag", "type", "workspace"]
    assert [condition.check for condition in found.content.postconditions] == [
        "ruff check src",
        "python -m pytest -q tests/test_cli.py",
    ]


def test_what_one_of_many_did_is_cut() -> None:
    text = " ".join(texts(agreed(FLAGS)))
    assert not re.search(r"rm -rf|python -m cli|git log", text)


def test_commands_that_one_attempt_chained_stay_those_of_the_others() -> None:
    found = agreed([release("1.2.0"), release("1.3.0", chained=True, log_first=True), release("2.0.0")])
    assert texts(found) == [
        'In `pyproject.toml`, replace `version = "0.0.0"` with `version = "{version}"`',
        "In `CHANGELOG.md`, add `## {version}` after `## Unreleased`",
        "Check with `make test`",
        "Run `git commit -am 'Release {version}'`",
        "Run `git tag v{version}`",
        "Run `git push --tags`",
    ]


def test_a_line_that_all_typed_as_one_stays_one() -> None:
    found = agreed([release(version, chained=True) for version in ("1.2.0", "1.3.0", "2.0.0")])
    assert texts(found)[-1] == "Run `git commit -am 'Release {version}' && git tag v{version} && git push --tags`"


def test_value_that_every_task_names_is_a_parameter_though_nothing_marks_it() -> None:
    found = agreed(
        [bump("httpx", "0.27.0", "0.28.1"), bump("click", "8.1.3", "8.1.8"), bump("apsw", "3.45.0", "3.47.1")]
    )
    change = 'In `pyproject.toml`, replace `"{package}=={version}",` with `"{package}=={version_2}",`'
    assert change in texts(found)
    assert found.content.example_queries == ("Bump {package} from {version} to {version_2}.",)
    assert found.content.name == "bump-package-version"
    assert {parameter.reading for parameter in found.content.parameters} == {"task", ""}


def test_parameter_is_not_named_after_the_value_of_another_one() -> None:
    def rolled(service: str, version: str) -> Trajectory:
        return attempt(
            f"Roll {service} forward to {version} and wait until it is healthy",
            bash(f"kubectl set image deployment/{service} {service}=reg.example/{service}:{version}"),
            bash(f"kubectl rollout status deployment/{service}"),
            bash(f"curl -fsS http://{service}.apps/healthz"),
        )

    found = agreed([rolled("ledger", "2.4.1"), rolled("geo", "0.9.3"), rolled("mail", "7.0.0")])
    assert names(found) == ["deployment", "version"]
    checks = [condition.check for condition in found.content.postconditions]
    assert checks == ["kubectl rollout status deployment/{deployment}", "curl -fsS http://{deployment}.apps/healthz"]


@pytest.mark.parametrize("count", [3, 5])
def test_step_that_all_took_with_an_option_of_their_own_stays(count: int) -> None:
    made = [
        attempt(
            f"Set the timeout of service `{name}` to {seconds} seconds",
            read("config/services.py", "SERVICES = {"),
            edit("config/services.py", f'if name == "{name}": DEFAULT', f'if name == "{name}": {seconds}'),
            bash(f"python tools/gen.py --service {name}", "ok"),
            bash("pytest -q", "10 passed"),
        )
        for name, seconds in [("billing", 30), ("search", 45), ("upload", 90), ("mail", 15), ("auth", 5)][:count]
    ]
    assert "Run `python tools/gen.py --service {service}`" in texts(agreed(made))


def test_attempt_by_other_means_supports_the_same_step() -> None:
    bumps = [bump("httpx", "0.27.0", "0.28.1"), bump("click", "8.1.3", "8.1.8"), bump("apsw", "3.45.0", "3.47.1")]
    found = agreed([*bumps, bump("rich", "13.7.0", "13.9.4", by_sed=True)])
    at = next(number for number, text in enumerate(texts(found)) if "pyproject.toml`, replace" in text)
    assert not found.content.steps[at].optional
    assert len({span.trajectory_id for span in found.provenance.grounding[f"steps.{at}"]}) == 4


def test_change_that_differs_altogether_is_left_to_the_task() -> None:
    found = agreed(
        [
            bug("tax", "return a * 0.19", "return round(a * 0.19, 2)"),
            bug("dates", "fmt = '%d'", "fmt = '%Y-%m-%d'", bash("git blame src/dates.py")),
            bug("mail", "send(x)\nlog(x)", "try:\n    send(x)\nexcept OSError:\n    retry(x)\nlog(x)"),
        ]
    )
    assert texts(found) == ["Read `src/{test}.py`", "Change `src/{test}.py` as the task asks", "Check with `pytest`"]
    assert found.content.steps[1].arguments == {"file_path": "{workspace}/src/{test}.py"}
    assert [condition.text for condition in found.content.preconditions] == ["`src/{test}.py` exists."]


def test_free_text_of_a_commit_is_one_parameter() -> None:
    messages = ("Add order status", "Endpoint for stock levels", "PriceList, as asked")
    pairs = zip(("OrderStatus", "StockLevel", "PriceList"), messages, strict=True)
    found = agreed([endpoint(name, message=message) for name, message in pairs])
    assert texts(found)[-1] == "Run `git commit -am '{message}'`"
    assert [condition.check for condition in found.content.postconditions] == ["pytest -q"]


def test_value_that_never_varies_stays_though_tasks_name_it() -> None:
    def one(key: str) -> Trajectory:
        return attempt(
            f"Set `{key}` in `deploy/prod.env`.",
            read("deploy/prod.env", "1\tA=1"),
            edit("deploy/prod.env", "A=1", f"A=1\n{key}=1"),
            bash("make check", "ok"),
        )

    found = agreed([one("CACHE"), one("TRACE"), one("QUEUE")])
    assert texts(found)[0] == "Read `deploy/prod.env`"
    assert "deploy/prod.env" in found.content.description


def test_the_letters_of_an_option_are_no_value() -> None:
    found = agreed(
        [
            attempt(
                f"Release version {version}",
                edit("pyproject.toml", 'version = "0.0.0"', f'version = "{version}"'),
                bash("make test", "ok"),
                bash(f"git commit -{letters} 'Release {version}'"),
                bash(f"git tag v{version}"),
            )
            for version, letters in (("1.2.0", "am"), ("1.3.0", "m"), ("2.0.0", "qm"), ("2.1.0", "a"))
        ]
    )
    commit = next(text for text in texts(found) if "git commit" in text)
    assert re.search(r"git commit -[amq]+ 'Release \{version\}'", commit)


def test_of_two_drafts_what_one_did_is_left_out() -> None:
    found = agreed([bump("httpx", "0.27.0", "0.28.1"), bump("click", "8.1.3", "8.1.8", bash("git checkout -b bump"))])
    assert not any("git checkout" in text for text in texts(found))
    assert not any(step.optional for step in found.content.steps)
    edits = [step.arguments["new_string"] for step in found.content.steps if step.tool == "Edit"]
    assert edits == ['    "{package}=={version_2}",']


def test_one_draft_stays_as_it_is() -> None:
    draft = the_procedure(migration())
    assert consensus([draft], {migration().id: migration()}) == draft


def test_drafts_with_nothing_in_common_give_the_newest_alone() -> None:
    odd = [
        attempt(f"Do `{name}`", bash(f"{name} one"), bash(f"{name} two"), bash(f"{name} three"), bash("make test"))
        for name in ("terraform", "sqlite3", "ansible")
    ]
    found = agreed(odd)
    assert found in [the_procedure(trajectory) for trajectory in odd]


def test_minority_of_two_in_five_is_optional() -> None:
    push = bash("docker push app")
    tagged = [
        release("1.2.0", push),
        release("1.3.0", push),
        *(release(version) for version in ("2.0.0", "2.1.0", "2.2.0")),
    ]
    assert texts(agreed(tagged))[0] == "(optional) Run `docker push app`"


def test_folders_of_different_machines_are_one_place() -> None:
    def service(name: str, root: str, *, before: str = "") -> Trajectory:
        line = {"old_string": "services:", "new_string": f"services:\n  {name}:"}
        return attempt(
            f"Add a service `{name}` to the compose file.",
            call("Read", {"file_path": f"{root}/compose.yml"}, "services:"),
            call("Edit", {"file_path": f"{root}/compose.yml", **line}, "ok"),
            bash(f"{before}docker compose build {name}"),
            bash(f"{before}make test 2>&1 | tail -5", "ok"),
            workspace=root,
        )

    roots = ("/srv/shop", "/opt/shop", "/opt/shop")
    found = agreed(
        [
            service("billing", roots[0], before=f"cd {roots[0]} && "),
            service("search", roots[1]),
            service("mailer", roots[2]),
        ]
    )
    assert texts(found)[:3] == [
        "Read `compose.yml`",
        "In `compose.yml`, add `{service}:` after `services:`",
        "Run `docker compose build {service}`",
    ]
    assert not any(root in str(found.content) for root in roots)


def test_grounding_names_every_attempt_and_origins_are_the_lowest() -> None:
    attempts = [migration(), migration("phone", "customers"), migration("note", "line_items")]
    found = agreed(attempts)
    ledgers = {trajectory.id: FieldOrigins(trajectory) for trajectory in attempts}
    for path, spans in found.provenance.grounding.items():
        ranks = [ledgers[span.trajectory_id].origin_of(span).rank for span in spans]
        assert found.origins[path].rank == min(ranks)
    assert {span.trajectory_id for span in found.provenance.grounding["steps.0"]} == set(ledgers)
    assert set(found.provenance.trajectory_ids) == set(ledgers)
    assert found.provenance.made_by == MADE_BY
    assert found.origins["steps.0"] is Origin.EXTERNAL  # the error message named the command first


def test_personal_values_are_no_examples() -> None:
    def invited(mail: str, name: str) -> Trajectory:
        return attempt(
            f"Invite {mail} to the project.",
            bash(f"adm user add {mail}"),
            bash(f"adm grant {mail} --role dev"),
            edit("team.md", "# Team", f"# Team\n\n- {name}"),
            bash("make test"),
        )

    people = [invited("bob@example.com", "Bob"), invited("eve@example.com", "Eve"), invited("sam@example.com", "Sam")]
    found = agreed(people)
    assert "Run `adm user add {email}`" in texts(found)
    by_name = {parameter.name: parameter for parameter in found.content.parameters}
    assert by_name["email"].example == ""
    assert not re.search(r"\w@\w", str(found.content))


def test_value_from_an_answer_stays_bound_to_it() -> None:
    def served(branch: str, job: str) -> Trajectory:
        return attempt(
            f"Restart the job of branch `{branch}`",
            call("find_job", {"branch": branch}, f'{{"job_id": "{job}"}}'),
            call("restart_job", {"job_id": job}, "restarted"),
            edit("jobs.md", "# Jobs", f"# Jobs\n\n- {branch}"),
            bash("make test"),
        )

    found = agreed([served("main", "job-8841"), served("next", "job-2231"), served("docs", "job-9054")])
    by_name = {parameter.name: parameter for parameter in found.content.parameters}
    assert by_name["job_id"].reading == "find_job"
    assert by_name["job_id"].example == ""
    assert found.content.steps[1].arguments == {"job_id": "{job_id}"}
    assert not re.search(r"job-\d", str(found.content))


POOL = [
    bash("ls src", "a.py"),
    bash("git status"),
    bash("make build"),
    bash("make lint", "ok"),
    bash("npm install left-pad", "added left-pad"),
    edit("src/a.py", "x = 1", "x = 2"),
    edit("src/a.py", "y = 1", "y = NAME"),
    edit("docs/NAME.md", "old", "new NAME"),
    write("src/NAME.py", "NAME = 1\n"),
    bash("git add -A && git commit -m 'Add NAME'"),
    bash("git commit -m 'NAME'"),
    bash("deploy NAME --force", "error: locked", code=1),
    call("get_page", {"page": "NAME"}, '{"page_id": "p-4711"}'),
    call("publish", {"page_id": "p-4711"}, "ok"),
    read("src/a.py", "1\tx = 1"),
]
picks = st.lists(st.sampled_from(range(len(POOL))), min_size=3, max_size=9)
groups = st.lists(picks, min_size=1, max_size=6)


def drawn(choices: Sequence[Sequence[int]]) -> list[Trajectory]:
    return [
        attempt(
            f"Set up page `page{number}` as usual",
            *(_named(POOL[at], f"page{number}") for at in chosen),
            bash("make build"),
            bash("pytest -q", "ok"),
        )
        for number, chosen in enumerate(choices)
    ]


def _named(value: Any, name: str) -> Any:
    if isinstance(value, dict):
        return {key: _named(item, name) for key, item in value.items()}
    return value.replace("NAME", name) if isinstance(value, str) and not isinstance(value, StepResult) else value


def drafts_of(trajectories: Sequence[Trajectory]) -> list[Candidate]:
    return [
        candidate
        for trajectory in trajectories
        for candidate in distil(trajectory, VERIFIED).candidates
        if candidate.content.kind is Kind.PROCEDURE
    ]


@settings(max_examples=25, deadline=None)
@given(groups, st.randoms(use_true_random=False))
def test_order_of_drafts_does_not_matter(choices: list[list[int]], chance: random.Random) -> None:
    trajectories = drawn(choices)
    drafts = drafts_of(trajectories)
    if not drafts:
        return
    known = {trajectory.id: trajectory for trajectory in trajectories}
    first = consensus(drafts, known)
    chance.shuffle(drafts)
    assert consensus(drafts, dict(reversed(known.items()))) == first


@settings(max_examples=25, deadline=None)
@given(groups)
def test_every_part_has_spans_of_an_attempt(choices: list[list[int]]) -> None:
    trajectories = drawn(choices)
    drafts = drafts_of(trajectories)
    if not drafts:
        return
    known = {trajectory.id: trajectory for trajectory in trajectories}
    found = consensus(drafts, known)
    grounding, content = found.provenance.grounding, found.content
    for field in ("steps", "parameters", "preconditions", "postconditions", "example_queries"):
        for number in range(len(getattr(content, field))):
            assert grounding[f"{field}.{number}"], (field, number)
    for number in range(len(content.pitfalls)):
        assert grounding[f"pitfalls.{number}"]
    for number, step in enumerate(content.steps):
        calls = [known[span.trajectory_id].steps[span.step] for span in grounding[f"steps.{number}"]]
        assert step.tool in {called.tool for called in calls}
        fixed = re.split(r"\{\w+\}", str(step.arguments.get("command", "")))
        assert any(all(piece in str(called.arguments.get("command", "")) for piece in fixed) for called in calls)
    used = set(re.findall(r"\{(\w+)\}", str([step.arguments for step in content.steps])))
    assert {parameter.name for parameter in content.parameters} == used


@settings(max_examples=25, deadline=None)
@given(groups)
def test_columns_keep_the_order_of_every_attempt(choices: list[list[int]]) -> None:
    trajectories = {trajectory.id: trajectory for trajectory in drawn(choices)}
    drafts = drafts_of(list(trajectories.values()))
    if not drafts:
        return
    pairs = [(draft, trajectories[draft.provenance.trajectory_ids[0]]) for draft in drafts]
    own = words_of_one_task([trajectory.task.text for _, trajectory in pairs])
    sources = [load_source(draft, run, number=at, own=own[at]) for at, (draft, run) in enumerate(pairs)]
    sequences = [source.steps for source in sources]
    columns = align(sequences)
    for number, sequence in enumerate(sequences):
        placed = [step.key for column in columns for step in column.steps if step.source == number]
        assert placed == [step.key for step in sequence]
    assert all(len(column.sources) == len(column.steps) for column in columns)


def deploy(service: str) -> Trajectory:
    return attempt(
        f"Deploy the {service} service to the canary cluster.",
        bash(f"docker push registry.local/{service}:latest"),
        bash(f"kubectl apply -f {service}.yaml"),
        bash(f"kubectl rollout status deployment/{service}"),
        bash(f"curl -f http://{service}/health", "ok"),
    )


@pytest.mark.parametrize(
    "services",
    [("ledger", "geo"), ("api", "api-gateway", "api-gateway-internal"), ("gateway", "api-gateway", "web")],
)
def test_no_value_of_a_run_stands_in_what_several_runs_give(services: tuple[str, ...]) -> None:
    found = agreed([deploy(service) for service in services])
    assert names(found) == ["service"]
    assert found.content.name == "deploy-service-canary-cluster"
    assert found.content.description.startswith("Deploy the {service} service to the canary cluster.")
    assert "Run `kubectl apply -f {service}.yaml`" in texts(found)


def changed_by(task: str, command: str) -> Trajectory:
    return attempt(
        task, bash("alembic revision -m wip"), bash(command), bash("alembic upgrade head"), bash("pytest -q")
    )


def column(table: str, name: str, kind: str, *, stated: bool) -> Trajectory:
    task = f"Add column `{name}` of type {kind} to {table}." if stated else f"A field of the {table} schema is missing."
    typed = f"""sed -i 's/pass/op.add_column("{table}", sa.Column("{name}", sa.{kind}()))/' versions/new.py"""
    return changed_by(task, typed)


@pytest.mark.parametrize("stated", [True, False])
def test_values_of_one_line_are_parameters_of_their_own_and_never_cut_a_quote(stated: bool) -> None:
    values = [("users", "phone number", "String"), ("items", "weight", "Float"), ("cars", "color code", "Text")]
    found = agreed([column(*each, stated=stated) for each in values])
    command = re.sub(r"\{\w+\}", "{}", str(found.content.steps[1].arguments["command"]))
    assert command == """sed -i 's/pass/op.add_column("{}", sa.Column("{}", sa.{}()))/' versions/new.py"""
    assert {parameter.example for parameter in found.content.parameters} in map(set, values)


@pytest.mark.parametrize(
    ("command", "values", "general"),
    [
        ("sed -i 's/{}/{}/g' src/x.py", [("load", "load_all"), ("get", "fetch"), ("api", "api_v2")], 2),
        (
            'tk note {} "{}"',
            [("OPS-17", "the printer works"), ("OPS-231", "disk was replaced"), ("N-4", "vpn is up")],
            2,
        ),
        ("flow run --job '{}' {}", [("Nightly Export", "raw"), ("Invoice Sync", "billing"), ("Geo Import", "maps")], 2),
        (
            "psql -c 'ALTER TABLE {} ADD COLUMN {} TEXT'",
            [("payments", "email"), ("orders", "note"), ("customers", "phone")],
            2,
        ),
        ("touch {} {}", [("conf/app.json", "ab"), ("conf/web.json", "cd"), ("settings.json", "ef")], 2),
    ],
)
def test_slots_are_whole_values(command: str, values: list[tuple[str, str]], general: int) -> None:
    found = agreed([changed_by("Change {} with {}.".format(*each), command.format(*each)) for each in values])
    assert re.sub(r"\{\w+\}", "{}", str(found.content.steps[1].arguments["command"])) == command
    assert len(found.content.parameters) == general
    assert not any(value in found.content.description for pair in values for value in pair)


def test_a_script_that_every_run_wrote_anew_is_an_example_without_their_values() -> None:
    bodies = {
        "orders": "import csv\nfor r in csv.reader(open('data/orders.csv')): print(r[0]); assert r[1] != 'x'",
        "geo": "import pandas as pd\nd = pd.read_csv('data/geo.csv')\nd.dropna().to_csv('data/geo.csv')\nprint(len(d))",
        "mail": "open('data/mail.csv').read().replace(';', ',')\nwrite(one, two, three)",
    }
    found = agreed(
        [
            attempt(
                f"Load the {name} data.",
                bash(f"aws s3 cp s3://raw/{name}.csv data/{name}.csv"),
                bash(f"python - <<'E'\n{body}\nE"),
                bash(f"psql -f load/{name}.sql"),
                bash("make check"),
            )
            for name, body in bodies.items()
        ]
    )
    step = found.content.steps[1]
    assert step.text.endswith("as the task asks")
    assert not any(name in str(step.arguments) for name in bodies)
