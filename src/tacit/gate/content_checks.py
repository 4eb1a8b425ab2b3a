"""Everything that a reviewer must know of one content: findings of all checks, what it uses, and what to confirm.

Besides the checks it reports learned steps without a source, orders that apply to every task, and capabilities that are
undeclared or new. A document's record is only quoted, so nothing of it needs to be confirmed, but each passage is checked.
Results that depend on the content alone are cached by its hash, since learning examines the same text again and again.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache

from tacit import render
from tacit.domain.candidate import Finding, Severity
from tacit.domain.errors import InvalidSkill, NotPermitted
from tacit.domain.skill import (
    MADE_BY_READING,
    Capabilities,
    FieldRole,
    Kind,
    Provenance,
    SkillContent,
    SkillVersion,
    fields_with,
    filled_fields,
    has_role,
)
from tacit.domain.stored import ABSTRACT, REFERENCES, TEXT_DIGEST, Passage
from tacit.domain.trajectory import Origin
from tacit.domain.trust import Examination, ExternalValue, ResourceKind, ResourceUse, SafetyCheck
from tacit.gate import checks as checks_module
from tacit.gate.checks.pattern_rules import EVERY_TASK
from tacit.gate.checks.safety import SAFETY_IDENTITY, hidden_text, hidden_texts, source_findings
from tacit.gate.findings import field_name, finding
from tacit.gate.origins import origin_at
from tacit.text.bundled_files import text_of
from tacit.text.capabilities import HashedContent, beyond, capabilities_text, needed_capabilities, resource_uses
from tacit.text.field_texts import field_texts
from tacit.text.programs import WRAPPERS
from tacit.text.resource_uses.addresses import host_of
from tacit.text.resource_uses.command_uses import FETCHERS

ORDERS_MAX = 8
"""Orders for every task that are reported of one skill."""
_CONTENTS_CACHED = 2048
_TEXTS_CACHED = 4096
_ORDER_EXCERPT_MAX = 160


# --- all checks together ----------------------------------------------------------------------------------------------


def examine_content(
    content: SkillContent,
    origins: Mapping[str, Origin],
    *,
    provenance: Provenance,
    checks: Sequence[SafetyCheck] | None = None,
) -> Examination:
    """Run every check, and list what the content uses and what of it must be confirmed.

    Admission, review and recheck all use this, so that an approval is bound to the findings that the gate saw.
    """
    hashed = HashedContent(content, content.hash())
    found = _findings_of_checks(hashed) if checks is None else _run_all(content, checks)
    needs = needed_capabilities(hashed)
    own = [*source_findings(content, origins, provenance), *steps_without_source(content, provenance)]
    own += [*standing_orders(content, origins, provenance), *undeclared(content.capabilities, needs)]
    return Examination(
        findings=checks_module.most_severe((*found, *own)),
        needs=needs,
        external_values=() if is_quotation(content) else _to_confirm(hashed, origins, provenance),
        checks=checks_in_use(checks),
    )


def examine_version(version: SkillVersion) -> Examination:
    """Examine a version as it is stored."""
    return examine_content(version.content, version.origins, provenance=version.provenance)


def checks_in_use(checks: Sequence[SafetyCheck] | None = None) -> tuple[str, ...]:
    """Return name and version of every check, as an approval stores them."""
    return (*checks_module.identities(checks), SAFETY_IDENTITY)


def needed_capabilities_of(content: SkillContent) -> Capabilities:
    """Return what a content uses, as capabilities."""
    return needed_capabilities(HashedContent(content, content.hash()))


def resource_uses_of(content: SkillContent) -> tuple[ResourceUse, ...]:
    """Return every place in a content that uses something outside of it."""
    return resource_uses(HashedContent(content, content.hash()))


@lru_cache(maxsize=_CONTENTS_CACHED)
def _findings_of_checks(hashed: HashedContent) -> tuple[Finding, ...]:
    return _run_all(hashed.content, None)


def _run_all(content: SkillContent, checks: Sequence[SafetyCheck] | None) -> tuple[Finding, ...]:
    """Run the checks, and look for hidden text and secrets where no check reports the same as severely."""
    found = checks_module.run_checks(content, checks=checks)

    def is_covered(own: Finding) -> bool:
        same = (each for each in found if each.rule == own.rule and each.severity.at_least(own.severity))
        return any(own.field == each.field or own.field.startswith(f"{each.field}.") for each in same)

    return (*found, *(each for each in hidden_texts(content) if not is_covered(each)))


# --- capabilities -----------------------------------------------------------------------------------------------------


def undeclared(declared: Capabilities, needs: Capabilities) -> Iterator[Finding]:
    """Report what a skill uses beyond what it declares; a skill that declares nothing has no finding."""
    if declared == Capabilities():
        return
    more = beyond(needs, declared)
    if more != Capabilities():
        yield finding("undeclared_capability", field="capabilities", more=capabilities_text(more))


def new_capability(needs: Capabilities, approved: Sequence[SkillContent]) -> Iterator[Finding]:
    """Report what a version uses that no approved version used; without approved versions there is no finding."""
    if not approved:
        return
    more = needs
    for content in approved:
        more = beyond(more, needed_capabilities_of(content))
    if more != Capabilities():
        yield finding("new_capability", more=capabilities_text(more))


def restrict_to_capabilities(entry: render.Entry, allowed: Capabilities | None) -> render.Entry:
    """Return a catalogue entry as far as the caller may use it; raises `NotPermitted` if the entry itself uses more.

    Overlays that use more are left out, and so are files that cannot be read as text. A skill on disk is returned as it
    was when it was checked, since it may change meanwhile.
    """
    if allowed is None:
        return entry
    is_static = entry.path is not None and not entry.version_id
    content = render.load(entry.path).content if is_static and entry.path else entry.content
    readable = tuple(file for file in content.files if text_of(file) is not None)
    checked = replace(entry, content=replace(content, files=readable), path=None if is_static else entry.path)
    if more := capabilities_text(beyond(needed_capabilities_of(checked.content), allowed)):
        raise NotPermitted(f"`{entry.name}` uses what is not allowed here: {more}", hint="allow it, or do without")
    overlays: list[render.Entry] = []
    for overlay in entry.overlays:
        with suppress(NotPermitted, InvalidSkill):  # the skill itself can do without
            overlays.append(restrict_to_capabilities(overlay, allowed))
    return replace(checked, overlays=tuple(overlays))


# --- sources of learned steps, and orders for every task -----------------------------------------------------------------


def steps_without_source(content: SkillContent, provenance: Provenance) -> Iterator[Finding]:
    """Report the steps of a learned skill that no attempt shows."""
    if not provenance.by_tacit:
        return
    for number, step in enumerate(content.steps):
        if not attempts_showing(provenance, f"steps.{number}"):
            yield finding("ungrounded_step", field=f"steps.{number}", step=number + 1, text=step.text[:80])


def standing_orders(content: SkillContent, origins: Mapping[str, Origin], provenance: Provenance) -> Iterator[Finding]:
    """Report the lines that apply to every task, except what a person wrote themselves."""
    reported = 0
    for path, text in field_texts(content):
        by_person = origin_at(origins, path).rank >= Origin.USER.rank
        if by_person and (not provenance.by_tacit or path.startswith("example_queries")):
            continue
        for match in EVERY_TASK.finditer(text):
            start, end = text.rfind("\n", 0, match.start()) + 1, text.find("\n", match.end())
            yield replace(
                finding("standing_order", field=path, where=field_name(path), word=match.group()),
                line=text.count("\n", 0, match.start()) + 1,
                start=match.start(),
                end=match.end(),
                excerpt=text[start : end if end >= 0 else len(text)].strip()[:_ORDER_EXCERPT_MAX],
            )
            reported += 1
            if reported == ORDERS_MAX:
                return


def attempts_by_field(content: SkillContent, provenance: Provenance) -> Iterator[tuple[str, frozenset[str]]]:
    """Yield every field that tells an agent what to do, with the attempts that show it."""
    for name in fields_with(FieldRole.INSTRUCTS):
        value = getattr(content, name)
        paths = [f"{name}.{number}" for number in range(len(value))] if isinstance(value, tuple) else [name]
        for path in paths if value else ():
            yield path, attempts_showing(provenance, path)


def attempts_showing(provenance: Provenance, path: str) -> frozenset[str]:
    """Return the attempts that a field, or a part of it, comes from."""
    return frozenset(
        span.trajectory_id
        for name, spans in provenance.grounding.items()
        if name == path or name.startswith(f"{path}.")
        for span in spans
    )


# --- external values to confirm -------------------------------------------------------------------------------------------
#
# An agent acts on a host, a package, a command, a path, a variable or an address as it is written. Where it came from tool
# output, a file or the web, one approval for the whole text is not enough: the reviewer confirms each of them. What another
# value already includes is not asked again, such as a URL's host, the program of a longer command, a package's launcher.

_TRANSPARENT_WRAPPERS = WRAPPERS - {"sudo", "doas", "env"}
"""They change nothing about the command that they run, so only that command is confirmed."""
_NOT_PLAIN_URL = re.compile(r"[?@%\\$]|\.\.|//|:[^\d]")


def _to_confirm(
    hashed: HashedContent, origins: Mapping[str, Origin], provenance: Provenance
) -> tuple[ExternalValue, ...]:
    """Return the values that external fields use, each once, in the order of the text; an effect is no value.

    Of what a model read in outside texts, the sentence itself is to be confirmed too.
    """
    found: dict[str, ExternalValue] = {}
    for use in resource_uses(hashed):
        if use.kind is not ResourceKind.EFFECT and origin_at(origins, use.field) is Origin.EXTERNAL:
            external = ExternalValue(kind=use.kind, value=use.value, field=use.field)
            found.setdefault(external.key, external)
    is_included = _inclusion(found.values())
    values = [external for external in found.values() if not is_included(external)]
    if provenance.made_by.startswith(MADE_BY_READING) and origin_at(origins, "description") is Origin.EXTERNAL:
        sentence = hashed.content.description
        whole = ExternalValue(kind=ResourceKind.SENTENCE, value=sentence, field="description")
        values = [whole, *(each for each in values if each.value not in sentence)]
    return tuple(values)


def _inclusion(found: Iterable[ExternalValue]) -> Callable[[ExternalValue], bool]:
    """Return a test of whether another one of these values includes all of a value."""
    values: dict[ResourceKind, set[str]] = {kind: set() for kind in ResourceKind}
    for external in found:
        values[external.kind].add(external.value)
    hosts = {host_of(url) for url in values[ResourceKind.URL]}
    heads = {head for command in values[ResourceKind.COMMAND] for head in _heads(command)}
    urls: dict[tuple[str, str, str], str] = {}
    for external in found:
        if external.kind is ResourceKind.URL and (key := _plain_url(external.value)):
            urls.setdefault(key, external.value)

    def is_beneath_another(url: str) -> bool:
        """Whether another value is the same address or a folder above it; a bare host includes too much to count."""
        own = _plain_url(url)
        if own is None:
            return False
        scheme, host, path = own
        folders = path.split("/")
        above = ((scheme, host, "/".join(folders[:count])) for count in range(2, len(folders)))
        return urls[own] != url or any(each in urls for each in above)

    def is_included(external: ExternalValue) -> bool:
        value = external.value
        match external.kind:
            case ResourceKind.HOST:
                return value in hosts
            case ResourceKind.URL:
                return is_beneath_another(value)
            case ResourceKind.COMMAND:
                launcher, _, package = value.rpartition(" ")
                fetched = launcher in FETCHERS and package in values[ResourceKind.PACKAGE]
                return fetched or value in heads or value in _TRANSPARENT_WRAPPERS
            case ResourceKind.READ:
                return value in values[ResourceKind.SECRET] | values[ResourceKind.WRITE]
            case _:
                return False

    return is_included


def _heads(command: str) -> Iterable[str]:
    """Return the shorter forms of a command: `python3` and `python3 manage.py` of `python3 manage.py sync`."""
    words = command.split(" ")
    return (" ".join(words[:count]) for count in range(1, len(words)))


def _plain_url(url: str) -> tuple[str, str, str] | None:
    """Return scheme, host and path of a URL; None for one with a query, a user or another address in it."""
    scheme, _, rest = url.partition("#")[0].partition("://")
    host, _, path = rest.partition("/")
    if _NOT_PLAIN_URL.search(rest):
        return None
    return scheme.lower(), host.lower(), f"/{path}".rstrip("/")


# --- documents, which are only quoted -----------------------------------------------------------------------------------

_WITH_HEADING_MAX = 200
"""Characters of a text that are checked together with its heading."""


def is_quotation(content: SkillContent) -> bool:
    """Whether a content is the record of a document, with nothing that an agent could follow."""
    if content.kind is not Kind.REFERENCE or not content.metadata.get(TEXT_DIGEST):
        return False
    return all(has_role(path, FieldRole.RECORD) for path in filled_fields(content))


@lru_cache(maxsize=_TEXTS_CACHED)
def findings_against_quoting(text: str) -> tuple[Finding, ...]:
    """Return the grave findings against quoting a text, most severe first; empty where it may be quoted."""
    content = SkillContent(kind=Kind.REFERENCE, name="passage", description="A passage of a document.", body=text)
    found = checks_module.run_checks(content)
    grave = (each for each in found if each.severity.at_least(Severity.HIGH))
    return (*hidden_text(text, "body"), *grave)


def findings_against_section_title(passage: Passage) -> tuple[Finding, ...]:
    """Return the findings against showing a passage's section title, which its author could choose as freely as the text."""
    name = passage.section
    if name in ("", ABSTRACT, REFERENCES):
        return ()
    return findings_against_quoting(name) or findings_against_quoting(f"{name} {passage.text[:_WITH_HEADING_MAX]}")
