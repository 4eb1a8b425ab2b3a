"""`tacit research …`: add documents and papers that agents may cite, look at them, take them out again."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import click
from rich.markup import escape

from tacit.domain.errors import Mistake, Refusal, TacitError
from tacit.domain.lifecycle import RECALLABLE, WAITING, Status
from tacit.domain.stored import Passage, StoredVersion
from tacit.features.research.document import EVIDENCE_TYPES
from tacit.features.research.document_sources import DocumentDetails
from tacit.features.research.documents.document_passages import cited
from tacit.features.research.research import Added, Research
from tacit.surfaces.cli.context import CommandContext, clean, command_options, counted, one_line, progress_bar
from tacit.surfaces.cli.table import SuggestingGroup
from tacit.surfaces.cli.views import STATUS_STYLE

_SHOWN = 3
"""Passages that are told of each sort before the rest is only counted."""


@click.group(cls=SuggestingGroup)
def research() -> None:
    """Add documents and papers that agents may cite, with page and section. They are quoted, never obeyed."""


@research.command(short_help="Add documents, papers and web pages")
@click.argument("sources", nargs=-1, required=True, metavar="SOURCE…")
@click.option("--title", default="", help="What it is called, where the file does not say so.")
@click.option("--author", "authors", multiple=True, metavar="NAME", help="Who wrote it; once for each.")
@click.option("--year", default=0, type=click.IntRange(0, 2200), help="When it was published.")
@click.option("--type", "evidence_type", type=click.Choice(EVIDENCE_TYPES), help="How far it was reviewed.")
@click.option("--by", default="", help="Who adds it.")
@command_options
def add(
    ctx: CommandContext,
    *,
    sources: tuple[str, ...],
    title: str,
    authors: tuple[str, ...],
    year: int,
    evidence_type: str | None,
    by: str,
) -> None:
    """Add documents: PDF, HTML, Markdown or text files, arXiv and Semantic Scholar identifiers, DOIs, https addresses.

    SOURCE is a path, arxiv:2601.01234, doi:10.…, s2:…, or an address. Added by a person at a terminal it may be quoted at once;
    added by anybody else it waits for review, and addresses are not fetched. Passages that the checks find grave are withheld.
    Ends with 3 if any source was refused; the others are added all the same.
    """
    if len(sources) > 1 and (title or authors or year):
        raise Mistake("--title, --author and --year are of one document", hint="add them one by one")
    details = DocumentDetails(title=title, authors=authors, year=year, evidence_type=evidence_type or "")
    ctx.may_create = True
    by = ctx.person(by) if ctx.caller.is_person else by or "agent"
    results = [_one(ctx, source, details, by) for source in sources]
    documents = [_result_document(source, result) for source, result in zip(sources, results, strict=True)]
    ctx.report({"results": documents}, lambda: _show_added(ctx, sources, results))
    failed = [result for result in results if isinstance(result, TacitError)]
    if len(sources) == 1 and failed:
        ctx.end_with(failed[0])
    if failed:
        ctx.end_with(Refusal(f"{len(failed)} of {len(sources)} were not added", hint="the reasons stand above"))


def _one(ctx: CommandContext, source: str, details: DocumentDetails, by: str) -> Added | TacitError:
    person = ctx.caller.is_person
    try:
        with progress_bar(ctx, one_line(source, 40)) as progress:
            return Research(ctx.memory).add(source, by=by, approve=person, details=details, progress=progress)
    except TacitError as error:
        return error


def _result_document(source: str, result: Added | TacitError) -> dict[str, Any]:
    if isinstance(result, TacitError):
        text = {"kind": type(result).__name__, "message": result.message, "hint": result.hint}
        return {"source": source, "added": False, "error": text}
    stored, document = result.stored, result.document
    return {
        "source": source,
        "added": result.is_new,
        "name": stored.version.name if stored else result.verdict.name,
        "version_id": stored.version.id if stored else "",
        "status": stored.status if stored else "",
        "decision": result.verdict.decision,
        "relation": result.verdict.relation,
        "title": document.title,
        "pages": document.pages,
        "passages": len(document.passages),
        "replaces": result.replaces.version.id if result.replaces else "",
        "withheld": list(_withheld(result)),
        "notes": result.notes,
    }


def _withheld(result: Added) -> Iterator[dict[str, Any]]:
    for each in result.withheld:
        first, passage = each.findings[0], each.passage
        yield {
            "passage": passage.index,
            "first_page": passage.first_page,
            "line": passage.line,
            "section": passage.section,
            "rule": first.rule,
            "severity": first.severity,
            "message": first.message,
        }


def _show_added(ctx: CommandContext, sources: Sequence[str], results: Sequence[Added | TacitError]) -> None:
    for source, result in zip(sources, results, strict=True):
        if isinstance(result, TacitError):
            if len(sources) > 1:  # of a single one the error itself is told
                ctx.console.print(f"[red]not added[/red]  {escape(clean(source))}: {escape(clean(result.message))}")
            continue
        _show_one(ctx, result)


def _show_one(ctx: CommandContext, result: Added) -> None:
    console, stored, document = ctx.console, result.stored, result.document
    status = stored.status if stored else Status.REJECTED
    name = escape(clean(stored.version.name if stored else result.verdict.name))
    how = "added" if result.is_new else "known already"
    if result.replaces:
        how = f"next version, replaces the text of {result.replaces.version.created_at:%Y-%m-%d}"
        if status not in RECALLABLE:
            how = how.replace("replaces", "once approved replaces")
    size = counted(document.pages, "page") + ", " if document.pages else ""
    size += counted(len(document.passages), "passage")
    colour = STATUS_STYLE[status]
    console.print(f"[bold]{name}[/bold]  {how}, [{colour}]{status}[/{colour}]  [dim]{size}[/dim]", soft_wrap=True)
    console.print(f"  {escape(clean(cited(document.title, authors=document.authors, year=document.year)))}")
    for note in result.notes:
        console.print(f"  [yellow]{escape(clean(note))}[/yellow]", soft_wrap=True)
    for each in result.withheld[:_SHOWN]:
        text = f"not quoted, {each.where}: {each.findings[0].message} ({each.findings[0].rule})"
        console.print(f"  [red]{escape(clean(text))}[/red]", soft_wrap=True)
    if len(result.withheld) > _SHOWN:
        console.print(f"  [red]and {counted(len(result.withheld) - _SHOWN, 'more passage')} not quoted[/red]")
    if status in WAITING:
        console.print(f"  [dim]waits for a person: tacit review {name}[/dim]")
    elif status not in RECALLABLE:
        console.print(f"  [dim]it is {status}; tacit review {name} decides again[/dim]")


@research.command("list", short_help="List the documents that may be cited")
@click.option("--all", "every", is_flag=True, help="Those too that wait, or are not quoted any more.")
@command_options
def list_(ctx: CommandContext, *, every: bool) -> None:
    """List the documents that may be cited."""
    documents = Research(ctx.memory).documents(every=every)
    ctx.report({"documents": [_record(each) for each in documents]}, lambda: _show_list(ctx, documents))


def _record(stored: StoredVersion) -> dict[str, Any]:
    details = _document_fields(stored)
    return {
        "name": stored.version.name,
        "version_id": stored.version.id,
        "status": stored.status,
        "title": details.get("title", ""),
        "authors": _authors(details),
        "year": _number(details, "year"),
        "evidence_type": details.get("evidence_type", ""),
        "citations": _number(details, "citations"),
        "pages": _number(details, "pages"),
        "source": details.get("source", ""),
        "withheld": details.get("withheld", ""),
    }


def _document_fields(stored: StoredVersion) -> dict[str, str]:
    """What a document's record says, by the names behind `document.`."""
    metadata: Mapping[str, str] = stored.version.content.metadata
    return {key.removeprefix("document."): value for key, value in metadata.items() if key.startswith("document.")}


def _number(details: Mapping[str, str], key: str) -> int:
    return int(details[key]) if re.fullmatch("[0-9]{1,11}", details.get(key, "")) else 0


def _authors(details: Mapping[str, str]) -> list[str]:
    return [name for name in details.get("authors", "").split("; ") if name]


def _show_list(ctx: CommandContext, documents: Sequence[StoredVersion]) -> None:
    if not documents:
        ctx.console.print("No documents yet. Next: [bold]tacit research add FILE[/bold]")
        return
    for each in documents:
        record, colour = _record(each), STATUS_STYLE[each.status]
        console = ctx.console
        console.print(
            f"[bold]{escape(clean(record['name']))}[/bold]  [{colour}]{each.status}[/{colour}]", soft_wrap=True
        )
        known = [str(record["year"] or ""), record["evidence_type"], *_sizes(record)]
        text = f"{record['title']} ({', '.join(part for part in known if part)})"
        console.print(f"  [dim]{escape(one_line(text, max(40, console.width - 2)))}[/dim]", soft_wrap=True)


def _sizes(record: Mapping[str, Any]) -> list[str]:
    """How often a document is cited and how long it is, as far as that is known."""
    cited_times = f"cited {record['citations']} times" if record["citations"] else ""
    return [cited_times, counted(record["pages"], "page") if record["pages"] else ""]


@research.command(hidden=True)
@click.argument("name")
@click.option("--text", "with_text", is_flag=True, help="All passages in full, as they would be quoted.")
@command_options
def show(ctx: CommandContext, *, name: str, with_text: bool) -> None:
    """Show one document: its record, its sections and its passages with their pages."""
    stored, passages = Research(ctx.memory).document(name)
    document = _record(stored) | {"description": stored.version.content.description, "passages": passages}
    ctx.report(document, lambda: _show_document(ctx, stored, passages, with_text=with_text))


def _show_document(ctx: CommandContext, stored: StoredVersion, passages: Sequence[Passage], *, with_text: bool) -> None:
    record, console = _record(stored), ctx.console
    text = cited(record["title"], authors=record["authors"], year=record["year"])
    colour = STATUS_STYLE[stored.status]
    console.print(f"[bold]{escape(clean(text))}[/bold]  [{colour}]{stored.status}[/{colour}]", soft_wrap=True)
    known = [record["evidence_type"], *_sizes(record), f"from {record['source']}"]
    console.print(f"[dim]{escape(clean(', '.join(part for part in known if part)))}[/dim]", soft_wrap=True)
    if record["withheld"]:
        console.print(f"[red]{escape(clean('not quoted, passages: ' + record['withheld']))}[/red]", soft_wrap=True)
    for passage in passages:
        place = cited("", passage=passage) or f"passage {passage.index}"
        console.print(f"[cyan]{escape(clean(place))}[/cyan]  {escape(one_line(passage.text, 100))}", soft_wrap=True)
        if with_text:
            console.print(escape(clean(passage.text)), style="dim")


@research.command(hidden=True)
@click.argument("name")
@click.option("--by", default="", help="Who decides.")
@click.option("--reason", default="", help="Why, kept with the decision.")
@command_options
def remove(ctx: CommandContext, *, name: str, by: str, reason: str) -> None:
    """Take a document out of use. It can be brought back (tacit review); `tacit store purge` removes it for good."""
    ctx.caller.require_person("research remove")
    move = Research(ctx.memory).remove(name, by=ctx.person(by), reason=reason)
    document = {"name": name, "version_id": move.version_id, "before": move.before, "status": move.after}
    ctx.report(document, lambda: ctx.console.print(f"{escape(clean(name))} is {move.after}"))
