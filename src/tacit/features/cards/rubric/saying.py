"""Whether a text says something: a sentence → whether anybody could act on it who was not there.

What is taken away first is what fits every task (“make sure”, “carefully”, “the tests”). What is left must name something: by a
mark that only concrete text has (a command, a path, a name in code, a number, a quotation), or by words of its own.
"""

from __future__ import annotations

import re

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
"""That something was done, and at most where: nobody can do it again."""
_ENOUGH = 2
"""Words of its own that make a plain sentence say something."""
_ENOUGH_URGED = 3
"""The same where it urges: “double-check the Kubernetes manifest” still tells nobody what to look for."""


def is_filler(text: str) -> bool:
    """Whether a field holds nothing, or what people write where they have nothing to say."""
    bare = text.strip().strip(".!:…").strip().lower()
    return not bare or bare in _FILLER


def is_concrete(text: str) -> bool:
    """Whether a text holds a mark that only concrete text has."""
    return _CONCRETE.search(text) is not None


def own_words(text: str) -> int:
    """How many different words of a text do not fit every task."""
    return len(frozenset(terms(text)) - _GENERIC)


def says_something(text: str, *, anchored: bool = False) -> bool:
    """Whether somebody who was not there could act on it; `anchored` by a concrete problem, one word of its own is enough."""
    if is_filler(text) or _REPORT.fullmatch(text):
        return False
    if is_concrete(text):
        return True
    urges = _EXHORTATION.search(text)
    rest = _EXHORTATION.sub(" ", text)
    enough = _ENOUGH_URGED if urges and not _BECAUSE.search(rest) else _ENOUGH
    return own_words(rest) >= (1 if anchored else enough)
