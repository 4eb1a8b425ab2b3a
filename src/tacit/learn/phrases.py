"""The words by which a person's sentences are told apart: rules, tastes, wishes, questions, reports, refusals.

Mostly English; rules for all time are known in other languages, too. A sentence that none of these fits says nothing about the
way of working: in doubt nothing is found. `statements` and `person_rules` decide what follows from a match.
"""

from __future__ import annotations

import re


def matches(sentence: str, *patterns: re.Pattern[str]) -> bool:
    """Whether one of the patterns is found in a sentence."""
    plain = sentence.replace("’", "'")
    return any(pattern.search(plain) for pattern in patterns)


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
STANDING = (_RULE, _GENERAL_BAN, _CUSTOM, _TASTE, OTHER_LANGUAGES)
TURNS_DOWN = _any(
    rf"{_START}(?:do not |don'?t |no need to ){_VERB}\b",
    rf"{_START}use \S.{{0,80}}\b(?:instead|not|rather than)\b",
    r"[A-Za-z`][\w`./-]* ?(?:じゃなく|ではなく|代わりに)|不要|别|不是",
)
"""A word against the call that was just refused: `use pnpm, not npm`."""
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
GUESS = _any(
    r"\bi (?:assume|believe|don'?t know|guess|noticed that|think|thought|would)\b",
    r"\b(?:as far as i know|could be|how about|idk|let'?s (?:say|see)|looks? like|maybe|might|not sure|perhaps|probably|seems?|"
    r"suppose(?!d to)|what about|what if|wonder(?:ing)?|would (?:be|have))\b",
)
"""The person is not sure: `maybe it is the cache`."""
REPORT = _any(
    r"\b(?:broken?|bugs?|crash(?:es|ed)?|errors?|fail(?:s|ed|ing)?|hangs?|no longer works?|not working|reported|reports? that|"
    r"stuck)\b",
    r"\b(?:doesn|didn|isn|wasn)'?t work\b|\bbut (?:it|now|still|they)\b",
    r"エラー|失敗|動かない|でない|报错|失败",
)
"""What happened: `the build still fails`."""
QUESTION = _any(
    r"^(?:(?:also|and|but|hey|hm+|no|ok|okay|please|so|then|wait|well|yes)\b,? )*(?:"
    r"(?:are|aren'?t|can|can'?t|could|couldn'?t|did|didn'?t|do|does|doesn'?t|had|has|have|is|isn'?t|shall|should|shouldn'?t|"
    r"was|were|will|won'?t|would) (?:anyone|he|i|it|my|our|she|someone|that|the|there|these|they|this|those|we|you|your)\b|"
    r"(?:don'?t (?:i|they|we|you)|how|what|what's|when (?:are|did|do|does|is|will)|where|which|who|why)\b)",
    r"[?？]\W*$|(?:ですか|ますか|のか|かな|でしょうか|ない|だよね|吗)[。\s]*$",
)
"""A question, also without its mark."""
DEICTIC = _any(
    rf"^(?:\W*(?:also|and|but|no|ok|so|then|yes)\b,? )*(?:he|it|it's|same|she|that|that's|these|they|this(?! {_PLACE})|those|"
    r"それ|これ|あれ)\b",
    rf"^(?:please )?\w+ (?:it|that|them|these|this|those)\b(?! {_PLACE})",
    r"^[^,;:–—]*\b(?:always|don'?t|never|not|only|stop) (?:\w+ ){1,2}?(?:it|that|them|these|this|those)"
    r"(?:\W*$|[,.;!] | (?:again|and|any|anywhere|as|at|because|but|by|either|every|for|from|if|"
    r"in|into|like|on|since|so|to|too|unless|when|with)\b)",
)
"""A pronoun in the place of what it is about: alone it says nothing."""
REQUEST_FIRST = re.compile(
    r"((?!(?:after|before|for|from|if|in|on|unless|until|when|while)\b)[a-z]+ "
    r"(?:all|both|it|that|the|these|this|those|your)\b[^,;]{3,}),\s+(?:and |but )?(?!not\b|only\b|because\b|since\b)",
    re.IGNORECASE,
)
"""A request about something at hand, followed by more: `fix the test, always run it twice`."""
ASIDE = re.compile(r"\s*\((?:also|and|including)\b[^()]*\)$", re.IGNORECASE)
"""An addition in brackets at the end: `(and the docs)`."""
GOES_ON = re.compile(
    r"(?:and|because|but|else|except|ideally|if|instead|it|it's|only|or|otherwise|since|so that|that|that's|that way|"
    r"the reason|they|this|this way|unless)\b",
    re.IGNORECASE,
)
"""How a sentence begins that belongs to the one before it: `because …`, `otherwise …`."""
NAMED = re.compile(r"`[^`\n]+`|\b[\w-]+(?:[./_][\w-]+)+\b")
"""Names of things: code, paths, words with dots or underscores."""

INTERJECTION = re.compile(
    r"^(?:(?:(?:no|nope|stop|wait|hey|hm+|sorry|thanks|thank you|great|right|well|ah|oh)[,.!:;–—-]+\s*|"
    r"(?:actually|ok|okay|yes|yeah|yep|please|and|but|so|also|hey|bro)\b[,.!:;–—-]*\s+))+(?=\S)",
    re.IGNORECASE,
)
"""What people say before they come to the point."""
REFUSAL = re.compile(
    r"(?:(?:wait|hm+|sorry|stop|ah|oh)\b\W{0,3})?(?:no|nope)\b"
    r"(?!\W{0,3}(?:problem|worr|need|thank|rush|hurry|idea|matter|more|objection|issue|that's all|that is all|all good|"
    r"it's fine|go ahead))",
    re.IGNORECASE,
)
"""A no, unless it is one of thanks. Behind a question it may be no more than the answer."""
OBJECTION = re.compile(
    r"(?:(?:that|this|it|\S{1,40})(?:'s| is| was| looks) )?(?:wrong|incorrect)\b"
    r"|(?:(?:that|this)(?:'s| is| was) not|(?:that|this) (?:isn't|wasn't)) (?:right|correct|it\b|what\b)"
    r"|.{0,80}\bnot what I (?:asked|wanted|meant|said)\b"
    r"|not (?!bad|yet|now|sure|really|only)[^,;.\n]{1,40}[,;]\s?\S",
    re.IGNORECASE,
)
"""That something was done wrong."""

# --- what a rule holds for, and which requests are repeated -----------------------------------------------------------

AGAINST = re.compile(
    r"\b(?:not|never|don['’]?t|dont|stop|instead|rather than|wrong|no|without)\b|じゃなく|ではなく|ないで|やめて|不要|别|不是|"
    r"\b(?:nicht|kein\w*|statt|pas|plutôt|au lieu|en lugar|en vez|вместо|не)\b",
    re.IGNORECASE,
)
"""Turns against what was done: `not like that`, `pas npm`."""
OWN_TASTE = re.compile(r"\bI\b(?:['’]d)?(?: \w+)? (?:prefer|rather|like|want|hate|dislike)\b")
"""What the person alone likes: a preference."""
FOR_ALL = re.compile(
    r"\b(?:in|for|of) (?:this|our|the) (?:project|repo|repository|codebase|team|company)\b|\bthis (?:project|repo|repository|"
    r"codebase)\b|\b(?:here|we|our|always|never|must|should|every|from now on|going forward)\b",
    re.IGNORECASE,
)
"""What holds for everyone who works here: a norm."""
STATED = re.compile(
    r"^(?:after|as|by|he|here|i|it|maybe|my|not|our|she|that|the|there|these|they|this|we|when|while|"
    r"you (?:can|could|may|might|should be)|\w+ (?:are|has|is|seems?|was|were))\b|"
    r"\b(?:agreed?|ahead|along|continue|deal|fine|go|happy|issues?|problems?|start|work|works|worked|wrong) with\b",
    re.IGNORECASE,
)
"""A clause that tells something, and asks for nothing."""
CONDITION = re.compile(r"\b(?:if|when|whenever) you (?:want|need|have|like|are)\b", re.IGNORECASE)
"""A wish with its occasion: `if you want to test …`."""
NEGATED = re.compile(
    r"\b(?:not|don['’]?t|never|stop|without|instead of|rather than|no longer|no need)\b", re.IGNORECASE
)
"""Something is asked not to be done."""
PRONOUN = re.compile(r"\b(?:it|that|them|these|this|those)\b", re.IGNORECASE)
"""Stands for something that another sentence names."""
PART_OF_RULE = re.compile(r"[,;:]\s+|\s+(?:and|but|unless|except|only when|as long as)\s+")
"""Where the next part of a rule begins."""
