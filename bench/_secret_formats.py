"""Made-up secrets for `bench/redaction.py`: token formats of vendors, and the carriers that hold passwords and keys.

Written from the vendors' published formats before the rules that they measure were read. A format is a pattern in which
`{X20}` stands for 20 random characters of the alphabet X; nothing in this file is a secret. Half of the kinds are for building
(`dev`), the other half (`held`) was measured for the first time when the rules were done, and then used to mend them; the
split is random by seed, over formats and carriers apart.
"""

from __future__ import annotations

import base64
import json
import random
import re
import string
from collections.abc import Callable, Iterator
from dataclasses import dataclass

SEED = 20261119
DRAWS = 6


@dataclass(frozen=True, slots=True)
class Case:
    """A text, and the parts of it that must not be stored."""

    kind: str
    group: str
    half: str
    text: str
    secrets: tuple[str, ...]

    def leaks(self, stored: str) -> bool:
        """Tell whether 12 characters in a row of a secret (or a whole shorter one) are still in the stored text."""
        return any(secret[at : at + 12] in stored for secret in self.secrets for at in range(max(1, len(secret) - 11)))


ALPHABETS = {
    "A": string.ascii_letters + string.digits,
    "L": string.ascii_letters,
    "U": string.ascii_uppercase + string.digits,
    "N": string.ascii_lowercase + string.digits,
    "H": "0123456789abcdef",
    "X": "0123456789ABCDEF",
    "D": string.digits,
    "B": string.ascii_letters + string.digits + "+/",
    "W": string.ascii_letters + string.digits + "-_",
    "i": "0123456789abcdef",
    "I": string.ascii_uppercase + string.digits,
    "5": "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567",
    "b": "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L",
    "k": "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz",
}
UUID = "{H8}-{H4}-4{H3}-a{H3}-{H12}"
HOLE = re.compile(r"\{([A-Za-z5])(\d+)\}")

# Recognisable by themselves: they stand in a text without a name.
FORMATS = {
    "aws access key": "AKIA{516}",
    "aws temporary key": "ASIA{516}",
    "aws session token": "IQoJb3JpZ2luX2Vj{B300}=",
    "aws bedrock key": "ABSKQmVkcm9ja0FQSUtleS{B110}==",
    "google api key": "AIza{W35}",
    "google access token": "ya29.a0{W180}",
    "google client secret": "GOCSPX-{W28}",
    "google refresh token": "1//0{W100}",
    "azure client secret": "{A3}8Q~{A34}",
    "azure devops token": "{A52}JQQJ99{A18}AZDO{A4}",
    "azure registry key": "{A42}+ACR{A6}",
    "azure function key": "{W44}AzFu{W4}==",
    "github classic": "ghp_{A36}",
    "github oauth": "gho_{A36}",
    "github app user": "ghu_{A36}",
    "github app server": "ghs_{A36}",
    "github refresh": "ghr_{A76}",
    "github fine-grained": "github_pat_{A22}_{A59}",
    "gitlab personal": "glpat-{W20}",
    "gitlab routable": "glpat-{W27}.01.{N9}",
    "gitlab trigger": "glptt-{H40}",
    "gitlab deploy": "gldt-{W20}",
    "gitlab runner": "glrt-{W20}",
    "gitlab runner registration": "GR1348941{W20}",
    "gitlab job": "glcbt-64_{W20}",
    "gitlab agent": "glagent-{W50}",
    "gitlab feed": "glft-{W20}",
    "slack bot": "xoxb-{D12}-{D13}-{A24}",
    "slack user": "xoxp-{D12}-{D12}-{D13}-{H32}",
    "slack app": "xapp-1-A{I10}-{D13}-{H64}",
    "slack configuration": "xoxe.xoxp-1-{B163}",
    "slack webhook": "https://hooks.slack.com/services/T{I8}/B{I10}/{A24}",
    "slack client token": "xoxc-{D12}-{D12}-{D13}-{H64}",
    "stripe live": "sk_live_{A99}",
    "stripe test": "sk_test_{A24}",
    "stripe restricted": "rk_live_{A99}",
    "stripe webhook": "whsec_{A32}",
    "twilio key": "SK{H32}",
    "sendgrid": "SG.{W22}.{W43}",
    "npm": "npm_{A36}",
    "pypi": "pypi-AgEIcHlwaS5vcmc{W150}",
    "rubygems": "rubygems_{H48}",
    "crates.io": "cio{A32}",
    "docker hub": "dckr_pat_{W27}",
    "docker organisation": "dckr_oat_{W32}",
    "hugging face": "hf_{L34}",
    "openai old": "sk-{A20}T3BlbkFJ{A20}",
    "openai project": "sk-proj-{W74}T3BlbkFJ{W74}",
    "openai service account": "sk-svcacct-{W74}T3BlbkFJ{W74}",
    "openai admin": "sk-admin-{W58}T3BlbkFJ{W58}",
    "anthropic": "sk-ant-api03-{W93}AA",
    "anthropic oauth": "sk-ant-oat01-{W93}AA",
    "groq": "gsk_{A52}",
    "replicate": "r8_{A37}",
    "xai": "xai-{A80}",
    "perplexity": "pplx-{A48}",
    "openrouter": "sk-or-v1-{H64}",
    "deepseek": "sk-{H32}",
    "fireworks": "fw_{A24}",
    "nvidia": "nvapi-{W64}",
    "cerebras": "csk-{N48}",
    "langsmith": "lsv2_pt_{H32}_{H10}",
    "langfuse": "sk-lf-" + UUID,
    "pinecone": "pcsk_{A6}_{A63}",
    "tavily": "tvly-{A32}",
    "e2b": "e2b_{H40}",
    "elevenlabs": "sk_{H48}",
    "firecrawl": "fc-{H32}",
    "vercel blob": "vercel_blob_rw_{A16}_{A30}",
    "netlify": "nfp_{A36}",
    "fly": "FlyV1 fm2_{B240}",
    "fly old": "fo1_{W43}",
    "digitalocean": "dop_v1_{H64}",
    "digitalocean refresh": "dor_v1_{H64}",
    "heroku": "HRKU-AA{W58}",
    "cloudflare origin": "v1.0-{H24}-{H146}",
    "databricks": "dapi{H32}-2",
    "newrelic user": "NRAK-{U27}",
    "newrelic insert": "NRII-{W32}",
    "newrelic licence": "{H36}NRAL",
    "sentry user": "sntryu_{H64}",
    "sentry organisation": "sntrys_eyJpYXQiOjE3{B120}_{B43}",
    "grafana service": "glsa_{A32}_{H8}",
    "grafana cloud": "glc_eyJvIjoi{B90}",
    "postman": "PMAK-{H24}-{H34}",
    "shopify access": "shpat_{H32}",
    "shopify shared": "shpss_{H32}",
    "square access": "EAAA{W60}",
    "square secret": "sq0csp-{W43}",
    "braintree": "access_token$production${N16}${H32}",
    "mailgun": "key-{H32}",
    "mailgun new": "{H32}-{H8}-{H8}",
    "mailchimp": "{H32}-us14",
    "brevo": "xkeysib-{H64}-{A16}",
    "resend": "re_{A8}_{A24}",
    "discord bot": "MTE{A23}.G{W5}.{W38}",
    "discord webhook": "https://discord.com/api/webhooks/{D18}/{W68}",
    "telegram": "{D10}:AA{W33}",
    "linear": "lin_api_{A40}",
    "notion": "ntn_{D11}{A35}",
    "notion old": "secret_{A43}",
    "figma": "figd_{W40}",
    "airtable": "pat{A14}.{H64}",
    "atlassian": "ATATT3xFfGF0{W170}={X8}",
    "bitbucket": "ATBB{A28}{X8}",
    "trello": "ATTA{H64}",
    "asana": "1/{D16}:{H32}",
    "vault service": "hvs.{W95}",
    "vault batch": "hvb.{W140}",
    "doppler": "dp.pt.{A43}",
    "doppler service": "dp.st.prd.{A43}",
    "1password service": "ops_eyJ{A250}",
    "1password secret key": "A3-{U6}-{U6}-{U5}-{U5}-{U5}-{U5}",
    "age": "AGE-SECRET-KEY-1{b58}",
    "tailscale": "tskey-auth-{A11}CNTRL-{A32}",
    "supabase": "sbp_{H40}",
    "supabase secret": "sb_secret_{W22}_{W8}",
    "planetscale": "pscale_tkn_{W43}",
    "planetscale password": "pscale_pw_{W43}",
    "neon": "napi_{N64}",
    "neon password": "npg_{A16}",
    "pulumi": "pul-{H40}",
    "terraform cloud": "{A14}.atlasv1.{W67}",
    "launchdarkly": "sdk-" + UUID,
    "mapbox": "sk.eyJ1Ijoi{A80}.{W22}",
    "plaid": "access-production-" + UUID,
    "dropbox": "sl.u.{W180}",
    "facebook": "EAAC{A170}",
    "instagram": "IGQVJ{A140}",
    "twitter bearer": "AAAAAAAAAAAAAAAAAAAAA{A30}%3D{A50}",
    "buildkite": "bkua_{H40}",
    "circleci": "CCIPAT_{A22}_{H40}",
    "sonarqube": "sqp_{H40}",
    "sourcegraph": "sgp_{H16}_{H40}",
    "artifactory": "AKCp{A69}",
    "artifactory reference": "cmVmdGtu{A56}",
    "prefect": "pnu_{A36}",
    "readme": "rdme_{N70}",
    "typeform": "tfp_{W59}",
    "contentful": "CFPAT-{W43}",
    "easypost": "EZAK{A54}",
    "duffel": "duffel_live_{W43}",
    "dynatrace": "dt0c01.{I24}.{U64}",
    "shippo": "shippo_live_{H40}",
    "flutterwave": "FLWSECK-{H32}-X",
    "adafruit": "aio_{A28}",
    "hubspot": "pat-na1-" + UUID,
    "infracost": "ico-{A32}",
    "clojars": "CLOJARS_{N60}",
    "openshift": "sha256~{W43}",
    "harness": "pat.{A22}.{H24}.{A20}",
    "octopus": "API-{U26}",
    "maxmind": "{A6}_{A29}_mmk",
    "wakatime": "waka_" + UUID,
    "posthog": "phx_{A43}",
    "honeycomb": "hcaik_{N58}",
    "jwt": "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiI{A60}.{W43}",
    "bitcoin key": "L{k51}",
}

BARE = (
    "{t}",
    "Use {t} for the call, it expires on Friday.",
    "The client answered with {t}.",
    "> {t}",
    "got back '{t}', trying again",
    "| 3 | {t} | active |",
    'client = connect("{t}")',
    "printf %s {t} | tool login --stdin",
    "[{t}]",
    "   1  {t}\n   2  # end",
    "Created. Copy it now, it is not shown again:\n\n    {t}\n",
    "({t}, eu-west-1)",
)

# Not recognisable by themselves: each stands under the names that the vendor's own docs use.
NAMED: dict[str, tuple[str, ...]] = {
    "aws secret": (
        "aws_secret_access_key = {B40}",
        '"SecretAccessKey": "{B40}",',
        "AKIA{516},{B40}",
        "export AWS_SECRET_ACCESS_KEY={B40}",
        "AWS Secret Access Key [None]: {B40}",
        "aws configure set aws_secret_access_key {B40}",
    ),
    "azure storage": (
        "DefaultEndpointsProtocol=https;AccountName=acc;AccountKey={B86}==;EndpointSuffix=core.windows.net",
        '{"keyName": "key1", "permissions": "FULL", "value": "{B86}=="}',
        "az storage blob list --account-name acc --account-key {B86}==",
        "AZURE_STORAGE_KEY={B86}==",
    ),
    "azure service bus": (
        "Endpoint=sb://ns.servicebus.windows.net/;SharedAccessKeyName=Root;SharedAccessKey={B43}=",
        "HostName=h.azure-devices.net;DeviceId=d1;SharedAccessKey={B43}=",
    ),
    "github old": ("github_token: {H40}", "GITHUB_TOKEN={H40}", "git clone https://{H40}@github.com/org/repo.git"),
    "twilio auth": (
        "TWILIO_AUTH_TOKEN={H32}",
        'Client("AC{i32}", "{H32}")',
        "curl -u AC{i32}:{H32} https://api.twilio.com/x",
    ),
    "cloudflare": ("CLOUDFLARE_API_TOKEN={W40}", "X-Auth-Key: {H37}", "CF_API_KEY: {H37}"),
    "datadog": ("DD_API_KEY={H32}", "DD-APPLICATION-KEY: {H40}", "api_key: {H32}\napp_key: {H40}"),
    "heroku old": ("HEROKU_API_KEY=" + UUID, "machine api.heroku.com\n  login a@b.co\n  password " + UUID),
    "algolia": ("ALGOLIA_ADMIN_KEY={H32}", "X-Algolia-API-Key: {H32}"),
    "okta": ("Authorization: SSWS 00{W40}", "OKTA_API_TOKEN=00{W40}"),
    "auth0": ("AUTH0_CLIENT_SECRET={W64}", '"client_secret": "{W64}"'),
    "mistral": ("MISTRAL_API_KEY={A32}", "mistral_api_key: {A32}"),
    "cohere": ("CO_API_KEY={A40}", "cohere.Client('{A40}')"),
    "wandb": ("WANDB_API_KEY={H40}", "wandb login {H40}"),
    "paypal": ("PAYPAL_CLIENT_SECRET=E{W79}", "paypal.secret=E{W79}"),
    "sentry dsn": ("SENTRY_DSN=https://{i32}:{H32}@sentry.example.com/4",),
    "asana token": ("ASANA_ACCESS_TOKEN=0/{H32}",),
    "ngrok": ("ngrok config add-authtoken {A27}_{A21}", "authtoken: {A27}_{A21}"),
    "jenkins": ("JENKINS_TOKEN=11{H32}", "curl --user admin:11{H32} http://jenkins/x"),
    "kubernetes bootstrap": (
        "kubeadm join 10.0.0.1:6443 --token {N6}.{N16} --discovery-token-unsafe-skip-ca-verification",
    ),
    "ethereum key": ("PRIVATE_KEY=0x{H64}", "cast send --private-key 0x{H64} 0xabc"),
    "vercel": ("VERCEL_TOKEN={A24}", "vercel deploy --token {A24}", "vercel --token={A24} --prod"),
    "snowflake": ("SNOWFLAKE_PASSWORD={A14}", "snowsql -a acc -u me -p {A14}"),
    "pagerduty": ("Authorization: Token token={W20}", "PAGERDUTY_TOKEN={W20}"),
    "rollbar": ("ROLLBAR_ACCESS_TOKEN={H32}", "X-Rollbar-Access-Token: {H32}"),
    "zendesk": ("curl -u a@b.co/token:{A40} https://x.zendesk.com/api/v2/tickets.json", "ZENDESK_API_TOKEN={A40}"),
}

WORDS = (
    "river falcon copper winter harbour maple signal orbit velvet thunder meadow rocket pepper canyon lantern".split()
)
NAMES = (
    "password",
    "db_password",
    "DB_PASSWORD",
    "secret",
    "api_key",
    "apiKey",
    "client_secret",
    "clientSecret",
    "access_token",
    "auth_token",
    "secret_key",
    "SECRET_KEY",
    "JWT_SECRET",
    "smtp_pass",
    "passphrase",
    "signing_key",
    "encryption_key",
    "webhook_secret",
    "POSTGRES_PASSWORD",
    "redis_password",
    "private_token",
    "session_secret",
    "admin_pwd",
    "refresh_token",
)


class Draw:
    """Random parts of a case, and the list of those that are secret."""

    def __init__(self, seed: str) -> None:
        """Start a draw that the seed alone decides."""
        self.random = random.Random(seed)
        self.secrets: list[str] = []

    def chars(self, alphabet: str, count: int) -> str:
        """Return random characters that are not secret."""
        return "".join(self.random.choices(ALPHABETS[alphabet], k=count))

    def fill(self, pattern: str) -> str:
        """Fill the holes of a pattern; what fills one of 8 or more characters is secret, but for digits and ids (i, I)."""

        def draw(hole: re.Match[str]) -> str:
            text = self.chars(hole[1], int(hole[2]))
            if len(text) >= 8 and hole[1] not in "DiI":
                self.secrets.append(text)
            return text

        filled = HOLE.sub(draw, pattern)
        return filled if self.secrets else self.keep(filled)

    def password(self) -> str:
        """Return a secret as people and generators make them: words with a number, or random characters."""
        pick = self.random.randrange(5)
        if pick == 0:
            text = f"{self.word().title()}{self.word().title()}{self.random.randrange(10, 9999)}{self.random.choice('!#*?')}"
        elif pick == 1:
            text = "-".join((self.word(), self.word(), self.word(), self.chars("D", 2)))
        elif pick == 2:
            text = self.chars("A", self.random.randrange(12, 24))
        elif pick == 3:
            text = self.chars("A", 6) + self.random.choice("!%*^") + self.chars("A", 7)
        else:
            text = self.chars("W", 32).strip("-_")
        return self.keep(text)

    def plain(self) -> str:
        """Return a secret of letters and digits."""
        return self.keep(self.chars("A", self.random.randrange(14, 33)))

    def keep(self, text: str) -> str:
        """Note a text as secret and return it."""
        self.secrets.append(text)
        return text

    def word(self) -> str:
        """Return a word that is not secret."""
        return self.random.choice(WORDS)

    def name(self) -> str:
        """Return a name under which people keep secrets."""
        return self.random.choice(NAMES)

    def block(self, lines: int = 12, width: int = 64) -> list[str]:
        """Return the lines of an armoured key; each is secret."""
        return [self.keep(self.chars("B", width)) for _ in range(lines)] + [self.keep(self.chars("B", 22)) + "=="]

    def encoded(self, text: str) -> str:
        """Return the Base64 of a text, secret in that form as well."""
        return self.keep(base64.b64encode(text.encode()).decode())


def _armour(label: str) -> tuple[str, str]:
    return f"-----BEGIN {label}-----", f"-----END {label}-----"


def _pem(label: str, joint: str = "\n", before: str = "", after: str = "") -> Callable[[Draw], str]:
    def make(d: Draw) -> str:
        begin, end = _armour(label)
        return before + joint.join([begin, *d.block(), end]) + after

    return make


def _cut_pem(d: Draw) -> str:
    return "\n".join([_armour("RSA PRIVATE KEY")[0], *d.block(6)[:-1], "[output cut]"])


def _pem_numbered(d: Draw) -> str:
    begin, end = _armour("PRIVATE KEY")
    return "\n".join(f"{number:6}\t{line}" for number, line in enumerate([begin, *d.block(), end], 1))


def _pem_diff(d: Draw) -> str:
    begin, end = _armour("EC PRIVATE KEY")
    return "--- /dev/null\n+++ b/key.pem\n@@ -0,0 +1,5 @@\n" + "\n".join(
        "+" + line for line in [begin, *d.block(3), end]
    )


def _pgp(d: Draw) -> str:
    begin, end = _armour("PGP PRIVATE KEY BLOCK")
    return "\n".join([begin, "", *d.block(), "=" + d.chars("B", 4), end])


def _yaml_pem(d: Draw) -> str:
    begin, end = _armour("PRIVATE KEY")
    return "tls:\n  key: |\n" + "\n".join("    " + line for line in [begin, *d.block(6), end]) + "\n  port: 443"


def _kubeconfig(d: Draw) -> str:
    certificate = d.chars("B", 400)
    key = d.encoded(_armour("RSA PRIVATE KEY")[0] + "\n" + d.chars("B", 300))
    return (
        "apiVersion: v1\nkind: Config\nclusters:\n- cluster:\n    server: https://10.0.0.1:6443\n  name: prod\nusers:\n- name: admin\n"
        f"  user:\n    client-certificate-data: {certificate}\n    client-key-data: {key}\n    token: {d.plain()}\n"
    )


def _kube_secret(d: Draw) -> str:
    return (
        "apiVersion: v1\nkind: Secret\nmetadata:\n  name: app\ntype: Opaque\ndata:\n"
        f"  username: YWRtaW4=\n  value: {d.encoded(d.password())}\n  url: {d.encoded('postgres://app:' + d.plain() + '@db/app')}\n"
    )


def _kube_secret_json(d: Draw) -> str:
    data = {"config": d.encoded(d.password() + d.plain()), "tls.key": d.encoded(d.plain() + d.plain())}
    return json.dumps({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "app"}, "data": data}, indent=2)


def _tfstate(d: Draw) -> str:
    outputs = {
        "endpoint": {"value": "db.internal:5432", "type": "string"},
        "admin": {"value": d.password(), "type": "string", "sensitive": True},
    }
    return json.dumps(
        {"version": 4, "terraform_version": "1.9.2", "serial": 12, "outputs": outputs, "resources": []}, indent=2
    )


def _tfstate_resource(d: Draw) -> str:
    attributes = {"id": "db-1", "username": "app", "result": d.password(), "bcrypt_hash": None, "length": 20}
    resource = {"mode": "managed", "type": "random_password", "name": "db", "instances": [{"attributes": attributes}]}
    return json.dumps({"version": 4, "terraform_version": "1.9.2", "resources": [resource]}, indent=2)


def _service_account(d: Draw) -> str:
    begin, end = _armour("PRIVATE KEY")
    key = "\n".join([begin, *d.block(), end, ""])
    return json.dumps(
        {"type": "service_account", "private_key_id": d.chars("H", 40), "private_key": key, "client_email": "a@p.iam"},
        indent=2,
    )


def _docker_config(d: Draw) -> str:
    return json.dumps({"auths": {"registry.example.com": {"auth": d.encoded("robot:" + d.password())}}}, indent=1)


def _escaped_json(d: Draw) -> str:
    inner = json.dumps({"host": "db", "password": d.password(), "retries": 3})
    return json.dumps({"event": "config", "body": inner})


def _twice_escaped(d: Draw) -> str:
    return json.dumps({"log": _escaped_json(d)})


def _jupyter(d: Draw) -> str:
    return json.dumps(
        {"cells": [{"cell_type": "code", "source": ["import os\n", f'api_key = "{d.plain()}"\n']}]}, indent=1
    )


def _base64_env(d: Draw) -> str:
    return f"$ cat env.b64\n{d.encoded('DB_HOST=db' + chr(10) + 'DB_PASSWORD=' + d.password() + chr(10) + 'API_TOKEN=' + d.plain() + chr(10))}\n"


def _csv(d: Draw) -> str:
    return f"user,email,password,active\nmira,m@example.com,{d.plain()},yes\nolav,o@example.com,{d.plain()},no"


def _markdown_table(d: Draw) -> str:
    return f"| service | user | password |\n| --- | --- | --- |\n| db | app | `{d.password()}` |\n| queue | app | {d.password()} |"


def _padded_table(d: Draw) -> str:
    return f" key           | value\n---------------+------------------\n db_host       | db.internal\n db_password   | {d.password()}\n(2 rows)"


def _secrets_list(d: Draw) -> str:
    return f"NAME          VALUE\nregion        eu-west-1\nAPI_TOKEN     {d.plain()}\nSMTP_PASSWORD {d.plain()}"


def _helm_values(d: Draw) -> str:
    return f"auth:\n  username: app\n  existingSecret: \"\"\n  password: {d.password()}\n  replicationPassword: '{d.password()}'\nreplicas: 3"


def _compose(d: Draw) -> str:
    return f"services:\n  db:\n    image: postgres:16\n    environment:\n      POSTGRES_USER: app\n      POSTGRES_PASSWORD: {d.password()}\n      TZ: UTC"


def _env_list(d: Draw) -> str:
    return f"env:\n  - name: DB_PASSWORD\n    value: {d.password()}\n  - name: LOG_LEVEL\n    value: debug"


def _task_definition(d: Draw) -> str:
    environment = [{"name": "PORT", "value": "8080"}, {"name": "API_SECRET", "value": d.password()}]
    return json.dumps({"containerDefinitions": [{"name": "web", "environment": environment}]}, indent=2)


def _parameters(d: Draw) -> str:
    return json.dumps(
        {"Parameter": {"Name": "/app/db/password", "Type": "SecureString", "Value": d.password(), "Version": 2}},
        indent=4,
    )


def _secret_string(d: Draw) -> str:
    return json.dumps(
        {
            "Name": "prod/db",
            "VersionId": "x",
            "SecretString": json.dumps({"username": "app", "password": d.password()}),
        },
        indent=4,
    )


def _secret_string_plain(d: Draw) -> str:
    return (
        f"$ aws secretsmanager get-secret-value --secret-id prod/x --query SecretString --output text\n{d.password()}\n"
    )


def _op_read(d: Draw) -> str:
    return f"$ op read op://Prod/database/password\n{d.password()}\n"


def _pass_show(d: Draw) -> str:
    return f"$ pass show web/console\n{d.password()}\nlogin: mira\n"


def _vault_table(d: Draw) -> str:
    return f"$ vault kv get secret/app\n====== Data ======\nKey         Value\n---         -----\nuser        app\npassword    {d.password()}\napi_key     {d.plain()}"


def _gcloud_secret(d: Draw) -> str:
    return f"$ gcloud secrets versions access latest --secret=db\n{d.password()}\n$ "


def _kubectl_decode(d: Draw) -> str:
    return f"$ kubectl get secret app -o jsonpath='{{.data.password}}' | base64 -d\n{d.password()}\n"


def _gh_auth(d: Draw) -> str:
    return f"$ gh auth token\n{d.plain()}\n"


def _print_env(d: Draw) -> str:
    return f"$ printenv DATABASE_PASSWORD\n{d.password()}\n$ ls\nsrc"


def _keychain(d: Draw) -> str:
    return f'$ security find-generic-password -s api -g\nclass: "genp"\npassword: "{d.password()}"\n'


def _openssl_rand(d: Draw) -> str:
    return f"$ export SIGNING_KEY=$(openssl rand -hex 32) && echo $SIGNING_KEY\n{d.keep(d.chars('H', 64))}\n"


def _az_credentials(d: Draw) -> str:
    return json.dumps({"appId": "0b1c", "displayName": "ci", "password": d.plain(), "tenant": "7f2e"}, indent=2)


def _az_token(d: Draw) -> str:
    token = "eyJ0eXAiOiJKV1Qi." + d.fill("eyJhdWQiOiJo{A200}.{W300}")
    return json.dumps({"accessToken": token, "expiresOn": "2026-01-01 10:00:00", "tokenType": "Bearer"}, indent=2)


def _aws_sts(d: Draw) -> str:
    credentials = {
        "AccessKeyId": d.fill("ASIA{516}"),
        "SecretAccessKey": d.fill("{B40}"),
        "SessionToken": d.fill("Fwo{B260}"),
    }
    return json.dumps({"Credentials": credentials}, indent=4)


def _kafka(d: Draw) -> str:
    return f'sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required username="app" password="{d.password()}";'


def _maven(d: Draw) -> str:
    return f"<servers>\n  <server>\n    <id>nexus</id>\n    <username>deploy</username>\n    <password>{d.password()}</password>\n  </server>\n</servers>"


def _web_config(d: Draw) -> str:
    return f'<connectionStrings><add name="Main" connectionString="Server=db;Database=app;User Id=sa;Password={d.password()};Encrypt=True"/></connectionStrings>'


def _app_settings(d: Draw) -> str:
    return f'<appSettings>\n  <add key="SmtpHost" value="mail"/>\n  <add key="SmtpPassword" value="{d.password()}" />\n</appSettings>'


def _nuget(d: Draw) -> str:
    return f'<packageSourceCredentials>\n  <feed>\n    <add key="Username" value="ci" />\n    <add key="ClearTextPassword" value="{d.password()}" />\n  </feed>\n</packageSourceCredentials>'


def _python_dict(d: Draw) -> str:
    return f"config = {{'host': 'db', 'user': 'app', 'password': '{d.password()}', 'port': 5432}}"


def _python_call(d: Draw) -> str:
    return f'conn = psycopg2.connect(host="db", dbname="app", user="app", password="{d.password()}")'


def _python_repr(d: Draw) -> str:
    return f"Settings(debug=False, database_url='sqlite://', secret_key='{d.password()}', api_token=SecretStr('{d.plain()}'))"


def _python_bytes(d: Draw) -> str:
    return f"app.secret_key = b'{d.plain()}'\nfernet = Fernet(b'{d.fill('{W43}')}=')"


def _js_object(d: Draw) -> str:
    return f"module.exports = {{\n  host: 'db',\n  apiKey: '{d.plain()}',\n  clientSecret: `{d.password()}`,\n}};"


def _typescript(d: Draw) -> str:
    return f'const JWT_SECRET: string = process.env.JWT_SECRET ?? "{d.password()}";'


def _go(d: Draw) -> str:
    return f'cfg := Config{{Addr: "db:5432", Password: "{d.password()}"}}\nvar apiToken = "{d.plain()}"\nconst signingKey = "{d.plain()}"'


def _java(d: Draw) -> str:
    return (
        f'private static final String DB_PASSWORD = "{d.password()}";\nprops.setProperty("password", "{d.password()}");'
    )


def _csharp(d: Draw) -> str:
    return f'new NetworkCredential("app", "{d.password()}");'


def _ruby(d: Draw) -> str:
    return f"config.secret_key_base = '{d.keep(d.chars('H', 128))}'\n  :password => '{d.password()}',"


def _rust(d: Draw) -> str:
    return (
        f'let client = Client::builder().password("{d.password()}").build();\nlet api_key = "{d.plain()}".to_string();'
    )


def _php(d: Draw) -> str:
    return f"define( 'DB_PASSWORD', '{d.password()}' );\ndefine('AUTH_KEY',         '{d.fill('{A50}')}');"


def _hcl(d: Draw) -> str:
    return f'provider "x" {{\n  region   = "eu"\n  username = "app"\n  password = "{d.password()}"\n}}\nvariable "db_password" {{\n  type      = string\n  default   = "{d.password()}"\n  sensitive = true\n}}'


def _tfvars(d: Draw) -> str:
    return (
        f'region         = "eu-west-1"\nmaster_password = "{d.password()}"\napi_tokens = {{\n  main = "{d.plain()}"\n}}'
    )


def _ansible(d: Draw) -> str:
    return f'all:\n  vars:\n    ansible_user: deploy\n    ansible_become_pass: {d.password()}\n    ansible_ssh_pass: "{d.password()}"'


def _inventory(d: Draw) -> str:
    return f"[web]\nweb1 ansible_host=10.0.0.4 ansible_user=root ansible_password={d.password()} ansible_port=22"


def _multi_yaml(d: Draw) -> str:
    return f"credentials:\n  api_key: >-\n    {d.plain()}\n  name: prod"


def _json_split(d: Draw) -> str:
    return f'{{\n  "token":\n    "{d.plain()}",\n  "port": 80\n}}'


def _shell_continued(d: Draw) -> str:
    return f'curl -s https://api.example.com/v1/x \\\n  -H "Accept: application/json" \\\n  -H "X-Api-Key: {d.plain()}" \\\n  -d @body.json'


def _heredoc(d: Draw) -> str:
    return f"cat > .env <<'EOF'\nDEBUG=0\n{d.name().upper()}={d.password()}\nEOF"


def _diff(d: Draw) -> str:
    return f"@@ -3,4 +3,4 @@\n host: db\n-password: {d.password()}\n+password: {d.password()}\n port: 5432"


def _diff_env(d: Draw) -> str:
    return f"-API_KEY={d.plain()}\n+API_KEY={d.plain()}\n+REGION=eu"


def _grep(d: Draw) -> str:
    return f"config/prod.yml:14:  db_password: {d.password()}\nsrc/settings.py:8:SECRET_KEY = '{d.password()}'"


def _numbered(d: Draw) -> str:
    return f"     1\u2192DEBUG=1\n     2\u2192{d.name()}={d.password()}\n     3\u2192PORT=80"


def _ansi(d: Draw) -> str:
    return f"\x1b[36mpassword\x1b[0m: \x1b[32m{d.plain()}\x1b[0m"


def _actions_log(d: Draw) -> str:
    return f"2026-03-04T10:11:12.1234567Z   env:\n2026-03-04T10:11:12.1234567Z     DEPLOY_TOKEN: {d.plain()}\n2026-03-04T10:11:12.2Z ##[debug]DB_PASSWORD = {d.password()}"


def _xtrace(d: Draw) -> str:
    return f"+ export PGPASSWORD={d.plain()}\n+ PGPASSWORD={d.plain()}\n+ psql -h db -c 'select 1'"


def _digest_dump(d: Draw) -> str:
    return f"> POST /login HTTP/1.1\n> Host: x\n> Authorization: Basic {d.encoded('mira:' + d.password())}\n> Accept: */*\n< HTTP/1.1 200 OK\n< Set-Cookie: session={d.plain()}; Path=/; HttpOnly"


def _lines(*templates: str) -> Callable[[Draw], str]:
    """Make a carrier of one-line templates: `<p>` is a password, `<t>` letters and digits, `<n>` a name for secrets."""

    def make(d: Draw) -> str:
        text = d.random.choice(templates)
        text = re.sub("<n>", lambda _: d.name(), text)
        text = re.sub("<N>", lambda _: d.name().upper(), text)
        text = re.sub("<t>", lambda _: d.plain(), text)
        text = re.sub("<p>", lambda _: d.password(), text)
        text = re.sub("<b>", lambda _: d.encoded("mira:" + d.password()), text)
        return d.fill(text)

    return make


CARRIERS: dict[str, Callable[[Draw], str]] = {
    "yaml": _lines("db:\n  user: app\n  <n>: <p>\n  port: 5432", 'db:\n  <n>: "<p>"\n', "- <n>: '<p>'"),
    "json": _lines('{"user": "app", "<n>": "<p>", "port": 1}', '{\n  "<n>": "<p>"\n}', '{"a":{"<n>":"<p>"}}'),
    "toml": _lines('[auth]\nuser = "app"\n<n> = "<p>"', "[a]\n<n> = '<p>'"),
    "ini": _lines("[db]\nuser = app\n<n> = <p>", "[db]\n<n>=<p>", "; prod\n<n>: <p>"),
    "env file": _lines("PORT=80\n<N>=<p>\nDEBUG=1", 'export <N>="<p>"', "<N>='<p>'"),
    "java properties": _lines("spring.datasource.<n>=<p>", "app.<n> = <p>", "mail.smtp.password: <p>"),
    "netrc": _lines("machine api.example.com login mira password <p>", "machine h\nlogin mira\npassword <p>"),
    "pgpass": _lines("db.internal:5432:app:mira:<t>", "*:*:*:postgres:<t>"),
    "my.cnf": _lines("[client]\nuser=app\npassword=<p>", '[client]\npassword="<p>"'),
    "npmrc": _lines("//registry.npmjs.org/:_authToken=<t>", "//npm.example.com/:_password=<t>", "_auth=<b>"),
    "pip.conf": _lines(
        "[global]\nfind-links = https://mira:<t>@pypi.example.com/simple",
        "proxy = http://mira:<t>@proxy.example.com:3128",
    ),
    "pypirc": _lines("[pypi]\nusername = __token__\npassword = <t>"),
    "docker config": _docker_config,
    "kubeconfig": _kubeconfig,
    "kubernetes secret": _kube_secret,
    "kubernetes secret json": _kube_secret_json,
    "tfstate output": _tfstate,
    "tfstate resource": _tfstate_resource,
    "service account": _service_account,
    "pem": _pem("RSA PRIVATE KEY"),
    "pem in one line": _pem("PRIVATE KEY", "\\n", 'KEY="', '"'),
    "pem joined by spaces": _pem("PRIVATE KEY", " ", "got: "),
    "pem cut": _cut_pem,
    "pem numbered": _pem_numbered,
    "pem in a diff": _pem_diff,
    "pem in yaml": _yaml_pem,
    "openssh key": _pem("OPENSSH PRIVATE KEY"),
    "encrypted key": _pem("ENCRYPTED PRIVATE KEY"),
    "pgp key": _pgp,
    "putty key": _lines(
        "PuTTY-User-Key-File-3: ssh-ed25519\nPublic-Lines: 1\nAAAA\nPrivate-Lines: 1\n{B64}\nPrivate-MAC: {i64}"
    ),
    "wireguard": _lines("[Interface]\nPrivateKey = {B43}=\nAddress = 10.0.0.2/24", "[Peer]\nPresharedKey = {B43}="),
    "jwk": _lines('{"kty":"EC","crv":"P-256","d":"{W43}","x":"abc","y":"def"}'),
    "basic auth in url": _lines(
        "git clone https://mira:<t>@git.example.com/a.git", "origin\thttps://mira:<t>@h.example.com/a (fetch)"
    ),
    "curl user": _lines(
        "curl -u mira:<p> https://h/x", "curl --user 'mira:<p>' https://h", "wget --user=a --password=<p> https://h"
    ),
    "curl header": _lines(
        "curl -H 'Authorization: Bearer <t>' h", 'curl --header "X-Auth-Token: <t>" h', 'curl -H "PRIVATE-TOKEN: <t>" h'
    ),
    "keytool": _lines("keytool -genkey -storepass <p> -keypass <p> -alias a", "jarsigner -storepass <p> a.jar key"),
    "openssl": _lines(
        "openssl rsa -in k -passin pass:<p>",
        "openssl enc -aes-256-cbc -k <p> -in a",
        "openssl pkcs12 -export -passout pass:<p>",
    ),
    "op read": _op_read,
    "pass show": _pass_show,
    "vault table": _vault_table,
    "vault command": _lines("vault kv put secret/app password=<p>", "vault login <t>", "VAULT_TOKEN=<t> vault status"),
    "gcloud secret": _gcloud_secret,
    "kubectl decode": _kubectl_decode,
    "kubectl create": _lines(
        "kubectl create secret generic db --from-literal=password=<p>",
        "kubectl create secret generic x --from-literal=value='<p>'",
    ),
    "kubectl registry": _lines("kubectl create secret docker-registry r --docker-username=a --docker-password=<p>"),
    "gh auth token": _gh_auth,
    "print variable": _print_env,
    "keychain": _keychain,
    "generated key": _openssl_rand,
    "az credentials": _az_credentials,
    "az token": _az_token,
    "aws sts": _aws_sts,
    "aws parameter": _parameters,
    "aws secret json": _secret_string,
    "aws secret text": _secret_string_plain,
    "mysql flag": _lines(
        "mysql -u root -p<t> app", "mysqldump --password=<p> app", "mysql -uroot -p'<p>' -e 'select 1'"
    ),
    "sshpass": _lines("sshpass -p <p> ssh root@h", "sshpass -p '<p>' scp a root@h:"),
    "redis flag": _lines("redis-cli -h r -a <p> ping", "redis-cli --pass <p> ping", "AUTH <t>\n+OK", "requirepass <p>"),
    "docker environment": _lines(
        "docker run -e POSTGRES_PASSWORD=<p> postgres",
        "docker run --env API_KEY=<t> app",
        "docker build --build-arg NPM_TOKEN=<t> .",
    ),
    "docker login": _lines(
        "docker login -u mira -p <p> r.example.com",
        "echo <t> | docker login -u mira --password-stdin",
        "docker login --password <p>",
    ),
    "helm set": _lines(
        "helm install a b --set auth.password=<p>", "helm upgrade a b --set-string db.rootPassword=<p>,x=1"
    ),
    "gh secret": _lines(
        "gh secret set DEPLOY --body <t>", 'gh secret set K -b"<t>"', "echo '<t>' | gh secret set DEPLOY"
    ),
    "cli token flag": _lines(
        "tool login --token <t>",
        "tool --api-key=<t> run",
        "tool --client-secret '<p>' run",
        "twine upload -u __token__ -p <t> dist/*",
    ),
    "database url": _lines(
        "postgresql://app:<t>@db:5432/app", "DATABASE_URL=mysql://app:<t>@db/app?x=1", "mssql+pyodbc://sa:<t>@h/d"
    ),
    "jdbc": _lines(
        "jdbc:postgresql://db/app?user=app&password=<t>",
        "jdbc:sqlserver://h;user=sa;password=<p>;encrypt=true",
        "jdbc:oracle:thin:app/<t>@//h:1521/x",
    ),
    "ado.net": _lines("Server=db;Database=app;User Id=sa;Password=<p>;", "Data Source=h;UID=sa;PWD=<t>"),
    "amqp and mongo": _lines(
        "amqp://app:<t>@mq:5672/%2f", "mongodb+srv://app:<t>@c.mongodb.net/app", "redis://:<t>@cache:6379/0"
    ),
    "libpq": _lines("host=db user=app password=<p> dbname=app", "psql 'host=db password=<t>'"),
    "sas url": _lines(
        "https://a.blob.core.windows.net/c?sv=2022-11-02&sp=r&sig={A42}%3D",
        "?sv=2020&se=2030-01-01&sr=c&sig={A40}%2B%3D",
    ),
    "presigned url": _lines(
        "https://b.s3.amazonaws.com/k?X-Amz-Credential=x&X-Amz-Signature={H64}",
        "https://storage.googleapis.com/b/o?X-Goog-Signature={H128}",
    ),
    "token in query": _lines(
        "GET /cb?code=1&access_token=<t>&state=2",
        "https://h/x?api_key=<t>",
        "https://h/#access_token=<t>&type=b",
        "wss://h/ws?token=<t>",
    ),
    "cookies": _lines(
        "Cookie: sid=<t>; theme=dark", "Set-Cookie: session_id=<t>; Path=/", "cookie: connect.sid=s%3A<t>"
    ),
    "cookie jar": _lines("h.example.com\tFALSE\t/\tTRUE\t1893456000\tsessionid\t<t>"),
    "authorization": _lines(
        "Authorization: Bearer <t>",
        "Authorization: Basic <b>",
        "authorization: token <t>",
        "Proxy-Authorization: Basic <b>",
        "Authorization: ApiKey <t>",
    ),
    "digest headers": _digest_dump,
    "header object": _lines(
        'headers = {"Authorization": "Bearer <t>"}',
        "{'x-api-key': '<t>', 'accept': '*/*'}",
        '"authorization": ["Basic <b>"]',
    ),
    "form body": _lines(
        "grant_type=password&username=a&password=<t>&scope=x", "client_id=a&client_secret=<t>", "user=a&pass=<t>"
    ),
    "multipart": _lines('Content-Disposition: form-data; name="password"\r\n\r\n<p>\r\n--x'),
    "maven": _maven,
    "web.config": _web_config,
    "app settings": _app_settings,
    "nuget": _nuget,
    "soap": _lines(
        "<wsse:Password Type='x#PasswordText'><p></wsse:Password>",
        "<ns:ApiKey><t></ns:ApiKey>",
        '<user name="a" password="<p>"/>',
    ),
    "powershell": _lines(
        '$env:API_KEY = "<t>"',
        "$password = ConvertTo-SecureString '<p>' -AsPlainText -Force",
        "Set-Item Env:TOKEN <t>",
        "-Credential (New-Object PSCredential('a',(ConvertTo-SecureString \"<p>\" -AsPlainText -Force)))",
    ),
    "batch": _lines("set DB_PASSWORD=<t>", 'setx API_TOKEN "<t>"', "net use Z: \\\\srv\\x <t> /user:mira"),
    "fish": _lines("set -gx API_TOKEN <t>", "set -x DB_PASSWORD '<p>'"),
    "python dict": _python_dict,
    "python call": _python_call,
    "python repr": _python_repr,
    "python bytes": _python_bytes,
    "python assignment": _lines(
        '<n> = "<p>"',
        "os.environ['<N>'] = '<p>'",
        "os.getenv('<N>', '<p>')",
        "<n>: str = '<p>'",
        "auth=('mira', '<p>')",
    ),
    "javascript": _js_object,
    "typescript": _typescript,
    "go": _go,
    "java": _java,
    "c sharp": _csharp,
    "ruby": _ruby,
    "rust": _rust,
    "php": _php,
    "sql": _lines(
        "CREATE USER app IDENTIFIED BY '<p>';",
        "ALTER ROLE app WITH PASSWORD '<p>';",
        "create login x with password = '<p>'",
        "SET PASSWORD FOR a = '<p>'",
        "dblink('host=h user=a password=<t>')",
    ),
    "sql insert": _lines(
        "INSERT INTO users (name, password) VALUES ('mira', '<p>');", "UPDATE users SET password = '<p>' WHERE id = 1"
    ),
    "hcl": _hcl,
    "tfvars": _tfvars,
    "terraform flag": _lines(
        "terraform apply -var db_password=<p>",
        "terraform plan -var='api_token=<t>'",
        "TF_VAR_master_password=<p> terraform apply",
    ),
    "ansible": _ansible,
    "ansible inventory": _inventory,
    "helm values": _helm_values,
    "compose": _compose,
    "name and value": _env_list,
    "task definition": _task_definition,
    "folded yaml": _multi_yaml,
    "json over two lines": _json_split,
    "continued command": _shell_continued,
    "here document": _heredoc,
    "diff": _diff,
    "diff of env": _diff_env,
    "grep output": _grep,
    "numbered file": _numbered,
    "coloured": _ansi,
    "actions log": _actions_log,
    "shell trace": _xtrace,
    "kafka": _kafka,
    "escaped json": _escaped_json,
    "twice escaped json": _twice_escaped,
    "notebook": _jupyter,
    "base64 of env": _base64_env,
    "csv": _csv,
    "markdown table": _markdown_table,
    "psql table": _padded_table,
    "list of secrets": _secrets_list,
    "htpasswd": _lines(
        "htpasswd -b .htpasswd mira <p>",
        "echo 'mira:<p>' | chpasswd",
        "useradd -p '<p>' mira",
        "net user mira <p> /add",
    ),
    "ldap": _lines("ldapsearch -D cn=a -w <p> -b dc=x", "bindpw <p>", "bind_password: <p>"),
    "smb and vpn": _lines("smbclient //h/s -U mira%<p>", "psk=<p>", "wpa_passphrase net <p>"),
    "git credentials": _lines(
        "https://mira:<t>@github.com",
        "protocol=https\nhost=github.com\nusername=mira\npassword=<t>",
        "git config http.extraheader 'AUTHORIZATION: basic <b>'",
    ),
    "prose": _lines(
        "The password is <p>, please log in.",
        "my api key: <t>",
        "use mira / <p> as login and password",
        "Your temporary password is: <p>",
        "password for mira changed to '<p>'",
    ),
    "prompt": _lines("Password: <p>\nLogin ok", "Enter passphrase: <p>", "Token? <t>"),
    "totp": _lines("otpauth://totp/x:mira?secret={532}&issuer=x", "TOTP secret: {532}"),
    "seed phrase": _lines("mnemonic: <p> <p>", "recovery codes:\n<t>\n<t>"),
    "rails and django": _lines(
        "SECRET_KEY = 'django-insecure-{A50}'", "RAILS_MASTER_KEY={H32}", "secret_key_base: {H128}"
    ),
    "laravel": _lines("APP_KEY=base64:{B43}="),
    "ci variables": _lines(
        "variables:\n  DEPLOY_TOKEN: <t>",
        "gitlab-runner register --registration-token <t>",
        "travis encrypt TOKEN=<t>",
        "fly secrets set KEY=<t>",
        "heroku config:set SECRET=<t>",
        "wrangler secret put X <<< <t>",
    ),
    "systemd": _lines("Environment=DB_PASSWORD=<t>", 'Environment="API_KEY=<t>" "X=1"'),
    "proc environment": _lines("PATH=/bin\x00DB_PASSWORD=<t>\x00HOME=/root\x00"),
    "traceback": _lines(
        '  File "a.py", line 3\n    login(password="<p>")\nAuthError: bad',
        "OperationalError: connection to postgresql://app:<t>@db failed",
    ),
    "logfmt": _lines(
        'level=info msg="login" user=mira password=<t> took=3ms', "login ok {user=mira, password=<t>, ip=1}"
    ),
    "graphql": _lines(
        'mutation { login(user: "a", password: "<p>") { id } }', '{"variables":{"input":{"password":"<p>"}}}'
    ),
    "protobuf text": _lines('user: "a"\npassword: "<p>"\nport: 1', "credentials { api_key: '<t>' }"),
    "plist": _lines("<key>Password</key>\n<string><p></string>", "<key>apiToken</key><string><t></string>"),
    "nginx": _lines('proxy_set_header Authorization "Basic <b>";', 'proxy_set_header X-Api-Key "<t>";'),
    "url encoded json": _lines("data=%7B%22password%22%3A%22<t>%22%7D"),
}


def _split(kinds: list[str]) -> dict[str, str]:
    order = sorted(kinds)
    random.Random(SEED).shuffle(order)
    return {kind: ("dev", "held")[at % 2] for at, kind in enumerate(order)}


def cases() -> Iterator[Case]:
    """Yield every case: each kind of format and carrier in `DRAWS` draws."""
    halves = _split(list(FORMATS)) | _split(list(NAMED)) | _split(list(CARRIERS))
    for number in range(DRAWS):
        for kind, pattern in FORMATS.items():
            draw = Draw(f"{SEED} {kind} {number}")
            text = draw.random.choice(BARE).replace("{t}", draw.fill(pattern))
            yield Case(kind, "token", halves[kind], text, tuple(draw.secrets))
        for kind, patterns in NAMED.items():
            draw = Draw(f"{SEED} {kind} {number}")
            text = draw.fill(patterns[number % len(patterns)])
            yield Case(kind, "named token", halves[kind], text, tuple(draw.secrets))
        for kind, make in CARRIERS.items():
            draw = Draw(f"{SEED} {kind} {number}")
            text = make(draw)
            yield Case(kind, "carrier", halves[kind], text, tuple(draw.secrets))
