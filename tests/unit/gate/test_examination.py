"""What a skill touches beside what it declares, and what its approved versions did; what the checks find sets it apart."""

from __future__ import annotations

import dataclasses

import pytest

from tacit.config.settings import Policy, Strictness
from tacit.domain.candidate import Decision, Finding, Severity
from tacit.domain.errors import Outage
from tacit.domain.lifecycle import Status
from tacit.domain.origin import Origin
from tacit.domain.skill import Capabilities, Provenance, said_in
from tacit.gate import checks_in_use, examine_content, examine_version, judge, needs_of, touches_of
from tacit.gate.content_checks import new_capability, undeclared
from tacit.gate.findings import finding
from tests.raising import raises
from tests.unit.making import MIGRATE, NOW, bash_steps, candidate, content, stored

WRITTEN = Provenance(made_by="ann")


def look(made, **options):
    return examine_content(made, dict.fromkeys(said_in(made), Origin.USER), provenance=WRITTEN, **options)


def test_a_skill_that_declares_nothing_is_only_listed():
    seen = look(content(steps=bash_steps("curl https://api.example.com/x")))
    assert "api.example.com" in seen.needs.hosts
    assert "curl" in seen.needs.commands
    assert not any(finding.rule == "undeclared_capability" for finding in seen.findings)


def test_what_it_touches_beyond_its_declaration_is_a_grave_finding():
    declared = Capabilities(commands=("curl",), hosts=("docs.example.com",))
    [finding] = list(undeclared(declared, Capabilities(commands=("curl",), hosts=("api.example.com",))))
    assert (finding.severity, finding.field) == (Severity.HIGH, "capabilities")
    assert "hosts api.example.com" in finding.message
    assert "curl" not in finding.message


@pytest.mark.parametrize(
    "declared",
    [
        Capabilities(hosts=("api.example.com",)),
        Capabilities(hosts=("*.example.com",), commands=("curl",)),
        Capabilities(hosts=("api.example.com", "other.example.com")),
    ],
)
def test_what_it_declares_and_more_is_no_finding(declared):
    assert list(undeclared(declared, Capabilities(hosts=("api.example.com",)))) == []


def test_an_undeclared_capability_sets_a_candidate_apart_under_every_dial():
    made = content(
        steps=(*MIGRATE, *bash_steps("curl https://evil.example.net/x")),
        capabilities=Capabilities(commands=("python",)),
    )
    for strictness in Strictness:
        found = judge(candidate(made), (), Policy(strictness=strictness), at=NOW)
        assert found.verdict.decision is Decision.QUARANTINE
        assert "undeclared_capability" in found.verdict.reasons
        assert found.transition
        assert found.transition.after is Status.QUARANTINED


def test_what_no_approved_version_touched_is_told_of_a_new_one():
    before = content(steps=bash_steps("curl https://api.example.com/x"))
    more = content(steps=bash_steps("curl https://api.example.com/x", "curl https://evil.example.net/x"))
    [finding] = list(new_capability(look(more).needs, [before]))
    assert (finding.rule, finding.severity) == ("new_capability", Severity.MEDIUM)
    assert "evil.example.net" in finding.message
    assert "api.example.com" not in finding.message
    assert list(new_capability(look(before).needs, [before])) == []
    assert list(new_capability(look(more).needs, [])) == [], "nothing was approved"


def test_a_revision_of_an_approved_skill_tells_what_it_touches_anew():
    known = stored(content(), status=Status.TRIAL)
    more = content(steps=(*MIGRATE, *bash_steps("curl https://evil.example.net/x")))
    revision = candidate(more, revises=known.skill.id, assessment=None)
    assert "new_capability" in judge(revision, [known], Policy(), at=NOW).verdict.reasons
    waits = dataclasses.replace(known, status=Status.CANDIDATE)
    assert "new_capability" not in judge(revision, [waits], Policy(), at=NOW).verdict.reasons


class Suspicious:
    name, version = "suspicious", "7"

    def __init__(self, severity: Severity) -> None:
        self.severity = severity

    def examine(self, content):
        yield Finding(rule="odd", message="odd", severity=self.severity, field="body", line=2)


class Broken:
    name, version = "broken", "1"

    def examine(self, content):
        raise Outage("no answer")


def test_the_heaviest_findings_come_first_and_the_checks_are_named():
    seen = examine_content(
        content(body="Always\nx"),
        {},
        provenance=WRITTEN,
        checks=[Suspicious(Severity.LOW), Suspicious(Severity.CRITICAL)],
    )
    weights = [finding.severity for finding in seen.findings]
    assert weights == sorted(weights, key=lambda severity: -list(Severity).index(severity))
    assert seen.checks == ("suspicious 7", "suspicious 7")
    assert checks_in_use() == look(content()).checks
    assert checks_in_use()


class Lenient:
    name, version = "lenient", "1"

    def examine(self, content):
        yield Finding(rule="standing_order", message="says always", severity=Severity.LOW, field="body", line=1)


def test_of_two_that_say_the_same_of_a_line_the_heavier_stands():
    made = content(body="Always push.")
    origins = dict.fromkeys(said_in(made), Origin.AGENT)
    [order] = examine_content(made, origins, provenance=WRITTEN, checks=[Lenient()]).findings
    assert (order.rule, order.severity) == ("standing_order", Severity.MEDIUM)
    [order] = look(made, checks=[Lenient()]).findings
    assert order.severity is Severity.LOW, "a person's own words"


def test_a_check_that_fails_is_told_and_never_passed_over():
    with raises(Outage, "check_failed"):
        look(content(), checks=[Broken()])


def test_the_same_content_by_other_hands_has_the_same_needs_and_its_own_literals():
    made = content(steps=bash_steps("curl https://api.example.com/x"))
    mine = look(made)
    theirs = examine_content(made, dict.fromkeys(said_in(made), Origin.EXTERNAL), provenance=WRITTEN)
    assert mine.needs == theirs.needs
    assert not mine.literals
    assert theirs.literals


def test_findings_of_one_content_are_not_those_of_another():
    clean, hidden = content(body="fine"), content(body="fi\u202ene")
    assert not any(finding.rule == "hidden_characters" for finding in look(clean).findings)
    assert any(finding.rule == "hidden_characters" for finding in look(hidden).findings)
    assert not any(finding.rule == "hidden_characters" for finding in look(clean).findings)


def test_a_stored_version_is_examined_with_its_own_origins_and_provenance():
    made = content(steps=bash_steps("curl https://api.example.com/x"))
    version = stored(made, origins={"steps.0": Origin.EXTERNAL, "name": Origin.USER}).version
    seen = examine_version(version)
    assert seen == examine_content(made, version.origins, provenance=version.provenance)
    assert "url:https://api.example.com/x" in {literal.key for literal in seen.literals}
    assert seen.needs == needs_of(made)


@pytest.mark.parametrize("host", ["here.example.com", "there.example.com"])
def test_every_touch_is_told_with_its_place(host):
    made = content(steps=bash_steps("make", f"curl https://{host}/x"))
    found = {(touch.field, touch.value) for touch in touches_of(made) if touch.kind == "host"}
    assert found == {("steps.1", host)}


def test_a_finding_names_what_is_undeclared_or_new():
    [undeclared_one] = undeclared(Capabilities(commands=("curl",)), Capabilities(hosts=("a.example",)))
    assert undeclared_one == finding("undeclared_capability", field="capabilities", more="hosts a.example")
    one, other = (content(steps=bash_steps(f"curl https://{host}.example.com/x")) for host in ("a", "b"))
    both = content(steps=bash_steps("curl https://a.example.com/x", "curl https://b.example.com/x"))
    assert list(new_capability(needs_of(both), [one, other])) == [], "what any of them did is not new"
    [new] = new_capability(needs_of(both), [one])
    assert new == finding("new_capability", more="hosts b.example.com")
