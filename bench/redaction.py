"""How many planted secrets redaction removes, how many harmless lines it alters, and how fast it is.

Planted secrets are drawn from the real alphabets with a fixed seed, so no secret stands in this file. Groups are reported
apart: `designed`, `widened` and `later` were all used to write the rules; `formats` are those of `_secret_formats.py`, one
half of which was looked at for the first time when the rules were done (`FIRST_LOOK`), and afterwards used to mend them;
`detectors` are the examples in the tests of trufflehog, half of whose vendors were never looked at. Harmless lines come
from the interpreter's own library, the installed packages and whatever data the arguments name.

    python bench/redaction.py [--data FILE_OR_FOLDER]... [--lines FOLDER]... [--detectors trufflehog/pkg/detectors]
        [--gitleaks config/gitleaks.toml] [--out bench/results/redaction.json]

`--gitleaks` measures the rules of that file, and those of detect-secrets where it is installed, on the same texts.
"""

from __future__ import annotations

import argparse
import base64
import functools
import gzip
import importlib
import json
import platform
import random
import re
import subprocess
import sys
import sysconfig
import tempfile
import time
import tomllib
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from string import ascii_letters, ascii_lowercase, ascii_uppercase, digits
from typing import Any

sys.path[:0] = [str(Path(__file__).resolve().parents[1])]

from bench._secret_formats import Case, cases  # noqa: E402
from bench._secret_situations import situations  # noqa: E402
from tacit.text.redaction import may_hold_secret, redact, redact_value  # noqa: E402
from tacit.text.redaction.patterns import entropy  # noqa: E402

SEED = 20250111
FRAGMENT = 9
ALNUM = ascii_letters + digits
URL64 = ALNUM + "-_"
B64 = ALNUM + "+/"
HEX = "0123456789abcdef"
FIRST_LOOK = {
    "formats": {"planted": 1002, "removed": 866, "percent": 86.43, "rules_before": 57.19},
    "detectors": {"planted": 593, "removed": 526, "percent": 88.7, "rules_before": 46.37},
    "situations": {"planted": 1336, "removed": 986, "percent": 73.8, "rules_before": 73.5, "gitleaks": 30.84},
}
"""What was held out, measured once when the rules were done. `formats` and `situations` were then used to mend them."""
TEXT_SUFFIXES = {
    ".py",
    ".txt",
    ".md",
    ".rst",
    ".toml",
    ".cfg",
    ".json",
    ".jsonl",
    ".yaml",
    ".yml",
    ".c",
    ".h",
    ".js",
    ".ts",
    ".mjs",
    ".cjs",
    ".lock",
    ".log",
    ".sh",
    ".css",
    ".html",
    ".xml",
    ".map",
}

Draw = Callable[[random.Random], str]


@dataclass(frozen=True, slots=True)
class Planted:
    """A secret inside a text; `public` is its prefix that anybody may know."""

    kind: str
    text: str
    secret: str
    public: str = ""

    def leaks(self, output: str) -> bool:
        """Whether the secret or a piece of it longer than eight characters is still there."""
        body = self.secret[len(self.public) :]
        if len(body) < FRAGMENT:
            return body in output
        return any(body[i : i + FRAGMENT] in output for i in range(len(body) - FRAGMENT + 1))


def draw(rng: random.Random, alphabet: str, *, n: int) -> str:
    return "".join(rng.choices(alphabet, k=n))


def mixed(rng: random.Random, alphabet: str, *, n: int) -> str:
    """A draw with at least one digit, lower-case and upper-case letter where the alphabet has them."""
    while True:
        value = draw(rng, alphabet, n=n)
        wanted = [g for g in (digits, ascii_lowercase, ascii_uppercase) if set(g) & set(alphabet)]
        if all(set(g) & set(value) for g in wanted):
            return value


def password(rng: random.Random) -> str:
    word = rng.choice(["Winter", "dragon", "Sunny", "monkey", "Passau", "blue", "Qwertz", "falcon"])
    return rng.choice(
        [
            mixed(rng, ALNUM + "!@#%^*-_+.", n=rng.randint(10, 24)).lstrip("!@#%^*-_+.") + "7a",
            f"{word}{rng.randint(10, 9999)}{rng.choice('!#*+')}",
            mixed(rng, ALNUM, n=rng.randint(8, 20)),
        ]
    )


def jwt(rng: random.Random) -> str:
    def part(value: dict[str, Any]) -> str:
        return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")

    claims = {"sub": draw(rng, digits, n=10), "iat": rng.randrange(10**9), "name": draw(rng, ascii_lowercase, n=8)}
    return ".".join([part({"alg": "HS256", "typ": "JWT"}), part(claims), draw(rng, URL64, n=43)])


def key_block(rng: random.Random, label: str) -> str:
    lines = [draw(rng, B64, n=64) for _ in range(rng.randint(4, 20))]
    head, tail = (f"-----{word} {label}-----" for word in ("BEGIN", "END"))
    return "\n".join([head, *lines, draw(rng, B64, n=22) + "==", tail])


def login64(rng: random.Random) -> str:
    return base64.b64encode(f"{draw(rng, ascii_lowercase, n=6)}:{password(rng)}".encode()).decode()


TOKENS: dict[str, tuple[str, Draw]] = {
    "aws-access-key": ("AKIA", lambda r: mixed(r, ascii_uppercase + "234567", n=16)),
    "github-classic": ("ghp_", lambda r: mixed(r, ALNUM, n=36)),
    "github-oauth": ("gho_", lambda r: mixed(r, ALNUM, n=36)),
    "github-server": ("ghs_", lambda r: mixed(r, ALNUM, n=36)),
    "github-fine": ("github_pat_", lambda r: mixed(r, ALNUM, n=22) + "_" + mixed(r, ALNUM, n=59)),
    "gitlab": ("glpat-", lambda r: mixed(r, URL64, n=20)),
    "slack-bot": ("xoxb-", lambda r: f"{draw(r, digits, n=12)}-{draw(r, digits, n=12)}-{mixed(r, ALNUM, n=24)}"),
    "slack-app": ("xapp-1-A", lambda r: f"{draw(r, ascii_uppercase + digits, n=10)}-{draw(r, digits, n=13)}-{draw(r, HEX, n=64)}"),
    "slack-webhook": ("https://hooks.slack.com/services/", lambda r: f"T{draw(r, ascii_uppercase + digits, n=9)}/B{draw(r, ascii_uppercase + digits, n=9)}/{mixed(r, ALNUM, n=24)}"),
    "stripe-live": ("sk_live_", lambda r: mixed(r, ALNUM, n=24)),
    "stripe-restricted": ("rk_live_", lambda r: mixed(r, ALNUM, n=24)),
    "stripe-test": ("sk_test_", lambda r: mixed(r, ALNUM, n=24)),
    "openai": ("sk-", lambda r: mixed(r, ALNUM, n=48)),
    "openai-project": ("sk-proj-", lambda r: mixed(r, URL64, n=120)),
    "anthropic": ("sk-ant-api03-", lambda r: mixed(r, URL64, n=93) + "AA"),
    "google-api": ("AIza", lambda r: mixed(r, URL64, n=35)),
    "google-oauth": ("ya29.", lambda r: mixed(r, URL64, n=120)),
    "google-client": ("GOCSPX-", lambda r: mixed(r, URL64, n=28)),
    "npm": ("npm_", lambda r: mixed(r, ALNUM, n=36)),
    "pypi": ("pypi-AgE", lambda r: mixed(r, URL64, n=150)),
    "huggingface": ("hf_", lambda r: mixed(r, ascii_letters, n=34)),
    "twilio": ("SK", lambda r: mixed(r, HEX, n=32)),
    "sendgrid": ("SG.", lambda r: mixed(r, URL64, n=22) + "." + mixed(r, URL64, n=43)),
    "digitalocean": ("dop_v1_", lambda r: mixed(r, HEX, n=64)),
    "databricks": ("dapi", lambda r: mixed(r, HEX, n=32)),
    "vault": ("hvs.", lambda r: mixed(r, URL64, n=90)),
    "telegram": ("", lambda r: f"{r.randrange(10**8, 10**10)}:AA{mixed(r, URL64, n=33)}"),
    "discord": ("", lambda r: f"M{mixed(r, ALNUM, n=25)}.{draw(r, URL64, n=6)}.{mixed(r, URL64, n=38)}"),
    "age": ("AGE-SECRET-KEY-1", lambda r: draw(r, "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L", n=58)),
    "jwt": ("eyJhbGciOiAi", lambda r: jwt(r)[12:]),
    "shadow": ("$6$", lambda r: draw(r, ALNUM + "./", n=16) + "$" + draw(r, ALNUM + "./", n=86)),
    "bcrypt": ("$2b$12$", lambda r: draw(r, ALNUM + "./", n=53)),
}  # fmt: skip

CARRIERS = (
    "export SERVICE_CREDENTIAL={s}", "{s}", 'client = Client("{s}")', "Error: authentication failed for {s} (401)",
    '{{"type":"tool_result","content":"found {s} in .env\\n"}}', "2025-01-11T10:02:03Z DEBUG auth using {s} for host-1",
    'curl -s -H "Authorization: Bearer {s}" https://api.example.com/v1/things', "  value: {s}\n  other: 1",
    "- the deploy used `{s}` and then stopped", '  File "app.py", line 3, in <module>\n    login("{s}")\nValueError: no',
    "+    key = '{s}'\n-    key = None", "https://api.example.com/v1/list?access={s}&page=2",
    '{{"env": {{"SOME_VAR": "{s}"}}, "exit": 0}}', "\x1b[32m{s}\x1b[0m ok", "git remote add o https://{s}@git.example.com/a/b.git",
    "first line\\n{s}\\nlast line",
)  # fmt: skip

NAMED: dict[str, tuple[Draw, tuple[str, ...]]] = {
    "password": (
        password,
        (
            "DB_PASSWORD={s}", "export PGPASSWORD='{s}'", 'password = "{s}"', '{{"user": "bob", "password": "{s}"}}',
            "  password: {s}\n", "mysqladmin --password={s} status", "psql --password {s} -h db", "db.password={s}",
            '{{\\"password\\": \\"{s}\\"}}', "user=bob password={s} host=db", "MYSQL_ROOT_PASSWORD: {s}",
            "Config(user='bob', password='{s}')", "admin_passwd = {s}", "[2025] login ok user=bob passwd={s}",
        ),
    ),
    "url-password": (
        lambda r: mixed(r, ALNUM + "-_.!", n=14),
        (
            "postgres://user:{s}@db.example.com:5432/app", "redis://:{s}@cache:6379/0",
            "git clone https://bob:{s}@git.example.com/a/b.git", "DATABASE_URL=mysql+pymysql://root:{s}@127.0.0.1/x",
            "mongodb+srv://svc:{s}@cluster0.example.net/?retryWrites=true", "amqp://guest:{s}@mq//",
        ),
    ),
    "aws-secret": (lambda r: mixed(r, B64, n=40), ("aws_secret_access_key = {s}", "export AWS_SECRET_ACCESS_KEY={s}", '"SecretAccessKey": "{s}",')),
    "api-key": (
        lambda r: mixed(r, ALNUM, n=32),
        ("API_KEY={s}", 'api_key: "{s}"', "X-API-Key: {s}", "--api-key {s}", "apiKey: '{s}',", "?api_key={s}&x=1", "SECRET_KEY = '{s}'"),
    ),
    "hex-secret": (lambda r: mixed(r, HEX, n=40), ("CLIENT_SECRET={s}", '"client_secret": "{s}"', "auth_token: {s}", "refreshToken={s}", "--token {s}")),
    "bearer": (lambda r: mixed(r, URL64, n=40), ("Authorization: Bearer {s}", "curl -H 'Authorization: token {s}' https://x.example.com", "we sent Bearer {s} and got 403", '"Authorization": "Bearer {s}"')),
    "basic": (login64, ("Authorization: Basic {s}", '"auths": {{"r.example.com": {{"auth": "{s}"}}}}', "-H 'authorization: basic {s}'")),
    "curl-user": (lambda r: mixed(r, ALNUM, n=16), ("curl -u bob:{s} https://x.example.com", "curl -X POST --user admin:{s} -d @f https://x")),
    "mysql-flag": (lambda r: mixed(r, ALNUM, n=12), ("mysql -u root -p{s} shop", "mysqldump -h db -uroot -p{s} shop > x.sql")),
    "netrc": (lambda r: mixed(r, ALNUM, n=14), ("machine git.example.com login bob password {s}", "machine x\n  login bob\n  password {s}\n")),
    "pgpass": (lambda r: mixed(r, ALNUM, n=14), ("db.example.com:5432:app:bob:{s}", "127.0.0.1:5432:*:bob:{s}\n")),
    "cookie": (lambda r: mixed(r, ALNUM, n=32), ("Cookie: sessionid={s}; theme=dark", "Set-Cookie: sid={s}; Path=/; HttpOnly", "curl -b 'session={s}' https://x")),
    "azure": (lambda r: mixed(r, B64, n=86) + "==", ("DefaultEndpointsProtocol=https;AccountName=a;AccountKey={s};EndpointSuffix=core.windows.net", "Endpoint=sb://x/;SharedAccessKey={s}")),
    "wireguard": (lambda r: mixed(r, B64, n=43) + "=", ("[Interface]\nPrivateKey = {s}\nAddress = 10.0.0.2/32", "PresharedKey = {s}")),
}  # fmt: skip
BLOCKS = {
    "pem": "RSA PRIVATE KEY",
    "pkcs8": "PRIVATE KEY",
    "ssh": "OPENSSH PRIVATE KEY",
    "pgp": "PGP PRIVATE KEY BLOCK",
}

WIDENED: dict[str, tuple[Draw, tuple[str, ...]]] = {
    "infrastructure": (
        password,
        (
            "ENV DB_PASSWORD {s}", "ansible_ssh_pass={s}", "spring.datasource.password={s}", "define('DB_PASSWORD', '{s}');",
            "Server=db;Database=x;Uid=sa;Pwd={s};", ':password => "{s}",', '$env:ADMIN_PASSWORD = "{s}"', "set PASSWORD={s}",
            "kubectl create secret generic db --from-literal=password={s}", "vault kv put secret/db password={s}",
            "CREATE USER bob WITH PASSWORD '{s}';", "ALTER USER 'bob' IDENTIFIED BY '{s}';", "requirepass {s}",
            'Password: "{s}",', "jdbc:mysql://h/db?user=u&password={s}", 'ConvertTo-SecureString "{s}" -AsPlainText',
            "network={{\n  psk=\"{s}\"\n}}", "net user bob {s} /add", 'variable "db_password" {{\n  default = "{s}"\n}}',
            "<add key=\"DbPassword\" value=\"{s}\" />", "echo 'bob:{s}' | chpasswd", "- DB_PASSWORD={s}\n",
        ),
    ),
    "prose": (
        password,
        (
            "ok the password is {s}, try it", "pw: {s}", "creds: bob / {s}", "use {s} as the password", "Login with bob and password {s}.",
            "Password:\n{s}", "I changed the admin password to {s}", "**Password**: `{s}`", "| password | {s} |",
        ),
    ),
    "code": (
        password,
        (
            "requests.get(url, auth=('bob', '{s}'))", 'conn.login("bob", "{s}")', 'os.environ["DB_PASSWORD"] = "{s}"',
            "const {{ password = '{s}' }} = options;", "let password = String::from(\"{s}\");", 'private static final String PASSWORD = "{s}";',
            "if (password === '{s}') {{", 'password := "{s}"', "#define WIFI_PASSWORD \"{s}\"", "b'password': b'{s}'", "user.set_password('{s}')",
        ),
    ),
    "tokens": (
        lambda r: mixed(r, ALNUM, n=36),
        (
            "proxy_set_header X-Api-Key \"{s}\";", "grant_type=client_credentials&client_id=a&client_secret={s}", "level=info token=\"{s}\" user=bob",
            "here's the key: {s}", "api key is {s}", "::add-mask::{s}", "//registry.npmjs.org/:_authToken={s}", "token {s}", "X-Auth-Token:{s}",
            "DATADOG_API_KEY={s} ./run", 'headers["x-goog-api-key"] = "{s}"', "gh auth login --with-token <<< {s}", "access_token%3D{s}%26x",
            "    'token': '{s}',", "TF_VAR_api_token={s}", "sessionToken>{s}</sessionToken>", "Authorization={s}",
        ),
    ),
    "other-vendors": (
        lambda r: r.choice(
            [
                "sq0atp-" + mixed(r, URL64, n=22), "figd_" + mixed(r, URL64, n=40), "NRAK-" + mixed(r, ascii_uppercase + digits, n=27),
                "ATATT3xFfGF0" + mixed(r, URL64, n=172), "dp.pt." + mixed(r, ALNUM, n=43), "sbp_" + mixed(r, HEX, n=40),
                "glsa_" + mixed(r, ALNUM, n=32) + "_" + draw(r, HEX, n=8), "PMAK-" + draw(r, HEX, n=24) + "-" + draw(r, HEX, n=34),
                "r8_" + mixed(r, ALNUM, n=37), "xai-" + mixed(r, ALNUM, n=80), "pplx-" + mixed(r, ALNUM, n=48), "tskey-auth-" + mixed(r, ALNUM, n=17) + "-" + mixed(r, ALNUM, n=32),
                "pcsk_" + mixed(r, ALNUM, n=60), "ntn_" + mixed(r, ALNUM, n=46), "pscale_tkn_" + mixed(r, URL64, n=43), "gsk_" + mixed(r, ALNUM, n=52),
            ]
        ),
        ("{s}", "export SERVICE_TOKEN={s}", 'token: "{s}"', "curl -H 'X-Token: {s}' https://x", 'login("{s}")', "using {s} now"),
    ),
}  # fmt: skip


LATER: dict[str, tuple[Draw, tuple[str, ...]]] = {
    "configuration": (
        password,
        (
            "smtp:\n  host: mail\n  pass: {s}", "[client]\nuser=root\npassword={s}", 'quarkus.datasource.password: "{s}"',
            "rabbitmq_default_pass={s}", "<property name=\"hibernate.connection.password\">{s}</property>", "LDAP_BIND_PASSWD: '{s}'",
            "auth:\n  username: bob\n  password: {s}\n", 'admin_password = "{s}" # rotate', "DB_PASS=\"{s}\" npm start", "http_proxy=http://bob:{s}@proxy:3128",
            "docker run -e POSTGRES_PASSWORD={s} -d postgres", "helm install x --set auth.password={s}", "echo '{s}' | docker login -u bob --password-stdin",
            "sqlplus bob/{s}@orcl", "wget --user=bob --password={s} https://x", "  - POSTGRES_PASSWORD: {s}", "s/PASSWORD=.*/PASSWORD={s}/",
        ),
    ),
    "programs": (
        password,
        (
            'psycopg2.connect(host="h", user="u", password="{s}")', "mysql.createConnection({{ user: 'u', password: '{s}' }})", 'DriverManager.getConnection(url, "bob", "{s}")',
            'await page.fill("#password", "{s}")', 'assert login("bob", password="{s}").ok', "String dbPwd = \"{s}\";", "$password = '{s}';",
            'kwargs["passwd"] = "{s}"', "pass = ENV.fetch('X', '{s}')", 'http.Header{{"X-Api-Key": {{"{s}"}}}}', "expect \"Password:\"\nsend \"{s}\\r\"",
        ),
    ),
    "transcripts": (
        password,
        (
            '{{"command": "PGPASSWORD={s} psql -h db"}}', '{{"stdin": "Password: {s}\\n"}}', "Connected as root using password {s}", "New password: {s}", "temporary password is: {s}",
            "+DB_PASSWORD={s}", "-  password: {s}", "> env | grep PASS\nDB_PASS={s}", '\\"password\\":\\"{s}\\"', "Generated admin password for you: {s}",
            "12:\tpassword: {s}", "config.yml:4:  password: {s}", "DEBUG params={{'user': 'bob', 'password': '{s}'}}", "&lt;password&gt;{s}&lt;/password&gt;",
        ),
    ),
    "opaque": (
        lambda r: r.choice([mixed(r, ALNUM, n=40), mixed(r, HEX, n=64), mixed(r, URL64, n=43), mixed(r, B64, n=44)]),
        (
            "STRIPE_WEBHOOK_SECRET={s}", "encryption_key: {s}", "jwt_secret = '{s}'", "x-amz-security-token: {s}", "SESSION_SECRET=\"{s}\"", '"accessToken":"{s}"', "fernet_key={s}", "private_token={s}",
            "curl -H \"PRIVATE-TOKEN: {s}\" https://x", "curl -d 'refresh_token={s}' https://x", "NEXTAUTH_SECRET={s}", "--set-string apiKey={s}", "os.environ.setdefault('AUTH_TOKEN', '{s}')",
            "csrf_token={s}; Path=/", "GET /api?token={s} HTTP/1.1", "ApiKey {s}", "bearer_token = \"{s}\"", "CLOUDFLARE_API_TOKEN: {s}", "consumerSecret : {s}", '{{"key":"AUTH_SECRET","value":"{s}"}}',
        ),
    ),
}  # fmt: skip


def designed(count: int, *, seed: int = SEED) -> list[Planted]:
    """Secrets of the kinds the patterns know, in the carriers they were written for."""
    rng = random.Random(seed)
    kinds = [*TOKENS, *NAMED, *BLOCKS]
    return [_plant(kinds[i % len(kinds)], rng) for i in range(count)]


def _plant(kind: str, rng: random.Random) -> Planted:
    if kind in TOKENS:
        public, body = TOKENS[kind]
        secret = public + body(rng)
        return Planted(kind, rng.choice(CARRIERS).format(s=secret), secret, public)
    if kind in NAMED:
        source, carriers = NAMED[kind]
        secret = source(rng)
        return Planted(kind, rng.choice(carriers).format(s=secret), secret)
    block = key_block(rng, BLOCKS[kind])
    secret = block.split("\n")[rng.randrange(1, 4)]
    style = rng.randrange(4)
    if style == 1:
        block = json.dumps({"private": block})
    elif style == 2:
        block = "\n".join(block.split("\n")[:-2])
    elif style == 3:
        block = "\n".join(f"{n:6d}\t{line}" for n, line in enumerate(block.split("\n"), 1))
    return Planted(kind, f"$ cat key\n{block}\n$ ls", secret)


def spread(places: dict[str, tuple[Draw, tuple[str, ...]]], count: int, *, seed: int = SEED + 1) -> list[Planted]:
    """Secrets spread evenly over the given kinds' carriers."""
    rng = random.Random(seed)
    pairs = [(kind, source, carrier) for kind, (source, carriers) in places.items() for carrier in carriers]
    found = []
    for i in range(count):
        kind, source, carrier = pairs[i % len(pairs)]
        secret = source(rng)
        found.append(Planted(kind, carrier.format(s=secret), secret, secret[:6] if kind == "other-vendors" else ""))
    return found


Redactor = Callable[[str], str]


def ours(text: str) -> str:
    return redact(text).text


def share_of_cases(cases: Iterable[Case], redactor: Redactor = ours) -> dict[str, Any]:
    """How many of the generated cases leak nothing, by group, and how many kinds never leak."""
    hit: Counter[str] = Counter()
    total: Counter[str] = Counter()
    leaky: set[tuple[str, str]] = set()
    kinds: set[tuple[str, str]] = set()
    for case in cases:
        total[case.group] += 1
        kinds.add((case.group, case.kind))
        if case.leaks(redactor(case.text)):
            leaky.add((case.group, case.kind))
        else:
            hit[case.group] += 1
    planted, removed = sum(total.values()), sum(hit.values())
    return {
        "planted": planted,
        "removed": removed,
        "percent": round(100 * removed / max(1, planted), 2),
        "kinds": len(kinds),
        "kinds_that_never_leak": len(kinds - leaky),
        "groups": {group: f"{hit[group]}/{total[group]}" for group in sorted(total)},
    }


_CONSTANT = re.compile(r'(?m)^\s*(\w+)\s*:?=\s*(?:"([^"\n]*)"|`([^`]*)`)\s*$')
_EXAMPLE = re.compile(
    r'name:\s*"(?:valid[^"]*|[^"]*typical[^"]*)",\s*input:\s*(`[^`]*`|fmt\.Sprintf\([^\n]*\)|\w+),\s*want:\s*\[\]string\{([^}]*)\}'
)
_FORMATTED = re.compile(r'fmt\.Sprintf\((?:"((?:[^"\\]|\\.)*)"|`([^`]*)`),\s*(.*)\)$')


def detector_cases(folder: Path) -> Iterator[Case]:
    """Yield the texts with a secret from the tests of trufflehog's detectors, whose vendors are split by their names."""
    seen = set()
    for path in sorted(folder.rglob("*_test.go")):
        source = path.read_text(errors="replace")
        constants = {name: plain or raw for name, plain, raw in _CONSTANT.findall(source)}
        for written, wanted in _EXAMPLE.findall(source) if "integration" not in path.name else ():
            text = _example_text(written, constants)
            names = re.findall(r"\b[a-zA-Z]\w+\b", re.sub(r'"[^"]*"', "", wanted))
            values = re.findall(r'"([^"]+)"', wanted) + [constants.get(name, "") for name in names]
            secrets = tuple(one for one in values if len(one) >= 16 and one in text and not one.startswith("http"))
            if secrets and (text, secrets) not in seen:
                seen.add((text, secrets))
                vendor = path.relative_to(folder).parts[0]
                yield Case(vendor, "example", ("dev", "held")[zlib.crc32(vendor.encode()) % 2], text, secrets)


def _example_text(written: str, constants: dict[str, str]) -> str:
    if written.startswith("`"):
        return written[1:-1]
    if not (match := _FORMATTED.match(written)):
        return constants.get(written, "")
    plain, raw, names = match.groups()
    text = (plain or raw or "").replace("\\n", "\n").replace('\\"', '"')
    values = [constants.get(name.strip(), "") for name in names.split(",")]
    return text.replace("%s", "{}").format(*values) if text.count("%s") == len(values) and "{" not in text else ""


def gitleaks(path: Path) -> Redactor:
    """Return the rules of a gitleaks configuration as a redactor: keywords, patterns and entropy, without its allow lists."""
    rules = []
    for rule in tomllib.loads(path.read_text())["rules"]:
        source = (
            rule.get("regex", "").replace("(?-i:", "(?:").replace("[[:alnum:]]", "[A-Za-z0-9]").replace("\\z", "\\Z")
        )
        flags = re.IGNORECASE if "(?i)" in source else re.NOFLAG
        source = source.replace("(?i)", "").replace("(?s:.)", r"[\s\S]")
        if source:
            rules.append((rule.get("keywords", []), re.compile(source, flags), rule.get("entropy", 0)))

    def cleaned(text: str) -> str:
        lowered = text.lower()
        for keywords, pattern, least in rules:
            if keywords and not any(word.lower() in lowered for word in keywords):
                continue
            for match in list(pattern.finditer(text)):
                secret = next((group for group in match.groups() if group), match.group())
                if entropy(secret) >= least:
                    text = text.replace(secret, "<redacted>")
        return text

    return cleaned


def detect_secrets() -> Redactor | None:
    """Return detect-secrets with its default plugins, as it reads files, as a redactor, where it is installed."""
    try:
        scan_file = importlib.import_module("detect_secrets.core.scan").scan_file
        default_settings = importlib.import_module("detect_secrets.settings").default_settings
    except ImportError:
        return None

    def cleaned(text: str) -> str:
        with tempfile.NamedTemporaryFile("w", suffix=".txt", encoding="utf-8", errors="replace") as file:
            file.write(text)
            file.flush()
            with default_settings():
                for found in sorted(scan_file(file.name), key=lambda one: -len(one.secret_value or "")):
                    text = text.replace(found.secret_value, "<redacted>") if found.secret_value else text
        return text

    return cleaned


def harmless_files(roots: Iterable[Path]) -> Iterator[Path]:
    for root in roots:
        paths = sorted(root.rglob("*")) if root.is_dir() else [root]
        for path in paths:
            if path.is_file() and (path.suffix in {*TEXT_SUFFIXES, ".gz"} or path.name in {"METADATA", "RECORD"}):
                yield path


def read_text(path: Path) -> str:
    data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    return data.decode("utf-8", "replace")


def harmless_lines(roots: Iterable[Path], *, limit: int | None = None, per_file: int = 400) -> list[str]:
    """Distinct lines of real files; at most `per_file` of each, spread over it, so that no file dominates."""
    lines: dict[str, None] = {}
    for path in harmless_files(roots):
        own = [line for line in read_text(path).splitlines() if line.strip() and len(line) < 20_000]
        lines.update(dict.fromkeys(own[:: max(1, len(own) // per_file)]))
        if limit is not None and len(lines) >= limit:
            break
    return list(lines)[:limit]


def share_removed(planted: list[Planted]) -> dict[str, Any]:
    """How many secrets are gone, by kind; the misses are printed, since they are made up."""
    hit: Counter[str] = Counter()
    total = Counter(one.kind for one in planted)
    for one in planted:
        output = redact(one.text).text
        if one.leaks(output):
            print(f"  missed {one.kind}: {output[:150]!r}")
        else:
            hit[one.kind] += 1
    kinds = {kind: f"{hit[kind]}/{total[kind]}" for kind in sorted(total)}
    return {
        "planted": len(planted),
        "removed": sum(hit.values()),
        "percent": round(100 * sum(hit.values()) / len(planted), 2),
        "kinds": kinds,
    }


def share_altered(lines: list[str], *, show: int) -> dict[str, Any]:
    """How many harmless lines change, with the worst offenders by kind printed."""
    kinds: Counter[str] = Counter()
    altered = 0
    examples = []
    for line in lines:
        result = redact(line)
        if result.found:
            altered += 1
            kinds.update(set(result.found))
            at = result.text.find("<redacted:")
            examples.append(result.text[max(0, at - 70) : at + 60].strip())
    return {
        "lines": len(lines),
        "altered": altered,
        "percent": round(100 * altered / max(1, len(lines)), 3),
        "kinds": dict(kinds.most_common()),
        "altered_lines": examples[:show],
    }


def cpu_s(work: Callable[[], object]) -> float:
    started = time.process_time()
    work()
    return time.process_time() - started


def speed(path: Path) -> dict[str, Any]:
    """Throughput beside json.loads on the same bytes."""
    files = [p for p in harmless_files([path]) if p.suffix in {".jsonl", ".gz"}]
    texts = [line for p in files for line in read_text(p).splitlines() if line.startswith("{")]
    raw = [text.encode() for text in texts]
    values = [json.loads(line) for line in raw]
    megabytes = sum(map(len, raw)) / 1e6
    works: dict[str, Callable[[], object]] = {
        "json_loads": lambda: [json.loads(line) for line in raw],
        "may_hold_secret": lambda: [may_hold_secret(chunk) for chunk in chunks(raw)],
        "parse_and_redact": lambda: [parse_and_redact(chunk) for chunk in chunks(raw)],
        "redact_value": lambda: [redact_value(value) for value in values],
        "redact_text": lambda: [redact(text) for text in texts],
    }
    best = dict.fromkeys(works, float("inf"))
    for _ in range(9):  # interleaved, so that a busy moment of the machine touches all of them
        for name, work in works.items():
            best[name] = min(best[name], cpu_s(work))
    return {
        "megabytes": round(megabytes, 2),
        "flagged_lines": f"{sum(map(may_hold_secret, raw))}/{len(raw)}",
        "mb_per_cpu_s": {name: round(megabytes / seconds, 1) for name, seconds in best.items()},
        "parse_and_redact_of_json_loads": round(best["json_loads"] / best["parse_and_redact"], 2),
    }


def chunks(lines: list[bytes], *, size: int = 64_000) -> Iterator[bytes]:
    """Lines joined into pieces of about the given size, as a reader of large files would take them."""
    piece: list[bytes] = []
    length = 0
    for line in lines:
        piece.append(line)
        length += len(line)
        if length >= size:
            yield b"\n".join(piece)
            piece, length = [], 0
    if piece:
        yield b"\n".join(piece)


def parse_and_redact(chunk: bytes) -> list[Any]:
    """Ask once for the whole piece, and about single lines only where the answer was yes."""
    lines = chunk.split(b"\n")
    if not may_hold_secret(chunk):
        return [json.loads(line) for line in lines]
    return [redact_value(json.loads(line)).value if may_hold_secret(line) else json.loads(line) for line in lines]


HOSTILE: dict[str, str] = {
    "a": "a" * 1_000_000, "=": "=" * 1_000_000, "sk-": "sk-" * 300_000, "eyJ": "eyJ" * 300_000, "eyJ.": "eyJhbGciOi." * 90_000,
    "begin": ("-----BEGIN PRIVATE " + "KEY-----") * 10_000, "password=": "password=" * 100_000, 'token="': 'token="' * 140_000,
    "://a:": "://a:" * 200_000, "@://": "://" + "a@" * 500_000, "password ": "password " * 110_000, "key blanks": ("key" + " " * 60) * 16_000,
    "cookie": "cookie: " + "a=b;" * 250_000, "curl": "curl " * 200_000, "mysql": "mysql " * 160_000, "quotes": 'secret: "' + "\\" * 1_000_000,
    "dots": "a." * 500_000, "base64": "QUJD" * 250_000, "pass:": "pass:" * 200_000, "header": "user,password\n" * 70_000, "columns": "password, " * 110_000, "manifest": "kind: secret\ndata:\n  a: bcdefg\n" * 30_000,
    "json": '{"sensitive": true, "value": "' * 30_000, "promised": '{"kind": "Secret", "data": {' + ",".join(f'"k{n}": "v{n}abcdef"' for n in range(40_000)) + "}}", "op": "op read op://" * 70_000, "flags": "mysql -p " * 110_000,
    "as": "a." * 450_000 + " as the password", "vault": "vault read -field=" * 50_000, "key=": "?key=" * 200_000, "separators": "ak_" * 300_000, "echo": "echo $password\n" * 60_000, "colour": "password\x1b[0m" * 70_000, "bearer": "bearer " * 140_000,
}  # fmt: skip


def compare(path: Path, lines: list[str], detectors: list[Case]) -> dict[str, Any]:
    """Measure other rules on the same texts; harmless lines count where they change."""
    others: dict[str, Redactor | None] = {"gitleaks": gitleaks(path), "detect-secrets": detect_secrets()}
    return {
        name: {
            "formats": {
                half: share_of_cases((c for c in cases() if c.half == half), other) for half in ("dev", "held")
            },
            "situations_held": share_of_cases((c for c in situations() if c.half == "held"), other),
            "detectors_held": share_of_cases((c for c in detectors if c.half == "held"), other),
            "lines": len(lines),
            "altered": sum(old != new for old, new in zip(lines, other("\n".join(lines)).split("\n"), strict=True)),
        }
        for name, other in others.items()
        if other is not None
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, action="append", default=[], help="more harmless text, and speed on it")
    parser.add_argument(
        "--lines", type=Path, action="append", default=[], help="more harmless text: 150,000 lines of it"
    )
    parser.add_argument("--detectors", type=Path, help="the folder of trufflehog's detectors")
    parser.add_argument("--gitleaks", type=Path, help="a configuration of gitleaks")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results" / "redaction.json")
    parser.add_argument("--show", type=int, default=40, help="how many altered lines to keep")
    options = parser.parse_args()
    library, packages = (Path(sysconfig.get_path(name)) for name in ("stdlib", "purelib"))
    listing = subprocess.run([sys.executable, "-m", "pip", "list"], capture_output=True, text=True, check=False).stdout
    stdlib = harmless_lines(
        [library / name for name in ("json", "email", "http", "asyncio", "logging", "unittest")]
        + sorted(library.glob("*.py"))
    )
    groups = {"stdlib": stdlib, "packages": harmless_lines([packages], limit=150_000, per_file=60)}
    groups |= {"pip_list": listing.splitlines()} | {path.name: harmless_lines([path]) for path in options.data}
    groups |= {path.name: harmless_lines([path], limit=150_000, per_file=40) for path in options.lines}
    hostile = {name: round(cpu_s(functools.partial(redact, text)), 2) for name, text in HOSTILE.items()}
    detectors = list(detector_cases(options.detectors)) if options.detectors else []
    report = {
        "python": platform.python_version(),
        "first_look": FIRST_LOOK,
        "designed": share_removed(designed(500)),
        "widened": share_removed(spread(WIDENED, 300)) | {"percent_before_tuning": 58.0},
        "later": share_removed(spread(LATER, 310)) | {"percent_before_tuning": 85.48},
        "formats": {half: share_of_cases(c for c in cases() if c.half == half) for half in ("dev", "held")},
        "situations": {half: share_of_cases(c for c in situations() if c.half == half) for half in ("dev", "held")},
        "detectors": {half: share_of_cases(c for c in detectors if c.half == half) for half in ("dev", "held")},
        "harmless": {name: share_altered(lines, show=options.show) for name, lines in groups.items()},
        "hostile_slowest_s": max(hostile.values()),
        "hostile_cpu_s": hostile,
        "speed": {path.name: speed(path) for path in options.data},
    }
    if options.gitleaks:
        report["others"] = compare(
            options.gitleaks, [line for line in groups["packages"][:20_000] if "\r" not in line], detectors
        )
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(report, indent=1))


if __name__ == "__main__":
    main()
