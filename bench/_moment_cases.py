"""Written sessions for `bench/moments.py`: an assumption, what the run did, and what a careful reader would say of it.

Written before the rules were, and numbered in order: odd ones were used while building, even ones were looked at once. A step is
`("$", command, exit status, output)`, `("edit", file)`, `("read", file, output)`, `("call", tool, arguments, answer)`,
`("denied", command)`, `("person", words)` or `("agent", words)`. `answer` is *held*, *wrong* or *unknown*: what the session itself
shows, not what is likely.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Case:
    """One session with one assumption."""

    text: str
    aspect: str
    steps: tuple[tuple[Any, ...], ...]
    answer: str
    check: str = ""
    reply: str = ""


OK = 0
CASES = (
    # --- what a check shows ---------------------------------------------------------------------------------------
    Case("The test suite is green before I start", "approach",
         (("$", "pytest -q", 1, "2 failed, 31 passed"), ("edit", "src/app.py"), ("$", "pytest -q", OK, "33 passed")),
         "wrong", check="pytest -q"),
    Case("The database is running", "approach",
         (("$", "make db-status", OK, "db: up"), ("$", "python manage.py migrate", OK, "done")), "held", check="make db-status"),
    Case("The new parser makes the whole suite pass", "approach",
         (("edit", "src/parser.py"), ("$", "pytest -q", 1, "1 failed"), ("edit", "src/parser.py"), ("$", "pytest -q", OK, "40 passed")),
         "held", check="pytest -q"),
    Case("The linter is satisfied with this module", "approach",
         (("edit", "src/a.py"), ("$", "pytest -q", OK, "4 passed")), "unknown", check="ruff check src/a.py"),
    Case("The build works offline", "approach",
         (("$", "cargo build --offline || true", OK, "error: no matching package"), ("edit", "Cargo.toml")),
         "unknown", check="cargo build --offline"),
    Case("Types are clean", "approach",
         (("edit", "src/b.py"), ("$", "cd /srv/ann/invoices && mypy src", 1, "src/b.py:3: error"),), "wrong", check="mypy src"),
    Case("The service answers on the health route", "approach",
         (("$", "curl -f localhost:8080/health", 7, "curl: (7) Failed to connect"), ("$", "docker compose up -d", OK, ""),
          ("$", "curl -f localhost:8080/health", OK, "ok")), "wrong", check="curl -f localhost:8080/health"),
    Case("terraform is set up here", "approach",
         (("$", "terraform validate", 127, "bash: terraform: command not found"),), "unknown", check="terraform validate"),
    Case("Migrations are up to date", "approach",
         (("$", "python manage.py makemigrations --check", OK, "No changes detected"), ("edit", "app/models.py"),
          ("$", "python manage.py makemigrations --check", 1, "would create 0007")),
         "held", check="python manage.py makemigrations --check"),
    Case("The flaky test is stable now", "approach",
         (("$", "pytest tests/test_sync.py", OK, "1 passed"), ("$", "pytest tests/test_sync.py", 1, "1 failed"),
          ("$", "pytest tests/test_sync.py", OK, "1 passed")), "unknown", check="pytest tests/test_sync.py"),
    # --- how much work it was -------------------------------------------------------------------------------------
    Case("This will take about 3 steps", "complexity",
         tuple(("$", f"sed -i s/a/b/ f{n}.txt", OK, "") for n in range(14)), "wrong"),
    Case("Around ten tool calls should do", "complexity",
         (*(("read", f"src/m{n}.py", "x") for n in range(9)), ("edit", "src/m1.py")), "held"),
    Case("A one-file change", "complexity",
         (("read", "src/a.py", "x"), ("edit", "src/a.py"), ("edit", "src/b.py"), ("edit", "tests/test_a.py")), "wrong"),
    Case("No more than two files have to change", "complexity",
         (("edit", "src/a.py"), ("edit", "src/b.py"), ("$", "pytest -q", OK, "3 passed")), "held"),
    Case("This is a trivial fix", "complexity",
         (("read", "src/a.py", "x"), ("edit", "src/a.py"), ("$", "pytest -q", OK, "3 passed")), "held"),
    Case("A simple rename, nothing more", "complexity",
         tuple(("$", f"pytest -q tests/t{n}", 1, "1 failed") if n % 2 else ("edit", f"src/m{n}.py") for n in range(36)), "wrong"),
    Case("Straightforward work", "complexity",
         (*(("read", f"src/m{n}.py", "x") for n in range(8)), ("edit", "src/m1.py"), ("$", "pytest -q", 1, "1 failed"),
          ("edit", "src/m1.py"), ("$", "pytest -q", OK, "3 passed")), "unknown"),
    Case("It should work at the first attempt, without retries", "complexity",
         (("$", "npm run build", 1, "error TS2345"), ("edit", "src/x.ts"), ("$", "npm run build", 1, "error TS2345"),
          ("edit", "src/x.ts"), ("$", "npm run build", OK, "done")), "wrong"),
    Case("This is hard and will take at least 40 steps", "complexity",
         (("edit", "src/a.py"), ("$", "pytest -q", OK, "3 passed")), "wrong"),
    Case("We need version 3 of the library, it changed 12 functions", "complexity",
         (("$", "pip install lib==3", OK, ""), ("edit", "src/a.py")), "unknown"),
    # --- where the work was ---------------------------------------------------------------------------------------
    Case("Only src/api/ is affected", "scope",
         (("edit", "src/api/routes.py"), ("edit", "src/api/views.py")), "held"),
    Case("The change is confined to `src/api/`", "scope",
         (("edit", "src/api/routes.py"), ("edit", "src/db/models.py")), "wrong"),
    Case("No changes to the tests are needed; tests/ stays as it is", "scope",
         (("edit", "src/api/routes.py"), ("edit", "tests/test_routes.py")), "wrong"),
    Case("I can do this without touching config/settings.toml", "scope",
         (("edit", "src/app.py"), ("$", "pytest -q", OK, "3 passed")), "held"),
    Case("Everything happens in docs/", "scope",
         (("read", "docs/index.md", "x"), ("read", "docs/guide.md", "x")), "unknown"),
    Case("Only `frontend/` changes", "scope",
         (("edit", "frontend/a.ts"), ("$", "find . -name '*.ts' | xargs sed -i s/a/b/", OK, "")), "unknown"),
    Case("schema.sql has to be changed too", "scope",
         (("edit", "src/models.py"), ("edit", "db/schema.sql")), "held"),
    Case("The public interface stays the same", "scope",
         (("edit", "src/api.py"), ("$", "pytest -q", OK, "3 passed")), "unknown"),
    Case("We only need to look at src/billing/invoice.py", "scope",
         (("edit", "src/billing/invoice.py"), ("edit", "src/billing/tax.py"), ("edit", "src/orders/total.py")), "wrong"),
    Case("pyproject.toml does not have to change", "scope",
         (("edit", "/srv/ann/invoices/pyproject.toml"), ("edit", "src/a.py")), "wrong"),
    # --- what people want -----------------------------------------------------------------------------------------
    Case("We use npm in this project", "preferences",
         (("$", "npm install left-pad", OK, ""), ("person", "No, use pnpm instead of npm here."), ("$", "pnpm add left-pad", OK, "")),
         "wrong"),
    Case("Use tabs for indentation", "preferences",
         (("edit", "src/a.go"), ("person", "Please use spaces for indentation, not tabs.")), "wrong"),
    Case("The person wants a short summary at the end", "preferences",
         (("edit", "src/a.py"), ("agent", "Done."), ("person", "Great. Now add the same to the importer.")), "unknown"),
    Case("I may push to the main branch with `git push origin main`", "preferences",
         (("edit", "src/a.py"), ("denied", "git push origin main")), "wrong"),
    Case("It is fine to add a dependency", "preferences",
         (("$", "pip install requests", OK, ""), ("person", "Don't add dependencies, use the standard library.")), "wrong"),
    Case("Commit messages are written in the imperative", "preferences",
         (("$", "git commit -m 'Add tax'", OK, ""), ("person", "thanks, looks good")), "unknown"),
    Case("The person prefers pytest over unittest", "preferences",
         (("edit", "tests/test_a.py"), ("person", "Use pytest, not unittest, as in the other files.")), "held"),
    Case("Deploying to staging needs no confirmation: `make deploy-staging`", "preferences",
         (("$", "make deploy-staging", OK, "deployed"), ("person", "ok")), "unknown"),
    Case("Squash the commits before merging", "preferences",
         (("$", "git rebase -i main", OK, ""), ("$", "git merge --squash topic", OK, "")), "wrong", reply="Never squash commits before merging."),
    Case("Docstrings are wanted on every function", "preferences",
         (("edit", "src/a.py"), ("person", "Why is the build slow?")), "unknown"),
    # --- what is there and works ----------------------------------------------------------------------------------
    Case("`jq` is installed", "approach",
         (("$", "cat x.json | jq .name", 127, "bash: jq: command not found"), ("$", "python -m json.tool x.json", OK, "{}")), "wrong"),
    Case("Docker is available on this machine", "approach",
         (("$", "docker ps", OK, "CONTAINER ID"), ("$", "docker compose up -d", OK, "")), "held"),
    Case("There is a config file at config/app.yaml", "approach",
         (("read-failed", "config/app.yaml", "No such file or directory"), ("$", "ls config", OK, "app.toml")), "wrong"),
    Case("src/models/user.py exists", "approach",
         (("read", "src/models/user.py", "class User: ..."),), "held"),
    Case("`make lint` works", "approach",
         (("$", "make lint", 2, "make: *** No rule to make target 'lint'.  Stop."), ("$", "ruff check .", OK, "")), "wrong"),
    Case("Running `npm ci` is enough to set things up", "approach",
         (("$", "npm ci", OK, "added 312 packages"), ("$", "npm test", OK, "12 passing")), "held"),
    Case("Redis is not installed here", "approach",
         (("$", "redis-cli ping", OK, "PONG"),), "unknown"),
    Case("The yaml module can be imported", "approach",
         (("$", "python -c 'import yaml'", 1, "ModuleNotFoundError: No module named 'yaml'"),), "wrong"),
    Case("The approach with a cache will be faster", "approach",
         (("edit", "src/cache.py"), ("$", "pytest -q", OK, "3 passed")), "unknown"),
    Case("We can solve it with a regular expression", "approach",
         (("edit", "src/parse.py"), ("$", "pytest -q", 1, "1 failed"), ("person", "still failing")), "unknown"),
    # --- what a tool shows ----------------------------------------------------------------------------------------
    Case("`check_status` shows `Mode: ON`", "approach",
         (("call", "check_status", {"line": "7"}, "Mode: OFF\nSignal: good"), ("call", "set_mode", {"on": True}, "ok"),
          ("call", "check_status", {"line": "7"}, "Mode: ON\nSignal: good")), "wrong"),
    Case("`get_order` shows `status: pending`", "approach",
         (("call", "get_order", {"id": "W1"}, '{"status": "pending", "total": 12}'), ("call", "cancel_order", {"id": "W1"}, '{"status": "cancelled"}')),
         "held"),
    Case("`read_load` shows `Load` under `5`", "approach",
         (("call", "read_load", {}, "Load: 9.5"),), "wrong"),
    Case("`get_user` shows `membership: gold`", "approach",
         (("call", "get_user", {"id": "u1"}, '{"name": "Ann"}'),), "unknown"),
    # --- what may go wrong ----------------------------------------------------------------------------------------
    Case("The install may fail with `EACCES`", "risk",
         (("$", "npm install -g tool", 243, "npm ERR! code EACCES"), ("$", "npm install tool", OK, "")), "held"),
    Case("The port may be taken: `address already in use`", "risk",
         (("$", "make serve", 1, "OSError: [Errno 98] Address already in use"),), "held"),
    Case("The migration may lock the table for long", "risk",
         (("$", "python manage.py migrate", OK, "done"),), "unknown"),
    Case("We may run out of disk space (`No space left on device`)", "risk",
         (("$", "docker build .", OK, "Successfully built"),), "unknown"),
    Case("Tests might be slow", "risk", (("$", "pytest -q", OK, "3 passed in 412.0s"),), "unknown"),
    Case("The token could have expired: `401 Unauthorized`", "risk",
         (("$", "gh api user", OK, '{"login": "ann"}'), ("read", "docs/errors.md", "a 401 Unauthorized means ...")), "unknown"),
)  # fmt: skip
