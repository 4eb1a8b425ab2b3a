"""Planted traps: does a learner name what fixes a failure that a project meets again and again?

Real sessions rarely hold the same failure with the same fix twice, so measures at failures say little there. `make` takes real
transcripts and inserts artificial calls in the client's own format: one systematic trap per stream, met by a share of the past
sessions and by most future ones. `score` replays the future sessions through an adapter and reads the result off `truth.json`.

    python bench/traps.py make SESSIONS OUT --seed N [--streams NAME ...] [--trap KIND ...]
    python bench/traps.py score OUT [--adapter FILE] [--json FILE]

SESSIONS is made by ../shared/tools/wild/sessions.py. Even seeds draw from one half of the variants and words and are for tuning;
odd seeds draw from the other half and are for reports (`--pool` overrides this). Kinds: wrapper (for some the
wrapped command fails and the plain one works), formatter, generator, flag, install, moved, edit. Between failure and fix the agent looks
around, tries what does not help and does other work. Elsewhere there are failures that happen once, failures of the same command
for another reason, and commands that print errors but succeed.

right   what was shown at the failure, or before the call, names the fix; wrong: it does not; silent: nothing was shown.
warned  named before the failing call, or earlier in one item together with the command that fails.
false   share of all other moments at which something was shown, by kind of moment; `advice: met once` is the share of fixes seen
        once in the past that the start or a prompt's answer names.

Only the first trap failure of an episode counts. Intervals draw whole planted streams.
"""

from __future__ import annotations

import argparse
import importlib
import json
import random
import re
import shutil
import sys
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from types import ModuleType
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
TOOLS = ROOT.parent / "shared/tools/score"
KINDS = ("wrapper", "formatter", "generator", "flag", "install", "moved", "edit")
PAST, FUTURE = 11, 5  # sessions of a planted stream
LINES, CHARACTERS = 400, 600_000  # a transcript is cut at a clean boundary before this
LEAST_PLACES = 4  # a session with fewer places to insert something is left out

# -- words that differ from one planted stream to the next; each pool gets every other one ------------------------------------

WORDS = {
    "task": "rates quotas badges routes glyphs tariffs ledgers menus icons schemas zones catalog prices holidays units palettes".split(),
    "script": "dev kit run-in hive box shed forge crate stage dock".split(),
    "host": "buildbox lab-3 ci-runner gpu-01 deploy@staging forge.internal me@10.0.4.7 devvm".split(),
    "mod": "billing ledger atlas mercury harbor quartz lantern meadow orchid falcon comet delta".split(),
    "svc": "app web api worker backend core gateway server".split(),
    "var": "CONFIRM_ENV ALLOW_DIRTY LOCAL_STACK USE_FAKES OFFLINE SKIP_SIGN SANDBOX NO_TTY".split(),
}
ITEMS = (
    "login cart invoice search upload report parser session cache queue export webhook avatar tag filter audit".split()
)

# -- variants; `{a}` is an argument that changes from one occurrence to the next ----------------------------------------------

# fmt: off
ARGUMENTS = {
    "pytest": ("", "-q", "-x", "tests/unit", "tests/test_{item}.py", "-k {item}"),
    "cargo": ("", "--workspace", "-p {item}", "--release"),
    "go": ("./...", "./internal/{item}/...", "./cmd/..."),
    "npm": ("", "-- --run", "-- src/{item}.test.ts"),
    "make": ("", "-j4", "V=1"),
    "quiet": ("", "-q"),
    "none": ("",),
}
# Ecosystem, command, arguments, error of a wrong version.
PROGRAMS = (
    ("rust", "cargo nextest run", "cargo", "error: package `{mod} v0.4.0` cannot be built because it requires rustc 1.88.0 or newer, while the currently active rustc version is 1.79.0"),
    ("python", "pytest {a}", "pytest", 'ImportError: cannot import name "StrEnum" from "enum" (/usr/lib/python3.9/enum.py)'),
    ("go", "golangci-lint run {a}", "go", "can't load config: the Go language version (go1.22) used to build golangci-lint is lower than the targeted Go version (1.25)"),
    ("node", "pnpm vitest {a}", "none", 'ERR_PNPM_UNSUPPORTED_ENGINE  Unsupported environment (bad pnpm and/or Node.js version): expected ">=22.12", got v18.19.1'),
    ("other", "terraform plan", "none", "Error: Unsupported Terraform Core version: this configuration does not support version 1.3.9"),
    ("python", "alembic upgrade head", "none", "SyntaxError: invalid syntax (env.py, line {n}): match statements need 3.10"),
    ("other", "mix test", "none", "** (Mix) You're trying to run :{mod} on Elixir v1.13.4 but it has declared in its mix.exs file it supports only ~> 1.17"),
    ("node", "ng test {a}", "none", "The Angular CLI requires a minimum Node.js version of v20.19. Installed: v16.20.2"),
    ("python", "mypy src {a}", "none", "error: --python-version 3.13 is newer than the interpreter (3.9.6)"),
    ("other", "zig build test", "none", "build.zig.zon:{n}: error: unknown field; zig 0.11.0 is older than the package format"),
    ("rust", "cargo leptos build", "none", "error: failed to parse manifest: feature `edition2024` is required; this Cargo does not support it (1.76.0)"),
    ("other", "swift test", "none", "error: package '{mod}' is using Swift tools version 6.1.0 but the installed version is 5.9.2"),
    ("go", "mage verify", "none", "go: go.mod requires go >= 1.25.0 (running go 1.22.2; GOTOOLCHAIN=local)"),
    ("node", "turbo test {a}", "none", "SyntaxError: Unexpected token 'with' (import attributes are not supported by node 16)"),
    ("other", "helm lint charts/{svc}", "none", "Error: chart requires kubeVersion: >=1.30.0 which is incompatible with helm v3.2.4"),
    ("python", "mkdocs build {a}", "none", "Error: MkDocs encountered an error parsing the configuration: unknown plugin API 2 on 1.2.3"),
    ("other", "sqlfluff lint models", "none", "pkg_resources.VersionConflict: (click 7.1.2, Requirement.parse('click>=8.1'))"),
    ("other", "hugo build", "none", 'Error: module "{mod}" is not compatible with this Hugo version 0.92.2; need extended'),
)
# Ecosystem, wrapper of {c}, what must be named.
WRAPPERS = (
    ("*", "mise exec -- {c}", "mise exec --"),
    ("python", "uv run {c}", "uv run "),
    ("*", "docker compose exec {svc} {c}", "docker compose exec {svc}"),
    ("*", "nix develop -c {c}", "nix develop -c"),
    ("*", "ssh {host} '{c}'", "ssh {host}"),
    ("*", "./{script} run {c}", "./{script} run"),
    ("python", "poetry run {c}", "poetry run "),
    ("*", "devbox run -- {c}", "devbox run --"),
    ("python", "pixi run {c}", "pixi run "),
    ("*", "direnv exec . {c}", "direnv exec ."),
    ("*", "docker compose run --rm {svc} {c}", "docker compose run --rm {svc}"),
    ("*", "bin/in-{svc} {c}", "bin/in-{svc}"),
    ("*", "just shell {c}", "just shell"),
    ("*", "podman exec {mod}-{svc} {c}", "podman exec {mod}-{svc}"),
    ("node", "volta run {c}", "volta run "),
    ("node", "fnm exec {c}", "fnm exec "),
    ("*", "kubectl exec deploy/{svc} -- {c}", "kubectl exec deploy/{svc}"),
    ("*", "vagrant ssh -c '{c}'", "vagrant ssh -c"),
)
NOT_FOUND = (
    "/bin/bash: line 1: {p}: command not found",
    "zsh:1: command not found: {p}",
    "bash: {p}: Kommando nicht gefunden.",
    "/usr/bin/env: ‘{p}’: No such file or directory",
    "bash: {p} : commande introuvable",
    "sh: 1: {p}: not found",
    "bash: {p}: コマンドが見つかりません",
    "fish: Unknown command: {p}",
    "bash: {p}: orden no encontrada",
    "{p} : The term '{p}' is not recognized as a name of a cmdlet, function, script file, or executable program.",
)
# By the first word of the wrapper.
WRAPPER_FAILS = {
    "mise": "mise ERROR no tool set for this shim in {cwd}/mise.toml",
    "uv": "error: Failed to spawn process\n  Caused by: Permission denied (os error 13)",
    "docker": 'service "{svc}" is not running',
    "nix": "error: experimental Nix feature 'flakes' is disabled",
    "ssh": "ssh: connect to host port 22: Operation timed out",
    "poetry": "The current project's supported Python range is not compatible with some of the required packages",
    "devbox": "Error: error: unable to download 'https://cache.nixos.org/{hex}.narinfo': Couldn't resolve host name",
    "pixi": "  × lock-file not up-to-date with the workspace",
    "direnv": "direnv: error {cwd}/.envrc is blocked.",
    "podman": "Error: no container with that name or ID: no such container",
    "volta": "Volta error: Could not unpack toolchain",
    "fnm": "error: Can't find an installed Node version matching v22.x",
    "kubectl": "error: unable to upgrade connection: container not found",
    "vagrant": "VM must be running to open SSH connection.",
    "just": "error: Recipe could not be run because of an IO error: Bad file descriptor",
    "": "Abbruch: Laufzeitumgebung nicht erreichbar (Zeitüberschreitung)",
}
# Check, its arguments, error, fix.
FORMATTERS = (
    ("npm run lint {a}", "npm", "✖ {n} problems ({n} errors, 0 warnings)", "npm run lint:fix"),
    ('git commit -m "{msg}"', "none", "style check failed: {n} files are not formatted", "cargo fmt"),
    ("make lint {a}", "make", "gofumpt: {n} files differ from what the tool would write", "make fmt"),
    ("ruff check src {a}", "quiet", "I001 [*] Import block is un-sorted or un-formatted", "ruff format src"),
    ("pnpm check", "none", "Formatter would have printed the following content:", "pnpm biome format --write"),
    ("just ci", "none", "{n} files differ from their canonical style", "just tidy"),
    ("mix quality", "none", "** (Mix) {n} files do not follow the project style", "mix format"),
    ("./gradlew check", "none", "Execution failed for task ':spotlessJavaCheck'. > The following files had format violations:", "./gradlew spotlessApply"),
    ('git commit -am "{msg}"', "none", "husky - pre-commit script failed (code {n})", "yarn prettier --write src"),
    ("tox -e style", "none", "would reformat {src}", "black ."),
    ("./{script} verify", "none", "Formatierungsfehler in {n} Dateien", "./{script} tidy-{task}"),
    ("make {task}-check {a}", "make", "整形されていないファイルがあります: {src}", "make {task}-style"),
    ("composer cs:check", "none", "FOUND {n} ERRORS AFFECTING {n} LINES (PSR12)", "composer cs:fix"),
    ("cargo clippy --workspace", "none", "error: this expression borrows a value the compiler would automatically borrow", "cargo clippy --fix --allow-dirty"),
    ("dart analyze", "none", "info • Unnecessary use of multiple underscores • {src}:{n}:{n} • unnecessary_underscores", "dart fix --apply"),
    ("bundle exec rubocop {a}", "none", "{n} files inspected, {n} offenses detected", "bundle exec rubocop -A"),
    ("tflint --recursive", "none", "Notice: {src} is not laid out canonically (layout_rule)", "terraform fmt -recursive"),
    ("npm run verify", "none", "[warn] Code style issues found in {n} files.", "npm run {task}:pretty"),
    ("buf lint", "none", "{src}:{n}:1:Files must keep the canonical layout", "buf format -w"),
    ("dotnet build -warnaserror", "none", "error IDE0055: Fix formatting [{cwd}/{mod}.csproj]", "dotnet format"),
    ("swiftlint --strict", "none", "{src}:{n}: error: Trailing Whitespace Violation: Lines should not have trailing whitespace", "swiftlint --fix"),
    ("task {task}:gate", "none", "Le style de {n} fichiers n'est pas conforme", "task {task}:style"),
)
# Build or test, its arguments, error, fix.
GENERATORS = (
    ("cargo build {a}", "cargo", "error: couldn't read `src/generated/{task}.rs`: No such file or directory (os error 2)", "make {task}"),
    ("pnpm test {a}", "npm", "Error: Cannot find module './__generated__/{task}'", "pnpm codegen"),
    ("go build {a}", "go", "{src}:{n}:{n}: undefined: {mod}Strings", "go generate ./..."),
    ("go test {a}", "go", "no required module provides package example.com/{mod}/gen/{task}/v1", "buf generate"),
    ("pytest {a}", "pytest", "E   ModuleNotFoundError: No module named '{mod}_pb2'", "make proto"),
    ("npm run build", "none", '{src}({n},{n}): error TS2305: Module \'"@prisma/client"\' has no exported member \'{mod}\'', "npx prisma generate"),
    ("./gradlew build", "none", "error: package org.{mod}.tables does not exist", "./gradlew generateJooq"),
    ("mix test", "none", '** (File.Error) could not read file "priv/{task}.bin": no such file or directory', "mix {task}_build"),
    ("npx tsc --noEmit", "none", '{src}({n},{n}): error TS2322: Type \'"{item}"\' is not assignable to type \'RouteId\'.', "pnpm routes:types"),
    ("dotnet test", "none", "error CS0246: The type or namespace name '{mod}Resources' could not be found", "./build.sh resources"),
    ("flutter test", "none", "Error: Error when reading 'lib/{mod}.g.dart': No such file or directory", "dart run build_runner build"),
    ("ctest --output-on-failure", "none", "fixtures/{task}.dat is older than schema/{task}.yaml", "python tools/make_{task}.py"),
    ("make test {a}", "make", "veraltete Datei: {task}.lock stimmt nicht mit der Quelle überein", "./{script} {task}"),
    ("cargo test {a}", "cargo", "thread 'bindings_are_current' panicked at tests/{mod}.rs:{n}:5: bindings are out of date", "cargo xtask bindings"),
    ("yarn build", "none", "エラー: {task} の定義が古くなっています", "yarn gen:{task}"),
    ("go vet {a}", "go", "{src}:{n}:12: pattern assets/*: no matching files found", "make assets"),
    ("npm run typecheck", "none", "{src}({n},{n}): error TS2339: Property '{item}' does not exist on type 'Messages'.", "npm run i18n:extract"),
    ("bundle exec rspec", "none", "ActiveRecord::PendingMigrationError: Migrations are pending.", "bin/rails db:migrate"),
    ("helm template charts/{svc}", "none", "Error: values don't meet the specifications of the schema(s) in the following chart(s): {svc}", "make chart-schema"),
    ("mvn verify", "none", "[ERROR] {src}:[{n},{n}] cannot find symbol: class {mod}Mapper_", "mvn generate-sources"),
    ("swift build", "none", "error: missing required module '{mod}FFI'", "./scripts/build-bindings.sh"),
    ("deno task {svc}", "none", 'error: Module not found "file://{cwd}/gen/{task}.ts".', "deno task {task}"),
)
# Command that fails, its arguments, command that works, what must be named, error.
FLAGS = (
    ("pnpm test:ui {a}", "npm", "CI=1 {c}", "CI=1", "Error: Raw mode is not supported on the current process.stdin"),
    ("npm install", "none", "npm install --legacy-peer-deps", "--legacy-peer-deps", "npm error ERESOLVE could not resolve\nnpm error While resolving: {mod}@1.{n}.0"),
    ("go install ./cmd/{mod}", "none", "GOFLAGS=-mod=mod {c}", "GOFLAGS=-mod=mod", "go: inconsistent vendoring in {cwd}:"),
    ('git commit --quiet -m "{msg}"', "none", 'git commit --no-gpg-sign -m "{msg}"', "--no-gpg-sign", "error: gpg failed to sign the data\nfatal: failed to write commit object"),
    ("cargo sqlx migrate", "none", "SQLX_OFFLINE=true {c}", "SQLX_OFFLINE=true", "error: error communicating with database: Connection refused (os error 111)"),
    ("pytest -n auto {a}", "pytest", "pytest -p no:xdist {a}", "no:xdist", "INTERNALERROR> execnet.gateway_base.DumpError: can't serialize <class 'posix'>"),
    ("npm run bundle", "none", "NODE_OPTIONS=--openssl-legacy-provider {c}", "openssl-legacy-provider", "Error: error:0308010C:digital envelope routines::unsupported"),
    ("docker build -t {mod} .", "none", "docker build --platform linux/amd64 -t {mod} .", "--platform", "exec /usr/local/bin/entry: exec format error"),
    ("terraform apply {a}", "none", "terraform apply -lock=false", "-lock=false", "Error: Error acquiring the state lock\n  ID: {hex}"),
    ("npx playwright test {a}", "none", "npx playwright test --workers=1", "--workers", "browserType.launch: Target page, context or browser has been closed"),
    ("make smoke {a}", "make", "DB_PORT=5433 {c}", "DB_PORT=5433", 'psycopg.OperationalError: connection failed: connection to server at "127.0.0.1", port 5432 failed'),
    ("pip install -r requirements.txt", "none", "pip install --break-system-packages -r requirements.txt", "--break-system-packages", "error: externally-managed-environment"),
    ("git push origin HEAD", "none", "git push --no-verify origin HEAD", "--no-verify", "pre-push: lfs ist nicht installiert\nerror: failed to push some refs to 'origin'"),
    ("python manage.py test {a}", "none", "DJANGO_SETTINGS_MODULE={mod}.settings.ci {c}", "DJANGO_SETTINGS_MODULE", "django.core.exceptions.ImproperlyConfigured: The SECRET_KEY setting must not be empty."),
    ("mvn install", "none", "mvn install -DskipITs", "-DskipITs", "java.lang.IllegalStateException: Could not find a valid Docker environment."),
    ("bin/rails test {a}", "none", "PARALLEL_WORKERS=1 {c}", "PARALLEL_WORKERS=1", "SQLite3::BusyException: database is locked"),
    ("yarn install", "none", "yarn install --ignore-engines", "--ignore-engines", 'error @{mod}/core@2.{n}.0: The engine "node" is incompatible with this module.'),
    ("./gradlew assemble", "none", "./gradlew assemble --no-daemon", "--no-daemon", "Gradle build daemon disappeared unexpectedly (it may have been killed or may have crashed)"),
    ("flutter build apk", "none", "flutter build apk --no-tree-shake-icons", "--no-tree-shake-icons", "This application cannot render icon fonts: IconData at {src}:{n} is not constant"),
    ("uv sync", "none", "uv sync --native-tls", "--native-tls", "  Caused by: invalid peer certificate: UnknownIssuer"),
    ("ansible-playbook site.yml {a}", "quiet", "ANSIBLE_HOST_KEY_CHECKING=False {c}", "ANSIBLE_HOST_KEY_CHECKING", "fatal: [{svc}-{n}]: UNREACHABLE! => Host key verification failed."),
    ("./{script} publish", "none", "{var}=1 ./{script} publish", "{var}=1", "abgebrochen: Umgebung nicht bestätigt"),
    ("dotnet restore", "none", "dotnet restore --ignore-failed-sources", "--ignore-failed-sources", "error NU1301: Unable to load the service index for source https://pkgs.{mod}.example/v3/index.json"),
    ("make {task} {a}", "make", "{var}=1 {c}", "{var}=1", "致命的エラー: 対話モードでしか実行できません"),
)
# Command, its arguments, error, fix.
INSTALLS = (
    ("pytest {a}", "pytest", "E   ModuleNotFoundError: No module named '{mod}'", "pip install -e .[dev]"),
    ("npm test {a}", "npm", "sh: 1: vitest: not found", "npm ci"),
    ("pnpm build", "none", "WARN   Local package.json exists, but node_modules missing", "pnpm install --frozen-lockfile"),
    ("cargo deny check", "none", "error: no such command: `deny`", "cargo install cargo-deny"),
    ("npx playwright test {a}", "none", "browserType.launch: Executable doesn't exist at {home}/ms-playwright/chromium-{n}/chrome", "npx playwright install chromium"),
    ("golangci-lint run {a}", "go", 'level=error msg="[linters_context] plugin({mod}): plugin.Open: realpath failed"', "make tools"),
    ("make docs {a}", "make", "/bin/sh: 1: sphinx-build: not found", "uv sync --group docs"),
    ("bundle exec rspec", "none", "Could not find rack-{n}.1.2 in locally installed gems (Bundler::GemNotFound)", "bundle install"),
    ("composer test", "none", "PHP Fatal error:  Uncaught Error: Failed opening required '{cwd}/vendor/autoload.php'", "composer install"),
    ("terraform plan", "none", "Error: Inconsistent dependency lock file", "terraform init -upgrade"),
    ("cargo build --target wasm32-unknown-unknown", "none", "error[E0463]: can't find crate for `std`", "rustup target add wasm32-unknown-unknown"),
    ('git commit -m "{msg}"', "none", "hook runner is not present on this machine (.git/hooks/pre-commit: line {n})", "./{script} setup"),
    ("python -m build", "none", "/usr/bin/python: No module named build", "python -m pip install build"),
    ("make {task} {a}", "make", "protoc-gen-{mod}: program not found or is not executable", "go install ./tools/protoc-gen-{mod}"),
    ("cmake --build build", "none", "{src}:{n}:10: fatal error: zlib.h: No such file or directory", "sudo apt-get install -y zlib1g-dev"),
    ("just check", "none", "Fehler: Programm „{mod}“ fehlt auf diesem Rechner", "brew bundle"),
    ("dart test", "none", "Error: Couldn't resolve the package '{mod}' in 'package:{mod}/{mod}.dart'.", "dart pub get"),
    ("helm lint charts/{svc}", "none", "[ERROR] Chart.yaml: chart directory is missing these dependencies: {mod}", "helm dependency build charts/{svc}"),
    ("ansible-playbook ops/{task}.yml", "none", "ERROR! couldn't resolve module/action 'community.{mod}.container'.", "ansible-galaxy collection install -r requirements.yml"),
    ("poetry check", "none", "The requested command {mod}-check does not exist.", "poetry self add poetry-plugin-{mod}"),
    ("yarn lint", "none", "Internal Error: {mod}@workspace:.: This package doesn't seem to be present in your lockfile", "yarn install"),
    ("make e2e {a}", "make", "pilote de navigateur introuvable", "npm run setup:browsers"),
)
# Command, error, old path, new path.
MOVES = (
    ("python {p} {a}", "python: can't open file '{cwd}/{p}': [Errno 2] No such file or directory", "scripts/seed_{task}.py", "tools/db/seed_{task}.py"),
    ("pytest {p} {a}", "ERROR: file or directory not found: {p}", "tests/test_{task}.py", "tests/http/v2/test_{task}.py"),
    ("kubectl apply -f {p}", 'error: the path "{p}" does not exist', "config/{svc}.yaml", "deploy/base/{svc}.yaml"),
    ("npx tsx {p} {a}", "Error [ERR_MODULE_NOT_FOUND]: Cannot find module '{cwd}/{p}'", "src/{svc}/main.ts", "apps/{svc}/src/main.ts"),
    ("npx vitest run {p}", "No test files found, exiting with code 1\nfilter: {p}", "e2e/{task}.spec.ts", "packages/e2e/specs/{task}.spec.ts"),
    ("psql -f {p}", "{p}: Aucun fichier ou dossier de ce type", "db/{task}.sql", "migrations/seed/{task}.sql"),
    ("bash {p} {a}", "bash: {p}: Datei oder Verzeichnis nicht gefunden", "bin/{mod}.sh", "tools/ci/{mod}.sh"),
    ("ansible-playbook {p} {a}", "ERROR! the playbook: {p} could not be found", "playbooks/{task}.yml", "ops/ansible/{task}.yml"),
    ("mypy {p}", "mypy: can't read file '{p}': No such file or directory", "{mod}/cli.py", "src/{mod}/commands/cli.py"),
    ("ruby {p} {a}", "ruby: No existe el fichero o el directorio -- {p} (LoadError)", "lib/{task}.rb", "engines/{mod}/lib/{task}.rb"),
    ("node {p} {a}", "Error: Cannot find module '{cwd}/{p}'\n    at Module._resolveFilename (node:internal/modules/cjs/loader:1{n}:15)", "server/{task}.js", "backend/jobs/{task}.mjs"),
    ("ruff check {p}", "{p}:1:1: E902 No such file or directory (os error 2)", "examples/{mod}.py", "docs/snippets/{mod}_basic.py"),
    ("go run ./{p} {a}", "stat {cwd}/{p}: directory not found", "cmd/{mod}", "services/{mod}/cmd"),
    ("terraform -chdir={p} validate", "Error handling -chdir option: chdir {p}: no such file or directory", "terraform/{svc}", "infra/live/{svc}"),
    ("./{p} {a}", "zsh:1: no such file or directory: ./{p}", "hack/{task}.sh", "build/steps/{task}.sh"),
    ("buf lint {p}", "Failure: {p} にファイルがありません", "proto/{mod}", "api/proto/v1/{mod}"),
    ("docker build -f {p} .", "ERROR: failed to solve: failed to read dockerfile: open {p}: no such file or directory", "Dockerfile.{svc}", "docker/{svc}/Dockerfile"),
    ("jq .version {p}", "jq: error: Could not open file {p}: No such file or directory", "fixtures/{task}.json", "testdata/{task}/v2.json"),
)
# Command, its arguments, error, file to edit, old line, new line.
EDITS = (
    ("terraform plan", "none", "Error: Unsupported provider constraint for hashicorp/{mod}", "versions.tf", 'version = "~> 4.{n}"', 'version = "~> 5.{n}"'),
    ("cargo build {a}", "cargo", "error: toolchain '1.7{n}' lacks component '{mod}-preview'", "rust-toolchain.toml", 'channel = "1.70"', 'channel = "1.88"'),
    ("npm run build", "none", "Unknown icon '{item}' used in {src}:{n}", "icon-registry.ts", "  'arrow',", "  'arrow',\n  '{item}',"),
    ("pytest {a}", "pytest", "E   Failed: '{item}' not found in `markers` configuration option", "tox.ini", "markers =", "markers =\n    {item}"),
    ("make preflight {a}", "make", "service {item} has no owner on record", "CODEOWNERS.yml", "services:", "services:\n  {item}: team-{mod}"),
    ("go build {a}", "go", "current directory is contained in a module that is not one of the workspace modules", "go.work", "use (", "use (\n\t./{item}"),
    ("pnpm spell", "none", "{src}:{n}:{n} - Unknown word ({item}x)", "project-words.txt", "{mod}", "{mod}\n{item}x"),
    ("bazel build //...", "none", "ERROR: no such package '@{mod}//': The repository could not be resolved", "MODULE.bazel", "bazel_dep()", 'bazel_dep(name = "{mod}")'),
    ("mix test", "none", "** (KeyError) key :{item}_url not found in application environment", "config/test.exs", "import Config", 'import Config\nconfig :{mod}, {item}_url: ""'),
    ("./{script} check", "none", "エラー: 権限 {item} が登録されていません", "permissions.ja.yml", "roles:", "roles:\n  - {item}"),
    ("yarn lint", "none", "Dependency on '{item}' is forbidden in layer {mod}", "layers.config.cjs", "allow: [", "allow: [\n  '{item}',"),
    ("docker compose up -d {svc}", "none", "Error response from daemon: driver failed programming external connectivity: port is already allocated", "compose.override.yml", "- 5432:5432", "- 5{n}:5432"),
    ("helm upgrade {svc} charts/{svc}", "none", "Error: UPGRADE FAILED: quota exceeded: requested {n} cpu", "values-{mod}.yaml", "cpu: 4", "cpu: 1"),
    ("npm run typecheck", "none", "{src}({n},{n}): error TS2304: Cannot find name '__{item}__'.", "globals.d.ts", "declare const", "declare const __{item}__: string"),
    ("cargo deny check", "none", "error[rejected]: failed to satisfy license requirements for {item}-sys", "about.toml", "accepted = [", 'accepted = [\n  "{item}",'),
    ("./gradlew test", "none", "Der Test {item} ist nicht in der Freigabeliste eingetragen", "freigaben.properties", "version=3", "version=3\n{item}=ok"),
    ("make {task} {a}", "make", "rate limit table has no row for {item}", "limits.csv", "name,limit", "name,limit\n{item},{n}"),
    ("go test {a}", "go", '{src}:{n}: feature gate "{item}" is not declared', "gates.json", "[", '[\n  "{item}",'),
    ("bundle exec rake {task}", "none", "traduction manquante: fr.{item}.title", "locales/fr.yml", "fr:", "fr:\n  {item}: x"),
    ("tox -e types", "none", 'error: Skipping analyzing "{item}": module is installed, but missing library stubs', "setup.cfg", "[mypy]", "[mypy-{item}.*]\nignore_missing_imports = True"),
)
TEST_FAILURES = (
    "AssertionError: expected {n} to equal {n}\n    at {src}:{n}:{n}",
    "--- FAIL: TestHandle_{item} (0.0{n}s)\n    {src}:{n}: got {n}, want {n}",
    "thread 'tests::{item}' panicked at {src}:{n}:9:\nassertion `left == right` failed\n  left: {n}\n right: {n}",
    "FAILED {src}::test_{item} - assert {n} == {n}\n1 failed, {n} passed in 2.{n}s",
    'Expected: "{item}"\nReceived: undefined\n\n  {n} |   expect(render({item}))',
    "  {n}) {item} rejects an empty value:\n     TypeError: Cannot read properties of undefined (reading '{item}')",
)
LEADING = (
    "> {mod}@1.{n}.0 start\n> node tools/run.js",
    "   Compiling {item} v0.{n}.1 ({cwd}/crates/{item})\nwarning: unused variable: `{item}`",
    "[{time}] INFO  loading {n} plugins",
    "Resolving dependencies... ({n} ms)",
    "npm warn deprecated {item}@2.{n}.0: this version is no longer supported",
    "DEBUG pid={n} session={hex}",
    "(node:{n}) ExperimentalWarning: this feature is subject to change",
    "..........................................................  [ {n}%]",
    "Loaded config from {home}/.config/{mod}/settings.{n}",
)
TRAILING = (
    "make: *** [Makefile:{n}] Error 1",
    " ELIFECYCLE  Command failed with exit code 1.",
    "A complete log of this run can be found in: {home}/_logs/{time}-debug-0.log",
    "{n} done, {n} skipped in {n}.{n}s",
    "See https://docs.example.com/errors/{hex} for details",
    "Process finished ({time}), trace id {hex}",
    "Fertig nach {n} ms",
    "error: script exited with 1",
)
SHAPES = (
    "error: {e}",
    "[{time}] ERROR [worker-{n}] {e}",
    "\x1b[31m✗\x1b[0m {e}",
    '{{"level":"error","ts":"{time}","msg":{json},"req":"{hex}"}}',
    'Traceback (most recent call last):\n  File "{cwd}/{src}", line {n}, in <module>\n    main()\nRuntimeError: {e}',
)
PASSED = (
    "ok",
    "{n} passed in {n}.{n}s",
    "Finished in {n}.{n}s ({n} checks)",
    "✓ {n} tasks",
    "Done in {n}ms.",
    "All checks passed!",
    "{n} tests, 0 failures",
    "Erledigt.",
    "    Finished `dev` profile target(s) in {n}.{n}s",
)
# Command and output, as in the lists below.
LOOKS = (
    ("ls -la", "total {n}\ndrwxr-xr-x  {n} user  staff  96 .\n-rw-r--r--  1 user  staff  {n} README.md"),
    ("cat package.json | head -40", '{{"name": "{mod}", "version": "1.{n}.0"}}'),
    ("grep -rn '{item}' --include='*.md' . | head", "docs/{item}.md:{n}: about {item}"),
    ("git status --short", " M {src}"),
    ("git log --oneline -5", "{hex} fix {item}\n{hex} add {item}"),
    ("sed -n '1,60p' Makefile", ".PHONY: all\nall:\n\t@echo {item}"),
    ("rg -n {item} src | head -20", "{src}:{n}: {item}"),
    ("find . -maxdepth 2 -name '*.toml' | head", "./{item}.toml"),
)
UNHELPFUL = (
    ("rm -rf node_modules/.cache", ""),
    ("git stash && git stash pop", "Saved working directory\nDropped refs/stash@{{0}} ({hex})"),
    ("cargo clean", "     Removed {n} files, {n}.1MiB total"),
    ("npm cache verify", "Cache verified and compressed\nContent verified: {n}"),
    ("git pull --rebase", "Already up to date."),
    ("go clean -cache", ""),
    ("touch {src}", ""),
    ("find . -name __pycache__ -exec rm -rf {{}} +", ""),
    ("git checkout -- {src}", "Updated 1 path from the index"),
    ("docker system prune -f", "Total reclaimed space: {n}MB"),
)
UNRELATED = (
    ("git add -A", ""),
    ("mkdir -p tmp/{item}", ""),
    ("git fetch origin", "From origin\n   {hex}..{hex}  main -> origin/main"),
    ("git diff --stat", " {src} | {n} +++--\n 1 file changed"),
    ("gh pr view {n}", "title: {item}\nstate: OPEN"),
    ("wc -l {src}", "{n} {src}"),
    ("cp {src} /tmp/{item}.bak", ""),
)
# They succeed although their output looks like a failure.
PRINTED_ERRORS = (
    ("cat logs/{item}.log", "{time} ERROR request {hex} failed: connection reset by peer\n{time} INFO retrying"),
    ("git grep -n 'command not found'", "docs/{item}.md:{n}: bash: tool: command not found"),
    ("npm audit --omit=dev", "{n} vulnerabilities ({n} moderate)\nSome issues need review"),
    ("gh run view {n} --log-failed", "build\tUNKNOWN STEP\t{time} ##[error]Process completed with exit code 1."),
    ("node tools/report.js", "Error: {item} has no owner (ignored)\nreport written"),
    ("./scripts/lint-soft.sh", "warning: {n} problems\nerror: {src}: ignored by baseline"),
)
SAYS = ("Let me check that.", "Running it now.", "Let me look.", "Next step.", "I'll verify this.", "確認します。")
SOURCES = ("src/{item}.ts", "internal/{item}/{item}.go", "src/{item}.rs", "app/{item}.py", "lib/{item}_test.dart", "src/main/{item}.java")
# fmt: on


@dataclass(frozen=True)
class Trap:
    """A failure and what fixes it; `{…}` in the texts is filled for each occurrence."""

    kind: str
    fails: str
    works: str
    error: str
    fix: str = ""  # a command that makes `works` pass; none where `works` is the fix itself
    file: str = ""  # or a file whose edit does
    change: tuple[str, str] = ("", "")
    arguments: tuple[str, ...] = ("",)
    code: int = 1
    text: str = ""  # what a right answer contains; none where the command's form is enough
    forms: bool = True  # a right answer may also name the command by its form
    plain: bool = False  # the error is the shell's own: no shape, no noise around it
    lasting: bool = False  # the command always fails this way, so it never passes elsewhere in the stream
    speaks: bool = False  # the fix contains the failing command, so naming it is a warning


@dataclass(frozen=True)
class Step:
    """One planted call: a shell command, or an edit of a file."""

    role: str
    command: str = ""
    output: str = ""
    code: int = 0
    masked: bool = False  # a pipe hid the exit status
    file: str = ""
    change: tuple[str, str] = ("", "")


@dataclass
class Transcript:
    """The start of a real session, where something can be inserted, and which commands it used."""

    name: str
    client: str
    entries: list[dict[str, Any]]
    places: list[int]
    forms: set[str]
    shell: str = "exec_command"
    cwd: str = "/work"


@dataclass
class Tools:
    """The modules of the wild scorer."""

    forms: ModuleType
    record: ModuleType
    wild: ModuleType
    common: ModuleType


def load_tools(folder: Path) -> Tools:
    """Import the scorer's modules from a folder."""
    if not (folder / "score_wild.py").is_file():
        raise SystemExit(f"No score_wild.py in {folder}. Give its folder with --tools.")
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))
    return Tools(*(importlib.import_module(name) for name in ("wild_forms", "wild_record", "score_wild", "common")))


# -- variants to traps --------------------------------------------------------------------------------------------------------


def half(values: Sequence[Any], pool: int) -> list[Any]:
    """Every other value: pool 0 is for tuning, pool 1 for reports."""
    return list(values[pool::2])


def fill(text: str, values: dict[str, str]) -> str:
    """Put known `{names}` in; anything else in braces stays."""
    for _ in range(2):  # values may hold names themselves
        text = re.sub(r"\{(\w+)\}", lambda found: values.get(found[1], found[0]), text)
    return text


def draw_shape(dice: random.Random, pool: int) -> str:
    """How an error is printed: bare half of the time."""
    return "{e}" if dice.random() < 0.5 else dice.choice(half(SHAPES, pool))


def all_traps(kind: str, pool: int, dice: random.Random) -> list[Trap]:
    """The traps of a kind in an order drawn by the dice, with the stream's own words filled in."""
    traps = []
    for trap in {
        "wrapper": wrapper_traps,
        "formatter": lambda pool, _: [repaired("formatter", *one) for one in half(FORMATTERS, pool)],
        "generator": lambda pool, _: [repaired("generator", *one) for one in half(GENERATORS, pool)],
        "install": lambda pool, _: [repaired("install", *one) for one in half(INSTALLS, pool)],
        "flag": lambda pool, _: [flag_trap(*one) for one in half(FLAGS, pool)],
        "moved": lambda pool, _: [moved_trap(*one) for one in half(MOVES, pool)],
        "edit": lambda pool, _: [edit_trap(*one) for one in half(EDITS, pool)],
    }[kind](pool, dice):
        words = {name: dice.choice(half(choices, pool)) for name, choices in WORDS.items()}
        texts = {name: fill(getattr(trap, name), words) for name in ("fails", "works", "error", "fix", "file", "text")}
        change = (fill(trap.change[0], words), fill(trap.change[1], words))
        traps.append(Trap(**{**trap.__dict__, **texts, "change": change}))
    dice.shuffle(traps)
    return traps


def wrapper_traps(pool: int, dice: random.Random) -> list[Trap]:
    """Commands that work only behind a wrapper, and some that work only without it."""
    traps = []
    for ecosystem, command, arguments, version in half(PROGRAMS, pool):
        wrappers = [one for one in half(WRAPPERS, pool) if one[0] in ("*", ecosystem)]
        _, wrapper, text = dice.choice(wrappers)
        wrapped, program = wrapper.replace("{c}", command), command.split()[0]
        quoted = "'" in wrapper
        if dice.random() < 0.3:  # the wrapped one fails, the plain one works
            error = WRAPPER_FAILS.get(wrapper.split()[0], WRAPPER_FAILS[""])
            traps.append(Trap("wrapper", wrapped, command, error, arguments=ARGUMENTS[arguments], lasting=True))
            continue
        missing = dice.random() < 0.6
        error = dice.choice(half(NOT_FOUND, pool)).replace("{p}", program) if missing else version
        code = 127 if missing else 1
        traps.append(
            Trap(
                "wrapper", command, wrapped, error, arguments=ARGUMENTS[arguments], code=code, text=text.strip(),
                forms=not quoted, plain=missing, lasting=True, speaks=True,
            )
        )  # fmt: skip
    return traps


def repaired(kind: str, command: str, arguments: str, error: str, fix: str) -> Trap:
    """A command that passes once another command has run."""
    return Trap(kind, command, command, error, fix=fix, arguments=ARGUMENTS[arguments])


def flag_trap(command: str, arguments: str, works: str, text: str, error: str) -> Trap:
    """A command that works with an option or an environment variable."""
    works = works.replace("{c}", command)
    form = not re.match(r"[\w{}]+=", works)
    return Trap(
        "flag", command, works, error, arguments=ARGUMENTS[arguments], text=text, forms=form, lasting=True, speaks=True
    )


def moved_trap(command: str, error: str, old: str, new: str) -> Trap:
    """A command on a path that has moved."""
    fails, works = command.replace("{p}", old), command.replace("{p}", new)
    flags = ("", "--verbose", "-v") if "{a}" in command else ("",)
    error = error.replace("{p}", old)
    return Trap("moved", fails, works, error, arguments=flags, text=new, forms=False, plain=True, lasting=True)


def edit_trap(command: str, arguments: str, error: str, file: str, old: str, new: str) -> Trap:
    """A command that passes once a certain file was edited."""
    return Trap(
        "edit",
        command,
        command,
        error,
        file=file,
        change=(old, new),
        arguments=ARGUMENTS[arguments],
        text=file,
        forms=False,
    )


def accepted(trap: Trap, tools: Tools) -> dict[str, list[str]]:
    """What a right answer names: forms as `wild_forms.names` takes them, or texts."""
    texts = [trap.text.rsplit("/", 1)[-1] if trap.kind == "edit" else trap.text] if trap.text else []
    if not trap.forms:
        return {"forms": [], "texts": texts}
    blank = {"a": "", "msg": "x"}
    failed = tools.forms.commands(fill(trap.fails, blank))[-1]
    fixed = tools.forms.commands(fill(trap.fix or trap.works, blank))[-1]
    return {"forms": sorted(tools.forms.changes(fixed, failed)), "texts": texts}


def named(text: str, right: dict[str, list[str]], tools: Tools) -> bool:
    """Does a shown text name the fix?"""
    return any(tools.forms.names(text, form) for form in right["forms"]) or any(one in text for one in right["texts"])


# -- episodes -----------------------------------------------------------------------------------------------------------------


@dataclass
class Writer:
    """Makes the steps of episodes in one session."""

    dice: random.Random
    cwd: str
    pool: int
    tools: Tools

    def values(self) -> dict[str, str]:
        """New values for what changes with each occurrence."""
        dice = self.dice
        item = dice.choice(ITEMS)
        home = "/".join(self.cwd.split("/")[:3]) if self.cwd.startswith("/") else "~"
        return {
            "item": item, "n": str(dice.randint(2, 97)), "hex": f"{dice.getrandbits(40):010x}", "cwd": self.cwd, "home": home,
            "time": f"2026-0{dice.randint(1, 9)}-{dice.randint(10, 28)}T{dice.randint(10, 23)}:{dice.randint(10, 59)}:{dice.randint(10, 59)}Z",
            "src": dice.choice(SOURCES).replace("{item}", item), "mod": dice.choice(half(WORDS["mod"], self.pool)),
            "msg": dice.choice(("fix {item}", "add {item} handling", "refactor {item}", "{item}: cover edge cases")).replace("{item}", item),
        }  # fmt: skip

    def line(self, command: str, values: dict[str, str], *, output: str, code: int) -> tuple[str, bool]:
        """The shell line of a command with a varying prefix and suffix, and whether its exit status is hidden."""
        dice = self.dice
        line = re.sub(r" +", " ", fill(command, values)).strip()
        if dice.random() < 0.05 and "=" not in line.split()[0]:
            line = f"timeout {dice.choice((60, 120, 300))} {line}"
        if dice.random() < 0.3:
            folder = f'"{self.cwd}"' if re.search(r"[\\ ]", self.cwd) else self.cwd
            line = f"cd {dice.choice((folder, folder, folder, '$(git rev-parse --show-toplevel)'))} && {line}"
        draw = dice.random()
        if draw < 0.2:
            return f"{line} 2>&1", False
        if draw < 0.45:
            piped = f"{line} 2>&1 | tail -{dice.choice((20, 30, 60))}"
            hidden = next(self.tools.record.done("Bash", {"command": piped}, output, True, 0)).masked
            if hidden == bool(code):  # a failure stays one for the reader although the pipe hides its exit status
                return piped, hidden
        return line, False

    def run(self, role: str, command: str, output: str, *, code: int = 0, values: dict[str, str] | None = None) -> Step:
        """A shell call."""
        values = values or self.values()
        output = fill(output, values).replace("{{", "{").replace("}}", "}")
        line, masked = self.line(command.replace("{{}}", "{}"), values, output=output, code=code)
        return Step(role, line, output, code, masked)

    def passes(self, role: str, command: str, values: dict[str, str]) -> Step:
        """A shell call that succeeds."""
        return self.run(role, command, self.dice.choice(PASSED), values=values)

    def pick(self, role: str, choices: Sequence[tuple[str, str]]) -> Step:
        """One of some commands with their output."""
        command, output = self.dice.choice(choices)
        return self.run(role, command, output)

    def error(self, trap: Trap, shape: str) -> str:
        """The output of a failing call: the telling line in the trap's shape, with noise around it."""
        if trap.plain:
            return trap.error
        lines = [shape.replace("{e}", trap.error).replace("{json}", json.dumps(trap.error, ensure_ascii=False))]
        if self.dice.random() < 0.6:
            lines.insert(0, fill(self.dice.choice(half(LEADING, self.pool)), self.values()))
        if self.dice.random() < 0.6:
            lines.append(fill(self.dice.choice(half(TRAILING, self.pool)), self.values()))
        return "\n".join(lines)

    def edit(self, role: str, file: str, change: tuple[str, str], values: dict[str, str]) -> Step:
        """An edit of a file."""
        return Step(role, file=fill(file, values), change=(fill(change[0], values), fill(change[1], values)))

    def episode(self, trap: Trap, shape: str, role: str, habit: tuple[str, str] | None = None) -> list[Step]:
        """Failure, looking around, attempts that do not help, the fix, and the success."""
        dice, values = self.dice, self.values()
        values["a"] = fill(dice.choice(trap.arguments), values)
        failing = lambda as_role: self.run(as_role, trap.fails, self.error(trap, shape), code=trap.code, values=values)  # noqa: E731
        steps, repeated = [failing(role)], "again" if role == "trap" else role
        steps += [self.pick("look", LOOKS) for _ in range(dice.choice((0, 0, 1, 1, 2)))]
        if habit and dice.random() < 0.7:
            steps += [self.run("attempt", *habit), failing(repeated)]
        elif dice.random() < 0.35:
            steps.append(self.pick("attempt", half(UNHELPFUL, self.pool)))
            if dice.random() < 0.6:
                steps.append(failing(repeated))
            elif dice.random() < 0.5:
                steps.append(
                    self.run("attempt failed", f"{trap.fails.split()[0]} --help-all", "unknown option", code=2)
                )
        if dice.random() < 0.25:
            steps.append(self.pick("unrelated", UNRELATED))
        if trap.file:
            steps.append(self.edit("fix", trap.file, trap.change, values))
        elif trap.fix:
            steps.append(self.passes("fix", trap.fix, values))
        if dice.random() < 0.2:
            steps.append(self.pick("unrelated", [*UNRELATED, *LOOKS]))
        values["a"] = values["a"] if dice.random() < 0.7 else fill(dice.choice(trap.arguments), values)
        return [*steps, self.passes("works", trap.works, values)]

    def other_cause(self, trap: Trap) -> list[Step]:
        """The working command fails for a reason of its own, a test failure, which an edit of the code fixes."""
        values = self.values()
        values["a"] = fill(self.dice.choice(trap.arguments), values)
        failure = fill(self.dice.choice(half(TEST_FAILURES, self.pool)), values)
        steps = [self.run("other cause", trap.works, failure, code=1, values=values)]
        if self.dice.random() < 0.5:
            steps.append(self.pick("look", LOOKS))
        change = (f"return {values['n']}", f"return {values['n']} + 1")
        steps.append(self.edit("code edit", values["src"], change, values))
        return [*steps, self.passes("works", trap.works, values)]


@dataclass
class Stream:
    """What the sessions of one planted stream share."""

    trap: Trap
    shape: str
    habit: tuple[str, str] | None  # an attempt that does not help, made in most episodes
    others: Iterator[Trap]
    once: list[Trap] = field(default_factory=list)  # those met in the past

    def plan(self, writer: Writer, *, met: int, future: bool) -> list[list[Step]]:
        """The episodes of one session, in the order they are planted."""
        dice = writer.dice
        values = writer.values() | {"a": dice.choice(self.trap.arguments)}
        episodes = []
        other = next(self.others, None) if dice.random() < (0.7 if future else 0.5) else None
        if other:
            episodes.append(writer.episode(other, draw_shape(dice, writer.pool), "one-off"))
        if dice.random() < (0.5 if future else 0.3):
            episodes.append(writer.other_cause(self.trap))
        if future and self.once and dice.random() < 0.5:
            episodes.append(writer.other_cause(dice.choice(self.once)))
        if dice.random() < 0.3:
            episodes.append([writer.pick("printed error", PRINTED_ERRORS)])
        if dice.random() < 0.3:
            episodes.append([writer.passes("works", self.trap.works, values)])
        dice.shuffle(episodes)
        for _ in range(met):
            episodes.insert(dice.randint(0, len(episodes)), writer.episode(self.trap, self.shape, "trap", self.habit))
        if other and not future:
            self.once.append(other)
        return episodes


# -- transcripts --------------------------------------------------------------------------------------------------------------


def read_start(path: Path, tools: Tools) -> Transcript | None:
    """The first lines of a transcript up to a clean boundary; None where it cannot be used."""
    entries: list[dict[str, Any]] = []
    size, clean, opened = 0, 0, set[str]()
    places: list[int] = []
    client, answered, message = "", False, ""
    with path.open(encoding="utf-8", errors="replace") as lines:
        for raw in lines:
            size += len(raw)
            if len(entries) >= LINES or size > CHARACTERS:
                break
            try:
                entry = json.loads(raw)
            except ValueError:
                continue
            if not isinstance(entry, dict):
                continue
            index, payload, body = len(entries), entry.get("payload"), entry.get("message")
            entries.append(entry)
            if not opened and index and is_output(entries[index - 1]):
                places.append(index)
            if entry.get("type") == "response_item" and isinstance(payload, dict):
                client = client or "codex"
                kind = str(payload.get("type"))
                if kind.endswith("call_output"):
                    opened.discard(str(payload.get("call_id")))
                    answered = True
                elif kind in ("function_call", "custom_tool_call"):
                    opened.add(str(payload.get("call_id")))
            elif isinstance(body, dict):
                client = client or "claude"
                content = body.get("content")
                parts = [part for part in content if isinstance(part, dict)] if isinstance(content, list) else []
                if entry.get("type") == "assistant" and not entry.get("isSidechain"):
                    new = body.get("id") != message
                    message = str(body.get("id"))
                    if answered and new and not opened and entry.get("parentUuid") and entry.get("timestamp"):
                        places.append(index)
                for part in parts:
                    if part.get("type") == "tool_use":
                        opened.add(str(part.get("id")))
                    elif part.get("type") == "tool_result":
                        opened.discard(str(part.get("tool_use_id")))
                        answered = True
            if not opened:
                clean = len(entries)
    entries, places = entries[:clean], [place for place in places if place < clean]
    if not client or len(places) < LEAST_PLACES:
        return None
    events = list(tools.record.lines("\n".join(json.dumps(entry) for entry in entries)))
    forms = {one.form for event in events if event.command for one in tools.forms.commands(event.command)}
    names = [event.tool for event in events if event.tool in ("exec_command", "shell_command")]
    shell = max(sorted(set(names)), key=names.count) if names else "exec_command"
    folders = [str(entry.get("cwd") or (entry.get("payload") or {}).get("cwd") or "") for entry in entries]
    folders = [folder for folder in folders if folder]
    cwd = max(sorted(set(folders)), key=folders.count) if folders else "/work"
    return Transcript(path.name, client, entries, places, forms, shell, cwd)


def is_output(entry: dict[str, Any]) -> bool:
    """Is it the result of a Codex call?"""
    return str((entry.get("payload") or {}).get("type")).endswith("call_output")


class Planter:
    """Writes steps as records of a client, with times that go on from the record before."""

    def __init__(self, transcript: Transcript, dice: random.Random) -> None:
        self.transcript, self.dice = transcript, dice
        self.shift = timedelta()

    def identifier(self) -> str:
        return str(uuid.UUID(int=self.dice.getrandbits(128), version=4))

    def token(self, length: int) -> str:
        letters = "ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz123456789"
        return "".join(self.dice.choice(letters) for _ in range(length))

    def plant(self, episodes: list[list[Step]]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
        """The transcript with the episodes in it, and per planted call its line, id and role."""
        transcript, written = self.transcript, list[dict[str, Any]]()
        marks: list[dict[str, Any]] = []
        episodes = episodes[: len(transcript.places)]
        chosen = dict(zip(sorted(self.dice.sample(transcript.places, len(episodes))), episodes, strict=True))
        for index, recorded in enumerate(transcript.entries):
            entry = dict(recorded)
            if index in chosen:
                at = (
                    moment(entry)
                    or moment(transcript.entries[index - 1])
                    or datetime.fromisoformat("2026-01-01T00:00:00+00:00")
                )
                at += self.shift
                began, parent = at, entry.get("parentUuid")
                for step in chosen[index]:
                    at += timedelta(seconds=self.dice.uniform(2, 15))
                    records, call = self.records(step, index, parent, at)
                    written += records
                    marks.append({"line": len(written), "call": call, "role": step.role})
                    parent = records[-1].get("uuid")
                    at = (moment(records[-1]) or at) + timedelta(seconds=self.dice.uniform(0.2, 9))
                if transcript.client == "claude":
                    entry["parentUuid"] = parent
                self.shift += at - began
            if moment(entry) and self.shift:
                entry["timestamp"] = stamp(moment(entry) + self.shift)
            written.append(entry)
        return written, marks

    def records(self, step: Step, index: int, parent: str | None, at: datetime) -> tuple[list[dict[str, Any]], str]:
        """The records of one step, the last of which is its result, and the id of the call."""
        done = at + timedelta(seconds=self.dice.uniform(0.1, 6))
        if self.transcript.client == "codex":
            return self.codex(step, self.transcript.entries[index - 1], at, done)
        return self.claude(step, self.transcript.entries[index], parent, at, done)

    def claude(
        self, step: Step, near: dict[str, Any], parent: str | None, at: datetime, done: datetime
    ) -> tuple[list[dict[str, Any]], str]:
        kept = "isSidechain userType cwd sessionId session_id version gitBranch slug entrypoint sessionKind".split()
        base = {name: near[name] for name in kept if name in near}
        call, message = f"toolu_01{self.token(22)}", f"msg_01{self.token(22)}"
        model = near["message"].get("model") or "claude"
        records: list[dict[str, Any]] = []

        def says(part: dict[str, Any], when: datetime) -> None:
            body = {
                "model": model, "id": message, "type": "message", "role": "assistant", "content": [part], "stop_reason": "tool_use",
                "stop_sequence": None, "usage": {"input_tokens": 3, "output_tokens": self.dice.randint(40, 400)},
            }  # fmt: skip
            before = records[-1]["uuid"] if records else parent
            request = f"req_01{self.token(22)}"
            records.append(
                {"parentUuid": before, **base, "message": body, "requestId": request, "type": "assistant",
                 "uuid": self.identifier(), "timestamp": stamp(when)}
            )  # fmt: skip

        words = self.dice.choice(SAYS) if self.dice.random() < 0.3 else ""
        if words:
            says({"type": "text", "text": words}, at - timedelta(milliseconds=900))
        result: Any
        if step.file:
            path = f"{self.transcript.cwd}/{step.file}"
            given: dict[str, Any] = {
                "file_path": path,
                "old_string": step.change[0],
                "new_string": step.change[1],
                "replace_all": False,
            }
            says({"type": "tool_use", "id": call, "name": "Edit", "input": given}, at)
            text = f"The file {path} has been updated successfully."
            result = {"filePath": path, "oldString": step.change[0], "newString": step.change[1], "replaceAll": False}
        else:
            given = {"command": step.command}
            if self.dice.random() < 0.6:
                given["description"] = f"Run {step.command.rsplit('&& ', 1)[-1].split()[0]}"
            says({"type": "tool_use", "id": call, "name": "Bash", "input": given}, at)
            text = step.output
            result = {"stdout": text, "stderr": "", "interrupted": False, "isImage": False}
        failed = bool(step.code) and not step.masked
        if failed:
            text = f"Exit code {step.code}\n{text}"
            result = f"Error: {text}"
        part = {"tool_use_id": call, "type": "tool_result", "content": text, "is_error": failed}
        used = records[-1]["uuid"]
        records.append(
            {"parentUuid": used, **base, "type": "user", "message": {"role": "user", "content": [part]}, "uuid": self.identifier(),
             "timestamp": stamp(done), "toolUseResult": result, "sourceToolAssistantUUID": used}
        )  # fmt: skip
        return records, call

    def codex(self, step: Step, near: dict[str, Any], at: datetime, done: datetime) -> tuple[list[dict[str, Any]], str]:
        call, cwd, shell = f"call_{self.token(24)}", self.transcript.cwd, self.transcript.shell
        code, seconds = 0 if step.masked else step.code, self.dice.uniform(0.05, 6)
        if step.file:
            path = f"{cwd}/{step.file}"
            old = "".join(f"-{line}\n" for line in step.change[0].split("\n"))
            new = "".join(f"+{line}\n" for line in step.change[1].split("\n"))
            patch = f"*** Begin Patch\n*** Update File: {path}\n@@\n{old}{new}*** End Patch\n"
            asked = {
                "type": "custom_tool_call",
                "status": "completed",
                "call_id": call,
                "name": "apply_patch",
                "input": patch,
            }
            output = f"Exit code: 0\nWall time: 0 seconds\nOutput:\nSuccess. Updated the following files:\nM {path}\n"
            answer = {"type": "custom_tool_call_output", "call_id": call, "output": output}
        else:
            if shell == "shell_command":
                given = {"command": step.command, "workdir": cwd, "timeout_ms": 120000}
                head = f"Exit code: {code}\nWall time: {seconds:.1f} seconds\nOutput:\n"
            else:
                given = {"cmd": step.command, "workdir": cwd, "yield_time_ms": 10000, "max_output_tokens": 12000}
                head = (
                    f"Chunk ID: {self.dice.getrandbits(24):06x}\nWall time: {seconds:.4f} seconds\n"
                    f"Process exited with code {code}\nOriginal token count: {len(step.output) // 4 + 1}\nOutput:\n"
                )
            asked = {"type": "function_call", "name": shell, "arguments": json.dumps(given), "call_id": call}
            answer = {"type": "function_call_output", "call_id": call, "output": head + step.output + "\n"}
        passed = (near.get("payload") or {}).get("internal_chat_message_metadata_passthrough")
        if passed:
            asked["internal_chat_message_metadata_passthrough"] = answer[
                "internal_chat_message_metadata_passthrough"
            ] = passed
        records = [
            {"timestamp": stamp(at), "type": "response_item", "payload": asked},
            {"timestamp": stamp(done), "type": "response_item", "payload": answer},
        ]
        return records, call


def moment(entry: dict[str, Any]) -> datetime | None:
    """When a record was written."""
    try:
        return datetime.fromisoformat(str(entry.get("timestamp")))
    except ValueError:
        return None


def stamp(at: datetime) -> str:
    return at.strftime("%Y-%m-%dT%H:%M:%S.") + f"{at.microsecond // 1000:03d}Z"


# -- make ---------------------------------------------------------------------------------------------------------------------


def choose(kind: str, index: int, used: set[str], seed: int, pool: int, tools: Tools) -> Trap:
    """The trap of a stream: streams of one seed get different ones while there are any."""
    traps = all_traps(kind, pool, random.Random(f"{seed}/{kind}"))
    for turn in range(len(traps)):
        trap = traps[(index + turn) % len(traps)]
        failing = tools.forms.commands(fill(trap.fails, {"a": "", "msg": "x"}))
        if not trap.lasting or kind == "moved" or not any(one.form in used for one in failing):
            return trap
    raise SystemExit(f"{kind}: the streams already use every command of the pool")


def one_offs(trap: Trap, seed: int, pool: int, dice: random.Random, tools: Tools) -> Iterator[Trap]:
    """Other traps, each given once, that share no command with the trap of the stream."""
    blank = {"a": "", "msg": "x"}

    def forms(one: Trap) -> set[str]:
        return {c.form for text in (one.fails, one.works, one.fix) for c in tools.forms.commands(fill(text, blank))}

    others = [one for kind in KINDS for one in all_traps(kind, pool, random.Random(f"{seed}/once/{kind}"))]
    dice.shuffle(others)
    taken = forms(trap)
    for one in others:
        found = forms(one)
        if not found & taken and not (one.text and one.text == trap.text):
            taken |= found
            yield one


def make_stream(
    source: Path,
    out: Path,
    kind: str,
    transcripts: dict[str, list[Transcript]],
    *,
    index: int,
    seed: int,
    pool: int,
    tools: Tools,
) -> str:
    """Write one planted stream and its truth; returns a line about it."""
    dice = random.Random(f"{seed}/{source.name}/{kind}")
    parts = {}
    for part, most in (("past", PAST), ("future", FUTURE)):
        found = transcripts[part]
        kept = sorted(dice.sample(range(len(found)), min(most, len(found))))
        parts[part] = [found[at] for at in kept]
    used = {form for found in parts.values() for one in found for form in one.forms}
    trap = choose(kind, index, used, seed, pool, tools)
    right = accepted(trap, tools)
    habit = dice.choice(half(UNHELPFUL, pool)) if dice.random() < 0.3 else None
    stream = Stream(trap, draw_shape(dice, pool), habit, one_offs(trap, seed, pool, dice, tools))
    folder = out / f"{source.name}-{kind}-{seed}"
    shutil.rmtree(folder, ignore_errors=True)
    share, sessions, met = dice.uniform(0.4, 0.7), {}, {}
    for part, found in parts.items():
        (folder / part).mkdir(parents=True)
        wanted = (
            max(min(3, len(found)), round(share * len(found))) if part == "past" else len(found) - (dice.random() < 0.5)
        )
        meets = set(dice.sample(range(len(found)), max(1, wanted)))
        met[part] = len(meets)
        for at, transcript in enumerate(found):
            writer = Writer(dice, transcript.cwd, pool, tools)
            times = (2 if part == "past" and dice.random() < 0.15 else 1) if at in meets else 0
            episodes = stream.plan(writer, met=times, future=part == "future")
            while len(episodes) > len(transcript.places):  # keep the trap, drop others
                episodes.remove(next(one for one in episodes if one[0].role != "trap"))
            entries, marks = Planter(transcript, dice).plant(episodes)
            path = folder / part / transcript.name
            path.write_text("".join(json.dumps(one, ensure_ascii=False) + "\n" for one in entries), encoding="utf-8")
            check(path, marks, right, tools)
            sessions[f"{part}/{transcript.name}"] = marks
    once = [one for other in stream.once if not used & set((one := accepted(other, tools))["forms"])]
    truth = {
        "artificial": True, "note": "Calls listed here were inserted by bench/traps.py and never happened.",
        "stream": source.name, "kind": kind, "seed": seed, "pool": ("tuning", "report")[pool], "right": right, "speaks": trap.speaks,
        "trap": {"fails": trap.fails, "works": trap.works, "fix": trap.fix or trap.file, "error": trap.error, "shape": stream.shape},
        "habit": habit[0] if habit else "", "met": met, "once": once, "sessions": sessions,
    }  # fmt: skip
    (folder / "truth.json").write_text(json.dumps(truth, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return f"{folder.name}: {met['past']}/{len(parts['past'])} past, {met['future']}/{len(parts['future'])} future; `{trap.fails}` -> `{trap.fix or trap.file or trap.works}`"


EXPECTED = {"trap": False, "again": False, "one-off": False, "other cause": False, "attempt failed": False}


def check(path: Path, marks: list[dict[str, Any]], right: dict[str, list[str]], tools: Tools) -> None:
    """Read a planted transcript back: every planted call is there with its outcome, and no trap's output names its fix."""
    by_line = {event.line: event for event in tools.record.read(path)}
    for mark in marks:
        event = by_line.get(mark["line"])
        if event is None or bool(event.ok) != EXPECTED.get(mark["role"], True):
            raise SystemExit(f"{path}:{mark['line']}: the planted {mark['role']} reads back as {event}")
        if mark["role"] in ("trap", "again") and named(f"`{event.command}`\n{event.text}", right, tools):
            raise SystemExit(
                f"{path}:{mark['line']}: the failure already names its fix {right}: {event.command}\n{event.text}"
            )


def make(got: argparse.Namespace, tools: Tools) -> None:
    """Plant traps into the streams of a folder."""
    pool = got.seed % 2 if got.pool is None else ("tuning", "report").index(got.pool)
    sources = sorted(
        one
        for one in got.sessions.iterdir()
        if (one / "past").is_dir() and (not got.streams or one.name in got.streams)
    )
    for index, source in enumerate(sources):
        transcripts = {
            part: [one for path in sorted((source / part).glob("*.jsonl")) if (one := read_start(path, tools))]
            for part in ("past", "future")
        }
        if len(transcripts["past"]) < 4 or not transcripts["future"]:
            print(f"{source.name}: too few usable Claude Code or Codex sessions, left out", flush=True)
            continue
        for kind in got.trap or KINDS:
            print(
                make_stream(source, got.out, kind, transcripts, index=index, seed=got.seed, pool=pool, tools=tools),
                flush=True,
            )


# -- score --------------------------------------------------------------------------------------------------------------------

FAILURES = {"one-off": "failures: once", "other cause": "failures: other cause", "attempt failed": "failures: once"}
CALLS = {"works": "calls: already right", "fix": "calls: already right"}


def replay(adapter: Any, path: Path, truth: dict[str, Any], tools: Tools) -> dict[str, list[Any]]:
    """One future session through an adapter: the trap failures, and whether something was shown at the other moments."""
    roles = {mark["line"]: mark["role"] for mark in truth["sessions"][f"{path.parent.name}/{path.name}"]}
    failing = {one.form for one in tools.forms.commands(fill(truth["trap"]["fails"], {"a": "", "msg": "x"}))}
    right, before = truth["right"], getattr(adapter, "before", None)

    def warns(text: str) -> bool:
        """Does one item name the fix together with what fails?"""
        return any(
            named(item, right, tools) and (truth["speaks"] or any(tools.forms.names(item, form) for form in failing))
            for item in tools.wild.split(text)
        )

    start = adapter.start(path.name) or ""
    early, traps, others, characters = warns(start), [], [], [len(start), 0, 0]
    told = start
    for event in tools.record.read(path):
        role = roles.get(event.line, "")
        ahead = ""
        if event.kind == "prompt":
            text = adapter.prompt(event.text) or ""
            characters[1] += len(text)
            early = early or warns(text)
            told += "\n\n" + text
            continue
        if before and event.command is not None:
            ahead = before(event.tool, event.input) or ""
            characters[2] += len(ahead)
            if role not in ("trap", "again"):
                place = CALLS.get(role) or ("calls: planted others" if role else "calls: recorded")
                others.append((place, bool(ahead.strip())))
        if event.ok is False:
            text = adapter.failure(event.tool, event.input, event.text) or ""
            characters[2] += len(text)
            if role == "trap":
                hit = named(ahead, right, tools)
                at = named(text, right, tools)
                traps.append(
                    {
                        "session": path.name, "line": event.line, "command": event.command, "right": hit or at,
                        "wrong": not (hit or at) and bool((ahead + text).strip()), "silent": not (ahead + text).strip(),
                        "warned": hit or early, "at": at, "shown at": bool(text.strip()),
                        "texts": [ahead, text] if truth["pool"] == "tuning" else [],
                    }
                )  # fmt: skip
            elif role != "again":
                others.append((FAILURES.get(role, "failures: recorded"), bool(text.strip())))
        early = early or warns(ahead)
    others += [("advice: met once", named(told, one, tools)) for one in truth["once"]]
    return {"traps": traps, "others": others, "tokens": [one / 4 for one in characters]}


MEASURES = ("right", "wrong", "silent", "warned")
MOMENTS = (
    "failures: once", "failures: other cause", "failures: recorded", "calls: already right", "calls: planted others", "calls: recorded",
    "advice: met once",
)  # fmt: skip


def figures(streams: dict[str, list[dict[str, list[Any]]]], tools: Tools) -> dict[str, Any]:
    """All measures over planted streams, with intervals that draw whole streams."""

    def rate(pick: Callable[[dict[str, list[Any]]], Iterable[Any]]) -> dict[str, Any]:
        rows = [(float(value), name) for name, sessions in streams.items() for one in sessions for value in pick(one)]
        return tools.common.interval([value for value, _ in rows], [name for _, name in rows], rounds=1000)

    out = {measure: rate(lambda one, m=measure: [row[m] for row in one["traps"]]) for measure in MEASURES}
    out |= {
        place: rate(lambda one, p=place: [shown for where, shown in one["others"] if where == p]) for place in MOMENTS
    }
    out["false at failures"] = rate(
        lambda one: [shown for where, shown in one["others"] if where.startswith("failures")]
    )
    out["precision at failures"] = rate(
        lambda one: (
            [row["at"] for row in one["traps"] if row["shown at"]]
            + [False for where, shown in one["others"] if where.startswith("failures") and shown]
        )
    )
    sessions = [one for found in streams.values() for one in found]
    out["tokens"] = [round(sum(one["tokens"][at] for one in sessions) / max(1, len(sessions))) for at in range(3)]
    return out


def table(
    title: str, columns: Sequence[str], rows: dict[str, dict[str, Any]], tools: Tools, *, tokens: bool = False
) -> str:
    """A table of rates with their intervals; n is the largest number of cases a row has."""
    counts = {name: max(got[name]["n"] for got in rows.values()) for name in columns}
    heads = [f"{name} (n={counts[name]})" for name in columns] + (
        ["tokens a session: start + prompts + calls"] if tokens else []
    )
    lines = [f"**{title}**", "", f"| who | {' | '.join(heads)} |", "| --- |" + " --- |" * len(heads)]
    for who, got in rows.items():
        cells = [tools.wild.cell(got[name]) for name in columns] + (
            [" + ".join(map(str, got["tokens"]))] if tokens else []
        )
        lines.append(f"| {who} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def score(got: argparse.Namespace, tools: Tools) -> None:
    """Replay the planted streams of a folder through the baselines and an adapter."""
    who: dict[str, Callable[[], Any]] = {"nothing": tools.wild.Nothing, "frequent": tools.wild.Frequent}
    if got.adapter:
        who["adapter"] = tools.common.adapter_class(str(got.adapter))
    folders = sorted(one.parent for one in got.planted.glob("*/truth.json"))
    truths = {one.name: json.loads((one / "truth.json").read_text(encoding="utf-8")) for one in folders}
    done: dict[str, dict[str, list[dict[str, list[Any]]]]] = {name: {} for name in who}
    seconds = dict.fromkeys(who, 0.0)
    for folder in folders:
        truth = truths[folder.name]
        if got.trap and truth["kind"] not in got.trap:
            continue
        past = [str(path) for path in sorted((folder / "past").glob("*.jsonl"))]
        for name, adapter_class in who.items():
            began, adapter = time.perf_counter(), adapter_class()
            adapter.learn(past, cwd=folder.name)
            done[name][folder.name] = [
                replay(adapter, path, truth, tools) for path in sorted((folder / "future").glob("*.jsonl"))
            ]
            seconds[name] += time.perf_counter() - began
        print(f"  {folder.name}", file=sys.stderr, flush=True)
    if not done["nothing"]:
        raise SystemExit(f"No planted streams in {got.planted}. Run `python bench/traps.py make` first.")
    groups = {"all": list(done["nothing"])}
    groups |= {
        kind: found for kind in KINDS if (found := [one for one in done["nothing"] if truths[one]["kind"] == kind])
    }
    numbers: dict[str, Any] = {}
    for title, kept in groups.items():
        numbers[title] = {name: figures({one: found[one] for one in kept}, tools) for name, found in done.items()}
    print(table("all: at traps", [*MEASURES, "precision at failures"], numbers["all"], tools, tokens=True))
    print(table("all: something shown at other moments", [*MOMENTS, "false at failures"], numbers["all"], tools))
    for title in list(groups)[1:]:
        print(table(title, [*MEASURES, "precision at failures", "false at failures"], numbers[title], tools))
    print("seconds: " + ", ".join(f"{name} {value:.0f}" for name, value in seconds.items()))
    if got.json:
        rows = {
            name: {one: [row for session in found for row in session["traps"]] for one, found in by.items()}
            for name, by in done.items()
        }
        got.json.write_text(
            json.dumps({"figures": numbers, "seconds": seconds, "rows": rows}, indent=1, ensure_ascii=False) + "\n"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tools", type=Path, default=TOOLS, help="folder with score_wild.py")
    commands = parser.add_subparsers(dest="command", required=True)
    making = commands.add_parser("make", help="plant traps into real sessions")
    making.add_argument("sessions", type=Path, help="folder made by sessions.py")
    making.add_argument("out", type=Path)
    making.add_argument("--seed", type=int, required=True, help="even: tuning, odd: report")
    making.add_argument("--pool", choices=("tuning", "report"), help="which half of the variants, whatever the seed")
    making.add_argument("--streams", nargs="*", default=[], help="these streams only")
    scoring = commands.add_parser("score", help="replay planted streams through an adapter")
    scoring.add_argument("planted", type=Path, help="folder made by `make`")
    scoring.add_argument("--adapter", help="module path or .py file with a class Adapter; baselines only without it")
    scoring.add_argument("--json", type=Path, help="write the numbers and the trap rows to this file too")
    for one in (making, scoring):
        one.add_argument("--trap", nargs="*", choices=KINDS, default=[], help="these kinds only")
        one.add_argument("--tools", type=Path, default=argparse.SUPPRESS, help="folder with score_wild.py")
    got = parser.parse_args()
    tools = load_tools(got.tools)
    if got.command == "make":
        make(got, tools)
    else:
        score(got, tools)


if __name__ == "__main__":
    main()
