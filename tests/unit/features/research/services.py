"""A server on loopback that answers as arXiv and Semantic Scholar do, for tests."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Answer = tuple[int, dict[str, str], bytes]

FEED = """<?xml version="1.0" encoding="UTF-8"?>
<feed xmlns="http://www.w3.org/2005/Atom" xmlns:opensearch="http://a9.com/-/spec/opensearch/1.1/"
      xmlns:arxiv="http://arxiv.org/schemas/atom">
  <title type="html">ArXiv Query: id_list={id}</title>
  <opensearch:totalResults>1</opensearch:totalResults>
  <entry>
    <id>http://arxiv.org/abs/{id}</id>
    <published>2026-01-05T18:00:00Z</published><updated>2026-02-01T18:00:00Z</updated>
    <title>Cases in
  Sections</title>
    <summary>  We show that a case is kept. It is then
found again.
    </summary>
    <author><name>Ann Able</name></author><author><name>Ben Best</name></author>
    {more}
    <link href="http://arxiv.org/abs/{id}" rel="alternate" type="text/html"/>
    <link title="pdf" href="http://arxiv.org/pdf/{id}" rel="related" type="application/pdf"/>
    <arxiv:primary_category term="cs.DB" scheme="http://arxiv.org/schemas/atom"/>
  </entry>
</feed>"""
NOBODY = """<?xml version="1.0" encoding="UTF-8"?>
<feed xmlns="http://www.w3.org/2005/Atom"><title>ArXiv Query</title>{entry}</feed>"""
ERROR = """<entry><id>http://arxiv.org/api/errors#incorrect_id_format_for_x</id><title>Error</title>
<summary>incorrect id format for x</summary></entry>"""


def atom(identifier: str, more: str = "") -> Answer:
    return 200, {"Content-Type": "application/atom+xml"}, FEED.format(id=identifier, more=more).encode()


def record(**fields: Any) -> Answer:
    known = {
        "paperId": "a" * 40,
        "externalIds": {"ArXiv": "2601.01234", "DOI": "10.1234/cases", "CorpusId": 7},
        "title": "Cases in Sections",
        "abstract": "We show that a case is kept. It is then found again.",
        "venue": "Journal of Cases",
        "year": 2026,
        "citationCount": 42,
        "publicationTypes": ["JournalArticle"],
        "openAccessPdf": None,
        "authors": [{"authorId": "1", "name": "Ann Able"}, {"authorId": "2", "name": "Ben Best"}],
    }
    return 200, {"Content-Type": "application/json"}, json.dumps(known | fields).encode()


class Services:
    """Paths with the answers they give, one after the other, and what was asked for."""

    def __init__(self) -> None:
        self.url = ""
        self.answers: dict[str, list[Answer]] = {}
        self.asked: list[str] = []

    def says(self, path: str, *answers: Answer) -> None:
        """Give these answers to whatever begins with a path, the last one again and again."""
        self.answers[path] = list(answers)

    def answer(self, path: str) -> Answer:
        self.asked.append(path)
        for known, answers in self.answers.items():
            if path.startswith(known):
                return answers.pop(0) if len(answers) > 1 else answers[0]
        return 404, {"Content-Type": "application/json"}, b'{"error": "Paper not found"}'


@contextmanager
def serving() -> Iterator[Services]:
    services = Services()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            status, headers, body = services.answer(self.path)
            self.send_response(status)
            for name, value in ({"Content-Length": str(len(body))} | headers).items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args: Any) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    services.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield services
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
