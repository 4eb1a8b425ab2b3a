"""Tables of command-line programs: which run checks, take a subcommand, or only launch another program."""

from __future__ import annotations

import re


def by_program(*rows: tuple[str, str]) -> dict[str, frozenset[str]]:
    """Return program → words, from rows of several programs and the words of each."""
    return {program: frozenset(words.split()) for programs, words in rows for program in programs.split()}


SHELL_TOOLS = frozenset(
    "bash shell exec_command local_shell run_shell_command shell_command run_terminal_cmd execute_command execute_bash "
    "terminal exec run_command run_in_terminal powershell".split()
)
"""Tools of agents that run shell text: plain names in lower case."""
CHECKERS = frozenset(
    "pytest py.test unittest tox nox jest vitest mocha ava tap ctest mypy pyright basedpyright pyre pylint flake8 "
    "tsc vue-tsc eslint stylelint rubocop rspec phpunit pest phpstan psalm golangci-lint staticcheck shellcheck "
    "yamllint ktlint detekt swiftlint hadolint clippy-driver cargo-nextest doctest pyflakes bandit import-linter "
    "lint-imports biome oxlint markdownlint actionlint tflint busted minitest karma nosetests nose2".split()
)
"""Programs that are always a check."""
FORMATTERS = frozenset("black isort prettier rustfmt dart-format autopep8 yapf gofmt clang-format".split())
"""Formatters: a check only with an option that changes nothing."""
CHECK_SCRIPT = re.compile(r"(?:run[-_]?)?(?:all[-_]?)?(?:tests?|checks?|lint|build|ci|verify)\.(?:sh|py|js|mjs)")
"""Scripts named after a check."""
_SCRIPTS = r"(?:run )?(?:[\w-]+[:-])?(?:tests?|t|lint|build|check|type-?check|verify|unit|e2e)(?:[:-][\w:-]+)?|run ci"
_GOALS = (
    ("npm pnpm yarn bun turbo nx deno composer", _SCRIPTS),
    (
        "make gmake just task rake ninja",
        r"(?:[\w-]+[-_/])?(?:tests?|check|lint|build|all|ci|verify|typecheck)(?:[-_/][\w-]+)?",
    ),
    ("mvn mvnw gradle gradlew", r":?(?:[\w-]+:)*(?:test\w*|build|verify|check|compile\w*|package|install)"),
    ("dotnet swift zig stack cabal hatch", r"test|build"),
    ("bazel bazelisk buck buck2 pants", r"test|build|check|lint"),
    ("cargo", r"test|t|build|b|check|c|clippy|nextest|fmt --check"),
    ("go", r"test|build|vet"),
    ("mix", r"test|compile|credo|dialyzer"),
    ("flutter dart ng next vite", r"test|build|analyze|lint"),
    ("pre-commit coverage cypress", r"run"),
    ("ruff", r"check"),
    ("manage.py sbt", r"test|check|compile"),
    ("rails artisan playwright", r"test(?::\w+)?"),
    ("cmake", r"--build"),
    ("terraform", r"validate"),
    ("helm", r"lint"),
)
CHECK_GOALS = {program: re.compile(pattern) for programs, pattern in _GOALS for program in programs.split()}
"""Programs with some subcommands that are checks."""
IDLE_FLAGS = frozenset(
    "--help --version --collect-only --co --fixtures --markers --setup-plan --list --listTests --list-tests --dry-run "
    "--just-print --if-present --showConfig --print-config --init --show-files --show-settings --list-targets "
    "--setup-only --fixtures-per-test --cache-show --exit-zero --passWithNoTests --pass-with-no-tests --ignore-errors --touch "
    "--recon --notest --no-run -DskipTests -Dmaven.test.skip -Dmaven.test.failure.ignore -fn --fail-never".split()
)
"""With these a check does not check, or always passes."""
MEDDLING = re.compile(
    r"PYTEST_(?:ADDOPTS|PLUGINS)|MAKEFLAGS|GOFLAGS|npm_config_\w+|SKIP|BASH_ENV|LD_PRELOAD", re.IGNORECASE
)
"""Variables that can disable a check."""
IDLE_SHORT_FLAGS = by_program(("make gmake", "-n -i -q -p -t"), ("pytest", "-h -V"), ("ruff", "-e"), ("tsc", "-v -h"))
WITH_SUBCOMMAND = frozenset(
    "git npm pnpm yarn bun deno cargo go make gmake just task docker docker-compose podman kubectl helm terraform "
    "pip pip3 uv uvx poetry pdm hatch rye gh glab aws gcloud az brew apt apt-get dnf yum systemctl mvn mvnw "
    "gradle gradlew dotnet mix swift bazel bazelisk buck buck2 pants rails rake bundle gem django-admin alembic "
    "flask ruff conda mamba composer artisan heroku vercel fly wrangler prisma turbo nx lerna svn hg rustup stack "
    "cabal sbt zig flutter dart pre-commit playwright ng next vite tacit claude coverage cypress codex launchctl "
    "service nix openssl supervisorctl ansible-galaxy dvc mlflow jupyter tox nox expo eas pulumi sam cdk sls".split()
)
"""Programs whose first operand is a subcommand."""
TWO_WORDS = re.compile(
    r"(?:npm|pnpm|yarn|bun|deno|composer) run|docker (?:compose|container|image|volume|network|system)|gh \S+|glab \S+|aws \S+|"
    r"gcloud \S+|az \S+|uv pip|git (?:stash|remote|worktree|submodule|bisect|config)|kubectl (?:rollout|config)|podman compose"
)
"""Subcommands of two words."""
FOLDER_FLAGS = by_program(
    ("git ninja go", "-C"),
    ("make gmake cargo poetry", "-C --directory"),
    ("npm", "--prefix"),
    ("pnpm", "-C --dir --prefix"),
    ("yarn bun", "--cwd"),
    ("uv", "--directory --project"),
    ("terraform", "-chdir"),
    ("task", "-d --dir"),
    ("mise", "-C --cd"),
    ("just", "-d --working-directory"),
    ("composer", "-d --working-dir"),
    ("gradle gradlew", "-p --project-dir"),
    ("docker docker-compose", "--project-directory"),
)
"""Flags whose value is the working folder."""
VALUED_FLAGS = by_program(
    ("git", "-c --git-dir --work-tree --namespace"),
    ("npm", "-w --workspace"),
    ("pnpm", "--filter -F"),
    ("docker docker-compose podman", "-f --file -p --project-name -H --host --context --env-file --profile"),
    ("kubectl helm", "-n --namespace --context --kube-context --kubeconfig"),
    ("gh glab", "-R --repo"),
    ("aws", "--profile --region --output --endpoint-url"),
    ("gcloud", "--project --account --configuration"),
    ("az", "--subscription"),
    ("cargo", "--config --color -Z"),
    ("uv", "--python -p --cache-dir"),
    ("conda mamba", "-n --name -p"),
    ("alembic", "-c --config -n -x"),
    ("flask", "-A --app -e --env-file"),
    ("make gmake just", "-f --file --makefile --justfile"),
)
"""Flags with a value that may come before the subcommand."""
WRAPPERS = frozenset(
    "sudo time env nohup nice command exec builtin stdbuf timeout xvfb-run ionice doas caffeinate".split()
)
"""Run the following command with a setting."""
WRAPPERS_VALUED = {
    "sudo": frozenset("-u -g -U --user --group".split()), "doas": frozenset({"-u"}),
    "env": frozenset("-u --unset -C --chdir".split()), "timeout": frozenset("-s --signal -k --kill-after".split()),
}  # fmt: skip
"""Flags of wrappers with a value."""
RUNNERS = {
    "uv": "run", "poetry": "run", "pipenv": "run", "pdm": "run", "hatch": "run", "rye": "run", "pnpm": "exec", "bundle": "exec",
    "npm": "exec", "conda": "run", "mise": "exec", "pipx": "run",
}  # fmt: skip
"""Run the following command, with this subcommand."""
LAUNCHERS = frozenset({"npx", "bunx", "uvx", "tsx", "ts-node"})
"""Run the following command."""
LAUNCHER_VALUED = frozenset("--from --with --python -p --package --spec -n --name".split())
"""Flags of runners and launchers with a value."""
DATA_PROGRAMS = frozenset(
    "grep egrep fgrep rg ag sed awk cat bat head tail less more ls find fd wc sort uniq cut tr nl tree stat file du df ps "
    "which whereis type diff cmp jq yq xxd od strings cp mv rm mkdir rmdir touch chmod chown ln tar zip unzip ssh scp rsync "
    "curl wget python python3 node ruby perl php deno sqlite3 psql mysql redis-cli tee xargs open code pgrep pkill lsof date "
    "basename dirname realpath readlink osascript gofmt goimports rustfmt tmux sh bash zsh pwsh powershell man kill tsx "
    "ts-node".split()
)
"""Programs whose words are data, never a subcommand."""
NESTED_SUBCOMMANDS = frozenset(
    "gh glab docker podman aws gcloud az kubectl nix npm pnpm yarn bun mise cargo just uv".split()
)
"""Programs with subcommands of subcommands."""
TAKES_NAMES = frozenset(
    "install add i uninstall remove upgrade update get view require clone checkout switch commit push".split()
)
"""Subcommands that are followed by names."""
SCAFFOLDING = frozenset(
    "cd pushd popd echo printf export unset set source . sleep true false : wait exit trap read local return shift alias pwd "
    "hash ulimit umask clear test [ [[ for case esac function break continue in set-location write-output write-host".split()
)
"""Commands of a shell line that only prepare or print."""
