"""What a command runs in turn, fetches, logs in to and sets is listed, whatever stands before it."""

from __future__ import annotations

import pytest

from tacit.domain.skill import Capabilities, Condition
from tacit.text.allowance import beyond, parse_allowance
from tacit.text.touches import needs, touches
from tests.unit.making import bash_steps, content


def told(line: str) -> set[str]:
    """Keys of what a line of shell in a body touches, effects left out."""
    made = content(name="plain", description="Plain.", body=f"```bash\n{line}\n```", steps=())
    return {f"{touch.kind}:{touch.value}" for touch in touches(made) if touch.kind != "effect"}


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ("npx evil-pkg --fix", "command:npx evil-pkg|package:evil-pkg"),
        ("npx --yes @acme/tool@1.2 go", "command:npx @acme/tool@1.2|package:@acme/tool@1.2"),
        ("npx -p left-pad -- pad x", "command:npx pad|package:left-pad"),
        ("npx --package=left-pad pad", "command:npx pad|package:left-pad"),
        ("bunx cowsay hi", "command:bunx cowsay|package:cowsay"),
        ("pnpm dlx degit x", "command:pnpm dlx degit|package:degit"),
        ("yarn dlx create-app", "command:yarn dlx create-app|package:create-app"),
        ("pipx run --spec black==22 black .", "command:pipx run black|package:black==22"),
        ("uvx ruff check", "command:uvx ruff check|package:ruff"),
        ("uvx --from httpie http GET x", "command:uvx http|package:httpie"),
        ("uv tool run evil", "command:uv tool run evil|package:evil"),
        ("uv run pytest -q", "command:uv run pytest"),
        ("docker run -p 8080:80 --rm nginx:1", "command:docker run nginx:1|package:nginx:1"),
        ("docker run $IMAGE_NAME", "command:docker run|variable:IMAGE_NAME"),
        ("go run ./cmd/x", "command:go run"),
    ],
)
def test_a_launcher_is_named_with_what_it_runs_and_what_it_fetches_is_a_package(line: str, wanted: str) -> None:
    assert told(line) == set(wanted.split("|"))


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ("node x.js", "command:node x.js"),
        ("python3 tools/gen.py --all", "command:python3 tools/gen.py"),
        ("python3 manage.py sync", "command:python3 manage.py sync"),
        ("python3 -m unittest -v", "command:python3 -m unittest"),
        (".venv/bin/python -m pytest", "command:python -m pytest"),
        ("bash tools/setup.sh", "command:bash tools/setup.sh"),
        ("sh script", "command:sh"),
        ("make deploy", "command:make deploy"),
        ("bash -c 'frobnicate && npx evil'", "command:bash|command:frobnicate|command:npx evil|package:evil"),
        ("X=$(npx evil $(whoami))", "command:npx evil|package:evil|command:whoami"),
        ("diff <(git show) b", "command:git show|command:diff"),
        ('eval "make deploy"', "command:eval|command:make deploy"),
        ("su -c 'make deploy' ann", "command:su|command:make deploy"),
        ("find . -name x -exec chmod 600 {} \\;", "command:find|command:chmod"),
        ("ls | xargs -n 1 frobnicate", "command:ls|command:xargs|command:frobnicate"),
        ("xargs", "command:xargs"),
    ],
)
def test_an_interpreter_is_named_with_its_script_and_what_runs_in_turn_is_a_command(line: str, wanted: str) -> None:
    assert told(line) == set(wanted.split("|"))


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ("sudo terraform apply", "command:sudo|command:terraform apply"),
        ("sudo -u ann evil-bin x", "command:sudo|command:evil-bin"),
        ("nohup evil-bin x &", "command:nohup|command:evil-bin"),
        ("time make test", "command:time|command:make test"),
        ("timeout 30 sudo make test", "command:timeout|command:sudo|command:make test"),
        ("env DEBUG=1 pytest -q", "command:env|command:pytest|variable:DEBUG"),
        ("LD_PRELOAD=x.so CI=1 npm test", "command:npm test|variable:LD_PRELOAD"),
        ("time the whole run", ""),
    ],
)
def test_what_stands_before_a_command_is_a_command_too(line: str, wanted: str) -> None:
    assert told(line) == set(filter(None, wanted.split("|")))


@pytest.mark.parametrize(
    ("line", "hosts"),
    [
        ("ssh deploy@prod.acme.io uptime", "prod.acme.io"),
        ("ssh -p 2222 -i key prod ls", "prod"),
        ("ssh -J ann@jump.acme.io prod", "prod jump.acme.io"),
        ("scp a.txt deploy@prod.acme.io:/srv", "prod.acme.io"),
        ("rsync -avz -e ssh ./x backup:/srv/x", "backup"),
        ("git clone git@github.com:acme/x.git", "github.com"),
        ("git remote add mine build.acme.io:x.git", "build.acme.io"),
        ("git push origin main:main", ""),
        ("curl -o out.json api.acme.zz/v1", "api.acme.zz"),
        ("curl localhost:8000/health", "localhost"),
        ("curl --cacert ca.pem https://h.acme.io/x", "h.acme.io"),
        ("nc 203.0.113.9 443", "203.0.113.9"),
        ("ssh $HOST_NAME ls", ""),
        ("ssh <host> ls", ""),
        ("scp C:\\a.txt b.txt", ""),
    ],
)
def test_the_machine_that_a_command_talks_to_is_a_host_and_no_address_of_mail(line: str, hosts: str) -> None:
    found = told(line)
    assert {key.partition(":")[2] for key in found if key.startswith("host:")} == set(hosts.split())
    assert not any(key.startswith("address:") for key in found)


def test_a_mail_address_stays_one() -> None:
    assert "address:ann@acme.io" in told("mail ann@acme.io < report.txt")
    made = content(body="Write to ann@acme.io: she knows.")
    assert any(touch.kind == "address" for touch in touches(made))


def test_steps_and_checks_are_read_the_same_way() -> None:
    made = content(
        steps=bash_steps("sudo frobnicate && npx evil"), postconditions=(Condition(text="up", check="ssh prod true"),)
    )
    assert {"sudo", "frobnicate", "npx evil", "ssh"} <= set(needs(made).commands)
    assert needs(made).hosts == ("prod",)


@pytest.mark.parametrize(
    ("line", "allowed", "left"),
    [
        ("npx evil-pkg", "commands=ssh,terraform", "npx evil-pkg"),
        ("npx evil-pkg", "commands=evil-pkg", "npx evil-pkg"),
        ("npx evil-pkg", "commands=npx", ""),
        ("npx evil-pkg", "commands=npx good-pkg", "npx evil-pkg"),
        ("python3 -m unittest", "commands=python3", ""),
        ("python3 -m unittest", "commands=python3 -m unittest", ""),
        ("python3 -m unittest", "commands=python3 -m pytest", "python3 -m unittest"),
        ("python3 tools/gen.py", "commands=wc", "python3 tools/gen.py"),
        ("sudo git push", "commands=git", "sudo"),
        ("git push", "commands=git", ""),
    ],
)
def test_allowing_a_program_allows_all_that_it_is_called_with_and_nothing_that_is_called_through_another(
    line: str, allowed: str, left: str
) -> None:
    made = content(name="plain", description="Plain.", body=f"```bash\n{line}\n```", steps=())
    found = beyond(needs(made), parse_allowance([allowed, "effects=*"]))
    assert found == Capabilities(commands=(left,) if left else ())
