"""What ties a skill to one project is found in every field, and the rewrite changes nothing else."""

from __future__ import annotations

from typing import Any

import pytest

from tacit.domain.candidate import Severity
from tacit.domain.skill import Condition, Parameter, SkillContent, SkillFile, SkillStep
from tacit.maintain.portability import MOST_PER_FIELD, ProjectFacts, portability, suggest
from tests.unit.making import MIGRATE, content

SHOP = ProjectFacts(
    project="web-shop",
    workspace="/srv/build/web-shop",
    remotes=("acme/web-shop",),
    branches=("annas-checkout", "main"),
    users=("annika",),
)
KEY = "sk-proj-" + "a1B2c3D4e5F6g7H8" * 3


def rules(made: SkillContent, local: ProjectFacts | None = None) -> set[str]:
    return {finding.rule for finding in portability(made, *([local] if local else []))}


def step(command: str) -> tuple[SkillStep, ...]:
    return (SkillStep(text="Run it", tool="Bash", arguments={"command": command}),)


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("look into /home" + "/ann/shop/x.py", "absolute_path"),
        ("curl https://staging.shop-pay.com/health", "environment_host"),
        ("curl https://prod-eu.pay.acme.io", "environment_host"),
        ("curl localhost:7431", "environment_host"),
        ("psql -h db1.eu.rds.amazonaws.com", "private_host"),
        ("ssh 10.1.2.3:2222", "private_host"),
        ("mail ann.meier@acme-pay.com", "person"),
        ("use arn:aws:iam::123456789012:role/deploy", "account"),
        ("look at vpc-0a1b2c3d4e5f67890", "account"),
        ("kubectl --context acme-prod get pods", "account"),
        (f"export OPENAI_API_KEY={KEY}", "secret"),
    ],
)
def test_what_belongs_to_one_environment_is_found(text: str, rule: str) -> None:
    assert rule in rules(content(body=text))


@pytest.mark.parametrize(
    "text",
    [
        "tail /var/log/syslog", "cat ~/.ssh/config", "open /home" + "/user/project", "curl localhost:8080",
        "curl localhost:3000",
        "brew in /opt/homebrew/bin", "AES-256, CVE-2024-3094, ISO-8859, RFC-2119", "git clone git@github.com:org/repo.git",
        "mail someone@example.com", "version 10.15.7", "see https://dev.azure.com/x", "C:\\Windows\\System32",
        "the stage is set. production is next.", "os.path.local()", "released on 2024-01-31", "fix/extend the parser",
        "00000000-0000-0000-0000-000000000000", "threading.local is a thing", "at /mnt/skills/public",
    ],
)  # fmt: skip
def test_what_is_the_same_everywhere_is_left_alone(text: str) -> None:
    assert list(portability(content(body=text))) == []


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("cd /srv/build/web-shop/api", "absolute_path"),
        ("gh repo view acme/web-shop", "repository"),
        ("clone git@github.com:acme/web-shop.git", "repository"),
        ("the web-shop needs it", "repository"),
        ("ask annika for it", "person"),
    ],
)
def test_names_of_the_place_it_comes_from_are_known(text: str, rule: str) -> None:
    assert rules(content(body=text), SHOP) == {rule}
    assert rule not in rules(content(body=text)) or rule == "absolute_path"


@pytest.mark.parametrize("text", ["edit shop/models.py", "a table of the shop", "run `shop migrate`", "Shop's tables"])
def test_a_project_with_an_ordinary_name_is_found_where_it_is_spoken_of(text: str) -> None:
    assert rules(content(body=text), ProjectFacts(project="shop")) == {"repository"}
    assert "<REPOSITORY>" in suggest(content(body=text), ProjectFacts(project="shop")).body


@pytest.mark.parametrize("text", ["the customer goes to a shop", "the workshop", "the shop-floor", "window shopping"])
def test_an_ordinary_name_is_left_alone_in_other_words(text: str) -> None:
    assert rules(content(body=text), ProjectFacts(project="shop")) == set()


def test_a_project_that_is_called_as_many_are_is_found_in_paths_only() -> None:
    plain = ProjectFacts(project="backend")
    assert rules(content(body="restart the backend"), plain) == set()
    assert rules(content(body="edit backend/models.py"), plain) == {"repository"}


CHECKOUT = ProjectFacts(
    has_file=frozenset({"stamp.py", "bin/release", ".synced", "tools/gen.tpl.py", "README.md"}).__contains__
)


@pytest.mark.parametrize(
    ("text", "stated"),
    [
        ("python3 stamp.py resync", "python3 <stamp.py> resync"),
        ("./stamp.py resync", "<./stamp.py> resync"),
        ("run bin/release.", "run <bin/release>."),
        ("cp .synced STAMP", "cp <.synced> STAMP"),
        ("(tools/gen.tpl.py)", "(<tools/gen.tpl.py>)"),
    ],
)
def test_files_and_programs_of_the_project_are_found_and_rewritten(text: str, stated: str) -> None:
    made = content(steps=step(text))
    assert rules(made, CHECKOUT) == {"project_file"}
    rewritten = suggest(made, CHECKOUT)
    assert rewritten.steps[0].arguments["command"] == stated
    assert rules(rewritten, CHECKOUT) == set()


@pytest.mark.parametrize(
    "text", ["see README.md", "python3 other.py", "curl https://x.example/stamp.py", "vim /etc/stamp.py"]
)
def test_what_every_project_has_or_this_one_has_not_is_no_file_of_it(text: str) -> None:
    assert rules(content(steps=step(text)), CHECKOUT) == set()


def test_a_file_that_goes_along_is_not_left_behind() -> None:
    bundled = (SkillFile(path="stamp.py", content="print(1)"),)
    assert rules(content(steps=step("python3 stamp.py"), files=bundled), CHECKOUT) == set()


def test_branches_and_dates_matter_where_something_is_done() -> None:
    assert rules(content(steps=step("git push origin feature/checkout-2"))) == {"branch"}
    assert rules(content(steps=step("git switch annas-checkout")), SHOP) == {"branch"}
    assert rules(content(steps=step("git switch main")), SHOP) == set()
    assert rules(content(steps=step("report --since 2026-02-03"))) == {"date"}
    assert rules(content(steps=step("curl -H 'anthropic-version: 2023-06-01'"))) == set()


def test_every_field_is_looked_at() -> None:
    local = "see /srv/ann/x"
    fields: dict[str, Any] = {
        "parameters": (Parameter(name="p", example=local),),
        "preconditions": (Condition(text=local),),
        "postconditions": (Condition(text="ok", check=local),),
        "files": (
            SkillFile(path="run.sh", content=local),
            SkillFile(path="b.bin", content="L3Nydi9h", encoding="base64"),
        ),
        "example_queries": (local,),
        "tags": (local,),
        "signature": local,
        "steps": (SkillStep(text="x", arguments={"deep": {"list": [local]}}),),
    }
    found = {finding.field for finding in portability(content(**fields))}
    assert found == {
        "parameters.0", "preconditions.0", "postconditions.0", "files.0", "example_queries.0", "tags.0", "signature", "steps.0",
    }  # fmt: skip


def test_several_places_of_one_field_are_reported_each_once_and_not_without_end() -> None:
    two = [finding.excerpt for finding in portability(content(body="a.corp then b.corp then a.corp"))]
    assert two == ["a.corp", "b.corp"]
    many = " ".join(f"h{number}.corp" for number in range(50))
    assert len(list(portability(content(body=many)))) == MOST_PER_FIELD


def test_a_secret_is_critical_as_in_the_gate_and_is_never_shown() -> None:
    [found] = portability(content(body=f"export OPENAI_API_KEY={KEY}"))
    assert (found.rule, found.severity) == ("secret", Severity.CRITICAL)
    assert KEY not in found.message + found.excerpt


@pytest.mark.parametrize(
    ("text", "stated"),
    [
        ("cd /srv/build/web-shop/api && make", "cd <repo-root>/api && make"),
        ("cat /home" + "/ann/notes/x.txt", "cat <home>/notes/x.txt"),
        ("cat ~/notes/x.txt", "cat <home>/notes/x.txt"),
        ("cat /srv/data/x.csv", "cat <repo-root>/x.csv"),
        ("curl build.corp:8443/x", "curl <SERVICE>/x"),
        ("closes INV-123 and INV-124", "closes <PROJECT_KEY> and <PROJECT_KEY>"),
        ("use arn:aws:iam::123456789012:role/deploy", "use <ENV>"),
        (f"export OPENAI_API_KEY={KEY}", "export OPENAI_API_KEY=<TOKEN>"),
        ("clone git@github.com:acme/web-shop.git", "clone <REPOSITORY>"),
    ],
)
def test_the_rewrite_puts_a_placeholder_and_keeps_the_rest(text: str, stated: str) -> None:
    assert suggest(content(body=text), SHOP).body == stated


def test_a_rewritten_skill_is_portable_and_rewriting_it_again_changes_nothing() -> None:
    made = content(
        name="deploy-web-shop",
        description="Deploy as annika to build.corp",
        steps=step("cd /srv/build/web-shop && git push origin feature/x-1 && curl staging.pay.acme.io"),
        postconditions=(Condition(text="it is up", check="curl 10.0.0.7:9999"),),
        files=(SkillFile(path="run.sh", content="psql -h db.internal\n"),),
    )
    new = suggest(made, SHOP)
    assert list(portability(new, SHOP)) == []
    assert suggest(new, SHOP) == new
    assert new.steps[0].arguments["command"] == "cd <repo-root> && git push origin <BRANCH> && curl <SERVICE>"
    assert new.files[0].content == "psql -h <SERVICE>\n"
    assert new.name == "deploy-repository"


def test_what_is_portable_comes_back_as_it_was() -> None:
    made = content(steps=MIGRATE, files=(SkillFile(path="a.bin", content="L3Nydi9h", encoding="base64"),))
    assert suggest(made, SHOP) is made
