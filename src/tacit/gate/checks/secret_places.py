"""Where secrets live and how text leaves a machine, as patterns that `flows` and `python_flow` share. Data only."""

from __future__ import annotations

import re

from tacit.text.prefilter import GuardedPattern

PLACES = GuardedPattern(
    r"\.ssh[/\\]{1,2}(?:id_\w{2,10}|\*|identity\b)|[\"']\.ssh[\"']|\.aws[/\\]{1,2}(?:credentials|config\b)|[\"']\.aws[\"']|"
    r"gcloud[/\\]{1,2}(?:application_default_credentials|credentials\.db|access_tokens)|application_default_credentials\.json|"
    r"\.azure[/\\]{1,2}(?:accessTokens|msal_token_cache|azureProfile)|\.kube[/\\]{1,2}config\b|\.docker[/\\]{1,2}config\.json|"
    r"(?:~|HOME\}?|home\(\)[^\n]{0,6}|[\"'])[/\\]{0,2}\.(?:netrc|pypirc|git-credentials|pgpass|my\.cnf)\b|(?:~|HOME\}?)/\.npmrc\b|[\"']\.npmrc[\"']|"
    r"\.gnupg\b|--export-secret-keys|Login Data\b|\blogins\.json\b|\bkey4\.db\b|\bcookies\.sqlite\b|(?:Chrome|Chromium|Brave\w{0,10}|Edge|Firefox)[^\n]{0,80}(?:Cookies|Local State|Profiles)\b|"
    r"Library/Keychains|login\.keychain|\bsecurity (?:find-(?:generic|internet)-password|dump-keychain)|\bsecret-tool (?:lookup|search)|keyring\.get_password|\bCredEnumerate|\bcmdkey /list|"
    r"\bwallet\.dat\b|\.config/solana/id\.json|\.(?:bitcoin|ethereum|electrum|monero)[/\\]|(?:Exodus|Electrum|Atomic|Ledger Live|Phantom|MetaMask)[/\\ ]{0,3}(?:wallet|exodus|Local Storage|extension|vault)|nkbihfbeogaeaoehlefnkodbefgpgknn|"
    r"/etc/shadow\b|\.(?:bash|zsh|python|node_repl)_history\b|\.config/gh/hosts\.yml|\.claude[/\\]{1,2}\.credentials|\.(?:openclaw|clawdbot|moltbot)[/\\]{1,2}[\w./-]{0,40}(?:\.env|openclaw\.json|credentials|auth)|\.codex/auth\.json|"
    r"/etc/passwd\b|\.claude/(?:projects|history|todos)|(?:~|HOME\}?)/\.(?:openclaw|clawdbot)/(?:memory|workspace|agents)|"
    r"169\.254\.169\.254|metadata\.google\.internal|/var/run/secrets/kubernetes|/proc/(?:self|\d+|\*)/environ",
    flags=0,
)
"""Files and stores that hold keys, logins, wallets and histories."""

WHOLE_ENVIRONMENT = GuardedPattern(
    r"dict\( ?os\.environ ?\)|os\.environ\.items\(\)|(?:dumps|str|repr|urlencode)\([^\n)]{0,30}os\.environ\b(?! ?\[|\.get)|\{\*\*os\.environ\b|"
    r"JSON\.stringify\( ?(?:\{ ?\.\.\. ?)?process\.env ?[,})]|Object\.(?:entries|keys|assign|fromEntries)\([^\n)]{0,20}process\.env\b(?!\.)|"
    r"(?:^|[;&|`(\n] ?)(?:printenv|env|set)(?: -0)? ?(?:\||>{1,2}|\))|\$\((?:env|printenv)\b|`(?:env|printenv)`|"
    r"(?:Get-ChildItem|gci|dir|ls) (?:-Path )?Env:|ENV\.to_(?:h|a|json)\b|\bgetenv\(\)|os\.Environ\(\)",
    flags=0,
)
"""All variables at once: no task needs that but a thief's."""

ENV_FILE = GuardedPattern(
    r"\b(?:cat|less|head|tail|base64|xxd|type|Get-Content|grep) [^\n|;&]{0,60}(?:^|[\s/\"'])\.env(?:\.(?:local|production|prod))?\b(?!\.(?:example|sample|template))|"
    r"(?:open|readFileSync|readFile|read_text|Path)\( ?[^\n)]{0,60}[\"'/]\.env(?:\.(?:local|production))?[\"']|"
    r"(?:-d|--data(?:-binary|-raw)?|-F|-T|--form|--upload-file) ?[\"']?[\w]{0,20}=?@[^\s\"']{0,40}\.env\b",
    flags=0,
)

SWEPT = GuardedPattern(
    r"Path\.home\(\)\.(?:rglob|glob)\(|os\.walk\( ?(?:os\.path\.expanduser\( ?[\"']~|[\"']/[\"']|Path\.home\(\)|home\b)|"
    r"glob\( ?[\"'](?:~|/home|/Users)/\*\*|\bfind (?:/|~|\$HOME)/? [^\n]{0,200}-i?name",
    flags=0,
)
"""A search through the whole home or machine."""

WATCHED = GuardedPattern(
    r"\bpbpaste\b|\bxclip -o|\bGet-Clipboard\b|\bscreencapture -|ImageGrab\.grab\(|\bpyperclip\.paste\(", flags=0
)
"""The clipboard and the screen: honest tools read them too, but do not send them off."""

SEND = GuardedPattern(
    r"\bcurl\b[^\n]{0,200}(?: -d\b| --data| -F\b| --form| -T\b| --upload-file| -X ?[\"']?(?:POST|PUT)|--json\b)|\bcurl\b[^\n]{0,200}[?&]\w{1,20}=[\"']?\$[({]|"
    r"\bwget\b[^\n]{0,120}--post-(?:data|file)|\|[ ]?(?:nc|ncat|netcat|socat|telnet)\b|\b(?:nc|ncat) (?:-\w{1,3} ){0,3}[\w.$]{3,80} \d{2,5}\b[^\n]{0,20}(?:<|$)|"
    r"\b(?:scp|rsync) [^\n]{0,160}\w@[\w.]{3,80}:|\b(?:nslookup|dig|host|ping) [^\n]{0,60}\$[({\w]|Invoke-(?:WebRequest|RestMethod)[^\n]{0,160}-Method [\"']?(?:Post|Put)|\.Upload(?:String|Data|File)\(|"
    r"\brequests\.(?:post|put|patch|request)\(|\bhttpx\.(?:post|put|patch)\(|\burlopen\(|\burllib\.request\.Request\(|\bhttp\.client\.HTTPS?Connection\(|\bsmtplib\.SMTP|\.sendall\(|\.sendto\(|\baiohttp\.ClientSession\(|"
    r"\bsession\.post\(|\bfetch\( ?[\"'`\w]|\baxios(?:\.(?:post|put)|\()|\bhttps?\.request\(|\bgot\.post\(|\bsendBeacon\(|\bnew WebSocket\(|\bdns\.(?:resolve|lookup)\w{0,6}\( ?`|socket\.gethostbyname\( ?f|\bftplib\.FTP|"
    r"\bNet::HTTP\.post|\bLWP::UserAgent|\bcurl_exec\(|http\.Post\(|\baws s3 cp [^\n]{0,120}s3://|\bgh gist create\b|\bgit push [^\n]{0,40}https?://",
    flags=0,
)
"""Ways for text to leave the machine."""

SECRET_VARIABLE = re.compile(
    r"(?:^|_)(?:SECRET|TOKEN|PASSWORD|PASSWD|PRIVATE|CREDENTIALS?|API_?KEY|ACCESS_KEY|MNEMONIC|SEED|PASSPHRASE|KEY)(?:_|$)",
    re.IGNORECASE,
)
