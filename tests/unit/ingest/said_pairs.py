"""Pairs of what a file says and what is proposed, written for these tests: said already, or not."""

from __future__ import annotations

SAID: tuple[tuple[str, str], ...] = (
    ("Use `pnpm` for everything, never `npm`.", "Use pnpm instead of npm in this project."),
    ("Run `make test` before every commit.", "Before committing, always run `make test`."),
    (
        "Tests need Postgres: start it with `docker compose up -d db` first.",
        "Start Postgres with `docker compose up -d db` before running the tests.",
    ),
    ("Always use `uv run pytest`, plain pytest misses the dependencies.", "`pytest` fails here: use `uv run pytest`."),
    ("The API lives in services/api, the web client in apps/web.", "The API is in `services/api`."),
    ("Never edit files under generated/; change the templates and run `make gen`.", "Do not edit files in generated/."),
    (
        "After changing schema.graphql run `yarn codegen`, otherwise types are stale.",
        "Run `yarn codegen` after each change of schema.graphql, or the types are stale.",
    ),
    (
        "Commit messages are in the imperative, at most 72 characters.",
        "Write commit messages in the imperative, under 72 characters.",
    ),
    ("All amounts are stored in cents.", "Amounts are stored as cents."),
    (
        "E2E tests: `npx playwright test --project=chromium` (needs `npm run dev` in another shell).",
        "Run the e2e tests with `npx playwright test --project=chromium`.",
    ),
    ("Don't push to main; open a pull request.", "Never push to main directly, open a pull request instead."),
    (
        "Migrations: `python manage.py makemigrations` then `migrate`.",
        "Make migrations with `python manage.py makemigrations`, then run `migrate`.",
    ),
    ("make lint  # ruff and mypy", "`make lint` runs ruff and mypy."),
    ("Ask before adding a new dependency.", "Ask the person before you add a dependency."),
    ("User prefers short answers without bullet lists.", "The user prefers short answers and no bullet lists."),
    ("Use port 5433 for the test database.", "The test database listens on port 5433."),
    ("Docs are built with `mkdocs build --strict`.", "Build the docs with `mkdocs build --strict`."),
    ("Antworte immer auf Deutsch.", "Immer auf Deutsch antworten."),
    (
        'when reviewing, the user asked: "show the diff first" -> show the diff before explaining [Task 1]',
        "Show the diff first when reviewing, before explaining.",
    ),
    ("Set `RUST_LOG=debug` to see why the worker hangs.", "To see why the worker hangs, set RUST_LOG=debug."),
    (
        "Integration tests are slow; run only `pytest tests/unit` while working.",
        "While working run only `pytest tests/unit`: integration tests are slow.",
    ),
    ("Feature flags are defined in config/flags.yaml.", "`config/flags.yaml` defines the feature flags."),
)
NOT_SAID: tuple[tuple[str, str], ...] = (
    ("npm install", "Use npm in this project."),
    ("Don't push to main; open a pull request.", "Always push to main."),
    ("Use `pnpm` for everything, never `npm`.", "Use npm in this project."),
    ("Use `pnpm` for everything.", "Run `pnpm install --frozen-lockfile` after switching branches."),
    ("Run `make test` before every commit.", "Run `make lint` before every commit."),
    ("Run `make test` before every commit.", "`make test` fails with a stale cache: remove build/cache first."),
    ("Tests need Postgres: start it with `docker compose up -d db` first.", "Tests need Redis on port 6380."),
    ("Always use `uv run pytest`.", "`uv run pytest tests/e2e` needs a running browser service."),
    ("The API lives in services/api.", "The billing worker lives in services/billing."),
    ("Never edit files under generated/.", "Files under generated/ may be edited by hand."),
    ("Never push to main.", "Always push to main."),
    ("Use port 5433 for the test database.", "Use port 5432 for the test database."),
    ("Commit messages are in the imperative, at most 72 characters.", "Commit messages name the ticket in brackets."),
    ("All amounts are stored in cents.", "All dates are stored in UTC."),
    ("Ask before adding a new dependency.", "Ask before deleting a migration."),
    (
        "After changing schema.graphql run `yarn codegen`.",
        "After changing prisma/schema.prisma run `yarn prisma generate`.",
    ),
    ("User prefers short answers.", "The user prefers answers in Japanese."),
    ("`make build` compiles the release.", "`make build` fails until `make rates` has been run."),
    ("Set `RUST_LOG=debug` to see more.", "Set `RUST_BACKTRACE=1` to see more."),
    ("Docs are built with `mkdocs build --strict`.", "`mkdocs build --strict` fails on links to files outside docs."),
    ("Run the tests.", "Run the tests with `TZ=UTC`, or the date tests fail."),
    ("Tests live in tests/.", "Tests that need the network are marked `network` and skipped in CI."),
    ("We use pytest, ruff and mypy.", "Run mypy on src only, its tests folder has known errors."),
    ("The web client is in apps/web.", "Start the web client with `pnpm --filter web dev`."),
    ("npm install", "npm install needs `--legacy-peer-deps` here."),
    ("Use Node 20.", "Use Node 22."),
    (
        "Frontend code uses React with TypeScript and Tailwind for styling.",
        "React components use CSS modules for print styling.",
    ),
    ("Deploy with `make deploy` after the release was tagged.", "Tag the release as vX.Y.Z with an annotated tag."),
    ("Do not run `make deploy`.", "Run `make deploy` after tagging."),
    ("Keep functions small.", "Keep functions pure in core/, effects belong to shell/."),
    ("The worker reads jobs from Redis.", "The worker loses jobs when Redis restarts; run `make replay`."),
    ("Log in with `gh auth login`.", "`gh pr create` needs `--head` in this repository because of the fork."),
)
