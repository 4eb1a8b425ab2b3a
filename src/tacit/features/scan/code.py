"""The `code` check: rules for Python, JavaScript, PowerShell and package files, and secrets that scripts send."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator

from tacit.domain.candidate import Finding, Severity
from tacit.domain.skill import SkillContent
from tacit.features.scan.decoding import all_segments
from tacit.features.scan.python_flow import python_flows
from tacit.gate.checks.pattern_rules import PER_RULE_MAX, apply, rules
from tacit.gate.checks.secret_flows import HostKind, addresses_in, secret_flows
from tacit.gate.checks.text_segments import TextSegment

_HIGH, _MEDIUM, _LOW = Severity.HIGH, Severity.MEDIUM, Severity.LOW
_CODE = "python javascript powershell shell code text"

CODE_RULES = rules(
    {
        ("fetch_and_run", Severity.CRITICAL, "runs text that it downloaded"): r"""
            \b(?:exec|eval)\( ?[^\n]{0,40}(?:requests\.get|urlopen|httpx\.get|urllib\.request)
            \beval\( ?await \(?(?:await )?fetch\(
            \bnew Function\( ?(?:await|\w{1,20}\.(?:data|body|text))
            \brequire\([\"']vm[\"']\)\.run\w{1,20}\(\w{0,20}(?:data|body|text)
            \b(?:os\.system|subprocess\.\w{2,12}|execSync|exec|spawn)\([^\n]{0,40}(?:curl|wget)[^\n]{0,200}\| ?(?:ba|z)?sh
        """,
        ("fetch_then_run", _HIGH, "downloads a file, makes it executable and starts it"): r"""
            (?:urlretrieve\(|\.content\b|\.read\(\)|urlopen\(|createWriteStream\()[\s\S]{0,600}(?:os\.chmod|chmodSync|fs\.chmod)\([^\n]{0,60}(?:0o?[57][0-7]{2}|S_I[XRE]|[57]{3})[\s\S]{0,400}(?:subprocess\.|os\.system|os\.exec|Popen|spawn|exec)
            languages: python javascript
        """,
        ("fixed_inbox", _HIGH, "sends to a hard-coded messenger webhook"): r"""
            discord(?:app)?\.com/api/(?:v\d{1,2}/)?webhooks/\d{5,25}/[\w-]{6,}
            api\.telegram\.org/bot\d{3,12}:[\w-]{3,}
            https?://[\w.-]{3,80}/api/webhooks/\d{1,25}/\w
            languages: {code}
        """,
        ("remote_orders", _HIGH, "runs commands that another machine sends"): r"""
            TCPSocket\.(?:new|open)\([\s\S]{0,400}(?:IO\.popen|\bexec\b|\bsystem\b|\bspawn\b)
            \bnet\.(?:connect|createConnection|Socket)\b[\s\S]{0,400}(?:child_process|spawn\(|exec\()
            (?:child_process|spawn\()[\s\S]{0,400}\bnet\.(?:connect|createConnection|Socket)\b
            \.recv\(\d{0,6}\)[\s\S]{0,300}(?:subprocess\.|os\.system|os\.popen|exec\(|eval\()
            \bnet\.Dial\([\s\S]{0,400}exec\.Command\(
            \b(?:socket|fsockopen|IO::Socket::INET)\b[\s\S]{0,300}(?:shell_exec|proc_open|open\(STDIN)
            languages: {code}
        """,
        ("command_in_data", _HIGH, "starts a program from a text that should contain none"): r"""
            require\( ?\\?[\"']child_process\\?[\"'] ?\)\.(?:exec|spawn)\w{0,8}\(
            process\.mainModule\.require\(
            __import__\( ?\\?[\"'](?:os|subprocess)\\?[\"'] ?\)\.(?:system|popen|run|call|Popen|check_output)\(
        """,
        ("keylogger", _HIGH, "watches what is typed or shown"): r"""
            \bpynput\.keyboard\b|\bkeyboard\.(?:on_press|record|hook)\(|\bGetAsyncKeyState\b|\bSetWindowsHookEx\w?\b|\bpyHook\b|\bCGEventTapCreate\b
            languages: {code}
        """,
        ("injects_code", _HIGH, "injects code into the memory of a program"): r"""
            \bVirtualAlloc(?:Ex)?\b[^\n]{0,200}|\bCreateRemoteThread\b|\bWriteProcessMemory\b|\bctypes\.windll\.kernel32\b[^\n]{0,80}Alloc|\bmmap\.mmap\([^\n]{0,80}PROT_EXEC
            languages: {code}
        """,
        ("browser_theft", _HIGH, "reads the logins that a browser stores"): r"""
            \bbrowser_cookie3\b|\bCryptUnprotectData\b|(?:Login Data|Web Data|cookies\.sqlite|key4\.db|logins\.json)[\"'`]
            languages: {code}
        """,
        ("unsafe_load", _LOW, "loads data in a way that can run code"): r"""
            \b(?:pickle|dill|cloudpickle|shelve)\.(?:loads?|open)\(|\byaml\.(?:unsafe_load|load\([^\n)]{1,60}(?:UnsafeLoader|yaml\.Loader))
            languages: python
        """,
        ("no_certificate", _LOW, "does not verify certificates"): r"""
            \bverify ?= ?False\b|NODE_TLS_REJECT_UNAUTHORIZED\W{1,6}0|rejectUnauthorized: ?false|ServerCertificateValidationCallback|\bcurl [^\n]{0,60} (?:-k|--insecure)\b|_create_unverified_context
        """,
        ("hides_its_run", _LOW, "runs something hidden or in the background"): r"""
            \bcreationflags ?= ?(?:subprocess\.)?CREATE_NO_WINDOW|-WindowStyle Hidden|\bstart_new_session ?= ?True|windowsHide: ?true|\bnohup\b[^\n]{1,200}&|\bdetached: ?true|\bsetsid\b|&>? ?/dev/null 2>&1 &
        """,
        ("waits_for_its_time", _MEDIUM, "acts only on a certain date or machine"): r"""
            \bif [^\n]{0,60}(?:datetime\.(?:now|today|utcnow)\(\)|Date\.now\(\)|time\.time\(\)) ?[<>]=? ?[^\n]{0,40}(?:20[2-4]\d|1[6-9]\d{8})|\bif [^\n]{0,40}(?:gethostname|getuser|platform\.node)\(\)[^\n]{0,20}(?:==|!=|in )
            languages: python javascript
        """,
        ("ransom", _HIGH, "encrypts or renames files all over the machine"): r"""
            (?:your|all) files (?:have been|are|were) encrypted|\b(?:README|DECRYPT|RECOVER)_(?:FILES|INSTRUCTIONS)\b[^\n]{0,10}\.txt|\.(?:locked|encrypted|crypt)[\"'][^\n]{0,80}os\.rename|os\.rename\([^\n]{0,80}\.(?:locked|encrypted|crypt)[\"']
        """,
        ("open_admission", _HIGH, "describes itself as an attack"): r"""
            \b(?:exfiltrat(?:e|es|ing)|steal|harvest)\w{0,3}[ _](?:the |all |user(?:'s)? )?(?:credentials?|secrets?|tokens?|passwords?|data|env\w{0,10}|keys?|wallets?)\b|\b(?:def|function|class|const|sub) \w{0,20}(?:exfil|backdoor|keylog|(?<!work)(?<!work_)steal|harvest_(?:cred|secret|tok|key)|payload_drop|c2_)\w{0,30}|\bc2[_ ](?:server|url|host|domain|channel)\b|\bBACKDOOR\b
            languages: python javascript powershell shell code
        """,
    },
    code=_CODE,
)
_HOOKS = ("preinstall", "install", "postinstall", "prepare", "prepublish")
_REACHES = re.compile(r"\b(?:curl|wget|node -e|python3? -c|bash|sh -c|powershell|base64|https?://|nc )\b|https?://")


class CodeCheck:
    """Scripts and code blocks: what they read, send, run and install."""

    name = "code"
    version = "2"

    def examine(self, content: SkillContent) -> Iterator[Finding]:
        """Yield what the code does that a reviewer must know."""
        looked = all_segments(content)
        yield from apply(CODE_RULES, looked)
        yield from secret_flows(
            segment for segment in looked if segment.path or segment.encoding
        )  # gate's commands check covers the skill's own text
        yield from python_flows(segment for segment in looked if not segment.encoding or segment.language == "python")
        yield from packages(looked)
        for segment in looked:
            if segment.path.rpartition("/")[2] == "package.json":
                yield from _install_hooks(segment)
            elif segment.path.rpartition("/")[2] in ("__init__.py", "setup.py", "conftest.py", "sitecustomize.py"):
                yield from _at_import(segment)


def _install_hooks(segment: TextSegment) -> Iterator[Finding]:
    try:
        scripts = json.loads(segment.text).get("scripts", {})
    except (ValueError, AttributeError, RecursionError):
        return
    for name in _HOOKS if isinstance(scripts, dict) else ():
        command = scripts.get(name)
        if isinstance(command, str) and (name.endswith("install") or _REACHES.search(command)):
            at = max(0, segment.text.find(f'"{name}"'))
            severity_found = _HIGH if _REACHES.search(command) else _LOW
            reason = f"runs `{command[:80]}` by itself when it is installed"
            yield segment.finding("install_hook", severity_found, reason=reason, span=(at, at + len(name) + 2))


def _at_import(segment: TextSegment) -> Iterator[Finding]:
    for match in re.finditer(
        r"^(?:os\.(?:system|popen)|subprocess\.\w{2,14}|exec|eval|urllib\.request\.urlopen|requests\.\w{3,5})\(",
        segment.text,
        re.MULTILINE,
    ):
        reason = "runs something as soon as it is imported or installed"
        yield segment.finding("runs_on_import", _MEDIUM, reason=reason, span=match.span())
        return


_INSTALL = re.compile(
    r"\b(?:pip3?|pipx|uv(?: pip| tool)?|python3? -m pip|npm|pnpm|yarn|bun|npx|uvx|gem|cargo|go|brew) (?:install|i|add|get|exec|dlx|-y|--yes)\b([^\n;&|`\"']{1,240})",
    re.IGNORECASE,
)
_INDEX = re.compile(
    r"(?:--(?:extra-)?index[-]url|-i|--registry|--trusted-host|--find-links|-f)[= ]+(https?://\S{1,200}|[\w.:-]{3,80})"
)
_OWN_INDEXES = re.compile(
    r"pypi\.org|pythonhosted\.org|download\.pytorch\.org|registry\.npmjs\.org|pypi\.nvidia\.com|npm\.pkg\.github\.com|pypi\.ngc\.nvidia|storage\.googleapis\.com|google\.com|amazonaws\.com|codeartifact|npmmirror|tsinghua|aliyun|ustc|abetlen\.github\.io|wheels\.|whl\.|jax|data\.pyg\.org|dgl\.ai|developer\.download|rapids|anaconda|openmmlab|test\.pypi\.org"
)
_NAME = re.compile(r"^@?[a-z0-9][\w.-]{2,50}(?:/[\w.-]{1,50})?$", re.IGNORECASE)
_KNOWN = frozenset(
    """
    requests urllib3 numpy pandas scipy matplotlib django flask fastapi beautifulsoup4 selenium playwright tensorflow torch pytorch
    scikit-learn opencv-python pillow cryptography paramiko boto3 botocore openai anthropic langchain transformers pydantic sqlalchemy
    psycopg2 pymongo redis celery setuptools setup-tools colorama termcolor tqdm click rich pytest python-dateutil dateutil pyyaml
    jinja2 lxml httpx aiohttp discord.py python-telegram-bot web3 ethereum solana bitcoin pyautogui
    react react-dom lodash express axios chalk commander webpack typescript eslint prettier next vite electron mongoose moment
    dotenv cross-env node-fetch puppeteer jquery bootstrap ethers web3.js discord.js telegraf socket.io
    """.split()
)
_FALSE = frozenset(
    """
    reqeusts requets request5 requestss python-requests urlib3 urllib numpi nunpy pandsa panda tenserflow tensorfow pytorh
    python-sqlite openia opena1 anthropics-ai beautifulsoup crossenv cross-env.js electorn loadsh lodahs expres axois discordpy
    colourama colorsama python3-dateutil jeIlyfish djanga pyaml-safe bs4-py pilow cryptographyy parmiko boto botto3
    """.split()
)


def packages(segments: Iterable[TextSegment]) -> Iterator[Finding]:
    """Yield findings on packages from unknown indexes or with misleading names."""
    for segment in segments:
        if segment.is_block:
            continue
        for count, match in enumerate(_INSTALL.finditer(segment.text)):
            if count == 8 * PER_RULE_MAX:
                break
            yield from _installed(segment, match)


def _installed(segment: TextSegment, match: re.Match[str]) -> Iterator[Finding]:
    arguments = match[1]
    index = _INDEX.search(arguments)
    if index and not _OWN_INDEXES.search(index[1]) and ("." in index[1] or "://" in index[1]):
        kinds = [place for place, _ in addresses_in(index[1])]
        if kinds != [HostKind.LOCAL]:
            honest = not kinds or kinds[0] in (HostKind.CODE, HostKind.INSTALLER)
            severity_found = Severity.MEDIUM if honest else Severity.HIGH
            reason = f"installs packages from an unknown index ({index[1][:60]})"
            yield segment.finding("strange_index", severity_found, reason=reason, span=match.span())
            return
    for place, address in addresses_in(arguments):
        if place not in (HostKind.CODE, HostKind.INSTALLER, HostKind.LOCAL) and not _OWN_INDEXES.search(address[0]):
            reason = f"installs a package from {place} ({address[1][:60]})"
            yield segment.finding("strange_package", Severity.HIGH, reason=reason, span=match.span())
            return
    for word in arguments.split():
        name = re.split(r"[=<>~!\[@]", word.lower(), maxsplit=1)[0]
        if name in _FALSE and _NAME.match(name):
            reason = f"installs `{name}`, which only resembles a well-known package"
            yield segment.finding("false_package", Severity.HIGH, reason=reason, span=match.span())
        elif _NAME.match(name) and name not in _KNOWN and (known := _resembled(name)):
            reason = f"installs `{name}`, which is one letter away from `{known}`"
            yield segment.finding("false_package", Severity.LOW, reason=reason, span=match.span())


def _resembled(name: str) -> str:
    """Return the known package whose name differs by one letter or two swapped letters; empty if there is none."""
    if len(name) < 6:
        return ""
    for known in _KNOWN:
        if abs(len(known) - len(name)) <= 1 and len(known) >= 6 and _one_away(name, known):
            return known
    return ""


def _one_away(one: str, other: str) -> bool:
    if len(one) > len(other):
        one, other = other, one
    at = next((i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), len(one))
    if len(one) < len(other):
        return one[at:] == other[at + 1 :]
    if one[at + 1 :] == other[at + 1 :]:
        return at < len(one)
    return one[at : at + 2] == other[at : at + 2][::-1] and one[at + 2 :] == other[at + 2 :]
