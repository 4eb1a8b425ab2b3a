"""Commands that a careful person would not run: rules over shell lines in prose, scripts and strings.

Covers fetch and run, remote shells, persistence, control of the agent, miners, destruction and weakened protection.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from tacit.domain.candidate import Finding, Severity
from tacit.domain.skill import SkillContent
from tacit.gate.checks.pattern_rules import PER_RULE_MAX, apply, find_all, rules
from tacit.gate.checks.secret_flows import URL, HostKind, addresses_in, host_kind, secret_flows
from tacit.gate.checks.text_segments import TextSegment, text_segments

_FETCH = (
    r"(?:curl|wget|iwr|irm|invoke-webrequest|invoke-restmethod|aria2c|start-bitstransfer|bitsadmin|certutil)(?:\.exe)?"
)
_SHELL = r"(?:sudo (?:-\w{1,2} )?)?(?:/(?:usr/)?bin/(?:env )?)?(?:(?:ba|z|da|k|fi)?sh|python[\d.]{0,4}|node|perl|ruby|php|osascript|iex|invoke-expression|source|deno run|bun)\b"
_PIPED = re.compile(
    rf"\b{_FETCH}\b([^\n|]{{0,300}})(?:\\\n[^\n|]{{0,200}})?\|(?:[^\n|]{{0,60}}\|)? ?{_SHELL}(?! ?-m json| -c [\"']import|/)",
    re.IGNORECASE,
)
_INNER = re.compile(
    rf"\b(?:(?:ba|z|da)?sh|python[\d.]{{0,4}}|node|eval|source|exec|iex|invoke-expression)(?: -\w{{1,4}})? ?[\"'({{]{{0,3}}(?:[$<@&`(\"'{{ ]|New-Object [\w.]{{1,40}}){{1,8}}{_FETCH}\b([^\n]{{0,300}})",
    re.IGNORECASE,
)
_WINDOWS = re.compile(
    r"\b(?:iex|invoke-expression)\b[^\n]{0,80}(?:DownloadString|DownloadFile|Invoke-WebRequest|iwr|irm)\b([^\n]{0,300})|\b(?:mshta|regsvr32|rundll32|msiexec)(?:\.exe)? [^\n]{0,60}(https?:[^\n]{0,200})",
    re.IGNORECASE,
)
_SAVED = re.compile(rf"\b(?:{_FETCH}|urlretrieve|DownloadFile)\b([^\n]{{0,400}})", re.IGNORECASE)
_UNPACKED = re.compile(
    r"\b(?:base64 (?:-d|-D|--decode)|openssl (?:enc|aes[\w-]{0,12}|smime) [^\n]{0,80}-d|xxd -r|gpg [^\n]{0,60}-d|uudecode|b64decode|certutil -decode|rev\b|tr [\"']?[A-Za-z]-)([^\n]{0,300})",
    re.IGNORECASE,
)
_DATA_RUN = re.compile(
    r"(?:^|[\s;&|(`\"'])(?:(?:ba|z|da)?sh|python3?|node|perl|ruby|source|(?:(?<=\n)|(?<=[;&|])|(?<=[;&|] ))\.) (?:\./)?((?:[\w.-]{1,40}/){0,4}[\w.-]{1,60}\.(?:png|jpe?g|gif|ico|pdf|dat|bin|log|csv|json|ya?ml|txt|md|svg|woff2?|db|cfg|conf))(?=[\s;&|)`\"']|$)",
    re.IGNORECASE | re.MULTILINE,
)
_TARGET = re.compile(
    r"(?:-out\b|(?<![\w-])-[a-zA-Z]{0,6}[oO]|--output(?:-document)?|-OutFile|>)[= ]{0,2}[\"']?([\w./~${}:\\%-]{2,120})",
    re.IGNORECASE,
)

_SEVERITY_OF_HOST = {
    HostKind.INSTALLER: Severity.LOW,
    HostKind.LOCAL: Severity.LOW,
    HostKind.CODE: Severity.MEDIUM,
    HostKind.UNKNOWN: Severity.HIGH,
    HostKind.MESSENGER: Severity.HIGH,
    HostKind.SHORTENER: Severity.HIGH,
    HostKind.PASTE: Severity.CRITICAL,
    HostKind.COLLECTOR: Severity.CRITICAL,
    HostKind.HOSTILE: Severity.CRITICAL,
    HostKind.IP_ADDRESS: Severity.CRITICAL,
}


_PERMISSION = re.compile(r"bash\(\w+:\*\)", re.IGNORECASE)
"""How a list of allowed tools names a command; it runs nothing."""


_ADDRESSED = re.compile(r"[$%{<]\w|\w\.[a-z]{2,}|://|\bURL\b", re.IGNORECASE)
"""What is fetched; without it, a command line is only named."""


def downloads(segments: Iterable[TextSegment]) -> Iterator[Finding]:
    """Yield findings on texts that fetch something and run it, at once or later."""
    for segment in segments:
        if segment.is_code or segment.is_hidden:
            for match in islice(find_all(_DATA_RUN, segment.text), PER_RULE_MAX):
                reason = f"runs {match[1][-60:]}, which is named as data, as a program"
                yield segment.finding("data_run", Severity.HIGH, reason=reason, span=match.span())
        if segment.is_block:
            continue
        for match in (
            m for each in (_PIPED, _INNER, _WINDOWS) for m in islice(find_all(each, segment.text), PER_RULE_MAX)
        ):
            if _PERMISSION.match(match[0]) or (segment.language == "markdown" and not _ADDRESSED.search(match[0])):
                continue
            place, address = _source(match[0])
            severity = Severity.HIGH if segment.is_hidden and place is HostKind.CODE else _SEVERITY_OF_HOST[place]
            reason = f"downloads a program from {place} ({address}) and runs it unseen"
            yield segment.finding("fetch_and_run", severity, reason=reason, span=match.span())
        yield from _run_later(segment)


def _source(line: str) -> tuple[HostKind, str]:
    """Return the most dangerous address that a command fetches from."""
    found = addresses_in(line)
    if not found:
        bare = re.search(r"\b((?:[\w-]{1,60}\.){1,4}[a-z]{2,8})(/[^\s|\"']{0,200})?", line)
        return (host_kind(bare[1], bare[2] or ""), bare[1]) if bare else (HostKind.CODE, "an address given elsewhere")
    order = list(_SEVERITY_OF_HOST)
    place, match = max(found, key=lambda each: order.index(each[0]))
    return place, match[1][:60]


def _run_later(segment: TextSegment) -> Iterator[Finding]:
    """Find files that are fetched or decoded and run some lines later."""
    for match in islice(find_all(_SAVED, segment.text), 4 * PER_RULE_MAX):
        target, address = _TARGET.search(match[1]), URL.search(match[0])
        name = _last_part(target[1]) if target else address[2].rpartition("/")[2] if address else ""
        ran = _run_of(name, segment.text, match) if re.search(r"\w", name) else None
        if ran is not None:
            place, host = _source(match[0])
            honest = place in (HostKind.CODE, HostKind.INSTALLER, HostKind.LOCAL) and not segment.is_hidden
            severity = _SEVERITY_OF_HOST[place]
            if not honest and not severity.at_least(Severity.HIGH):
                severity = Severity.HIGH
            reason = f"downloads {name[:40]} from {place} ({host}) and runs it"
            yield segment.finding("fetch_then_run", severity, reason=reason, span=(match.start(), ran))
    for match in islice(find_all(_UNPACKED, segment.text), PER_RULE_MAX):
        target = _TARGET.search(match[1])
        name = _last_part(target[1]) if target else ""
        ran = _run_of(name, segment.text, match)
        if ran is not None:
            reason = f"decodes {name[:40]} and runs it"
            yield segment.finding("decode_and_run", Severity.HIGH, reason=reason, span=(match.start(), ran))


def _last_part(path: str) -> str:
    return re.split(r"[/\\]", path)[-1]


def _run_of(name: str, text: str, fetched: re.Match[str]) -> int | None:
    """Return where a file is started or made executable after the command that wrote it."""
    if len(name) < 2:
        return None
    escaped = re.escape(name)
    after = text[fetched.start() : fetched.end() + 500]
    ran = re.search(
        rf"(?:chmod (?:\+x|[0-7]*[157][0-7]*|[aug]\+x) [^\n]{{0,60}}{escaped}|"
        rf"(?:^|[\s;&|(\"'])(?:(?:ba|z)?sh|python3?|node|open|start|Start-Process|source|nohup|exec|eval|installer -pkg) "
        rf"[^\n]{{0,30}}{escaped}|"
        rf"(?:^|[\s;&|])(?:\./|/tmp/|\$TMPDIR/){escaped}(?:\s|$|&))",
        after,
        re.IGNORECASE | re.MULTILINE,
    )
    return None if ran is None or not ran.start() else fetched.start() + ran.end()


_AROUND = 300
_PASSWORD = re.compile(
    r"\b(?:unzip [^\n]{0,60}(?-i:-P) ?\S|7za? [xe] [^\n]{0,80}(?-i:-p)\S|unrar [xe] [^\n]{0,40}(?-i:-p)\S)|"
    r"\b(?:archive|extract|unzip|unpack|zip|rar|7z|download)[^\n]{0,140}\b(?:pass(?:word|code|phrase)?|pwd)\b[ :=`*\"'(]{1,6}(?:is |with )?[`\"'*]{0,3}[\w!@#$-]{3,}|"
    r"\bpass(?:word|code)?\b[ :=`*\"']{1,6}[\w!@#$-]{3,24}[`*\"')]{0,3}[^\n]{0,60}(?:to extract|to unzip|to unpack|\.zip|\.rar|\.7z|\barchive)",
    re.IGNORECASE,
)
_RUNNABLE = re.compile(
    r"\.(?:exe|msi|dmg|pkg|scr|bat|cmd|ps1|vbs|apk|deb|rpm|appimage|jar|run|command)\b", re.IGNORECASE
)
_ARCHIVE = re.compile(r"\.(?:zip|rar|7z|tar\.gz|tgz|dmg|iso)\b", re.IGNORECASE)
_NAMED = re.compile(r"\barchives?\b", re.IGNORECASE)
_PASTE_STEP = re.compile(
    r"\b(?:run|execute|paste|install|launch|copy|script|command|terminal|powershell|download|setup|fetch|curl|wget|follow)",
    re.IGNORECASE,
)
_NEED = re.compile(
    r"\b(?:requir\w{1,6}|must|mandatory|prerequisite\w{0,1}|before (?:you|using|proceeding|running|first)|will not (?:work|function|run)|won't work|necessary|needed|critical|important)\b",
    re.IGNORECASE,
)
_START = re.compile(r"\b(?:run|execute|launch|start|open|double-click|install)\b", re.IGNORECASE)
_PACKAGE = re.compile(r"\.(?:deb|rpm|sh|tar\.gz|tgz|appimage)\b", re.IGNORECASE)
_MARKS = tuple(
    re.compile(mark, re.IGNORECASE)
    for mark in (
        r"will not (?:work|function|operate|run)|won't work|cannot (?:work|function|operate)|must be (?:installed|running)|"
        r"before (?:using|proceeding|continuing)|without (?:it|this)",
        r"\bwindows\b[\s\S]{0,300}\bmac ?os\b|\bmac ?os\b[\s\S]{0,300}\bwindows\b",
        r"\bdownload\b[^\n]{0,120}\b(?:run|execute|launch|install|extract)\b",
        r"\b(?:copy|paste)\b[^\n]{0,80}\b(?:terminal|powershell|command prompt|console)\b|\bcopy the (?:install|setup)",
    )
)


def lures(segments: Iterable[TextSegment]) -> Iterator[Finding]:
    """Yield findings on texts that make the reader download and start a program."""
    for segment in segments:
        if segment.is_code:
            continue
        for match in islice(_PASSWORD.finditer(segment.text), PER_RULE_MAX):
            around = segment.text[max(0, match.start() - _AROUND) : match.end() + _AROUND]
            if _ARCHIVE.search(around) or _NAMED.search(around):
                reason = "asks for a password-protected archive, which no scanner can open"
                yield segment.finding("locked_archive", Severity.HIGH, reason=reason, span=match.span())
        for place, match in addresses_in(segment.text):
            around = segment.text[max(0, match.start() - _AROUND) : match.end() + _AROUND]
            if lure := _lure_at(segment, place, match=match, around=around):
                rule, severity, reason = lure
                yield segment.finding(rule, severity, reason=reason, span=match.span())


def _lure_at(
    segment: TextSegment, place: HostKind, *, match: re.Match[str], around: str
) -> tuple[str, Severity, str] | None:
    """Judge one address by the text around it."""
    host, path = match[1][:60], match[2]
    started = bool(_NEED.search(around) and _START.search(around))
    if place is HostKind.PASTE and _PASTE_STEP.search(around):
        severity = Severity.HIGH if _START.search(around) or _NEED.search(around) else Severity.MEDIUM
        return "paste_site", severity, f"sends the reader to {place} ({host}) for something to run or follow"
    if place in (HostKind.IP_ADDRESS, HostKind.HOSTILE, HostKind.COLLECTOR):
        prose = segment.language in ("markdown", "text") and not segment.is_hidden
        severity = Severity.MEDIUM if prose and place is HostKind.IP_ADDRESS else Severity.HIGH
        return "odd_address", severity, f"leads to {place} ({host})"
    if started and (_RUNNABLE.search(path) or _ARCHIVE.search(path)):
        plain = _PACKAGE.search(path) or not (_RUNNABLE.search(path) or "releases/download" in path)
        severity = Severity.LOW if plain else Severity.HIGH
        return "wanted_program", severity, f"requires a program from {host} to be downloaded and started first"
    if place in (HostKind.UNKNOWN, HostKind.CODE) and sum(bool(mark.search(around)) for mark in _MARKS) >= 3:
        reason = f"requires something from {host} to be downloaded and started by hand"
        return "wanted_program", Severity.MEDIUM, reason
    return None


_MEDIUM, _HIGH, _CRITICAL = Severity.MEDIUM, Severity.HIGH, Severity.CRITICAL
_RUNNER = r"(?:sudo )?(?:/(?:usr/)?bin/(?:env )?)?(?:ba|z|da|k|fi)?sh\b"
_AGENT_FILE = (
    r"(?:CLAUDE|AGENTS|GEMINI|SOUL|MEMORY|IDENTITY|HEARTBEAT|copilot-instructions|\.cursorrules|\.windsurfrules|\.clinerules)"
    r"(?:\.local)?(?:\.md\b|\b)|\.claude/(?:settings|CLAUDE)|\.(?:cursor|codex|openclaw|clawdbot)/(?:mcp|rules|config|openclaw)|\.mcp\.json"
)

_COMMAND_RULES = rules(
    {
        # remote shells
        ("reverse_shell", _CRITICAL, "opens a shell to another machine"): r"""
            (?:-i ?[>&]{1,2}|exec \d{0,3} ?<>|\d?<&|0<>)[^\n]{0,60}/dev/(?:tcp|udp)/
            /dev/(?:tcp|udp)/[^\n]{0,80}(?:0>&1|<&\d|0<&)
            \b(?:nc|ncat|netcat)(?:\.traditional|\.exe)? [^\n|]{0,80}-[a-z]{0,4}[ec][a-z]{0,2} ?(?:/bin/|cmd|bash|sh\b|powershell)
            \bbash -i [>&0-9 ]{1,6}
            \bmkfifo [^\n]{1,120}\b(?:nc|ncat|telnet|openssl)\b
            \bsocat\b[^\n]{0,120}\bexec:
            \bdup2\([^\n)]{0,60}fileno\(\)
            pty\.spawn\( ?[\"']/bin/
            \b(?:ruby -rsocket|perl -MSocket|php -r [\"'][^\n]{0,20}fsockopen)
            New-Object [^\n]{0,40}Sockets\.TCPClient
            \brcat (?:connect|listen)
            \btelnet [^\n|]{1,80}\| ?/bin/(?:ba)?sh
        """,
        # hidden programs
        ("decode_and_run", _CRITICAL, "decodes hidden text and runs it at once"): r"""
            \b(?:base64|b64decode|base32|gbase64)[^\n|]{0,200}(?:-d|-D|--decode)\b[^\n]{0,120}\| ?(?:{shell}|python3?(?! ?-m json)|node|perl|source|eval|xargs)
            \b(?:openssl (?:enc|base64|aes)[^\n|]{0,120} -d|xxd -r|uudecode|gunzip -c|zcat|rev|tr [\"']?[A-Za-z]-[^\n|]{0,30})\b[^\n|]{0,120}\| ?{shell}
            \b(?:eval|bash -c|sh -c|source|exec)\b ?[\"'(<]{0,3}[$`][^\n]{0,200}\b(?:base64 (?:-d|-D|--decode)|xxd -r|openssl enc -d|rev\b)
            (?:ba|z)?sh ?<<< ?[\"'(]{0,3}\$\([^\n]{0,200}(?:base64|xxd)
            \bpowershell(?:\.exe)?[^\n]{0,80} -(?:e|en|enc|enco|encodedcommand)[ ]+[A-Za-z0-9+/=]{16,}
            \b(?:iex|invoke-expression)\b[^\n]{0,120}FromBase64String
            FromBase64String[^\n]{0,200}\| ?(?:iex|invoke-expression)
            \bcertutil(?:\.exe)? [^\n]{0,60}-decode
        """,
        ("self_extracting", _HIGH, "unpacks a program from its own text and runs it"): r"""
            (?:tail|sed|awk|dd)\b[^\n]{1,80}[\"']?\$(?:0|\{?BASH_SOURCE)[^\n]{0,80}\|[^\n]{0,80}(?:\bsh\b|bash|tar|base64|gunzip|python)
        """,
        # files and data sent away
        ("swept_and_sent", _CRITICAL, "gathers files from the whole machine and sends them away"): r"""
            \b(?:tar|zip) [^\n|]{0,160}\| ?(?:base64[^\n|]{0,20}\| ?)?(?:curl|nc|ncat|ssh)\b
            \bfind (?:/|~|\$HOME|\$\{HOME\})[^\n]{0,300}(?:-exec|\| ?xargs|\| ?while)[^\n]{0,120}(?:curl|nc|ncat|scp)\b
        """,
        ("machine_told", _HIGH, "sends what machine and user this is, or what it holds, to another host"): r"""
            \b(?:curl|wget)\b[^\n]{0,300}(?:\$\(|[=.]`)(?:whoami|hostname|id\b|uname|env\b|printenv|ifconfig|ip addr|cat (?:~|/etc|/root|\$HOME|\.env))
            \b(?:dig|nslookup|host|ping)\b[^\n]{0,80}(?:\$\(|[=.]`)(?:whoami|hostname|id\b|uname|cat |env\b|printenv|echo |head |base64|xxd)
            \b(?:whoami|hostname|uname -a|ifconfig|id)\b[^\n]{0,80}\| ?(?:curl|nc|ncat|wget)\b
        """,
        # persistence
        ("persistence", _HIGH, "makes something start again by itself, outside this task"): r"""
            \([^\n]{0,40}crontab -l[^\n]{0,200}\| ?crontab\b
            \becho [^\n]{3,300}\| ?crontab\b
            >{1,2} ?/etc/(?:cron|init\.d|rc\.local|profile\.d|systemd)
            >{1,2} ?[\"']?(?:~|\$\{?HOME\}?|/root|/home/\w{1,32})/\.ssh/authorized_keys
            \btee (?:-a )?[^\n]{0,30}/(?:\.ssh/authorized_keys|etc/(?:cron|sudoers))
            \bschtasks(?:\.exe)? /create
            \breg(?:\.exe)? add [^\n]{0,80}\\Run\b
            CurrentVersion\\\\?Run\b
            \bNew-ScheduledTask\w{0,12}\b[^\n]{0,120}powershell
            (?:curl|wget|base64|nohup|python3?) [^\n]{0,200}>{1,2} ?[\"']?(?:~|\$\{?HOME\}?)/\.(?:bashrc|zshrc|profile|bash_profile|zprofile|zshenv)\b
            NOPASSWD: ?ALL[^\n]{0,80}(?:>>|tee|sudoers)
        """,
        ("login_script", _MEDIUM, "adds to a script that every shell runs"): r"""
            (?:alias [^\n]{1,80}|eval [^\n]{1,120}|trap [^\n]{1,80}|PROMPT_COMMAND[^\n]{1,80}|function [^\n]{1,80}|&[\"'])>{1,2} ?[\"']?(?:~|\$\{?HOME\}?)/\.(?:bashrc|zshrc|profile|bash_profile|zprofile)\b
            unless: (?:brew shellenv|direnv hook|starship init|zoxide init|pyenv init|fnm env|mise activate|rbenv init|nodenv init)
        """,
        ("start_item", _MEDIUM, "registers a service or start item"): r"""
            Library/Launch(?:Agents|Daemons)/
            \blaunchctl (?:load|bootstrap)\b
            \bsystemctl (?:--user )?enable\b
            \.config/(?:autostart|systemd/user)/
            Start Menu\\\\?Programs\\\\?Startup
            languages: python javascript powershell shell code data text
        """,
        ("git_hook", _MEDIUM, "writes a git hook"): r"""
            (?:>{1,2}|tee|cp|ln -s\S{0,3}|\binstall\b|open\(|write\w{0,10}\() ?[^\n]{0,60}\.git/hooks/(?:pre|post|commit|prepare)-?\w{0,14}
        """,
        # control of the agent
        ("agent_permissions", _MEDIUM, "switches off the questions an agent asks before it acts"): r"""
            --dangerously-(?:skip-permissions|bypass-approvals-and-sandbox|allow-all)
            \bbypassPermissions\b
        """,
        ("agent_settings", _HIGH, "switches off the questions an agent asks, in its settings"): r"""
            [\"']?(?:autoApprove|auto_approve|alwaysAllow|skipPermissions|skip_confirmation|allow_all_tools|trustedWorkspace)[\"']?\s{0,3}[:=]\s{0,3}(?:true|\[ ?[\"']\*)
            [\"']allow[\"']\s{0,3}:\s{0,3}\[[^\]]{0,120}[\"'](?:\*|Bash\(\*(?::\*)?\)|Bash)[\"']
            enableAllProjectMcpServers[\"']?\s{0,3}[:=]\s{0,3}true
            \b(?:exec\.ask|exec\.security|tools\.exec\.\w{1,12})[\"']?[ :=]{1,3}[\"']?(?:off|full)
        """,
        ("agent_files", _HIGH, "writes into the files that steer an agent"): r"""
            (?:>>|\btee -a\b) ?[^\n]{0,40}(?:~|\$\{?HOME\}?|\.\.)/[^\n]{0,40}(?:{agent_file})
            (?:echo|printf|cat) [^\n]{0,300}>> ?[^\n]{0,60}(?:{agent_file})
        """,
        ("agent_hook", _MEDIUM, "sets a hook that an agent runs by itself"): r"""
            [\"'](?:PreToolUse|PostToolUse|SessionStart|UserPromptSubmit|Stop)[\"']\s{0,3}:\s{0,3}\[[^\]]{0,300}[\"']command[\"']\s{0,3}:\s{0,3}[\"'][^\"'\n]{0,200}(?:curl|wget|base64|nc |/dev/tcp|python3? -c|node -e)
        """,
        # destruction and weakened protection
        ("destruction", _CRITICAL, "destroys data that is not its own"): r"""
            \brm (?:-\w{1,5} ){0,3}-\w{0,4}[rR]\w{0,4} (?:-\w{1,5} |--no-preserve-root ){0,2}[\"']?(?:/|/\*|~/?|~/\*|\$\{?HOME\}?/?|\$\{?HOME\}?/\*|/(?:etc|usr|var|home|boot|lib|bin|Users|System|Library)/?\*?)[\"']?(?=[ \t;&|\n\"')`]|$)
            --no-preserve-root
            \bmkfs(?:\.\w{2,8})? (?:-\w{1,4} ){0,3}/dev/
            \bdd [^\n]{0,80}\bof=/dev/(?:sd|nvme|hd|vd|disk|mmcblk)
            >{1,2} ?/dev/(?:sd[a-z]|nvme|disk\d)
            :\(\) ?\{ ?:\|: ?& ?\} ?;
            \bvssadmin(?:\.exe)? delete shadows
            \b(?:del|rd|rmdir) (?:/[a-z] ){1,4}[\"']?[cC]:\\(?:\*|\"|Windows|Users|\s)
            \bformat(?:\.com)? [a-zA-Z]: ?/
            \bwipefs -a
            \bdiskutil (?:eraseDisk|secureErase)
            \bshutil\.rmtree\( ?(?:[\"']/[\"']|[\"']~[\"']|os\.path\.expanduser\( ?[\"']~/?[\"'] ?\)|(?:pathlib\.)?Path\.home\(\)) ?[,)]
            \bfind (?:/|~|\$HOME)(?: [^\n]{0,80})? -delete\b
        """,
        (
            "wide_destruction",
            _HIGH,
            "destroys what cannot be brought back: history, databases, stores in the cloud",
        ): r"""
            \breflog expire [^\n]{0,40}--expire(?:-unreachable)?=now
            \bgit push [^\n]{0,60}--delete \$\(
            \bgit push [^\n]{0,20}--(?:force|mirror) [^\n]{0,40}\w:(?:refs/heads/)?(?:main|master)\b
            \baws s3 rb [^\n]{0,120}--force
            \bdelete-db-(?:instance|cluster)\b[^\n]{0,160}--skip-final-snapshot
            \bcloudtrail (?:delete-trail|stop-logging)\b
            \bkubectl delete (?:ns|namespaces?|all|pvc?)\b[^\n]{0,40}--all\b
            \bgcloud projects delete\b[^\n]{0,80}--quiet
            \baz group delete\b[^\n]{0,80}(?:--yes|-y)\b
        """,
        ("dropped_database", _HIGH, "drops a whole database or schema"): r"""
            \bDROP (?:SCHEMA|DATABASE) (?!IF EXISTS test)\w
            \bdropDatabase\(\)
            \bFLUSHALL\b
            languages: python javascript shell powershell code text
        """,
        ("miner", _HIGH, "mines cryptocurrency"): r"""
            \bxmrig\b
            \bstratum\+(?:tcp|ssl)://
            \b(?:minerd|cpuminer|ethminer|nbminer|t-rex|lolminer|phoenixminer|cgminer)\b(?= |\.|$)
            --donate-level\b
            \b(?:moneroocean|supportxmr|nanopool|minexmr|hashvault|f2pool|2miners)\.\w{2,6}\b
            \bcoinhive\b
        """,
        ("weakened_protection", _HIGH, "switches off a protection of the machine"): r"""
            \b(?:ufw disable|setenforce 0|iptables -F\b|csrutil disable|spctl --(?:master|global)-disable|systemctl (?:stop|disable) (?:--now )?(?:auditd|firewalld|apparmor|falcon|crowdstrike))
            Set-MpPreference [^\n]{0,60}-Disable\w{1,40} \$?true
            Add-MpPreference -Exclusion
            \bnetsh (?:advfirewall|firewall) set [^\n]{0,40}(?:off|disable)
            \bSet-ExecutionPolicy (?:-Scope \w+ )?(?:Unrestricted|Bypass)\b[^\n]{0,60}-Force
            \b(?:history -c|unset HISTFILE|HISTFILE=/dev/null|HISTSIZE=0)\b
            \b(?:rm|shred|truncate) [^\n]{0,30}(?:\.bash_history|\.zsh_history|/var/log/(?:auth|syslog|secure|\*|wtmp))
            >{1,2} ?/var/log/(?:auth|syslog|secure|wtmp)
            \bwevtutil cl\b
            \bkillall [^\n]{0,20}(?:XProtect|MRT|falcon)
        """,
        ("quarantine_removed", _HIGH, "removes the mark by which the system warns about downloaded programs"): r"""
            \bxattr (?:-\w{1,4} ){0,2}(?:-c\b|-d ?com\.apple\.quarantine|-\w{0,3}c\w{0,2} )
            com\.apple\.quarantine
            \bUnblock-File\b
        """,
        ("privileges", _HIGH, "takes more rights than its task needs"): r"""
            \becho [^\n|]{1,60}\| ?sudo -S\b
            \bchmod (?:-R )?(?:[ugo]*\+\w{0,2}s\w{0,2}|[24567][0-7]{3}) [^\n]{0,40}(?:/bin/|/tmp/|bash|sh\b)
            \bdocker run [^\n]{0,160}-v ?/:/\w
            \bdocker run [^\n]{0,120}--privileged[^\n]{0,120}-v ?/(?:etc|root|var/run/docker)
            \bnsenter [^\n]{0,40}-t ?1\b
            \bchmod -R 777 /(?:\s|$|etc|usr|var|home)
            \bchroot /(?:host|mnt)\b
        """,
        ("osascript_prompt", _HIGH, "asks the user for a password in its own window"): r"""
            osascript[^\n]{0,200}display dialog[^\n]{0,200}(?:password|hidden answer)
            display dialog[^\n]{0,200}with hidden answer
            \bdscl (?:/Local/Default|\.) -authonly
        """,
        ("known_test_malware", _CRITICAL, "contains the test signature of virus scanners"): r"""
            EICAR-STANDARD-ANTIVIRUS-TEST-FILE
        """,
    },
    shell=_RUNNER,
    agent_file=_AGENT_FILE,
)


class CommandsCheck:
    """Dangerous commands in prose, scripts and strings, and secrets that a skill's own text reads and sends."""

    name = "commands"
    version = "4"

    def examine(self, content: SkillContent) -> Iterator[Finding]:
        """Yield the commands that a person must see before they run."""
        own = text_segments(content)
        yield from dangerous_commands(own)
        yield from secret_flows(segment for segment in own if not segment.path)


def dangerous_commands(texts: Sequence[TextSegment]) -> Iterator[Finding]:
    """Apply every rule on commands, downloads and lures to these segments of text."""
    yield from apply(_COMMAND_RULES, texts)
    yield from downloads(texts)
    yield from lures(texts)
