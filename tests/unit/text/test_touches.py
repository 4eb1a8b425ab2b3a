"""What a skill touches outside its own text is listed, with its place; what stays inside the workspace is not."""

from __future__ import annotations

import pytest

from tacit.domain.skill import Case, Condition, SkillFile, SkillStep
from tacit.domain.trust import Touched
from tacit.text.touches import field_texts, needs, touches
from tests.unit.making import content

SAID = {
    (Touched.URL, "https://api.acme-data.io/v1"): "Call https://api.acme-data.io/v1 first.",
    (Touched.HOST, "api.acme-data.io"): "Call https://api.acme-data.io/v1 first.",
    (Touched.HOST, "203.0.113.9"): "The server is 203.0.113.9 today.",
    (Touched.ADDRESS, "records@acme-archive.org"): "Mail it to records@acme-archive.org please.",
    (Touched.PACKAGE, "left-pad"): "```bash\nnpm install left-pad\n```",
    (Touched.COMMAND, "git push"): "Then `git push origin main`.",
    (Touched.READ, "/etc/hosts"): "Look at /etc/hosts before.",
    (Touched.WRITE, "/var/log/run.txt"): "```bash\necho done > /var/log/run.txt\n```",
    (Touched.VARIABLE, "GITHUB_TOKEN"): "Needs GITHUB_TOKEN to be set.",
    (Touched.SECRET, "~/.aws/credentials"): "The keys are in ~/.aws/credentials as usual.",
    (Touched.EFFECT, "deletes"): "Delete all files in the folder.",
    (Touched.EFFECT, "sends"): "Send the report to https://acme-data.io/in.",
    (Touched.EFFECT, "publishes"): "```sh\nnpm publish\n```",
    (Touched.EFFECT, "reveals"): "Print the password at the end.",
    (Touched.EFFECT, "installs"): "```\npip install requests\n```",
    (Touched.EFFECT, "pays"): "Pay the licence fee from the wallet.",
    (Touched.EFFECT, "persists"): "```bash\ncrontab job.txt\n```",
}


@pytest.mark.parametrize("wanted", SAID)
def test_what_a_text_names_or_does_is_a_touch(wanted: tuple[Touched, str]) -> None:
    assert wanted in {(touch.kind, touch.value) for touch in touches(content(body=SAID[wanted]))}


@pytest.mark.parametrize(
    "text",
    [
        "Read src/app.py and tests/test_app.py.",
        "Write the result to ./out/report.md.",
        "Never delete the user's files.",
        "```bash\nOUT=report.md\necho hi > $OUT 2>/dev/null\n```",
        "Use d3@7.9.0 in the page.",
    ],
)
def test_what_stays_inside_is_no_touch(text: str) -> None:
    kinds = {touch.kind for touch in touches(content(name="plain", description="Plain.", body=text, steps=()))}
    assert kinds <= {Touched.COMMAND}


def test_a_touch_names_its_field_line_and_characters() -> None:
    body = "First line.\nCall https://api.acme-data.io/v1, then stop."
    touch = next(each for each in touches(content(body=body)) if each.kind is Touched.URL)
    assert (touch.field, touch.line, body[touch.start : touch.end]) == ("body", 2, "https://api.acme-data.io/v1")


def test_cases_tags_and_names_of_tools_are_texts_of_a_skill() -> None:
    skill = content(
        tags=("see https://tags.acme-data.io",),
        cases=(
            Case(conditions=(Condition(text="the host answers", check="curl https://cases.acme-data.io", value="up"),)),
        ),
        steps=(SkillStep(text="Look it up", tool="lookup", arguments={"q": "x"}),),
    )
    texts = dict(field_texts(skill))
    assert texts["steps.0"] == "Look it up\nx\ntool: lookup"
    assert texts["cases.0"] == "the host answers\ncurl https://cases.acme-data.io\nup"
    assert {"tags.acme-data.io", "cases.acme-data.io"} <= set(needs(skill).hosts)


def test_steps_conditions_and_files_are_looked_at() -> None:
    skill = content(
        steps=(SkillStep(text="Push", tool="bash", arguments={"command": "curl -d @x https://one.acme-data.io"}),),
        postconditions=(Condition(text="done", check="ssh two.acme-data.io true"),),
        files=(SkillFile(path="run.sh", content="#!/bin/sh\nwget https://three.acme-data.io/x\n"),),
    )
    fields = {touch.field for touch in touches(skill) if touch.kind is Touched.HOST}
    assert fields == {"steps.0", "postconditions.0", "files.0"}


def test_needs_group_the_touches_and_name_each_once() -> None:
    body = "Run `rm -rf /var/tmp/x` and call https://a.acme-data.io twice: https://a.acme-data.io. Needs $DEPLOY_TOKEN."
    found = needs(content(name="plain", description="Plain.", body=body, steps=()))
    assert found.hosts == ("a.acme-data.io",)
    assert found.commands == ("rm",)
    assert found.writes == ("/var/tmp/x",)
    assert found.secrets == ("DEPLOY_TOKEN",)
    assert "deletes" in found.effects


def test_the_same_content_gives_the_same_touches() -> None:
    skill = content(body="\n".join(SAID.values()))
    assert touches(skill) == touches(skill)
