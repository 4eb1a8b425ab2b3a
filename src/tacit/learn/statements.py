"""Finds what a person said about the way of working: standing rules, and wishes that count once they are repeated.

Only the person's own words are read: no pasted or quoted text, no text of the client, no prompt that another agent wrote. A
statement is kept whole. Questions, guesses and requests about one thing at hand are left out; in doubt nothing is found,
because a wrong rule is shown every time.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from tacit.domain.outline import Wish
from tacit.domain.trajectory import Role, Step, StepResult, Trajectory
from tacit.text.tool_calls import Effect, ToolCall, ToolKind
from tacit.text.words import estimate_tokens, stem, terms

MAX_TOKENS = 75
"""Of a statement; a longer one tells a story, and a part of it is not what was said."""
_MAX_MESSAGE = 1500  # longer messages state a task or paste a document
_MAX_SENTENCES = 12
_MAX_WISHES = 24
_MIN_CHARACTERS = 4
_MAX_WHOLE = 40
"""Tokens of a message that is one statement as a whole, where no word tells which sentences belong together."""
UNSPACED = re.compile(r"[\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_RETYPED = 0.7


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """What a person said in one message, with what the agent did before and after it."""

    message: Step
    text: str
    """The whole statement, in the person's words."""
    standing: bool
    """Whether it holds from now on; otherwise it is a wish that counts when it is repeated."""
    before: tuple[ToolCall, ...] = ()
    """What was done since the person's previous message."""
    after: tuple[ToolCall, ...] = ()
    """What was done until the person's next message."""


def _is_joint_work(actions: Sequence[ToolCall]) -> bool:
    """Whether the person works with the agent on files and commands; whoever is served by tools states no rules of work."""
    return not actions or any(action.kind is not ToolKind.FUNCTION for action in actions)


def statements_of(trajectory: Trajectory, actions: Sequence[ToolCall]) -> tuple[Statement, ...]:
    """Return what the person said about the way of working, in the order of the messages."""
    if trajectory.parent_session_id or not _is_joint_work(actions):
        return ()  # the messages are those of the agent that started this one, or of a customer
    found: list[Statement] = []
    messages = [step for step in trajectory.steps if step.role is Role.USER and not step.is_action]
    places = [action.index for action in actions]
    begins, ends = [-1, *(step.index for step in messages)], [*(step.index for step in messages[1:]), 1 << 60]
    seen: set[str] = set()
    others: list[tuple[int, str]] | None = None
    for begin, step, end in zip(begins, messages, ends, strict=False):
        if end == step.index + 1 and _is_retyped(step, messages):
            continue
        before = tuple(actions[bisect_right(places, begin) : bisect_left(places, step.index)])
        after = tuple(actions[bisect_right(places, step.index) : bisect_left(places, end)])
        for text, standing in _read(own_words(step.text), refused=_refused(before)):
            key = " ".join(text.split())
            others = _others_texts(trajectory) if others is None else others
            if key in seen or any(index < step.index and key in theirs for index, theirs in others):
                continue  # said before, or only passed on
            seen.add(key)
            found.append(Statement(message=step, text=text, standing=standing, before=before, after=after))
    return tuple(found)


def wishes_of(statements: Sequence[Statement]) -> tuple[Wish, ...]:
    """Return what the person wished for, as a rule or not, for counting over sessions."""
    return tuple(Wish(step=each.message.index, text=each.text, at=each.message.at) for each in statements[:_MAX_WISHES])


def objections_of(
    trajectory: Trajectory, actions: Sequence[ToolCall], *, statements: Sequence[Statement] | None = None
) -> tuple[int, ...]:
    """Return the messages in which a person took exception to what was just done, whether or not they laid down a rule.

    Statements that are known need not be found again.
    """
    stated = statements_of(trajectory, actions) if statements is None else statements
    found = {each.message.index for each in stated if each.standing and each.before}
    done = asked = False
    acted = {action.index for action in actions if action.effect is not Effect.READ}
    for step in trajectory.steps:
        if step.index in acted:
            done = True
        if step.role is Role.AGENT and step.text.strip():
            asked = step.text.rstrip().endswith(("?", "？"))
        if step.role is not Role.USER or step.is_action:
            continue
        words = step.text.strip()[:_MAX_MESSAGE]
        if done and (_OBJECTED.match(words) or (not asked and _REFUSED.match(words))):
            found.add(step.index)
        done = asked = False
    return tuple(sorted(found))


def _refused(before: Sequence[ToolCall]) -> ToolCall | None:
    """Return the call that the person refused or stopped right before they spoke."""
    last = before[-1] if before else None
    stopped = last is not None and last.step.result in (StepResult.DENIED, StepResult.INTERRUPTED)
    return last if stopped else None


def _is_retyped(message: Step, messages: Sequence[Step]) -> bool:
    """Whether the person sent the message again right away, with a mistake set right."""
    again = next(step for step in messages if step.index > message.index)
    return SequenceMatcher(a=message.text[:400], b=again.text[:400], autojunk=False).ratio() >= _RETYPED


def _others_texts(trajectory: Trajectory) -> list[tuple[int, str]]:
    """Return what tools, the agent and the host wrote, by step."""
    steps = (step for step in trajectory.steps if step.role is not Role.USER)
    return [(step.index, " ".join(f"{step.observation}\n{step.text}".split())) for step in steps]


# --- the person's own words -------------------------------------------------------------------------------------------

_CLIENT_NOTE = "Note: The user's next message may contain a correction or preference."
_REQUEST = "## My request for Codex:"
_NOT_OWN = re.compile(
    r"\s*(?:<[a-z]|/\w|The user wants to clarify these questions|PLEASE IMPLEMENT THIS PLAN|Base directory for this skill"
    r"|This session is being continued|\[Request interrupted|Caveat: )"
)
"""Openings of what a client writes in the person's place: blocks, commands with their arguments, plans, summaries."""
_DOCUMENT = re.compile(r"^#{1,6} |\*\*\S|^\|.*\|\s*$|^ {0,3}[-=]{3,}\s*$|^diff --git|^@@ ", re.MULTILINE)
_FENCE = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_PASTED_LINE = re.compile(r"[ \t]*(?:[>│❯$%⎿●]|\d+ [|│]|at \S+ \()|(?: {4,}|\t)\S")
_QUOTED = re.compile(r"[\"“„«「][^\"”“»」\n]{25,}[\"”“»」]")
_QUOTE = "“…”"
"""Stands for a quoted passage; a sentence that holds one is not the person's own alone."""


def own_words(text: str) -> str:
    """Return the part of a message that the person wrote themselves; empty where that cannot be told."""
    text = text.partition(_CLIENT_NOTE)[0]
    text = text.partition(_REQUEST)[2] if _REQUEST in text else text
    if len(text) > _MAX_MESSAGE or _NOT_OWN.match(text) or _DOCUMENT.search(text):
        return ""
    text = _QUOTED.sub(_QUOTE, _FENCE.sub("\n\n", text))
    return "\n".join("" if _PASTED_LINE.match(line) else line for line in text.splitlines()).strip()


_BREAK = re.compile(r"(?<=[.!?…])[\"')\]]*\s+(?=\S)|(?<=[。！？])[」』）]*\s*(?=\S)")
_ABBREVIATED = re.compile(
    r"(?:^|[\s(])(?:e\.?g|i\.?e|etc|vs|cf|approx|ca|esp|incl|no|resp|bzw|z\. ?B|d\. ?h|u\. ?a|usw|p\. ?ej|aka|a\.k\.a)\.$",
    re.IGNORECASE,
)
_ITEM = re.compile(r"^\s*(?:[-*•・–]|\(?\d{1,2}[.)、]|[a-z][.)])\s*(?=\S)")
_WRAPPED = 60


def sentences(text: str) -> list[str]:
    """Split a text into its sentences; abbreviations, brackets and code do not end one."""
    lines: list[str] = []
    for line in text.splitlines():
        item = _ITEM.sub("", line).strip()
        goes_on = lines and len(lines[-1]) >= _WRAPPED and not lines[-1].endswith((".", "!", "?", ":", ";"))
        if goes_on and item[:1].islower() and not _ITEM.match(line):
            lines[-1] += f" {item}"  # a line that an editor wrapped
        else:
            lines.append(item)
    found: list[str] = []
    for line in filter(None, lines):
        open_ = ""
        for piece in _BREAK.split(line):
            whole = f"{open_} {piece}".strip()
            open_ = whole if _ABBREVIATED.search(whole) or _is_open(whole) else ""
            if not open_:
                found.append(whole)
        found += [open_] if open_ else []
    return found


def _is_open(text: str) -> bool:
    return text.count("(") > text.count(")") or text.count("`") % 2 == 1 or text.count("“") > text.count("”")


# --- statements -------------------------------------------------------------------------------------------------------


def _any(*patterns: str) -> re.Pattern[str]:
    return re.compile("|".join(f"(?:{pattern})" for pattern in patterns), re.IGNORECASE)


_VERB = (
    "(?:add|amend|annotate|answer|ask|assume|avoid|build|bump|call|change|check|close|comment|commit|create|delete|deploy|"
    "disable|document|edit|exclude|fix|follow|format|generate|guess|hard-?code|ignore|import|include|install|invent|keep|leave|log|make|"
    "mention|merge|mock|modify|move|name|open|pin|prefer|prefix|print|publish|push|put|read|rebase|rebuild|refactor|reformat|"
    "remove|rename|reply|review|rewrite|run|send|show|sign|skip|squash|stage|start|stick|store|suppress|test|touch|translate|"
    "type|update|upgrade|use|wait|wrap|write)"
)
_START = (
    r"(?:^|(?<=[,;:–—(-]) ?|(?<=[.!?]) |\b(?:actually|also|and|as|because|but|instead|just|no|ok|okay|please|since|so|then|"
    r"wait|yeah|yes)\b,? )(?:please )?"
)
"""Where a clause begins."""
_PLACE = r"(?:project|repo|repository|code ?base|team|company|monorepo)"
_HERE = rf"(?:(?:in|for|across) (?:this|our|the|my) (?:whole |entire )?{_PLACE}\b|\bthis {_PLACE}\b|\bhere\b)"
_BAN = r"(?:do not|don'?t|never|must not|mustn'?t|should not|shouldn'?t|no need to|avoid)"
_ALL = r"(?:any|anything|anywhere|at all|each|ever|every|everything|everywhere|unless|without asking)"
_SPOILS = r"(?:breaks?|causes?|clutters?|confuses?|costs?|makes?|ruins?|wastes?)\b"
_REASON = (
    rf"(?:because|since|otherwise|so that|as (?:i|it|that|the|they|this|we)\b|that (?:is|{_SPOILS})|"
    rf", (?:it|that|they|this) (?:just |only )?{_SPOILS})"
)
_AGENTS_DOING = (
    "(?:add|apologiz|ask|assum|chang|comment|committ|creat|delet|edit|explain|generat|guess|hard-?cod|import|invent|"
    "mak|mock|open|print|push|putt|remov|rewrit|runn|summariz|touch|us|wrapp|writ)ing"
)
_RULE = _any(
    rf"{_START}(?:you |we )?(?:should |must |have to |need to )?(?:always|never)(?: ever)? {_VERB}\b",
    r"^(?:please )?(?:always|never) (?!mind\b|\w+(?:ed|ing)\b|\w+[^s]s\b)\w{2,}\W+\w",
    r"^(?:please )?never \w+(?:-\w+)+",
    r"\b(?:have to|has to|must|needs? to|remember to|shall|should|supposed to|sure to|want you to) (?:always|never|not ever)\b",
    r"\b(?:must|shall|should) only ever\b",
    r"\b(?:is|are) never (?!\w+ed\b)[^,;]{3,60}[,;] ?(?:only|but)\b",
    r"\b(?:from now on|from here on|from this point on|going forward|henceforth)\b",
    r"^(?:please |and |so |ok,? )*(?:any ?time|each time|every ?time|in (?:the )?future|next time|whenever)\b(?:[^,?]{3,80},)? "
    rf"(?:always |just |never |please )*(?:let me|make sure|{_BAN}|{_VERB}|you (?:have to|must|need to|should))\b",
    r"^(?:any ?time|each time|every ?time|whenever) you [^,?]{3,80}, (?:please )?"
    r"(?!i\b|it\b|the\b)\w+[^s\W] (?:a|all|an|me|the|your)\b",
    rf"^(?:please )?(?:{_BAN} \w+|{_VERB}) .{{3,}}\b(?:at all times|in (?:the )?future|next time)\W*$",
    rf"{_START}{_VERB} [^.]{{3,80}}\b(?:whenever|where(?:ver)?) possible\b",
    rf"^(?:after|before|when|while) \w+ing [^,]{{2,60}}, (?:please )?(?:{_VERB}|{_BAN}|always)\b",
    rf"{_START}always (?!\w+(?:s|ed|ing)\b)[\w@./`-]{{1,40}},? (?:please|{_HERE})",
    r"^(?:please )?(?:bear in mind|keep in mind|remember) (?:that|to) ",
)
"""A rule for all time."""
_GENERAL_BAN = _any(
    rf"{_START}{_BAN} (?:\w+ ){{0,2}}?\w+ (?:[^.;]{{0,60}} )?{_ALL}\b",
    rf"{_START}(?:do not|don'?t) ever \w",
    rf"{_START}{_BAN} {_VERB}\b.{{2,120}}{_REASON}",
    rf"{_START}(?:quit|stop) {_AGENTS_DOING} (?!it\b|now\b|that\b|there\b|this\b)\w",
    rf"\b{_VERB} only .{{3,120}}\b(?:instead of|never|not|rather than)\b",
    rf"{_START}only {_VERB} .{{0,120}}\b(?:after|if|instead of|not|rather than|when)\b",
    rf"{_START}{_VERB} \S.{{2,60}}(?:, not|\b(?:instead of|over|rather than))\b.{{2,60}}{_REASON}",
    r"^(?:please )?prefer \S.{2,60}\b(?:instead of|not|over|rather than|to)\b",
)
"""A ban of everything of a kind, a ban or a choice with its reason, or a thing that the agent is to stop doing."""
_CUSTOM = _any(
    rf"{_START}we (?:always|do not|don'?t|never|only)(?: ever)? {_VERB}\b",
    rf"{_START}we (?:{_VERB}|require) .{{2,100}}(?:{_HERE}|\bnot\b|\binstead of\b|\brather than\b)",
    rf"{_START}(?:do not |don'?t )?use \S.{{1,80}}{_HERE}",
    rf"\b(?:in|for|across) (?:this|our) {_PLACE},? (?:always|never|only|please|we|you)\b",
    rf"\b(?:this|our) {_PLACE} (?:always |does not |doesn'?t |never |only )?(?:follow|keep|prefer|require|use)s?\b",
    rf"\b(?:my|our|(?:the|this) {_PLACE}'s) (?:\w+ )?(?:convention|guideline|policy|rule|standard|style)s? "
    r"(?:are|for|is|says?)\b",
    r"\b(?:is|are) (?:our|the) (?:\w+ )?(?:convention|policy|rule|standard)\b",
)
"""A custom of a place."""
_TASTE = _any(
    r"\bI (?:always |generally |much |really |strongly |usually |would |'d )*prefer "
    r"(?!the (?!.*\b(?:instead of|over|rather than)\b)|[a-z]\b|#|\d|approach|direction|it\b|option|that|this)",
    r"\bI(?:'d)? (?:always|generally|never|usually) (?:like|prefer|want)\b",
    r"\bI (?:can'?t stand|dislike|hate) (?!it\b|that|this)",
    r"\bI (?:do not|don'?t) (?:like|want) (?:you (?:to )?|\w+ing\b)",
)
OTHER_LANGUAGES = _any(
    r"(?<!\w)(?:ab (?:jetzt|sofort)|künftig|in zukunft|grundsätzlich|(?:immer|nie(?:mals)?) (?:\w+ ){0,3}\w+en)(?!\w)",
    r"(?<!\w)(?:désormais|dorénavant|à partir de maintenant|à l'avenir|(?:n'|ne )\w+ jamais)(?!\w)",
    r"\b(?:de ahora en adelante|a partir de ahora|d'ora in poi|de agora em diante|a partir de agora)\b",
    r"(?<!\w)(?:впредь|отныне|(?:всегда|никогда не) \w+(?:й|йте|ь|ьте))(?!\w)",
    r"^(?:por favor,? |bitte |s'il te plaît,? )?(?:immer|jamais|nie(?:mals)?|nunca|sempre|siempre|toujours) \w+",
    r"从现在(?:起|开始)|从今以后|今后|以后(?:都|请|不要|别)|每次都|一律|(?:永远|绝对)不要|始终|总是要|不要再|别再|禁止",
    r"(?:今後|これから|次(?:回)?から)は|二度と|原則(?:として|、)|絶対に?[^。]*(?:ないで|な$|こと)|できる(?:限り|だけ)|なるべく",
    r"(?:常に|必ず|毎回)[^。]{2,}(?:して|こと|ように|ください|使う|べき)",
    r"(?:する|の(?:は|を)?)やめて[。！!]*$|[くぐすつぬぶむる]な[。！!]*$|[しらかまさ]ないで(?:ください|ね|ほしい)?[。！!]*$",
    r"앞으로|다음부터|항상|매번|절대|하지 ?마",
)
"""A rule for all time, in other languages than English."""
_STANDING = (_RULE, _GENERAL_BAN, _CUSTOM, _TASTE, OTHER_LANGUAGES)
_TURNS_DOWN = _any(
    rf"{_START}(?:do not |don'?t |no need to ){_VERB}\b",
    rf"{_START}use \S.{{0,80}}\b(?:instead|not|rather than)\b",
    r"[A-Za-z`][\w`./-]* ?(?:じゃなく|ではなく|代わりに)|不要|别|不是",
)
_AT_HAND = (
    "(?:branch|bug|button|change|class|column|comment|commit|doc|document|error|field|file|function|image|issue|line|"
    "message|method|one|option|page|part|plan|point|pr|pull request|screenshot|section|segment|session|step|table|task|test)s?"
)
ONE_TIME = _any(
    r"https?://|\]\(|(?<!\w)#\d|\boption \w\b",
    r"\b(?:bullet|direction|issue|item|line|number|option|part|phase|point|pr|step|task)s? ?[#\d]",
    r"\b(?:anymore|at this (?:point|stage|time)|currently|for now|for the moment|in (?:that|this) case|just this once|"
    r"right now|temporar\w+|this time|today|tomorrow|tonight|yet)\b",
    r"\bbefore (?:you|we) (?:continue|proceed|reply|start)\b",
    r"\b(?:do not|don't) (?:change|do|edit|fix|implement|make|modify|touch|write) any"
    r"(?:thing\b(?! in\b)|\b.{0,20}\b(?:change|code|file)s?\b)",
    rf"\b(?:current|that|these|this|those) {_AT_HAND}\b",
    rf"\b(?:the|your) (?:above|first|last|next|other|previous|second|third) {_AT_HAND}\b",
    r"まず|とりあえず|今回|一旦|这次|暂时|diesmal|erstmal|vorerst|pour l'instant|por ahora|esta vez|пока",
)
"""A time, a place or a thing at hand: the statement does not reach beyond it."""
_GUESS = _any(
    r"\bi (?:assume|believe|don'?t know|guess|noticed that|think|thought|would)\b",
    r"\b(?:as far as i know|could be|how about|idk|let'?s (?:say|see)|looks? like|maybe|might|not sure|perhaps|probably|seems?|"
    r"suppose(?!d to)|what about|what if|wonder(?:ing)?|would (?:be|have))\b",
)
_REPORT = _any(
    r"\b(?:broken?|bugs?|crash(?:es|ed)?|errors?|fail(?:s|ed|ing)?|hangs?|no longer works?|not working|reported|reports? that|"
    r"stuck)\b",
    r"\b(?:doesn|didn|isn|wasn)'?t work\b|\bbut (?:it|now|still|they)\b",
    r"エラー|失敗|動かない|でない|报错|失败",
)
_QUESTION = _any(
    r"^(?:(?:also|and|but|hey|hm+|no|ok|okay|please|so|then|wait|well|yes)\b,? )*(?:"
    r"(?:are|aren'?t|can|can'?t|could|couldn'?t|did|didn'?t|do|does|doesn'?t|had|has|have|is|isn'?t|shall|should|shouldn'?t|"
    r"was|were|will|won'?t|would) (?:anyone|he|i|it|my|our|she|someone|that|the|there|these|they|this|those|we|you|your)\b|"
    r"(?:don'?t (?:i|they|we|you)|how|what|what's|when (?:are|did|do|does|is|will)|where|which|who|why)\b)",
    r"[?？]\W*$|(?:ですか|ますか|のか|かな|でしょうか|ない|だよね|吗)[。\s]*$",
)
_DEICTIC = _any(
    rf"^(?:\W*(?:also|and|but|no|ok|so|then|yes)\b,? )*(?:he|it|it's|same|she|that|that's|these|they|this(?! {_PLACE})|those|"
    r"それ|これ|あれ)\b",
    rf"^(?:please )?\w+ (?:it|that|them|these|this|those)\b(?! {_PLACE})",
    r"^[^,;:–—]*\b(?:always|don'?t|never|not|only|stop) (?:\w+ ){1,2}?(?:it|that|them|these|this|those)"
    r"(?:\W*$|[,.;!] | (?:again|and|any|anywhere|as|at|because|but|by|either|every|for|from|if|"
    r"in|into|like|on|since|so|to|too|unless|when|with)\b)",
)
"""A pronoun in the place of what it is about: alone it says nothing."""
_REQUEST_FIRST = re.compile(
    r"((?!(?:after|before|for|from|if|in|on|unless|until|when|while)\b)[a-z]+ "
    r"(?:all|both|it|that|the|these|this|those|your)\b[^,;]{3,}),\s+(?:and |but )?(?!not\b|only\b|because\b|since\b)",
    re.IGNORECASE,
)
_ASIDE = re.compile(r"\s*\((?:also|and|including)\b[^()]*\)$", re.IGNORECASE)
_GOES_ON = re.compile(
    r"(?:and|because|but|else|except|ideally|if|instead|it|it's|only|or|otherwise|since|so that|that|that's|that way|"
    r"the reason|they|this|this way|unless)\b",
    re.IGNORECASE,
)
_NAMED = re.compile(r"`[^`\n]+`|\b[\w-]+(?:[./_][\w-]+)+\b")


def _read(text: str, *, refused: ToolCall | None) -> Iterator[tuple[str, bool]]:
    """Yield the statements of a message, each with whether it is standing."""
    found = sentences(text)[:_MAX_SENTENCES]
    plain = all(_is_whole(each) and not _matches(each, _QUESTION, _DEICTIC) for each in found)
    if plain and UNSPACED.search(text) and estimate_tokens(text) <= _MAX_WHOLE and any(map(is_standing, found)):
        yield " ".join(found), True
        return
    at = 0
    while at < len(found):
        sentence = found[at]
        at += 1
        if not _is_whole(sentence):
            continue
        standing = is_standing(sentence) or _names_refused(sentence, refused)
        if standing:
            request, sentence = _split_request(sentence)
            if request:
                yield request, False
            while at < len(found) and _belongs(sentence, found[at]):
                sentence = f"{sentence} {found[at]}"
                at += 1
            yield sentence, True
        elif not _matches(sentence, _QUESTION):
            yield sentence, False


def _split_request(sentence: str) -> tuple[str, str]:
    """Return a request about something at hand, where one comes first, and the rule behind it without an aside."""
    request = _REQUEST_FIRST.match(sentence)
    rule = sentence[request.end() :] if request else ""
    if request and is_standing(rule) and _is_whole(rule):
        return request[1], _ASIDE.sub("", rule)
    return "", _ASIDE.sub("", sentence)


def is_standing(sentence: str) -> bool:
    """Whether a sentence lays down how to work from now on."""
    if not _is_directive(sentence):
        return False
    return _matches(sentence, *_STANDING)


def _is_directive(sentence: str) -> bool:
    """Whether it is neither a question, a guess, a report nor about one thing at hand."""
    return not _matches(sentence, _QUESTION, ONE_TIME, _GUESS, _REPORT, _DEICTIC)


def _matches(sentence: str, *patterns: re.Pattern[str]) -> bool:
    plain = sentence.replace("’", "'")
    return any(pattern.search(plain) for pattern in patterns)


def _is_whole(sentence: str) -> bool:
    if _QUOTE in sentence or sentence.endswith((":", "：", ",", "、")) or _is_open(sentence):
        return False
    return len(sentence) >= _MIN_CHARACTERS and len(terms(sentence)) >= 2 and estimate_tokens(sentence) <= MAX_TOKENS


def _belongs(sentence: str, following: str) -> bool:
    """Whether the next sentence is part of the statement: its reason, its exception or what to do instead."""
    if not _is_whole(following) or _matches(following, _QUESTION, ONE_TIME):
        return False
    if estimate_tokens(f"{sentence} {following}") > MAX_TOKENS:
        return False
    same = set(_NAMED.findall(sentence)) & set(_NAMED.findall(following))
    return bool(_GOES_ON.match(following) or same or _matches(following, *_STANDING))


def _names_refused(sentence: str, refused: ToolCall | None) -> bool:
    """Whether the sentence bans, or wants something else for, the call that was just refused, naming a part of it."""
    if refused is None or not _is_directive(sentence) or not _matches(sentence, _TURNS_DOWN):
        return False
    called = {stem(term) for term in terms(f"{refused.label} {refused.command} {refused.step.tool}")}
    return not called.isdisjoint(stem(term) for term in terms(sentence))


_INTERJECTION = re.compile(
    r"^(?:(?:(?:no|nope|stop|wait|hey|hm+|sorry|thanks|thank you|great|right|well|ah|oh)[,.!:;–—-]+\s*|"
    r"(?:actually|ok|okay|yes|yeah|yep|please|and|but|so|also|hey|bro)\b[,.!:;–—-]*\s+))+(?=\S)",
    re.IGNORECASE,
)


_LONG_RULE = 120
"""Characters of a rule from which on its examples are left out."""
_EXAMPLE = re.compile(
    r"\s*\((?:e\.g\.|for example|for instance)[^()]*\)|\s+(?:--|—|–)\s+e\.g\..*?(?=\s+(?:--|—|–)\s|$)"
)
_HOME = re.compile(r"((?:/Users|/home|\\Users)[/\\])[^/\\\s`'\"]+")


def rule_of(statement: str) -> str:
    """Return a statement as a rule: without the "no," in front, without the person's name in paths, and with a full stop."""
    rule = _INTERJECTION.sub("", " ".join(statement.split())).strip()
    rule = _EXAMPLE.sub("", _HOME.sub(r"\1name", rule)) if len(rule) > _LONG_RULE else _HOME.sub(r"\1name", rule)
    rule = re.sub(r"[.!]+$", "", rule)
    if not rule:
        return statement
    if not re.match(r"[A-Za-zÀ-ɏͰ-ӿ]+(?:[\s,'’]|$)", rule) or UNSPACED.search(rule):
        return rule  # a name, code, or a script without capitals
    return f"{rule[:1].upper()}{rule[1:]}" + ("" if rule.endswith((")", "…")) else ".")


_REFUSED = re.compile(
    r"(?:(?:wait|hm+|sorry|stop|ah|oh)\b\W{0,3})?(?:no|nope)\b"
    r"(?!\W{0,3}(?:problem|worr|need|thank|rush|hurry|idea|matter|more|objection|issue|that's all|that is all|all good|"
    r"it's fine|go ahead))",
    re.IGNORECASE,
)
"""A no, unless it is one of thanks. Behind a question it may be no more than the answer."""
_OBJECTED = re.compile(
    r"(?:(?:that|this|it|\S{1,40})(?:'s| is| was| looks) )?(?:wrong|incorrect)\b"
    r"|(?:(?:that|this)(?:'s| is| was) not|(?:that|this) (?:isn't|wasn't)) (?:right|correct|it\b|what\b)"
    r"|.{0,80}\bnot what I (?:asked|wanted|meant|said)\b"
    r"|not (?!bad|yet|now|sure|really|only)[^,;.\n]{1,40}[,;]\s?\S",
    re.IGNORECASE,
)
