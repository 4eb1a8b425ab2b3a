"""Text checks of the rubric: whether a text is concrete, raw output, about a passing state, or only a secret.

For concreteness, phrases that fit every task (“make sure”, “carefully”, “the tests”) are removed first. The rest must name
something: by a mark of concrete text (a command, a path, a name in code, a number, a quotation), or by words of its own.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from tacit.text.redaction import redact
from tacit.text.words import terms

_FILLER = frozenset(
    "- -- ? ?? ... … n/a na none null nil tbd todo fixme untitled unknown nothing empty always anytime any whenever ever "
    "see above above below same ditto x xx xxx test foo as needed if needed when needed whenever needed title".split(
        " "
    )
) | {"as needed", "if needed", "when needed", "whenever needed", "see above", "see below", "any task", "no title"}
_CONCRETE = re.compile(
    r"`[^`]+`"
    r"|(?<![\w-])--?[A-Za-z][\w-]*"  # a flag
    r"|\$\{?\w+|<[A-Za-z][\w -]*>"  # a variable, a placeholder
    r"|[\w*~.-]{0,80}/[\w*.-]+"  # a path
    r"|\b\w+\.(?:py|js|ts|tsx|md|ya?ml|json|toml|sql|sh|csv|txt|xml|html?|log|lock|env|cfg|ini|java|go|rs|rb|zip)\b"
    r"|\b[A-Za-z]+_\w+|\b[a-z]+[A-Z]\w*|\b[A-Z][a-z]+(?:[A-Z][a-z]+)+"  # names in code
    r"|\b\w+\(|\b\w+\.\w+\(|\b[a-z]\w*\.[a-z]\w+(?![\w ]*[.]$)"
    r"|\b[A-Z]{2,}[-_\d]*\d[\w-]*"
    r"|[\w\])]\s?={1,3}\s?[\w\"'\[{]|[|&]{1,2}\s\w|[<>]=?\s?\d|[%]\d"
    r"|\bmake (?!sure|it|the|an?|them|this|that|changes|use|your|good|any|every\w*|all)[a-z][\w:-]*"
    r"|\bgo (?:test|build|run|mod|get|vet)\b"
    r"|\b(?:npm|npx|pnpm|yarn|git|docker|kubectl|helm|pip|uv|cargo|mvn|gradle|brew|apt|terraform|poetry)(?:-\w+)? [a-z][\w:-]*"
    r"|\b[1-9]\d*(?:[.,:]\d+)*\b|\b0x[0-9a-fA-F]+"
    r"|[\"“'‘][^\"”'’]{2,}[\"”'’](?!\w)"
)
_EXHORTATION = re.compile(
    r"\b(?:be (?:careful|mindful|aware|cautious|sure|clear|patient|thorough|precise)|remember|do ?n[o']t forget|never forget"
    r"|double[- ]?check|make sure|ensure|take care|take your time|pay (?:close )?attention|watch out|keep in mind|bear in mind"
    r"|think (?:about|before|first|twice)|follow (?:the )?(?:best practices?|conventions?|guidelines?)|look out|mind the"
    r"|try to|it is important|always verify|verify|consider)\b",
    re.IGNORECASE,
)
_BECAUSE = re.compile(r"\b(?:because|otherwise|or else|since|instead|unless|until|not|never|only|before|after)\b|[;:→]")
_GENERIC = frozenset(
    term
    for word in (
        "able all also any anything app application approach ask attempt attention avoid bad base be best better big break "
        "broken bug build care careful carefully case change check clean clear clearly code coding come command commit "
        "communicate complete concise config configuration consider correct correctly crash data deal debug deploy deployment "
        "detail developer do doc document documentation done doubt easy edge ensure error every everything example exact "
        "exactly expect fail failure fast feature find fine finish first fix follow function future general get give good "
        "great guideline handle happen hard help helpful idea important improve info information input issue it job keep "
        "kind know later learn learning line list log logic logs long look lot make matter message mind mistake moment more "
        "much name need new next note nothing old optimise optimize order out output page part pass patient people perform "
        "performance pick plan point possible practice practise problem process program progress project proper properly "
        "pull push put quality question quick quickly read ready really reason recheck release remember report result "
        "review right risk robust run safe same save say see set setting setup should show simple simply slow small "
        "something sometimes soon start state step still stop study style such suite sure system take task team test "
        "testing tests thing think thorough thoroughly time tool tricky try unclear understand unsure update use useful user "
        "valid validate value verify version wait want watch way well where wise work works write wrong above others "
        "appropriate appropriately codebase explore gracefully later now often structure today"
    ).split()
    for term in terms(word)
)
_REPORT = re.compile(
    r"\W*(?:(?:i|we)\s+)?(?:fixed|solved|resolved|corrected|repaired|patched)\s+(?:it|this|that|(?:the|a)\s+"
    r"(?:bug|issue|problem|error|failure|test|tests))(?:\s+(?:in|at)\s+(?:the\s+file\s+)?[`\w./:-]+)?\W*",
    re.IGNORECASE,
)
"""A report that something was done, and at most where."""
_ENOUGH = 2
"""Words of its own that a plain sentence needs."""
_ENOUGH_URGED = 3
"""The same for an exhortation: “double-check the Kubernetes manifest” does not say what to look for."""


def is_filler(text: str) -> bool:
    """Return whether a field is empty, or holds a filler such as “n/a”."""
    bare = text.strip().strip(".!:…").strip().lower()
    return not bare or bare in _FILLER


def is_concrete(text: str) -> bool:
    """Return whether a text has a mark of concrete text."""
    return _CONCRETE.search(text) is not None


def own_words(text: str) -> int:
    """Return the number of different words that do not fit every task."""
    return len(frozenset(terms(text)) - _GENERIC)


def says_something(text: str, *, anchored: bool = False) -> bool:
    """Return whether somebody else could act on a text; with a concrete problem (`anchored`) one word is enough."""
    if is_filler(text) or _REPORT.fullmatch(text):
        return False
    if is_concrete(text):
        return True
    urges = _EXHORTATION.search(text)
    rest = _EXHORTATION.sub(" ", text)
    enough = _ENOUGH_URGED if urges and not _BECAUSE.search(rest) else _ENOUGH
    return own_words(rest) >= (1 if anchored else enough)


_LONGEST = 6_000
"""The maximum length of one field, in characters."""
_LINES = 10
"""Fewer lines are only an excerpt."""
_SHARE = 0.5
_FRAME = re.compile(r'^\s*(?:at \S+.*[(:]|File ".*", line \d+|\d+: .* at |from \S+:\d+:in )')
_FRAMES = 4
_OUTPUT = re.compile(
    r"^\s*(?:"
    r"\[?\d{4}-\d\d-\d\d[T ]\d\d:|\[?\s*\d{1,2}:\d\d:\d\d|\[\s*\d+\.\d+\]|[A-Z][a-z]{2} +\d+ \d\d:\d\d"
    r"|(?:TRACE|DEBUG|INFO|WARN(?:ING)?|ERROR|FATAL)\b|npm (?:WARN|ERR)|\S+::\S+ (?:PASSED|FAILED|SKIPPED|ERROR)"
    r"|[d-][rwx-]{9}|[<>*] \S|\S+@\S+[:~].*[$#] |(?:Get|Hit|Ign):\d+ |(?:Downloading|Collecting|Fetching|Compiling) \S"
    r"|0x[0-9a-f]{6,}|[0-9a-f]{6,8}[: ] (?:[0-9a-f]{2,4} )+"
    r")"
)
_NUMBER = re.compile(r"\d+")
_PAYLOAD = 800
"""From this length on, many brackets and quotes mean a payload, not an example."""
_PUNCTUATION = 0.22
_SHAPE_SHARE = 0.6


def dump_in(texts: Sequence[str]) -> str:
    """Return what raw output a field holds, in words; empty if none."""
    whole = "\n".join(texts)
    lines = [line for line in whole.splitlines() if line.strip()]
    if sum(1 for line in lines if _FRAME.match(line)) >= _FRAMES:
        return "a stack trace"
    if len(lines) >= _LINES and _looks_like_output(lines):
        return "raw output"
    if any(len(text) >= _PAYLOAD and sum(map(text.count, '{}[]":,')) / len(text) > _PUNCTUATION for text in texts):
        return "a raw payload"
    return f"a text of {len(whole):,} characters" if len(whole) > _LONGEST else ""


def _looks_like_output(lines: Sequence[str]) -> bool:
    printed = sum(1 for line in lines if _OUTPUT.match(line))
    if printed >= _SHARE * len(lines):
        return True
    shapes = [_NUMBER.sub("0", line.strip()) for line in lines]  # machine output repeats, except for its numbers
    most = max(shapes.count(shape) for shape in set(shapes))
    return most >= _SHAPE_SHARE * len(lines)


_WEEKDAY = r"(?:mon|tues|wednes|thurs|fri|satur|sun)day"
_NOW = (
    r"(?:right now|at the moment|as of (?:today|now|this \w+)|today|tonight|"
    r"this (?:morning|afternoon|evening|week|month|sprint)|tomorrow|yesterday(?!'s|’s)|last night|currently|presently|for now|"
    rf"until (?:{_WEEKDAY}|tomorrow|next \w+))"
)
_STATE = (
    r"(?:fail(?:s|ed|ing)?|broken|down|red|green|blocked|stuck|waiting|waits?|on leave|on holiday|on vacation|away|running|"
    r"started|outage|offline|unavailable|try again|retry|discussed|meeting|on branch|ignore|deployed|paused|release[ds]?|"
    r"number|is at|are at|expires?)"
)
_WE = r"i am|i'm|i’m|we are|we're|we’re"
_DID = r"(?:released|deployed|fixed|finished|merged|pushed|updated|shipped|changed|started)"
_DAY = (
    r"\b(?:\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d)?Z?)?|\d{1,2}[./]\d{1,2}[./]\d{2,4}"
    r"|\d{1,2}\.? (?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)\w*(?: \d{4})?)\b"
)
_BRANCHES = r"(?:fix|feat|feature|bugfix|hotfix|wip)/[\w./-]+"
_PATTERNS = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"\b{_NOW}\b[^.;]{{0,60}}\b{_STATE}\b",
        rf"\b{_STATE}\b[^.;]{{0,60}}\b{_NOW}\b",
        r"\b(?:today|this (?:morning|week|sprint))[’']s\b",
        r"\b(?:PR|MR|pull request|merge request|issue|ticket)\s?#?!?\d{1,6}\b",
        r"\b(?:build|run|job|pipeline|session)(?: number| id| run)?\s#?(?:is )?(?=[0-9a-f]*\d)[0-9a-f]{3,}\b",
        r"\bbuild number\b[^.;]{0,20}\d{2,}",
        r"\b(?:pid|process(?: id)?)[ :=]+\d{2,7}\b|\bkill(?: -\w+)? \d{3,7}\b",
        r"\b(?:commit|revert|container|cherry-pick|docker (?:exec|logs|stop|rm)(?: -\w+)*)\s+(?=[0-9a-f]*\d)[0-9a-f]{7,40}\b",
        r"/tmp/tmp[\w.-]{4,}|/tmp/[\w-]*\d{6,}[\w-]*",
        rf"\b(?:i am|i'm|we are|currently|now)\b[^.;]{{0,20}}\bon (?:the )?branch\b|\bon branch {_BRANCHES}",
        rf"\buntil {_WEEKDAY}\b",
        rf"\b(?:{_WE}|my|our)\b[^.;]{{0,60}}\b{_NOW}\b|\b{_NOW}\b[^.;]{{0,20}}\b(?:{_WE})\b",
        rf"\b(?:{_WE}) (?:in the middle of|working on|debugging|waiting|blocked|stuck)\b",
        rf"\b(?:i|we) {_DID}\b[^;]{{0,80}}(?:\b(?:yesterday|today|last \w+)\b|{_DAY})",
        r"\b(?:is|are) (?:now |still )?(?:in review|under review|in progress|blocked|not merged|pending)\b",
        r"\b(?:my|our) (?:branch|worktree|checkout|stash) (?:is|stands)\b",
        r"\b(?:i am|i'm|i’m|i was) at (?:commit|line|step|file)\b",
        r"\b(?:continue|go on|carry on|resume|pick up)\b[^.;]{0,20}\b(?:line|file|step|item|chunk|page|row) #?\d+\b",
        r"\b(?:is|are) still (?:running|failing|broken|waiting|open)\b",
    )
)
_DATE = re.compile(_DAY, re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class PassingState:
    """Words about a passing state, and their field."""

    field: str
    words: str


def passing_state(title: str, problem: str, instructions: Sequence[str]) -> PassingState | None:
    """Return the passing state that a card is about; None if it is about something lasting."""
    passing = [words for words in map(_momentary, instructions) if words]
    given = [text for text in instructions if text.strip()]
    in_title = _momentary(title)
    if passing and (in_title or 2 * len(passing) >= len(given)):
        return PassingState("solution_steps", passing[0])
    if in_title and not any(own_words(text) > 3 for text in given):
        return PassingState("title", in_title)
    in_problem = _momentary(problem)
    if in_problem and in_title:
        return PassingState("problem", in_problem)
    return None


def _momentary(text: str) -> str:
    for pattern in _PATTERNS:
        if match := pattern.search(text):
            return match.group().strip()
    dates = _DATE.findall(text)
    if dates and own_words(_DATE.sub(" ", text)) < 1:
        return str(dates[0])
    return ""


_PLACEHOLDER = re.compile(r"<redacted:[a-z0-9-]{1,40}>|\*{3}REDACTED\*{3}")
_ABOUT_SECRETS = re.compile(
    r"\b(?:pass(?:word|wd|phrase|code)|secrets?|tokens?|credentials?|keys?|api|login|user(?:name)?|admin|access|bearer|"
    r"authorization|export|use|value|webhook|private|production|prod|staging|live|is)\b|[A-Z_]*(?:KEY|TOKEN|SECRET|PASSWORD)\b"
    r"|-----[A-Z ]+-----",
    re.IGNORECASE,
)
_ADDRESS = re.compile(r"\b[a-z][a-z0-9+]{1,15}://\S*(?:<redacted:|\*{3}REDACTED)\S*")
"""An address with a secret is removed with it."""
_ACCOUNT = re.compile(r"(?<![\w.+-])[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63})+")
"""So is the name of an account."""
_LEAST_LEFT = 2


def is_a_secret(text: str) -> bool:
    """Return whether a text contains a secret and nothing else of value."""
    clean = redact(text).text
    if not _PLACEHOLDER.search(clean):
        return False
    rest = _ABOUT_SECRETS.sub(" ", _PLACEHOLDER.sub(" ", _ACCOUNT.sub(" ", _ADDRESS.sub(" ", clean))))
    return own_words(rest) < _LEAST_LEFT
