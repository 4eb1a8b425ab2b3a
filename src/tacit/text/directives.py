"""A text that an agent read → the first sentence in it that could tell a reader what to do, if there is one.

Any sentence can: "teams that ship often leave the checks out" orders nothing and is followed all the same. So every run of
words counts that is long enough to be a sentence, in any language, and a shorter one if it orders or advises. Code, lists and
the usual answers of tools are none. What it sees is only a reason to let a person look.
"""

from __future__ import annotations

import re

_MAX_SENTENCE = 2_000
_BORDER = re.compile(r"(?<=[.!?:;])\s+|[\r\n]+")
_LEAD = re.compile(r"^(?:[\s>#*|/•–—-]|//|<!--|<[a-z][\w-]*>|\d{1,3}[.)]|\[\s?\]|[\"'“`({\[])*+")
_WORD = r"[^\W\d_]+(?:['’-][^\W\d_]+)*"
_SENTENCE = re.compile(rf"(?:{_WORD},? ){{5,}}{_WORD}|[\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]{{8,}}")
"""Six words on end, or as much of a script without blanks."""
_JOINED = re.compile(r"(?<![\w/.-])(?:[^\W\d_]+[_-]){5,}[^\W\d_]+")
"""A sentence written as one word."""
_PHRASE = re.compile(rf"(?:{_WORD},? ){{2,}}{_WORD}")
_USUAL = re.compile(
    r"the file (?:\S+ )?has been (?:updated|created|written|changed)(?: successfully)?|file created successfully at: ?\S*|"
    r"here's the result of running `cat -n` on a snippet of the edited file|todos have been modified successfully|"
    r"your branch is (?:up to date with|ahead of|behind) '\S+'(?: by \d+ commits?)?(?:, and can be fast-forwarded)?|"
    r"nothing to commit, working tree clean|no changes added to commit(?: \(use [^()]{1,60}\))?|"
    r"changes not staged for commit|changes to be committed|\(?use \"git (?:add|restore|push|pull|rm)[^\"]{0,40}\" to "
    r"(?:[a-z]+ ){1,8}[a-z]+\)?|already up to date|everything up-to-date|traceback \(most recent call last\)",
    re.IGNORECASE,
)
"""What usual tools answer, whole: nobody can say anything of their own in it."""
_TELLS = re.compile(
    r"\b(?:must|should|shall|ought|always|never|please|make sure|be sure|remember|remind|ensure|don['’]t|do not|need(?:s)? to|"
    r"ha(?:ve|s) to|had better|advis\w+|recommend\w*|suggest\w*|prefer\w*|require[sd]?|requirement|mandatory|important|"
    r"essential|critical|policy|rule|guideline|convention|instruction\w*|polic\w+|expected|suppos\w+|instead|rather than|"
    r"ignore|disregard|regardless|from now on|going forward|by default|whenever|every time|each time|before (?:you|any|"
    r"every|each|\w+ing)|after (?:you|any|every|each|\w+ing)|when(?:ever)? (?:you|the|a|an|any|\w+ing)|in order to|"
    r"(?:best|right|correct|proven|known|quick|fast|easi|safe|only|trick|usual|way|practice|how)\w* (?:way|is|to|practice)|"
    r"work(?:s|ed) (?:best|well|fine|every|for|by|when|once)|solved|resolved|succe\w+|fix(?:es|ed)?\b|helped|the trick|"
    r"we (?:\w+ )?(?:use|run|set|add|skip|turn|keep|do|put|go|start|switch|disable|enable|remove)|let (?:us|me)|"
    r"you (?:can|may|will|want|could|are|would)|it is (?:best|fine|ok|okay|safe|enough|common)|assistant|agents?|"
    r"(?:ai|language) model|operator|user|admin\w*|maintainer\w*|team|everyone|contributors?|developers?)\b",
    re.IGNORECASE,
)
_ORDER = re.compile(
    r"(?:add|adjust|allow|append|apply|approve|build|bypass|call|change|check|chmod|clear|clone|comment|commit|configure|"
    r"connect|copy|create|delete|deploy|disable|do|download|drop|edit|enable|execute|export|fetch|first|follow|forward|"
    r"give|go|grant|ignore|include|insert|install|invoke|keep|leave|let|log|make|mark|merge|move|name|open|pass|paste|"
    r"point|post|prefer|print|publish|pull|push|put|read|rebuild|remove|rename|replace|report|reset|restart|rewrite|"
    r"run|save|schedule|send|set|share|skip|start|stop|store|submit|switch|take|tell|then|trust|try|turn|uninstall|"
    r"update|upgrade|upload|use|visit|wipe|write)\b",
    re.IGNORECASE,
)


def directive_in(text: str) -> str:
    """The first sentence that could tell what to do; empty if there is none."""
    for piece in _BORDER.split(text):
        sentence = _LEAD.sub("", piece[:_MAX_SENTENCE]).strip()
        if _USUAL.fullmatch(sentence.rstrip(".:!")):
            continue
        if _SENTENCE.search(sentence) or _JOINED.search(sentence):
            return sentence
        if _PHRASE.search(sentence) and (_ORDER.match(sentence) or _TELLS.search(sentence)):
            return sentence
    return ""
