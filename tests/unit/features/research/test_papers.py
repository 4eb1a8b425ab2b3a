"""Papers by their identifiers, through a memory: both services are asked, and what one does not answer is told."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tacit.api import Tacit
from tacit.config.settings import Config, ResearchSettings
from tacit.domain.errors import NotFound, Outage, Refusal
from tacit.domain.lifecycle import Status
from tacit.domain.stored import ABSTRACT
from tacit.features.research.document_sources import Papers
from tacit.features.research.fetcher import Fetcher
from tacit.features.research.research import Research
from tacit.store import open_store
from tests.raising import raises
from tests.unit.features.research.documents.made_documents import DOCUMENTS
from tests.unit.features.research.services import Services, atom, record, serving
from tests.unit.making import NOW

PDF = {"Content-Type": "application/pdf"}


@pytest.fixture
def services() -> Iterator[Services]:
    with serving() as opened:
        opened.says("/api/query", atom("2601.01234v2"))
        opened.says("/graph", record())
        opened.says("/pdf/", (200, PDF, DOCUMENTS["sections"]().data))
        yield opened


@pytest.fixture
def loop(services: Services) -> Iterator[Tacit]:
    settings = ResearchSettings(arxiv_url=services.url, scholar_url=services.url)
    with Tacit(open_store(":memory:"), config=Config(research=settings), clock=lambda: NOW) as made:
        yield made


def research(loop: Tacit, services: Services) -> Research:
    fetcher = Fetcher(trusted=(services.url,), pause_s=0, sleep=lambda seconds: None, timeout_s=5)
    return Research(loop, Papers(settings=loop.context.config.research, fetcher=fetcher))


def test_a_paper_of_arxiv_comes_with_its_pages_and_citations(loop: Tacit, services: Services) -> None:
    added = research(loop, services).add("arxiv:2601.01234", by="ann", approve=True)
    assert added.stored is not None
    assert added.stored.status is Status.TRIAL
    said = added.stored.version.content.metadata
    assert said["document.citations"] == "42"
    assert said["document.evidence_type"] == "peer-reviewed"  # Semantic Scholar knows the journal
    assert (said["document.year"], said["document.authors"]) == ("2026", "Ann Able; Ben Best")
    assert (said["document.arxiv"], said["document.doi"]) == ("2601.01234v2", "10.1234/cases")
    assert said["document.source"] == "arxiv:2601.01234"
    passages = loop.context.store.passages.of(added.stored.version.id)
    assert [passage.first_page for passage in passages] == [1, 1, 2, 3, 4]
    assert added.notes == ()


def test_the_settings_of_the_person_say_whom_to_ask(loop: Tacit, services: Services) -> None:
    services.says("/api/query", (200, {}, b"<feed xmlns='http://www.w3.org/2005/Atom'/>"))
    with raises(NotFound, "unknown_paper"):
        Research(loop).add("arxiv:2601.01234", by="ann", approve=True)
    assert services.asked


def test_without_semantic_scholar_the_paper_is_added_and_that_is_told(loop: Tacit, services: Services) -> None:
    services.says("/graph", (500, {}, b""))
    added = research(loop, services).add("2601.01234", by="ann", approve=True)
    assert added.stored is not None
    assert added.stored.version.content.metadata["document.evidence_type"] == "preprint"
    assert [note.partition(":")[0] for note in added.notes] == ["citations are not known"]


def test_a_closed_paper_is_its_abstract_alone(loop: Tacit, services: Services) -> None:
    added = research(loop, services).add("doi:10.1234/cases", by="ann", approve=True)
    assert added.stored is not None
    [passage] = loop.context.store.passages.of(added.stored.version.id)
    assert (passage.section, passage.first_page) == (ABSTRACT, 0)
    assert "only the abstract" in added.notes[0]


def test_a_file_that_cannot_be_read_leaves_the_abstract(loop: Tacit, services: Services) -> None:
    services.says("/pdf/", (200, PDF, DOCUMENTS["scan"]().data))
    added = research(loop, services).add("arxiv:2601.01234", by="ann", approve=True)
    assert [passage.section for passage in added.document.passages] == [ABSTRACT]
    assert added.notes


def test_a_paper_with_neither_text_nor_abstract_is_refused(loop: Tacit, services: Services) -> None:
    services.says("/graph", record(abstract=None))
    with raises(Refusal, "not_open"):
        research(loop, services).add("doi:10.1234/cases", by="ann", approve=True)


def test_an_open_file_elsewhere_is_fetched_only_for_a_person(loop: Tacit, services: Services) -> None:
    services.says("/graph", record(openAccessPdf={"url": "https://192.0.2.1/p.pdf"}))
    waits = research(loop, services).add("doi:10.1234/cases", by="agent")
    assert "person may fetch" in waits.notes[0]
    asked = research(loop, services).add("doi:10.1234/cases", by="ann", approve=True)
    assert "local network" in asked.notes[0]  # it is no public address


def test_another_version_of_a_paper_is_its_next_version(loop: Tacit, services: Services) -> None:
    room = research(loop, services)
    first = room.add("arxiv:2601.01234v1", by="ann", approve=True)
    services.says("/api/query", atom("2601.01234v3"))
    services.says("/pdf/", (200, PDF, DOCUMENTS["single_column"]().data))
    second = room.add("https://arxiv.org/abs/2601.01234v3", by="ann", approve=True)
    assert first.stored is not None
    assert second.stored is not None
    assert first.stored.skill.id == second.stored.skill.id
    assert [held.version.id for held in room.documents()] == [second.stored.version.id]
    assert second.document.passages[0].section == ABSTRACT  # the file has none of its own


def test_a_service_that_is_down_adds_nothing(loop: Tacit, services: Services) -> None:
    services.says("/api/query", (503, {}, b""))
    with pytest.raises(Outage):
        research(loop, services).add("arxiv:2601.01234", by="ann", approve=True)
    assert Research(loop).documents(every=True) == []
