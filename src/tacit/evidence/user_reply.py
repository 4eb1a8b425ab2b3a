"""User replies: does a message accept or reject the work, and which commands did the user name as a condition?

Only clear words at the beginning of a message count: "works, thanks" and "lgtm", or "still fails" and "revert this". A
bare "thanks", "ok" or "great" is courtesy: people thank and fix the rest themselves, and a false success does more harm
than a missed one. Questions, conditions, quotations and praise with a "but" are unknown. It knows English only.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from tacit.domain.evidence import Outcome
from tacit.domain.trajectory import Role, Trajectory
from tacit.text.shell import Command, parse_command

_HEAD = 400  # what comes later is about something else


def stated_outcome(text: str) -> Outcome:
    """Return the outcome that a message states for the work before it; unknown where it is not clear."""
    message = text[:_HEAD].strip().casefold().replace("\N{RIGHT SINGLE QUOTATION MARK}", "'")
    if _MOCKING.search(message):
        return Outcome.UNKNOWN
    found = Outcome.UNKNOWN
    for clause, asks in _message_clauses(message):
        if _MANNERS.fullmatch(clause):
            continue
        if found is Outcome.SUCCESS and _WISHING.match(clause):
            break
        if asks or _SUPPOSING.search(clause):
            return Outcome.UNKNOWN
        if found is not Outcome.SUCCESS and _REJECTING.match(clause):
            return Outcome.FAILURE
        if not _ACCEPTING.fullmatch(clause):
            return Outcome.UNKNOWN  # ambiguous: "perfect, another crash"
        found = Outcome.SUCCESS
    return found


def is_courtesy(text: str) -> bool:
    """Whether a message is only thanks, assent or "commit it"."""
    message = text.strip().casefold().replace("\N{RIGHT SINGLE QUOTATION MARK}", "'")
    return len(message) <= _HEAD and all(
        _MANNERS.fullmatch(clause) and not asks for clause, asks in _message_clauses(message)
    )


def _message_clauses(message: str) -> Iterator[tuple[str, bool]]:
    """The clauses of a message, each with whether its sentence is a question."""
    for sentence in _SENTENCE.findall(message):
        asks = sentence.rstrip().endswith("?")
        yield from ((clause, asks) for part in _BREAK.split(sentence) if (clause := part.strip(_EDGES)))


def _any_of(*patterns: str) -> re.Pattern[str]:
    return re.compile("|".join(f"(?:{pattern})" for pattern in patterns))


_SENTENCE = re.compile(r"[^.!?\n]*(?:[.!?]+(?!\w)|\n|$)|[^\n]")
_BREAK = re.compile(r"[,;:–—()]|\.(?=\s|$)|\s-+\s|\s(?=(?:thanks?|thx|but|and)\b)")
_EDGES = " \t.,!?…*_~👍🎉✅🚀🙏😀😊🙂❤\N{VARIATION SELECTOR-16}❌👎"
_MOCKING = re.compile(r"🙄|😒|🤦|/s\b|yeah,? right|thanks for nothing|\blol\b|\bhaha|[\"“]")
_SUPPOSING = re.compile(r"\b(?:if|in case|when(?:ever)?|until|unless|whether|suppose|otherwise|before|should)\b")

_IT = r"(?:it|that|this|everything|all of it|the (?:fix|change|patch|code|script|build|app|page|site|feature|command))"
_IS = r"(?:'s| is| are| was)"
_HOW = (
    r"(?: (?:now|again|great|well|fine|perfectly|nicely|correctly|properly|as (?:expected|intended)|like a charm|for me|"
    r"on my (?:machine|end|side)|locally|too|in production|everywhere|to me|here|indeed))*"
)
_MANNERS = _any_of(
    r"(?:many |lots of |a million )?(?:thanks?|thx|ty|cheers)(?: you)?(?: so much| very much| a lot| again| a ton)?"
    r"(?: for (?:the|your|all the|all your) (?:help|work|fix|effort))?",
    r"(?:and |ok |oh )?(?:yes|yep|yeah|ok(?:ay)?|oh|ah|wow|great|cool|nice|awesome|excellent|good|amazing|fantastic|"
    r"brilliant|sweet|wonderful)",
    r"(?:no|nope|nah|hmm+|hm|sorry|unfortunately|ugh|wait|hey|hi|stop|damn|well|actually|please)",
    r"i(?:'ve| have)? (?:just )?(?:tested|tried|checked|ran) (?:it|that|this)",
    r"much appreciated|appreciate it|that's all|that is all",
    r"(?:and |so |please )*(?:go ahead and )?(?:commit|push|deploy|release)"
    r"(?: (?:it|this|that|them|everything|the changes?))?(?: (?:to (?:main|master)|please|then|now))*",
)
_ACCEPTING = _any_of(
    rf"(?:and |yes |so )?(?:{_IT} )?(?:just |all |finally |now |really )*"
    rf"(?:works?|worked|is working|are working|did the trick|does the trick){_HOW}",
    rf"{_IT}'s working{_HOW}",
    rf"{_IT} (?:has |really )?(?:fixed|solved|resolved|did) (?:it|(?:the|my) (?:problem|issue|bug|error)){_HOW}",
    rf"(?:{_IT}{_IS} )?(?:all )?(?:fixed|solved|resolved|confirmed|verified|correct)(?: now)?",
    r"(?:and )?(?:you (?:fixed|solved|nailed) it|problem solved|all green(?: now)?)",
    rf"(?:all )?(?:the |my )?(?:tests?|checks?|build|ci|pipeline|suite){_IS}? (?:all )?(?:pass(?:es|ed|ing)?|green){_HOW}",
    r"lgtm|approved|flawless|well done|(?:i )?love it",
    rf"(?:(?:it|that|this|everything|all) )?looks? (?:good|great|perfect|excellent|right|correct){_HOW}",
    rf"(?:(?:it|that|this){_IS} )?(?:just |absolutely |simply )?perfect",
    rf"(?:(?:it|that|this){_IS} )?(?:exactly|just|precisely) "
    r"(?:what (?:i|we) (?:wanted|needed|asked for|had in mind|meant)|right)",
    r"(?:and )?(?:ship|merge) (?:it|this)|(?:all|everything(?:'s| is)) good(?: now)?",
    r"(?:great|excellent|good|nice|amazing|fantastic|awesome|brilliant) (?:work|job)",
)
_WISHING = re.compile(
    r"(?:and |so |ok )?(?:now|next|then|also|please|can you|could you|would you|let's|i'd like|i want|i need|we need|new task|"
    r"one more thing)\b(?! (?:it|that|this|the|everything|nothing|my|i|we|there|they|you|all)\b)"
)
_NOT = r"(?:does not|doesn't|doesnt|did not|didn't|didnt|do not|don't|is not|isn't|isnt|was not|wasn't|won't|are not|aren't)"
_BAD = r"(?:wrong|incorrect|broken|worse|nonsense|useless|a mess|not right|not correct|not working|not fixed)"
_TESTS = r"(?:the |my |all )*(?:tests?|build|ci|pipeline|checks?|linter)"
_REJECTING = _any_of(
    rf"(?:no |but |and |now |unfortunately |sadly )*(?:(?:{_IT}|{_TESTS}){_IS}? )?still "
    rf"(?:(?:fail|crash|break|hang|throw)(?:e?s|ing|ed)?|{_BAD}|{_NOT}|red|no luck|the same)\b",
    r"(?:i(?:'m| am)? )?still (?:get(?:ting)?|see(?:ing)?|have|having) (?:the|that|this|an?|exactly) (?:\w+ ){0,3}"
    r"(?:error|problem|issue|failure|bug|exception|traceback|crash)",
    r"(?:exactly )?(?:the )?same (?:error|problem|issue|failure|bug|traceback)(?: again| as before| here)?$",
    rf"{_IT} {_NOT} (?:work|help|fix|solve|compile|build|run|pass)(?:ing|ed)?\b",
    rf"{_IT}{_IS}? (?:just |simply |completely |totally |all |even )*{_BAD}\b",
    rf"(?:{_IT} (?:{_NOT}|is not|was not) |{_IT}'s not |not )(?:at all |really |quite )?what i (?:asked|wanted|meant)",
    rf"{_IT} (?:broke|breaks|fails|failed|crashes|crashed|made (?:it|things) worse|is failing|is crashing)\b",
    r"(?:wrong|no luck|doesn't work|does not work|didn't work|did not work|not working|not fixed)"
    r"(?: again| at all| for me| either| yet)?$",
    r"you (?:broke|ruined|messed up|misunderstood|overwrote|did the wrong)\b",
    r"(?:please |just )*(?:revert|undo|roll back|rollback|back out|discard|scrap) "
    r"(?:it|this|that|everything|all|your|those|these|the (?:changes?|last|commit|edits?))\b",
    r"(?:please |just )*(?:undo|revert|roll back|rollback)$|put (?:it|that|everything) back\b",
    rf"{_TESTS}{_IS}? (?:now )?(?:failing|red|broken|fails?)(?: again| now)?$",
    rf"now (?:{_IT}|{_TESTS}){_IS}? (?:crash(?:es|ing)|broken|fail(?:s|ing)|worse|red)",
)


_LONGEST_MESSAGE = 20_000
_SENTENCES = re.compile(r"(?:[^.!?\n`]|`[^`\n]{1,200}`|[.!?](?!\s|$))+")
_QUOTED = re.compile(r"`([^`\n]{1,200})`")
_DEMANDS = re.compile(
    r"\b(?:pass(?:es)?|succeeds?|exits? (?:with )?(?:status |code )?(?:0|zero)|(?:must|should|needs? to|has to) (?:work|run)|"
    r"verify with|check with|confirm with|make sure|ensure|is green|done when)\b",
    re.IGNORECASE,
)
_SILENT = frozenset({"cd", "export", "set", "source", ".", "unset", "pushd", "popd"})
_SAYS_NOTHING = frozenset({"echo", "printf", "true", ":", "exit", "pwd", "sleep"})


def checks_named_by_user(trajectory: Trajectory) -> dict[str, int]:
    """Return the commands that the user named as a condition, with the step of the first message that did."""
    named: dict[str, int] = {}
    if trajectory.task.by == "agent":
        return named
    messages = [(step.index, step.text) for step in trajectory.steps if step.role is Role.USER]
    for index, text in ((-1, trajectory.task.text), *messages):
        for sentence in _SENTENCES.findall(text[:_LONGEST_MESSAGE]):
            for quoted in _QUOTED.findall(sentence) if _DEMANDS.search(_QUOTED.sub("", sentence)) else ():
                command = only_command(parse_command(quoted))
                if command and command.program not in _SAYS_NOTHING:
                    named.setdefault(command.text, index)
    return named


def only_command(commands: Sequence[Command]) -> Command | None:
    """Return the only command of a line that does something; None if there are several."""
    real = [command for command in commands if command.program not in _SILENT]
    return real[0] if len(real) == 1 else None
