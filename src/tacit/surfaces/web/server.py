"""The server of `tacit web`: routes, and who may use them.

It listens on 127.0.0.1 alone. The token of the address is exchanged once for a cookie. A request from another page is refused
by its Host, Origin and Sec-Fetch-Site. A decision also needs the secret that the page got for the passphrase: it is kept in
that page's memory only, so whoever reads the cookie can look, and decide nothing.
"""

from __future__ import annotations

import hmac
import secrets
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, TypeVar

import msgspec
import uvicorn
from fastapi import Depends, FastAPI, Request
from fastapi.responses import FileResponse, HTMLResponse, PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tacit.config import signers, signing_key
from tacit.domain.care import CareKind
from tacit.domain.errors import GateRefusal, Mistake, NotFound, NotPermitted, Outage, StaleVersion, TacitError
from tacit.gate.review_rules import PersonDecision
from tacit.maintain.exports import export
from tacit.surfaces.cli.context import CommandContext
from tacit.surfaces.cli.report import fields, to_json
from tacit.surfaces.cli.review import GIVES_TO_AGENTS, REVIEW_SECONDS, apply_decision, require_despite
from tacit.surfaces.cli.skills import propose_edit
from tacit.surfaces.cli.tend import can_be_applied, care_document
from tacit.surfaces.web import pages
from tacit.surfaces.web.pages import PageContext

T = TypeVar("T")
Report = Callable[[PageContext], dict[str, Any]]
STATIC = Path(__file__).parent / "static"
FILES = {path.name: path for path in STATIC.iterdir() if path.suffix in (".css", ".html", ".js", ".svg")}
"""The files that are served; a name that is not among them is not looked for."""
SITTING_S = 30 * 60
"""So long after the last decision the passphrase is asked for again."""
_LARGEST = 1 << 20
"""Bytes of a request."""
HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
_STATUS = ((NotFound, 404), (StaleVersion, 409), (NotPermitted, 403), (Mistake, 400), (Outage, 503))
_ENTER = '<!doctype html><meta charset="utf-8"><meta http-equiv="refresh" content="0; url=/"><title>Tacit</title>'
_ENTER += '<link rel="icon" href="/static/icon.svg">'


async def _body(request: Request) -> bytes:
    return await request.body()


Body = Annotated[bytes, Depends(_body)]
"""The body of a request as it came: routes run in threads, where nothing is awaited."""


class Access:
    """Who may use one running server: the token of its address, the cookie it becomes, and the secret for decisions."""

    def __init__(self, port: int, *, clock: Callable[[], float] = time.monotonic) -> None:
        self.host = f"127.0.0.1:{port}"
        self.origin = f"http://{self.host}"
        self.cookie_name = f"tacit-{port}"
        self._token, self._cookie, self._signing = secrets.token_urlsafe(32), "", ""
        self._used_at, self._clock = 0.0, clock
        self._lock = threading.Lock()

    @property
    def entrance(self) -> str:
        """The address with the token, which works once."""
        return f"{self.origin}/enter?token={self._token}"

    def enter(self, token: str) -> str | None:
        """Exchange the token for a cookie; nothing for a wrong one, or one that was used."""
        with self._lock:
            if not self._token or not hmac.compare_digest(token.encode(), self._token.encode()):
                return None
            self._token, self._cookie = "", secrets.token_urlsafe(32)
            return self._cookie

    def knows(self, cookie: str) -> bool:
        """Whether a cookie is the one that was given. A sitting that nobody used for long ends before it is asked."""
        if self._signing and self._clock() - self._used_at > SITTING_S:
            self.lock()
        return bool(self._cookie) and hmac.compare_digest(cookie.encode(), self._cookie.encode())

    def unlock(self, home: Path, passphrase: str, *, name: str, create: bool) -> str:
        """Open the person's key for this process, or make their first one; return the secret for decisions."""
        with self._lock:  # one try at a time: each takes a quarter of a gigabyte
            if create and not signing_key.has_key(home):
                key = signing_key.create_key(home, passphrase, name=name, at=datetime.now(UTC))
            else:
                key = signing_key.unlock(home, passphrase)
            signers.set_unlocked_key(key)
            self._signing, self._used_at = secrets.token_urlsafe(32), self._clock()
            return self._signing

    def lock(self) -> None:
        """Forget the key; decisions need the passphrase again."""
        self._signing = ""
        signers.forget_unlocked_key()

    def require_signing(self, given: str) -> None:
        """Raise `NotPermitted` unless the page that asks has entered the passphrase lately."""
        if not self._signing or not hmac.compare_digest(given.encode(), self._signing.encode()):
            message, hint = "a decision needs your passphrase", "enter it in the page"
            raise NotPermitted(message, code="needs_passphrase", hint=hint)
        self._used_at = self._clock()


class Guard:
    """Refuses requests that are not from this server's own page in the browser that entered, before any route sees them."""

    def __init__(self, app: ASGIApp, access: Access) -> None:
        self._app, self._access = app, access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, with the headers that every answer has."""

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                added = [(name.lower().encode(), value.encode()) for name, value in HEADERS.items()]
                message = {**message, "headers": [*message.get("headers", ()), *added]}
            await send(message)

        if scope["type"] != "http":  # no WebSockets are served
            if scope["type"] == "lifespan":
                await self._app(scope, receive, send)
            return
        request = Request(scope)
        refusal = self._refusal(request)
        answer = self._app if refusal is None else PlainTextResponse(refusal[1], status_code=refusal[0])
        await answer(scope, receive, send_with_headers)

    def _refusal(self, request: Request) -> tuple[int, str] | None:
        """Return why a request is refused; nothing where it is answered."""
        access, headers = self._access, request.headers
        if headers.getlist("host") != [access.host]:
            return 421, "This server answers at its own address only."
        origins, changes = headers.getlist("origin"), request.method not in ("GET", "HEAD")
        if (changes or origins) and origins != [access.origin]:
            return 403, "Requests from other pages are refused."
        if headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
            return 403, "Requests from other pages are refused."
        if changes and not headers.get("content-type", "").startswith("application/json"):
            return 415, "Requests are JSON."
        length = headers.get("content-length", "0")
        if "transfer-encoding" in headers or not length.isdigit() or int(length) > _LARGEST:
            return 413, "The request is too large."
        is_entrance = request.url.path == "/enter" and request.method == "GET"
        if not is_entrance and not access.knows(request.cookies.get(access.cookie_name, "")):
            return (
                401,
                "Open the address that `tacit web` gave; it works once. To get a new one, start `tacit web` again.",
            )
        return None


class Decision(msgspec.Struct, forbid_unknown_fields=True):
    """A person's decision on a version that they saw: its content, and the state it was in."""

    version_id: str
    decision: PersonDecision
    content_hash: str
    state: str
    reason: str = ""
    ticked: tuple[str, ...] = ()
    despite: bool = False


class EditedText(msgspec.Struct, forbid_unknown_fields=True):
    """A person's text of a version that they saw."""

    version_id: str
    state: str
    text: str


class Passphrase(msgspec.Struct, forbid_unknown_fields=True):
    """What a person typed to sign; `create` makes their first key with it."""

    passphrase: str
    create: bool = False


class Asked(msgspec.Struct, forbid_unknown_fields=True):
    """A version, or a task of the playground."""

    version_id: str = ""
    task: str = ""
    error: str = ""
    as_hook: bool = False


def run_server(ctx: CommandContext, access: Access, listening: socket.socket) -> None:
    """Serve until the person stops it."""
    config = uvicorn.Config(
        web_app(ctx, access), log_level="critical", access_log=False, server_header=False, date_header=False,
        proxy_headers=False, ws="none", timeout_graceful_shutdown=2,
    )  # fmt: skip
    try:
        uvicorn.Server(config).run(sockets=[listening])
    finally:
        access.lock()


def web_app(ctx: CommandContext, access: Access) -> ASGIApp:
    """Build the application: the routes behind the guard."""
    app = FastAPI(openapi_url=None, docs_url=None, redoc_url=None)
    base = PageContext(environment=ctx.environment, store=ctx.store)
    _add_entrance(app, access)
    _add_reports(app, base)
    _add_decisions(app, base, access)

    @app.exception_handler(TacitError)
    def explain(_: Request, error: TacitError) -> Response:
        return _error(error)

    return Guard(app, access)


@contextmanager
def opened(base: PageContext) -> Iterator[PageContext]:
    """Open the store for one request, so that what other processes wrote counts; an empty one where there is none."""
    ctx = PageContext(environment=base.environment, store=base.store)
    place = ctx.place
    memory = ctx.memory = ctx.opened(place if place.exists else place.in_memory())
    try:
        yield ctx
    finally:
        memory.close()


def _json(document: Any, status: int = 200) -> Response:
    return Response(to_json(document, indent=None), status_code=status, media_type="application/json")


def _error(error: TacitError, **more: Any) -> Response:
    status = next((number for kind, number in _STATUS if isinstance(error, kind)), 409)
    problem = {"kind": type(error).__name__, **fields(error, "code", "message", "hint")}
    return _json({"error": problem | {"problems": getattr(error, "problems", ())}, **more}, status)


def _add_entrance(app: FastAPI, access: Access) -> None:
    """Serve the exchange of the token, and the files of the page."""

    @app.get("/enter")
    def enter(token: str = "") -> Response:
        cookie = access.enter(token)
        if cookie is None:
            return PlainTextResponse("This address was used already. Start `tacit web` again.", status_code=401)
        answer = HTMLResponse(_ENTER)
        answer.set_cookie(access.cookie_name, cookie, httponly=True, samesite="strict", path="/")
        return answer

    @app.get("/")
    @app.get("/static/{name}")
    def file(name: str = "index.html") -> Response:
        if name not in FILES:
            return PlainTextResponse("There is no such file.", status_code=404)
        return FileResponse(FILES[name])


def _add_reports(app: FastAPI, base: PageContext) -> None:
    """Serve what the pages show. Each request opens the store, in a thread of its own."""

    def answer(report: Report) -> Response:
        with opened(base) as ctx:
            return _json(report(ctx))

    @app.get("/api/access")
    def access_page() -> Response:
        return answer(pages.access_document)

    @app.get("/api/changes")
    def changes() -> Response:
        database = Path(base.place.database)
        seen = [path.stat() for path in (database, Path(f"{database}-wal")) if path.exists()]
        return _json({"state": ":".join(f"{each.st_mtime_ns}.{each.st_size}" for each in seen)})

    @app.get("/api/today")
    def today() -> Response:
        return answer(pages.today)

    @app.get("/api/review")
    def queue(skip: int = 0) -> Response:
        return answer(lambda ctx: pages.queue(ctx, max(0, skip)))

    @app.get("/api/review/{reference}")
    def candidate(reference: str, seen: str = "") -> Response:
        return answer(lambda ctx: pages.candidate(ctx, reference, seen=seen))

    @app.get("/api/merges/{reference}")
    def merges(reference: str) -> Response:
        return answer(lambda ctx: pages.merges(ctx, reference))

    @app.get("/api/skills")
    def skills(status: str = "", text: str = "", skip: int = 0) -> Response:
        return answer(lambda ctx: pages.skills(ctx, status=status, text=text, skip=max(0, skip)))

    @app.get("/api/skills/{reference}")
    def skill(reference: str) -> Response:
        return answer(lambda ctx: pages.skill(ctx, reference))

    @app.get("/api/sessions")
    def sessions(skip: int = 0) -> Response:
        return answer(lambda ctx: pages.sessions(ctx, max(0, skip)))

    @app.get("/api/sessions/{session_id}")
    def session(session_id: str, skip: int = 0) -> Response:
        return answer(lambda ctx: pages.session(ctx, session_id, max(0, skip)))

    @app.get("/api/facts")
    def facts() -> Response:
        return answer(pages.facts)

    @app.post("/api/playground")
    def playground(body: Body) -> Response:
        asked = _parsed(body, Asked)
        return answer(lambda ctx: pages.playground(ctx, task=asked.task, error=asked.error, as_hook=asked.as_hook))


def _parsed(body: bytes, kind: type[T]) -> T:
    try:
        return msgspec.json.decode(body, type=kind)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise Mistake(f"the request cannot be read: {error}", code="bad_request", hint="reload the page") from error


def _add_decisions(app: FastAPI, base: PageContext, access: Access) -> None:
    """Serve what only a person may do, who has entered their passphrase in this page."""

    def signed(request: Request, decide: Callable[[PageContext], Response]) -> Response:
        with opened(base) as ctx:
            if not ctx.settings[0].policy.is_open:
                access.require_signing(request.headers.get("tacit-signing", ""))
            return decide(ctx)

    @app.post("/api/unlock")
    def unlock(body: Body) -> Response:
        given, environment = _parsed(body, Passphrase), base.environment
        secret = access.unlock(environment.person_home, given.passphrase, name=environment.user, create=given.create)
        return _json({"signing": secret})

    @app.post("/api/lock")
    def lock() -> Response:
        access.lock()
        return _json({})

    @app.post("/api/decide")
    def decide(request: Request, body: Body) -> Response:
        given = _parsed(body, Decision)
        return signed(request, lambda ctx: _decide(ctx, given))

    @app.post("/api/edit")
    def edit(request: Request, body: Body) -> Response:
        given = _parsed(body, EditedText)
        return signed(request, lambda ctx: _edit(ctx, given))

    @app.post("/api/undo")
    def undo(request: Request, body: Body) -> Response:
        given = _parsed(body, Asked)

        def undone(ctx: PageContext) -> Response:
            moves = ctx.memory.reviews.undo(given.version_id, by=ctx.person(""))
            export(ctx.memory.context)
            return _json({"moves": moves})

        return signed(request, undone)

    @app.post("/api/merge")
    def merge(request: Request, body: Body) -> Response:
        given = _parsed(body, Asked)
        return signed(request, lambda ctx: _merge(ctx, given.version_id))


def _decide(ctx: PageContext, given: Decision) -> Response:
    """Decide on exactly what was seen; tell what changed where it is not that any more."""
    stored = ctx.memory.version(given.version_id)
    if pages.state_of(ctx, stored) != given.state or stored.version.hash != given.content_hash:
        return _changed(ctx, given.version_id, given.state)
    if stored.status in GIVES_TO_AGENTS.get(given.decision, ()):
        require_despite(ctx, stored, ticked=given.ticked, despite=given.despite)
    moved = apply_decision(
        ctx, stored, given.decision, reason=given.reason, content_hash=given.content_hash, ticked=given.ticked
    )
    taught = [each.taught_by_review(stored, ctx.person("")) for each in ctx.memory.context.extensions]
    return _json({**fields(moved, "version_id", "before", "after", "by"), "taught": [*filter(None, taught)]})


def _changed(ctx: PageContext, version_id: str, seen: str) -> Response:
    stored = ctx.memory.version(version_id)
    hint = "read what changed, then decide"
    error = StaleVersion(f"`{stored.version.name}` has changed since this page showed it", hint=hint)
    return _error(error, changed=pages.changed(ctx, stored, seen))


def _edit(ctx: PageContext, given: EditedText) -> Response:
    """Propose a person's text as the next version; it is decided on like any other."""
    stored = ctx.memory.version(given.version_id)
    if pages.state_of(ctx, stored) != given.state:
        return _changed(ctx, given.version_id, given.state)
    edited = propose_edit(ctx, stored, given.text, by=ctx.person(""))
    if edited is None:
        return _json({"changed": False, "version_id": stored.version.id})
    return _json({"changed": True, "version_id": edited.version.id, "status": edited.status})


def _merge(ctx: PageContext, version_id: str) -> Response:
    """Apply the merge that maintenance suggests for a version."""
    library = ctx.memory.library
    for care in library.plan(only=(CareKind.MERGE, CareKind.SUPERSEDED), seconds=REVIEW_SECONDS):
        found = care_document(care)
        if can_be_applied(care) and version_id in (found["subject"], *found["parents"]):
            done, _ = library.apply([care], by=ctx.person(""))
            export(ctx.memory.context)
            return _json(care_document(done[0]))
    raise GateRefusal(
        "nothing is similar enough to be merged with it", code="no_merge", hint="edit one of them instead"
    )
