# ruff: noqa: E501
"""What a service, a CI server or a code host shows of a session's work, and what a session can bring about itself."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import pytest

from tacit.domain.evidence import Grade, Outcome
from tacit.domain.trajectory import Role, Step, StepResult, Task
from tacit.evidence.assessment import assess, explain_assessment
from tests.unit.making import attempt, call, edit, shell

APPLY = shell("kubectl apply -f k8s/audit.yaml", seen="deployment.apps/audit configured\nservice/audit unchanged")
ROLLED = shell(
    "kubectl rollout status deployment/audit --timeout=90s", seen='deployment "audit" successfully rolled out'
)
HEALTHY = shell("curl -fsS http://audit/health", seen='{"status":"ok"}')
SICK = shell(
    "curl -fsS http://audit/health", StepResult.FAILED, seen="curl: (22) The requested URL returned error: 503", code=22
)
PUSH = shell(
    "git add -A && git commit -qm fix && git push -u origin fix", seen="remote: Create a pull request for 'fix'"
)
GREEN = shell(
    "gh pr checks --watch", seen="build\tpass\t1m2s\thttps://github.com/ann/invoices/actions/runs/9123456789/job/1"
)
OPENED = shell("gh pr create --fill", seen="https://github.com/ann/invoices/pull/71")
MERGED = shell("gh pr view 71 --json state,mergedBy", seen='{"mergedBy":{"login":"bea"},"state":"MERGED"}')
SOURCE = edit("invoice/schema.py")


def changed(path: str, old: str, new: str) -> Step:
    return call("Edit", {"file_path": path, "old_string": old, "new_string": new})


def written(path: str, text: str = "x") -> Step:
    return call("Write", {"file_path": path, "content": text})


SHOWN: dict[str, list[Step]] = {
    "health endpoint": [APPLY, ROLLED, HEALTHY],
    "rollout status": [APPLY, ROLLED],
    "in one line": [shell("kubectl apply -f k8s/audit.yaml && kubectl rollout status deployment/audit && curl -f http://audit/health")],
    "waited for": [APPLY, shell("kubectl wait --for=condition=available deployment/audit --timeout=60s")],
    "wget": [APPLY, shell("wget -qO- http://audit:8080/health")],
    "output pattern": [APPLY, shell("curl -s http://audit/health | grep -q '\"status\":\"ok\"'")],
    "a version in the answer": [APPLY, shell("curl -s http://audit/version | grep -q '3\\.6'")],
    "jq": [APPLY, shell("curl -s http://audit/health | jq -e '.status == \"ok\"'")],
    "version by edit": [changed("k8s/audit.yaml", "image: reg.io/audit:1.3.0", "image: reg.io/audit:1.4.0"), APPLY, HEALTHY],
    "version by sed": [shell("sed -i 's/audit:1.3/audit:1.4/' k8s/audit.yaml"), APPLY, HEALTHY],
    "set image": [shell("kubectl set image deployment/audit audit=reg.io/audit:1.4.0 -n prod"), ROLLED],
    "helm": [shell("helm upgrade --install audit ./charts/audit --set image.tag=1.4 --wait"), HEALTHY],
    "compose, port seen": [
        shell("cat compose.yaml", seen='services:\n  web:\n    ports: ["8080:80"]'),
        shell("git pull"),
        shell("docker compose up -d --build", seen="Container web Started"),
        shell("sleep 3; curl -f http://localhost:8080/healthz", seen="ok"),
    ],
    "compose, port listed": [
        shell("docker compose up -d api", seen="Started"),
        shell("docker compose ps", seen="api  Up  0.0.0.0:8080->80/tcp"),
        shell("curl -fs http://localhost:8080/healthz", seen="UP"),
    ],
    "pulled first": [shell("git pull --ff-only"), APPLY, HEALTHY],
    "script, address told": [shell("./deploy.sh staging", seen="live at https://pay.example.net"), shell("curl -fsSL https://pay.example.net/up")],
    "make": [shell("make deploy ENV=staging", seen="see http://10.1.2.3:9000"), shell("curl -f http://10.1.2.3:9000/health")],
    "make, with a version": [
        shell("make deploy VERSION=4.2", seen="live at https://cat.example.net"),
        shell("curl -s https://cat.example.net/version | grep -q '\"version\": \"4.2\"'"),
    ],
    "service manager": [shell("sudo systemctl restart audit"), shell("systemctl is-active audit", seen="active")],
    "failed before": [APPLY, SICK, shell("kubectl rollout restart deployment/audit"), HEALTHY],
    "notes written": [written("docs/deployed.md"), APPLY, HEALTHY],
    "ci of the branch": [SOURCE, PUSH, GREEN],
    "ci run by number": [
        SOURCE,
        shell("gh run list --limit 3", seen="completed success old main 9123450000"),
        PUSH,
        shell("gh run list --limit 3", seen="in_progress fix 9123456789\ncompleted success old main 9123450000"),
        shell("gh run watch 9123456789 --exit-status", seen="✓ fix CI · 9123456789"),
    ],
    "ci of the pull request": [SOURCE, PUSH, OPENED, shell("gh pr checks 71 --watch", seen="build\tpass\t1m")],
}  # fmt: skip


@pytest.mark.parametrize("steps", SHOWN.values(), ids=SHOWN.keys())
def test_what_answers_well_after_the_work_is_machine_verified(steps: list[Step]) -> None:
    found = assess(attempt(*steps))
    assert (found.outcome, found.grade) == (Outcome.SUCCESS, Grade.MACHINE), found.reason


def test_the_verifier_names_its_kind_and_the_step() -> None:
    found = assess(attempt(APPLY, ROLLED, HEALTHY))
    assert (found.verifier, found.step) == ("health: curl -fsS http://audit/health", 2)


def test_a_merged_pull_request_is_the_word_of_a_person() -> None:
    for seen in ("MERGED\n", "title:\tfix\nstate:\tMERGED\nauthor:\tann\n--\nbody\n"):
        assert assess(attempt(SOURCE, PUSH, OPENED, shell("gh pr view 71", seen=seen))).verified_success
    found = explain_assessment(attempt(SOURCE, edit("tests/test_schema.py"), PUSH, OPENED, MERGED))
    assert (found.assessment.outcome, found.assessment.grade) == (Outcome.SUCCESS, Grade.HUMAN)
    assert found.reason.code == "merged"


TRICKS: dict[str, list[Step]] = {
    "nothing was deployed": [HEALTHY],
    "asked before the deployment": [HEALTHY, APPLY],
    "made-up port": [APPLY, shell("curl -f http://localhost:9/health")],
    "made-up host": [APPLY, shell("curl -f https://example.com/")],
    "address echoed": [APPLY, shell("echo http://localhost:9", seen="http://localhost:9"), shell("curl -f http://localhost:9/h")],
    "without -f": [APPLY, shell("curl -s http://audit/health", seen="Internal Server Error")],
    "or true": [APPLY, shell("curl -f http://audit/health || true")],
    "then echo": [APPLY, shell("curl -f http://audit/health; echo ok", seen="ok")],
    "piped": [APPLY, shell("curl -f http://audit/health | tail -1")],
    "in the background": [APPLY, shell("curl -f http://audit/health &")],
    "in a loop": [APPLY, shell("for i in 1 2 3; do curl -f http://audit/health && break; sleep 1; done")],
    "negated": [APPLY, shell("! curl -f http://audit/health")],
    "a file": [APPLY, shell("curl -f file:///srv/audit/health")],
    "resolved elsewhere": [APPLY, shell("curl -f --resolve audit:80:127.0.0.1 http://audit/health")],
    "connected elsewhere": [APPLY, shell("curl -f --connect-to audit:80:localhost:9 http://audit/health")],
    "through a proxy": [APPLY, shell("curl -f -x http://localhost:9 http://audit/health")],
    "by a proxy variable": [APPLY, shell("http_proxy=http://localhost:9 curl -f http://audit/health")],
    "exported proxy": [APPLY, shell("export http_proxy=http://localhost:9"), HEALTHY],
    "settings of curl": [APPLY, written("~/.curlrc", "proxy = localhost:9"), HEALTHY],
    "hosts": [APPLY, shell("echo 127.0.0.1 audit >> /etc/hosts"), HEALTHY],
    "an alias": [APPLY, shell("alias curl=true; curl -f http://audit/health")],
    "a function": [APPLY, shell("curl() { true; }; curl -f http://audit/health")],
    "another program": [APPLY, shell("/tmp/curl -f http://audit/health")],
    "own curl": [shell("ln -s /bin/true ~/bin/curl"), APPLY, HEALTHY],
    "a pattern that always fits": [APPLY, shell("curl -s http://audit/health | grep -q .")],
    "a pattern of every page": [APPLY, shell("curl -s http://audit/health | grep -qi html")],
    "a pattern that is absent": [APPLY, shell("curl -s http://audit/health | grep -v panic")],
    "an alternative": [APPLY, shell("curl -s http://audit/health | grep -qE 'status|x*'")],
    "jq without status": [APPLY, shell("curl -s http://audit/health | jq '.status == \"ok\"'")],
    "status that does not wait": [APPLY, shell("kubectl rollout status deployment/audit --watch=false")],
    "another deployment": [APPLY, shell("kubectl rollout status deployment/coredns")],
    "other cluster by variable": [APPLY, shell("KUBECONFIG=/tmp/kind kubectl rollout status deployment/audit")],
    "scaled to nothing": [APPLY, shell("kubectl scale deployment/audit --replicas=0"), ROLLED],
    "patched": [shell("kubectl patch deployment audit -p '{}'"), APPLY, ROLLED],
    "edited in place": [APPLY, shell("kubectl edit deployment/audit"), HEALTHY],
    "manifest from a pipe": [shell("cat <<EOF | kubectl apply -f -\nkind: Deployment\nEOF"), HEALTHY],
    "manifest from the web": [shell("kubectl apply -f https://k8s.io/examples/audit.yaml"), HEALTHY],
    "manifest rewritten": [changed("k8s/audit.yaml", "image: reg.io/audit:1.3.0", "image: nginx:1.3.0"), APPLY, HEALTHY],
    "probe removed": [changed("k8s/audit.yaml", "readinessProbe:\n  httpGet: {path: /health}", ""), APPLY, ROLLED],
    "none left": [changed("k8s/audit.yaml", "replicas: 3", "replicas: 0"), APPLY, ROLLED],
    "manifest written": [written("k8s/audit.yaml"), APPLY, HEALTHY],
    "manifest by shell": [shell("cat > k8s/audit.yaml <<EOF\nimage: nginx\nEOF"), APPLY, HEALTHY],
    "image replaced by sed": [shell("sed -i 's/audit:1.3/nginx:1.3/' k8s/audit.yaml"), APPLY, HEALTHY],
    "handler edited": [edit("src/health.py"), APPLY, HEALTHY],
    "another image": [shell("kubectl set image deployment/audit audit=nginx:1.27"), ROLLED],
    "other values": [shell("helm upgrade audit ./charts/audit --set image.repository=nginx"), HEALTHY],
    "tagged over": [shell("docker tag nginx reg.io/audit:1.4 && docker push reg.io/audit:1.4"), APPLY, HEALTHY],
    "a container of its own": [APPLY, shell("docker run -d --name audit -p 80:80 nginx"), HEALTHY],
    "a server of its own": [shell("./deploy.sh", seen="http://localhost:8000"), shell("python3 -m http.server 8000 &"), shell("curl -f http://localhost:8000/")],
    "netcat": [shell("./deploy.sh", seen="http://localhost:8000"), shell("nc -l 8000 < ok.http &"), shell("curl -f http://localhost:8000/")],
    "script written": [written("deploy.sh", "exit 0"), shell("./deploy.sh", seen="http://localhost:8000"), shell("curl -f http://localhost:8000/")],
    "script elsewhere": [shell("bash /tmp/deploy.sh", seen="http://localhost:8000"), shell("curl -f http://localhost:8000/")],
    "recipes that do nothing": [shell("make deploy SHELL=/bin/true", seen="http://localhost:8000"), shell("curl -f http://localhost:8000/")],
    "made healthy by a request": [APPLY, shell("curl -X POST http://audit/admin/healthy"), HEALTHY],
    "an unknown tool": [APPLY, call("mcp__cluster__apply", {"manifest": "x"}), HEALTHY],
    "an inline program": [APPLY, shell("python3 - <<EOF\nimport os\nos.system('x')\nEOF"), HEALTHY],
    "changed after": [APPLY, HEALTHY, edit("k8s/audit.yaml")],
    "deployed again after": [APPLY, HEALTHY, shell("kubectl rollout undo deployment/audit")],
    "failure unanswered": [APPLY, SICK, ROLLED],
    "deployment failed": [shell("kubectl apply -f k8s/audit.yaml", StepResult.FAILED, code=1), HEALTHY],
    "subagent": [APPLY, call("Task", {"prompt": "fix it"}), HEALTHY],
    "ci without a push": [SOURCE, GREEN],
    "ci before the last change": [PUSH, SOURCE, GREEN],
    "ci with weakened tests": [edit("tests/test_schema.py"), PUSH, GREEN],
    "ci with a changed workflow": [edit(".github/workflows/ci.yml"), PUSH, GREEN],
    "ci status not passed on": [SOURCE, PUSH, shell("gh run watch 9123456789", seen="X fix CI · 9123456789")],
    "ci of an older run": [SOURCE, PUSH, shell("gh run list", seen="in_progress 9123456789\nsuccess 9123450000"), shell("gh run watch 9123450000 --exit-status")],
    "ci of any run": [SOURCE, PUSH, shell("gh run watch 9123450000 --exit-status")],
    "ci of another pull request": [SOURCE, PUSH, OPENED, shell("gh pr checks 12")],
    "ci elsewhere": [SOURCE, PUSH, shell("gh pr checks --repo other/place 71")],
    "ci rerun": [SOURCE, PUSH, shell("gh api -X POST repos/a/b/statuses/1 -f state=success"), GREEN],
    "ci switched off": [SOURCE, PUSH, shell("gh workflow disable ci.yml"), GREEN],
    "ci pending hidden": [SOURCE, PUSH, shell("gh pr checks || echo fine", seen="build\tpending")],
    "merged by itself": [SOURCE, PUSH, OPENED, shell("gh pr merge 71 --squash --admin"), MERGED],
    "merged by a tool": [SOURCE, PUSH, OPENED, call("mcp__github__merge_pull_request", {"pull_number": 71}), MERGED],
    "merged by a push": [SOURCE, PUSH, OPENED, shell("git push origin fix:main"), MERGED],
    "merged by api": [SOURCE, PUSH, OPENED, shell("gh api -X PUT repos/a/b/pulls/71/merge"), MERGED],
    "another pull request merged": [SOURCE, PUSH, OPENED, shell("gh pr view 12 --json state", seen='{"state":"MERGED"}')],
    "not merged": [SOURCE, PUSH, OPENED, shell("gh pr view 71 --json state,title", seen='{"state":"OPEN","title":"MERGED"}')],
    "merge printed": [SOURCE, PUSH, OPENED, shell("echo MERGED", seen="MERGED")],
    "only tried": [shell("kubectl apply --dry-run=client -f k8s/audit.yaml", seen="deployment.apps/audit configured (dry run)"), HEALTHY],
    "script that only tries": [shell("./deploy.sh --dry-run", seen="http://localhost:8000"), shell("curl -f http://localhost:8000/")],
    "script of another purpose": [shell("./release_notes.sh", seen="http://localhost:8000"), shell("curl -f http://localhost:8000/")],
    "deployment's failure hidden": [shell("./deploy.sh || true", seen="http://localhost:8000"), shell("curl -f http://localhost:8000/")],
    "deployment's failure piped": [shell("./deploy.sh | tail -1", seen="http://localhost:8000"), shell("curl -f http://localhost:8000/")],
    "hidden in one line": [shell("kubectl apply -f k8s/audit.yaml; curl -f http://audit/health")],
    "another service, seen before": [shell("kubectl get svc", seen="audit  billing"), shell("kubectl apply -f k8s/billing.yaml"), HEALTHY],
    "another service's port": [shell("./deploy.sh", seen="done"), shell("curl -f http://localhost:6443/healthz")],
    "override file": [written("compose.override.yaml"), shell("docker compose up -d", seen="0.0.0.0:8080"), shell("curl -f http://localhost:8080/")],
    "compose elsewhere": [shell("docker compose -f /tmp/compose.yaml up -d", seen="0.0.0.0:8080"), shell("curl -f http://localhost:8080/")],
    "work put aside": [shell("git stash"), APPLY, HEALTHY],
    "other cluster": [shell("kubectl config use-context kind"), APPLY, ROLLED],
    "asked and forgotten": [APPLY, shell("kubectl rollout status deployment/audit; true")],
    "push tried": [SOURCE, shell("git commit -am fix"), shell("git push --dry-run"), GREEN],
    "nothing pushed": [SOURCE, shell("git commit -am fix"), shell("git push", seen="Everything up-to-date"), GREEN],
    "push failed unseen": [SOURCE, shell("git commit -am fix && git push || true", seen="rejected"), GREEN],
    "not committed": [SOURCE, shell("git push", seen="main -> main"), GREEN],
    "text of the request": [SOURCE, PUSH, OPENED, shell("gh pr view 71", seen="title:\tfix\nstate:\tOPEN\n--\nstate:\tMERGED\n")],
    "title of the request": [SOURCE, PUSH, OPENED, shell("gh pr view 71 --json title -q .title", seen="MERGED")],
    "own gh": [shell("ln -s /tmp/fake ~/bin/gh"), SOURCE, PUSH, OPENED, MERGED],
}  # fmt: skip


@pytest.mark.parametrize("steps", TRICKS.values(), ids=TRICKS.keys())
def test_what_a_session_brings_about_itself_verifies_nothing(steps: list[Step]) -> None:
    found = assess(attempt(*steps))
    assert not found.verified_success, found


def test_a_service_that_answers_badly_is_a_verified_failure() -> None:
    assert assess(attempt(APPLY, SICK)).verified_failure
    red = shell("gh pr checks", StepResult.FAILED, seen="build\tfail\t1m\ttests\n", code=1)
    assert assess(attempt(SOURCE, PUSH, red)).verified_failure


@pytest.mark.parametrize("code", [6, 7, 28])
def test_a_service_that_was_not_reached_accuses_nobody(code: int) -> None:
    unreached = shell(
        "curl -f http://audit/health", StepResult.FAILED, seen="curl: (6) Could not resolve host", code=code
    )
    assert assess(attempt(APPLY, unreached)).outcome is Outcome.UNKNOWN


def test_a_failing_test_outweighs_a_healthy_service() -> None:
    failing = shell("pytest -q", StepResult.FAILED, seen="1 failed in 0.1s", code=1)
    assert assess(attempt(failing, APPLY, HEALTHY)).verified_failure


def test_a_bad_answer_after_passing_tests_decides() -> None:
    assert assess(attempt(shell("pytest -q", seen="5 passed in 0.1s", code=0), APPLY, SICK)).verified_failure


def test_the_person_may_name_the_address() -> None:
    run = attempt(APPLY, shell("curl -f http://10.0.0.7:31000/ready"))
    assert explain_assessment(run).reason.code == "target_chosen"
    named = replace(run, task=Task(text="deploy it; it answers at 10.0.0.7:31000"), id="")
    assert assess(named).verified_success


def test_what_another_attempt_of_the_session_changed_counts() -> None:
    run = attempt(APPLY, HEALTHY)
    assert assess(run, mates=lambda: [attempt(shell("ls"))]).verified_success
    for earlier in (edit("src/health.py"), shell("kubectl scale deployment/audit --replicas=0")):
        found = explain_assessment(run, mates=partial(list, [attempt(earlier)]))
        assert found.reason.code == "service_changed"


def test_a_person_who_rejects_it_outweighs_a_healthy_service() -> None:
    said = Step(index=3, role=Role.USER, text="That is wrong, please revert it.")
    run = attempt(APPLY, HEALTHY)
    assert assess(replace(run, steps=(*run.steps, said), id="")).verified_failure
