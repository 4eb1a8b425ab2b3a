"""The pages of `tacit web` in a real Chromium: each of them, the whole review by keyboard, and what attacks them."""

from __future__ import annotations

import contextlib
import dataclasses
import http.server
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import tacit
from tacit.domain.skill import Kind, SkillContent, SkillStep
from tacit.domain.trajectory import Environment, Origin, Role, Step, StepResult, Task, Trajectory
from tests.e2e.web import sample
from tests.e2e.web.browser import Browser, chromium, driver
from tests.person import PASSPHRASE, enter, leave, unlocked
from tests.unit.making import bash_steps, content

pytestmark = pytest.mark.slow
AXE = Path(__file__).parents[3] / ".clients" / "codex" / "node_modules" / "axe-core" / "axe.min.js"
PAGES = {
    "today": "Today",
    "review": "Review",
    "skills": "Skills",
    "sessions": "Sessions",
    "facts": "Facts",
    "playground": "Playground",
}
LOOKS = ((1280, "light"), (1280, "dark"), (390, "light"))
RELEASE = content(
    name="release-the-service",
    description="Build the image, push it and roll the service out",
    steps=bash_steps("docker build .", "docker push registry", "kubectl rollout restart deploy/api"),
)
AGAIN = dataclasses.replace(
    RELEASE,
    name="ship-the-service",
    steps=(*RELEASE.steps, *bash_steps("kubectl rollout status deploy/api")),
)
SCRIPT = '<img src=x onerror="window.pwned=1"><script>window.pwned=1</script>`<svg onload=window.pwned=1>`'
SECOND_S = 0.5
"""Longer than a page refuses keys that were pressed before a candidate appeared."""


def missing() -> str:
    """What is missing for these tests."""
    if os.environ.get("TACIT_BROWSER") == "skip":
        return "a browser takes its time: `make web`"
    if chromium() is None:
        return "no Chromium with its driver: `make web` installs them"
    return "" if AXE.is_file() else "axe-core is not there: `make web` fetches it"


@dataclass
class Site:
    """One running `tacit web`, and a window of a browser that has entered."""

    browser: Browser
    origin: str
    database: Path
    home: Path

    def open(self, place: str, text: str = "") -> None:
        """Go to a page and wait until it is shown."""
        self.browser.run("document.querySelector('main h1')?.setAttribute('data-old', location.hash)")
        self.browser.go(f"{self.origin}/#/{place}")
        self.browser.wait_for("main h1:not([data-old])", text)

    def ask(self, path: str) -> Any:
        """What the server answers to the page."""
        return self.browser.run_async(
            f"fetch('/api/{path}').then(each => each.json()).then(arguments[arguments.length - 1])"
        )

    def status(self, name: str) -> str:
        return str(self.ask(f"skills/{name}")["status"])

    def changed_elsewhere(self, change: Callable[[tacit.Tacit], object]) -> None:
        """Let the person change something in a terminal."""
        enter()
        try:
            with tacit.open(self.database) as memory:
                memory.context.store.require_signatures(unlocked().signers)
                change(memory)
        finally:
            leave(self.home / ".tacit")


@pytest.fixture(scope="module")
def window() -> Iterator[Callable[[], Browser]]:
    if why := missing():
        assert os.environ.get("TACIT_BROWSER") != "required", why
        pytest.skip(why)
    with driver() as opened:
        yield opened


@pytest.fixture(scope="module")
def browser(window: Callable[[], Browser]) -> Browser:
    return window()


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with the sample's store and the person's home."""
    folder = tmp_path_factory.mktemp("sample")
    sample.fill(folder / "invoice-app" / ".tacit" / "tacit.db", folder / "home" / ".tacit")
    return folder


@contextlib.contextmanager
def served(browser: Browser, folder: Path) -> Iterator[Site]:
    """Start `tacit web` in `folder/invoice-app` for the person whose home is `folder/home`."""
    (folder / "invoice-app").mkdir(parents=True, exist_ok=True)
    (folder / "invoice-app" / ".git").mkdir(exist_ok=True)
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder / "home"), "USER": "ann", "PYTHONWARNINGS": "error"}
    command = [sys.executable, "-m", "tacit", "web", "--no-browser", "--json"]
    process = subprocess.Popen(
        command,
        cwd=folder / "invoice-app",
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        printed = "".join(iter(process.stdout.readline, "}\n"))
        address = json.loads(printed + "}")["address"]
        browser.look()
        browser.go("about:blank")
        browser.errors()  # of the page before
        browser.go(address)
        browser.wait_for("main h1", "Today")
        yield Site(
            browser, address.partition("/enter")[0], folder / "invoice-app" / ".tacit" / "tacit.db", folder / "home"
        )
    finally:
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=30)


@pytest.fixture(scope="module")
def shared(browser: Browser, filled: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """One for the tests that only look."""
    folder = tmp_path_factory.mktemp("shared")
    shutil.copytree(filled, folder, dirs_exist_ok=True)
    with served(browser, folder) as found:
        yield found


@pytest.fixture
def site(browser: Browser, filled: Path, tmp_path: Path) -> Iterator[Site]:
    """One of the test's own."""
    shutil.copytree(filled, tmp_path, dirs_exist_ok=True)
    with served(browser, tmp_path) as found:
        yield found


def problems(browser: Browser) -> list[str]:
    """What axe-core finds serious in the page."""
    if not browser.run("return 'axe' in window"):
        browser.devtools("Runtime.evaluate", expression=AXE.read_text(encoding="utf-8"))
    found = browser.run_async(
        "const rules = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'best-practice'];"
        "axe.run({runOnly: rules}).then(arguments[arguments.length - 1])"
    )
    assert found["passes"], "axe looked at nothing"
    return [
        f"{each['id']}: {node['html'][:200]} {node['failureSummary']}"
        for each in found["violations"] if each["impact"] in ("serious", "critical") for node in each["nodes"]
    ]  # fmt: skip


def test_every_page_in_every_look_is_whole_and_accessible(shared: Site) -> None:
    site, browser = shared, shared.browser
    browser.look()
    browser.go(f"{site.origin}/")
    browser.wait_for("main h1", "Today")
    browser.errors()  # of the page before
    skill = site.ask("skills?status=trial")["rows"][0]["version_id"]
    session = site.ask("sessions")["rows"][0]["session"]
    places = [*PAGES, f"skills/{skill}", f"sessions/{session}"]
    for width, scheme in LOOKS:
        browser.look(width=width, scheme=scheme)
        for place in places:
            site.open(place, PAGES.get(place, ""))
            assert browser.run("return document.documentElement.scrollWidth <= innerWidth"), (place, width)
            assert browser.run("return document.querySelectorAll('h1').length") == 1
            assert problems(browser) == [], (place, width, scheme)
    assert browser.errors() == []
    assert browser.run("return getComputedStyle(document.body).fontSize") == "16px"


def test_an_empty_store_says_on_each_page_what_to_do_next(browser: Browser, tmp_path: Path) -> None:
    with served(browser, tmp_path) as site:
        for place, title in PAGES.items():
            site.open(place, title)
            assert browser.run("return document.querySelectorAll('.empty').length") > 0, place
            assert problems(browser) == [], place
        assert not site.database.exists(), "looking creates no store"
        assert browser.errors() == []


def focus_by_tab(browser: Browser, selector: str) -> None:
    """Press Tab until an element has the focus."""
    for _ in range(80):
        if browser.run("return document.activeElement.matches(arguments[0])", selector):
            return
        browser.press("Tab")
    raise AssertionError(f"{selector} is not reached by the keyboard")


def appeared(browser: Browser, name: str) -> None:
    """Wait until a candidate is shown, and for as long as a person needs to look."""
    browser.wait_for("article h2", name)
    time.sleep(SECOND_S)


def test_the_whole_review_works_by_keyboard(site: Site) -> None:
    browser = site.browser
    site.changed_elsewhere(
        lambda memory: [memory.propose(each, by="an agent", origin=Origin.AGENT) for each in (RELEASE, AGAIN)]
    )
    focus_by_tab(browser, "a[href='#/review']")
    browser.press("Enter")
    rows = [each["name"] for each in site.ask("review")["rows"]]
    appeared(browser, rows[0])
    # Keys that were pressed before a candidate appeared decide nothing.
    browser.press("j", "a")
    appeared(browser, rows[1])
    assert not browser.run("return document.querySelector('dialog')")
    assert site.ask("review")["count"] == len(rows)
    # Values from outside are confirmed one by one; Enter alone confirms nothing.
    for name in rows[2 : rows.index(sample.UPLOAD.name) + 1]:
        browser.press("j")
        appeared(browser, name)
    browser.press("a")
    browser.wait_for("dialog h2", sample.UPLOAD.name)
    assert problems(browser) == []
    browser.press("Enter")
    boxes = browser.run("return document.querySelectorAll('dialog input[type=checkbox]').length")
    assert boxes > 1
    for _ in range(boxes):
        browser.press("Space", "Tab")
    browser.press("Enter", held="Control")
    # The passphrase is asked for once: a wrong one opens nothing.
    browser.wait_for("#unlock-title")
    assert problems(browser) == []
    browser.type("not the passphrase")
    browser.press("Enter")
    browser.wait(
        "const said = document.querySelector('dialog .problem').textContent; return said && !said.includes('…')"
    )
    assert site.status(sample.UPLOAD.name) == "candidate"
    browser.type(PASSPHRASE)
    browser.press("Enter")
    browser.wait("return !document.querySelector('dialog')")
    browser.wait_for(".toolbar .end button kbd", "u")
    assert site.status(sample.UPLOAD.name) == "trial"
    # Undo, and reject with a reason.
    browser.press("u")
    appeared(browser, sample.UPLOAD.name)
    assert site.status(sample.UPLOAD.name) == "candidate"
    browser.press("r")
    browser.wait_for("dialog h2", sample.UPLOAD.name)
    browser.type("We publish by CI only")
    browser.press("Enter")
    browser.wait("return !document.querySelector('dialog')")
    browser.wait("return !document.querySelector('article h2')?.textContent.includes(arguments[0])", sample.UPLOAD.name)
    assert site.status(sample.UPLOAD.name) == "rejected"
    review_an_edit(site)
    merge_two_drafts(site)
    assert not browser.run("return document.querySelector('#unlock-title')")
    assert all("/api/unlock" in each for each in browser.errors()), "only the wrong passphrase was refused"


def review_an_edit(site: Site) -> None:
    """Edit the card of facts where it is shown, and approve the edit."""
    browser = site.browser
    focus_by_tab(browser, "a[href='#/facts']")
    browser.press("Enter")
    browser.wait_for("h1", "Facts")
    browser.run("[...document.querySelectorAll('main button')].find(each => each.textContent === 'Edit').focus()")
    browser.press("Enter")
    browser.wait_for("dialog h2", "project-commands")
    browser.type("- lint: `make lint`")
    browser.press("Enter", held="Control")
    appeared(browser, "project-commands")
    assert "make lint" in browser.text()
    browser.press("a")
    browser.wait_for("dialog h2", "project-commands")
    for _ in range(browser.run("return document.querySelectorAll('dialog input[type=checkbox]').length")):
        browser.press("Space", "Tab")
    browser.press("Enter", held="Control")
    browser.wait_for("#message", "project-commands")
    assert site.status("project-commands") == "trial"


def merge_two_drafts(site: Site) -> None:
    browser, wanted = site.browser, AGAIN.name
    version = site.ask(f"skills/{wanted}")["version_id"]
    site.open(f"review/{version}", "Review")
    appeared(browser, wanted)
    browser.press("m")
    browser.wait_for("dialog h2", wanted)
    browser.press("Enter", held="Control")
    browser.wait("return !document.querySelector('dialog')")
    browser.wait(f"return !document.querySelector('article h2')?.textContent.includes('{wanted}')")
    assert site.status(version) == "rejected"
    assert "rollout status" in site.ask(f"skills/{RELEASE.name}")["skill_md"]


def test_the_second_of_two_reviewers_is_told_what_changed(site: Site) -> None:
    browser = site.browser
    version = site.ask("skills/use-log-helper-invoice-log")
    site.open(f"review/{version['version_id']}", "Review")
    appeared(browser, version["name"])

    def revise(memory: tacit.Tacit) -> None:
        stored = memory.version(version["version_id"])
        better = dataclasses.replace(stored.version.content, body="Use `invoice.log`, not print.")
        memory.propose(better, by="bob", origin=Origin.USER, revises=stored)

    site.changed_elsewhere(revise)
    # A page that is open is told by itself, and what changed stays there.
    browser.wait_for(".notice", "bob")
    assert "invoice.log" in str(browser.run("return document.querySelector('.notice .diff').textContent"))
    assert browser.run("return document.querySelector('.notice').getAttribute('role')") == "alert"
    # A decision that was made before it was told is refused.
    site.open("today", "Today")
    upload = site.ask(f"skills/{sample.UPLOAD.name}")["version_id"]
    site.open(f"review/{upload}", "Review")
    appeared(browser, sample.UPLOAD.name)
    browser.press("r")
    browser.wait_for("dialog h2", sample.UPLOAD.name)
    site.changed_elsewhere(lambda memory: memory.review(upload, "reject", by="bob", reason="not ours"))
    browser.press("Enter")
    browser.wait_for("#unlock-title")
    browser.type(PASSPHRASE)
    browser.press("Enter")
    browser.wait_for("dialog", "bob")
    assert "not ours" in browser.text()


def test_what_a_skill_rests_on_is_followed_down_to_the_step(shared: Site) -> None:
    site, browser = shared, shared.browser
    browser.look()
    browser.go(f"{site.origin}/")
    browser.wait_for("main h1", "Today")
    browser.errors()  # of the page before
    site.open("skills", "Skills")
    browser.run("document.getElementById('search').focus()")
    browser.type("make rates")
    browser.press("Enter")
    browser.wait_for("tbody tr:first-child a", "run-make-rates-for-make-test")
    browser.run("document.querySelector('tbody a').click()")
    browser.wait_for("h1", "run-make-rates-for-make-test")
    assert browser.run("return document.querySelectorAll('svg.curve circle').length") > 1
    browser.run("document.querySelector('.places a').click()")
    browser.wait_for(".step[data-focus]", "make")
    assert browser.run("return document.activeElement.matches('.step[data-focus]')")
    for kind in ("failed", "fix", "tacit"):
        browser.wait_for(f".step.{kind}")


def test_the_playground_explains_what_is_shown_and_what_is_not(shared: Site) -> None:
    site, browser = shared, shared.browser
    browser.look()
    browser.go(f"{site.origin}/")
    browser.wait_for("main h1", "Today")
    browser.errors()  # of the page before
    before = site.ask("today")["days"]
    for task, names in (
        ("Add a migration that adds column `paid_at` to `payments`", 1),
        ("Translate the page into French", 0),
    ):
        site.open("today", "Today")
        site.open("playground", "Playground")
        browser.run("const task = document.getElementById('task'); task.value = ''; task.focus()")
        browser.type(task)
        browser.run("document.querySelector('button.main').click()")
        browser.wait(
            f"return document.querySelectorAll('article.item').length === {names}"
            " && document.querySelectorAll('main section').length > 1"
        )
        assert problems(browser) == []
    assert site.ask("today")["days"] == before, "nothing is stored"


def test_hostile_text_stays_text_in_the_browser(site: Site) -> None:
    browser = site.browser
    hostile = SkillContent(
        kind=Kind.PROCEDURE, name="hostile", description=SCRIPT, category="x", tags=(SCRIPT,), body=SCRIPT,
        example_queries=(SCRIPT,), steps=(SkillStep(text=SCRIPT, tool=SCRIPT, arguments={"command": SCRIPT}),),
        signature=SCRIPT,
    )  # fmt: skip
    step = Step(
        index=0,
        role=Role.AGENT,
        text=SCRIPT,
        tool="Bash",
        arguments={"command": SCRIPT},
        observation=SCRIPT,
        result=StepResult.FAILED,
    )
    attempt = Trajectory(
        task=Task(text=SCRIPT), steps=(step,), environment=Environment(client=SCRIPT), session_id="abc"
    )
    with tacit.open(site.database) as memory:
        memory.capture(attempt)
        version = memory.propose(hostile, by=SCRIPT, origin=Origin.AGENT).version_id
    for place in (*PAGES, f"review/{version}", f"skills/{version}", "sessions/abc", "skills/%3Cscript%3E", SCRIPT):
        site.open(place)
        assert browser.run("return window.pwned === undefined && !document.querySelector('main img, main script')"), (
            place
        )
    browser.wait_for("main h1")
    policy = "return new Promise(r => {document.addEventListener('securitypolicyviolation', e => r(e.violatedDirective)); %s})"
    for attack, directive in (
        ("new Image().src = 'http://127.0.0.1:1/seen'", "img-src"),
        ("document.body.innerHTML = '<b>x</b>'", "require-trusted-types-for"),
        ("fetch('http://127.0.0.1:1/').catch(() => 0)", "connect-src"),
    ):
        assert directive in browser.run(policy % f"try {{ {attack} }} catch {{}}"), attack


class Attacker(http.server.BaseHTTPRequestHandler):
    """Another page on this machine, of the same site by the browser's rules, so that the cookie travels with its requests."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(b"<!doctype html><title>attack</title><body>")

    def log_message(self, *_: object) -> None:
        """Stay silent."""


ATTACKS = """
const [origin, version, done] = arguments;
const tell = async (path, options) => {
  try {
    const answer = await fetch(origin + path, {credentials: 'include', ...options});
    return await answer.text() || answer.type;
  } catch (error) { return 'refused'; }
};
const body = JSON.stringify({version_id: version, decision: 'reject', content_hash: '', state: ''});
const frame = document.createElement('iframe');
frame.src = origin + '/';
document.body.append(frame);
const form = document.createElement('form');
form.method = 'POST'; form.action = origin + '/api/lock'; form.target = 'other'; form.enctype = 'text/plain';
document.body.append(form);
Promise.all([
  tell('/api/review'), tell('/api/decide', {method: 'POST', headers: {'Content-Type': 'application/json'}, body}),
  tell('/api/decide', {method: 'POST', mode: 'no-cors', headers: {'Content-Type': 'text/plain'}, body}),
  tell('/api/lock', {method: 'POST', mode: 'no-cors', body: '{}'}),
]).then(async found => {
  await new Promise(go => setTimeout(go, 300));
  let inside = 'refused';
  try { inside = frame.contentDocument ? frame.contentDocument.body.innerText : 'refused'; } catch {}
  done([...found, inside]);
});
"""


def test_other_pages_and_other_names_reach_nothing(shared: Site) -> None:
    site, browser = shared, shared.browser
    browser.look()
    browser.go(f"{site.origin}/")
    browser.wait_for("main h1", "Today")
    browser.errors()  # of the page before
    candidate = site.ask("review")["rows"][0]
    attacker = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Attacker)
    threading.Thread(target=attacker.serve_forever, daemon=True).start()
    try:
        browser.go(f"http://127.0.0.1:{attacker.server_port}/")
        found = browser.run_async(ATTACKS, site.origin, candidate["version_id"])
        assert set(found) <= {"refused", "opaque"}, found
        # The name of another machine that was bound to this one, as DNS rebinding does.
        browser.go(site.origin.replace("127.0.0.1", "localhost") + "/")
        assert candidate["name"] not in browser.text()
        assert browser.run("return document.querySelector('nav')") is None
    finally:
        attacker.shutdown()
        attacker.server_close()
    site.open("review", "Review")
    assert site.status(candidate["version_id"]) == "candidate"
