"""What Tacit did in a session: what it showed at which moment and why, what the agent did with it, and what was learned.

From the hook journals (every event, for some days after the session) and from the stored uses and their results (for good).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from pathlib import Path

from tacit.config.files import read_plain
from tacit.domain.errors import NotFound, TacitError
from tacit.domain.evidence import Evidence, Following, Grade, Outcome, Use
from tacit.domain.ledger import UsageSignal
from tacit.domain.reason_code import ReasonCode
from tacit.domain.stored import Episode, StoredVersion
from tacit.domain.trajectory import Trajectory
from tacit.evidence.credit import NAMELESS
from tacit.evidence.journal_uses import SessionTexts, as_text, dated_lines, journal_session, uses_of
from tacit.gate.quarantine import episodes_without_external_text
from tacit.ingest.journal import CLIENTS, CLOSED_BYTES, FOLDER, SUFFIX, as_texts, digest, path_of, shares_in
from tacit.store import Store, queries
from tacit.store.context import StoreContext

LATEST = 2_000
"""How many attempts and uses are looked at for the newest sessions, and for what happened lately."""
HOOK = "hook"


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownSkill:
    """One skill at one moment, and what the agent then did with it."""

    version_id: str
    name: str
    why: Mapping[str, float] = field(default_factory=dict)
    """Signal → value, as the hook noted them; empty where it noted none."""
    following: Following | None = None
    outcome: Outcome = Outcome.UNKNOWN
    grade: Grade | None = None
    """Who verified the outcome."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NotShown:
    """One skill that was not shown at a moment, and why."""

    version_id: str
    name: str
    code: str
    relevance: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionEvent:
    """A moment at which Tacit showed something, stayed silent, or noted something."""

    at: datetime
    moment: str
    """`start`, `prompt`, `before` (a call), `call` (a failed one), `batch`, `denied`; or the surface: `mcp`, `api`, …"""
    agent: str = ""
    task: str = ""
    tool: str = ""
    use_id: str = ""
    shown: tuple[ShownSkill, ...] = ()
    not_shown: tuple[NotShown, ...] = ()
    silent: str = ""
    """The reason code where recall was asked and gave nothing."""
    objection: str = ""
    """`said` or `denied` where a person objected."""
    warned: int = 0
    """Warnings of a repetition."""
    notes: int = 0
    """Notes of other agents that were read."""

    @property
    def says_something(self) -> bool:
        """Whether there is anything to tell."""
        return bool(self.shown or self.not_shown or self.silent or self.objection or self.warned or self.notes)


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionLog:
    """What Tacit did in one session of an agent."""

    session_id: str
    client: str
    model: str
    began: datetime
    ended: datetime
    events: tuple[SessionEvent, ...] = ()
    attempts: tuple[Episode, ...] = ()
    """What was captured of it."""
    has_journal: bool = False
    """Whether the moments of silence are known, and not only what was shown."""
    learned: tuple[StoredVersion, ...] = ()
    """Versions that were made or confirmed by it, with their present status."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Activity:
    """What happened since a time."""

    sessions: int
    shown: int
    followed: int
    worked: int
    failed: int


def log_of(context: StoreContext, session_id: str, *, whole: bool = True) -> SessionLog:
    """Return the log of one session; unless `whole`, without tasks that no person wrote.

    Raises `NotFound` if nothing is known of it.
    """
    store, names = context.store, _Names(context.store, person=context.person)
    known = attempts_of(context, session_id)
    attempts = known if whole else episodes_without_external_text(store, known)
    uses = {use.id: use for use in store.uses(session_id=session_id)}
    texts = SessionTexts()
    texts.texts = {digest(each.task.strip()): shown.task for each, shown in zip(known, attempts, strict=True)}
    events: list[SessionEvent] = []
    client, journaled = "", dict[str, Use]()
    for name, data in _journals(context, session_id):
        client = next((each for each in CLIENTS if name.startswith(each)), "")
        journaled |= {use.id: use for use in uses_of(name, data, texts)}
        used = {
            use.at: uses.get(use.id, use) for use in journaled.values() if use.surface == HOOK and not use.held_back
        }
        results = _results(store, journaled.values())
        events += [_line_event(line, at, used.get(at), names, results) for line, at in dated_lines(data)]
    others = [use for use in uses.values() if use.id not in journaled and not use.held_back]
    results = _results(store, others)
    events += [_use_event(use, names, results) for use in others]
    if not (events or attempts):
        hint = "`tacit log` lists the latest sessions"
        raise NotFound(f"nothing is known of a session {session_id!r}", code="no_such_session", hint=hint)
    times = [*(event.at for event in events), *(each.started_at or each.captured_at for each in attempts)]
    models = (use.model for use in (*uses.values(), *journaled.values()) if use.model)
    return SessionLog(
        session_id=session_id,
        client=client or next((each.client for each in attempts), ""),
        model=next(models, ""),
        began=min(times),
        ended=max(times),
        has_journal=bool(client),
        events=tuple(event for event in sorted(events, key=lambda event: event.at) if event.says_something),
        attempts=tuple(attempts),
        learned=tuple(_learned_from(store, attempts)),
    )


def attempts_of(context: StoreContext, session_id: str) -> list[Episode]:
    """Return the summaries of the attempts of a session, oldest first."""
    return [each for each in context.store.episodes(session_id=session_id) if not each.superseded]


def attempt(context: StoreContext, trajectory_id: str) -> Trajectory:
    """Return one attempt with its steps; raises `NotFound` where they were pruned."""
    return context.store.trajectory(trajectory_id)


def session_of(context: StoreContext, trajectory_id: str) -> str:
    """Return the session of an attempt; empty where it was purged."""
    try:
        return context.store.episode(trajectory_id).session_id
    except NotFound:
        return ""


def latest_sessions(context: StoreContext, limit: int, *, among: int = LATEST) -> list[str]:
    """Return the ids of the sessions with the latest events, the newest first; subagents belong to their session.

    Only so many of the newest attempts and uses are looked at.
    """
    latest: dict[str, float] = {}
    for name, path in _journal_files(context):
        latest[journal_session(name)] = path.lstat().st_mtime
    episodes = context.store.episodes(latest=among)
    parents = {each.session_id: each.parent_session_id for each in episodes if each.parent_session_id}
    times = [(each.session_id, each.started_at or each.captured_at) for each in episodes]
    times += [(use.session_id, use.at) for use in context.store.uses(latest=among)]
    for own, at in times:
        if session_id := parents.get(own, own):
            latest[session_id] = max(latest.get(session_id, 0.0), at.timestamp())
    return sorted(latest, key=lambda each: -latest[each])[:limit]


def showings(
    context: StoreContext, version_ids: Collection[str], *, limit: int, whole: bool = True
) -> list[tuple[str, SessionEvent]]:
    """Return when versions were last shown, the newest first, each with its session; `whole` as for `log_of`."""
    used = [use for version_id in version_ids for use in context.store.uses(version_id=version_id) if not use.held_back]
    times = {use.session_id: use.at.timestamp() for use in sorted(used, key=lambda use: use.at)}
    for name, path in _journal_files(context):  # what hooks showed since the last `learn`
        session_id = journal_session(name)
        if session_id not in times and any(each.encode() in _bytes_of(path) for each in version_ids):
            times[session_id] = path.lstat().st_mtime
    found: list[tuple[str, SessionEvent]] = []
    for session_id in sorted(times, key=lambda each: -times[each]):
        if len(found) >= limit:
            break
        events = log_of(context, session_id, whole=whole).events if session_id else _events_of(context, used)
        own = [event for event in events if any(each.version_id in version_ids for each in event.shown)]
        found += [(session_id, event) for event in reversed(own)]
    return found[:limit]


def _events_of(context: StoreContext, uses: Iterable[Use]) -> list[SessionEvent]:
    """Return what was shown outside of sessions, such as by `tacit recall`, oldest first."""
    outside = sorted((use for use in uses if not use.session_id), key=lambda use: use.at)
    names, results = _Names(context.store, person=context.person), _results(context.store, outside)
    return [_use_event(use, names, results) for use in outside]


def activity(context: StoreContext, *, since: datetime) -> Activity:
    """Sum up what was shown since a time and how that went; beyond the latest uses nothing is counted."""
    uses = [use for use in context.store.uses(latest=LATEST) if use.at >= since and not use.held_back]
    results = _results(context.store, uses)
    return _sum(uses, results, _heeded(context.store, uses, results))


def results_by_day(
    context: StoreContext, *, since: datetime, most: int
) -> tuple[dict[date, Activity], dict[str, Activity], datetime]:
    """Sum up what was shown since a time by day, and by version; return also since when.

    At most so many of the latest uses are counted, so that may be later than what was asked for.
    """
    latest = context.store.uses(latest=most)
    if len(latest) == most:
        since = max(since, latest[0].at)
    uses = [use for use in latest if use.at >= since and not use.held_back]
    results = _results(context.store, uses, among=most)
    heeded = _heeded(context.store, uses, results)
    days: dict[date, list[Use]] = {}
    versions: dict[str, list[Use]] = {}
    for use in uses:
        days.setdefault(use.at.date(), []).append(use)
        for version_id in use.version_ids:
            versions.setdefault(version_id, []).append(use)
    return (
        {day: _sum(own, results, heeded) for day, own in days.items()},
        {each: _sum(own, results, heeded, version_id=each) for each, own in versions.items()},
        since,
    )


def _heeded(store: Store, uses: Sequence[Use], known: _Results) -> Mapping[tuple[str, str], bool]:
    """Return use id and version id → whether the run used it, where no result tells that: it may be known all the same."""
    pairs = ((use.id, each) for use in uses for each in use.version_ids)
    versions = {pair[1] for pair in pairs if pair not in known or known[pair].following is None}
    found: dict[tuple[str, str], bool] = {}
    for signal in store.entries(UsageSignal, key=versions) if versions else ():
        pair = (signal.use_id, signal.key)
        found[pair] = found.get(pair, False) or signal.heeded
    return found


def _sum(
    uses: Sequence[Use], known: _Results, heeded: Mapping[tuple[str, str], bool], *, version_id: str = ""
) -> Activity:
    """Sum up some uses, or what one version did in them."""
    shown = [(use.id, each) for use in uses for each in use.version_ids if version_id in ("", each)]
    results = {pair: known[pair] for pair in shown if pair in known}
    outcomes = Counter(result.outcome for result in results.values() if result.grade.verified)
    return Activity(
        sessions=len({use.session_id for use in uses}),
        shown=len(shown),
        followed=sum(
            results[pair].following in (Following.FOLLOWED, Following.PARTLY)
            if pair in results and results[pair].following
            else heeded.get(pair, False)
            for pair in shown
        ),
        worked=outcomes[Outcome.SUCCESS],
        failed=outcomes[Outcome.FAILURE],
    )


class _Names(dict[str, str]):
    """Version id → name, read when it is first asked for."""

    def __init__(self, store: Store, *, person: str) -> None:
        super().__init__()
        self.store, self._person = store, person

    def __missing__(self, version_id: str) -> str:
        try:
            stored = self.store.version(version_id)
            name = "a preference" if queries.is_private(stored, person=self._person) else stored.version.name
        except TacitError:
            name = version_id[:10]  # it was purged or is damaged
        self[version_id] = name
        return name


_Results = Mapping[tuple[str, str], Evidence]
"""Use id and version id → the strongest result of that use."""


def _results(store: Store, uses: Iterable[Use], *, among: int | None = None) -> _Results:
    """Return the results of uses; with `among` only those among so many of the newest results."""
    listed = list(uses)
    ids = {use.id for use in listed}
    found: dict[tuple[str, str], Evidence] = {}
    for evidence in store.evidence({each for use in listed for each in use.version_ids}, among=among).values():
        for each in evidence:
            if each.use_id in ids and not each.control:
                known = found.get((each.use_id, each.version_id))
                if known is None or each.grade.verified or not known.grade.verified:
                    found[each.use_id, each.version_id] = each
    return found


def _line_event(
    line: Mapping[str, object], at: datetime, use: Use | None, names: _Names, results: _Results
) -> SessionEvent:
    """Return one line of a journal as an event."""
    why = line.get("why")
    signals = why if isinstance(why, dict) else {}
    moment = as_text(line.get("moment"))
    return SessionEvent(
        at=at,
        moment=moment,
        agent=as_text(line.get("agent")),
        task=use.task if use and use.task not in NAMELESS.values() else "",
        tool=as_text(line.get("tool")),
        use_id=use.id if use else "",
        shown=tuple(_shown(each, use, names, results, why=signals.get(each)) for each in as_texts(line.get("shown"))),
        not_shown=tuple(_not_shown(line, names)),
        silent=as_text(line.get("silent")),
        objection=as_text(line.get("corrective")),
        warned=len(as_texts(line.get("warned"))),
        notes=len(as_texts(line.get("noted"))),
    )


def _use_event(use: Use, names: _Names, results: _Results) -> SessionEvent:
    shown = tuple(_shown(each, use, names, results) for each in use.version_ids)
    return SessionEvent(at=use.at, moment=use.surface, task=use.task, use_id=use.id, shown=shown)


def _shown(version_id: str, use: Use | None, names: _Names, results: _Results, *, why: object = None) -> ShownSkill:
    result = results.get((use.id, version_id)) if use else None
    signals = (
        {str(name): value for name, value in why.items() if isinstance(value, float)} if isinstance(why, dict) else {}
    )
    following = result.following if result else None
    if use and following is None:  # without a verified outcome it is still known what the agent did
        heeded = _heeded(names.store, [use], results).get((use.id, version_id))
        following = None if heeded is None else Following.FOLLOWED if heeded else Following.IGNORED
    return ShownSkill(
        version_id=version_id,
        name=names[version_id],
        why=signals,
        following=following,
        outcome=result.outcome if result else Outcome.UNKNOWN,
        grade=result.grade if result else None,
    )


def _not_shown(line: Mapping[str, object], names: _Names) -> Iterator[NotShown]:
    for key, reason in (("skipped", ReasonCode.ALREADY_SHOWN), ("held", ReasonCode.OVER_BUDGET)):
        yield from (NotShown(version_id=each, name=names[each], code=reason) for each in as_texts(line.get(key)))
    for version_id in shares_in(line.get("control")):
        yield NotShown(version_id=version_id, name=names[version_id], code=ReasonCode.HELD_BACK)
    left = line.get("left")
    for entry in left if isinstance(left, list) else ():
        match entry:
            case [str(version_id), str(code), float(relevance)]:
                yield NotShown(version_id=version_id, name=names[version_id], code=code, relevance=relevance)


def _learned_from(store: Store, attempts: Sequence[Episode]) -> Iterator[StoredVersion]:
    """Yield the versions that the gate decided about because of these attempts, each once."""
    decided = [
        verdict for each in attempts for verdict in store.verdicts(trajectory_id=each.id, since=each.captured_at)
    ]
    for version_id in dict.fromkeys(verdict.version_id for verdict in decided if verdict.version_id):
        try:
            yield store.version(version_id)
        except TacitError:
            continue  # purged or damaged, which `tacit store verify` reports


def _journal_files(context: StoreContext) -> Iterator[tuple[str, Path]]:
    folder = context.place.folder / FOLDER if context.place else None
    for path in sorted(folder.glob(f"*{SUFFIX}")) if folder and folder.is_dir() else ():
        yield path.name, path


def _journals(context: StoreContext, session_id: str) -> Iterator[tuple[str, bytes]]:
    folder = str(context.place.folder) if context.place else ""
    for client in CLIENTS if folder else ():
        path = Path(path_of(folder, client, session_id))
        if data := _bytes_of(path):
            yield path.name, data


def _bytes_of(path: Path) -> bytes:
    """Return the content of a journal; nothing of one that is not there."""
    try:
        return read_plain(str(path), limit=2 * CLOSED_BYTES)
    except OSError:
        return b""
