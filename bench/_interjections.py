"""What people say to an agent in the middle of a task, and how they begin the next one: written for `bench/segmentation.py`.

Data only. `{thing}` stands for something that the current task speaks of. Every second line of a list is for development,
the others are held out. An answer comes with the question that the agent had asked.
"""

from __future__ import annotations

CORRECTIONS = {
    "any": """
no, that's not what I meant
Not quite. I wanted the {thing} to stay as it was
wait, stop
Actually, leave the {thing} alone
You forgot the {thing}
that's wrong, look at the {thing} again
Hmm, I don't think that is right
I said the {thing}, not everything
nope, wrong one
please undo the last step
You misunderstood me: only the {thing} matters here
the result is still the same as before
Sorry, I made a mistake, ignore what I said about the {thing}
don't touch anything else
That didn't work
almost, but the {thing} is in the wrong place
Too complicated. Do it the simple way
Please don't assume things, ask me first
it did nothing
that was the wrong {thing}, take the other one
""",
    "coding": """
still failing with the same traceback
the tests are red again
Use pathlib instead of os.path
No print statements, we use the logger in this repo
revert that, it broke the build
TypeError: unsupported operand type(s) for +: 'int' and 'str'
we don't use semicolons here
Please keep the public function signature unchanged
you edited the generated file, edit the template instead
The import should be at the top of the file
don't mock the database, use the fixture
It works locally but CI says ModuleNotFoundError
wrong branch, this belongs on the release branch
why did you delete the docstrings? put them back
The button moved but it's now overlapping the logo
Make it async instead
that regex is too greedy, it eats the closing quote
npm ERR! missing script: build
The function returns None for an empty list now
Rather than catching Exception, catch the specific error
""",
    "service": """
No, I said the credit card, not PayPal
That is not my order
The total you gave me is wrong
I never agreed to that
It's still showing no signal
no no, I want to keep the other item
Wrong address, mine is on Elm Street
Actually, make it two instead of one
The price should be lower than that
My name is spelled with a K
You already asked me that
I tried that twice and nothing changed
""",
}

CONTINUES = {
    "any": """
continue
go on
keep going
yes
Yes, please.
ok do it
go ahead
carry on
proceed
try again
yep, sounds good
and?
you can continue now
resume where you left off
finish it
please go on with the rest
do the remaining ones too
sure
sounds right, go for it
ok next step
retry
yes, all of them
Correct, please proceed.
ok, and the others as well
""",
}

THANKS = {
    "any": """
thanks!
Great, thank you
perfect
nice work
Awesome, that's what I needed
thx
looks good to me
Good, that works now
Thank you so much for your help!
cool
wonderful, much better
excellent
That's all, thank you.
ok great
""",
}

ANSWERS = {
    "any": """
Which one do you mean? | the second one
Should I go ahead with this? | Yes, but leave the {thing} for later
Do you want me to keep the old one? | no, remove it
How many should I take? | three
There are two ways to do this. Which do you prefer? | whichever is simpler
May I overwrite it? | sure, overwrite
What should I call it? | call it draft-one
Could you tell me where it is? | It should be in the usual place
Is the {thing} important to you? | Not very, but I'd prefer to keep it
Please confirm that I should proceed. | I confirm
""",
    "coding": """
Which Python version should I target? | 3.11 and later
Should I add a migration for this? | Yes, add one, and make it reversible
Which port should the server listen on? | 8081, it must not clash with the other one
Where do the fixtures live? | tests/fixtures/api, next to the snapshots
Do you want this behind a flag? | Put it behind the beta flag for now
What should happen on a timeout? | Raise the error and log the request id
Should I bump the version? | patch release, 2.3.1
Which database does staging use? | Postgres 15, same as production
Shall I squash the commits? | no, keep them separate
Can I install a new dependency for that? | I'd rather not, write it by hand
""",
    "service": """
Could you please provide your order ID? | It's #W5520417
What is your email address? | noah.brown7922@example.com
Could you give me your name and zip code? | Mia Garcia, 76165
Which payment method do you want to use? | The gift card, please
Can you tell me what the status bar shows? | It says no service and there is a little plane
Which of the two items do you want to return? | Only the lamp, I'll keep the chair
What address should it be sent to? | 445 Maple Drive, Suite 394, Fort Worth, Texas
Is the phone's data saver on? | I think so, how would I see that
""",
}

FOLLOW_UPS = {
    "any": """
can you also check the {thing}?
And what about the {thing}?
do the same for the other {thing}
Also tell me how long that took
Show me the {thing} once more
why did you pick that one?
what changed?
is that everything?
How sure are you about the {thing}?
what would happen if we skipped the {thing}?
Can you explain the last step?
Did you check the {thing} too?
summarize what you did
The {thing} should come first, then the rest
one more thing: the {thing} needs to be ready as well
And please double-check the {thing} before you finish
where did you put it?
so is the {thing} fine now?
""",
    "coding": """
add a test for the empty case too
run the tests again
Rename {thing} to something shorter
commit this
now push it and open a pull request
what does the second argument do?
Add a docstring to it
Does this handle unicode?
Can we make it faster? it takes 8 seconds on my machine
also update the README accordingly
how do I run this?
Move the constant to the top of the file
show me the diff
Is there an off-by-one in the loop?
fix the lint warnings you introduced
And the type hints?
could you split that function, it's too long
Also handle the case where the file doesn't exist
Explain the {thing} part, I don't follow
which tests cover this?
write the changelog entry for it
drop the debug output before we merge
""",
    "service": """
how long will the refund take?
And can I get an email about it?
Is there a fee for that?
What would be the difference in price?
will I keep my number?
Could you do that for the second one as well?
What else can I try?
Which one is cheaper?
Also use the same card for the difference
when will it arrive?
""",
}

LEADS = """
Now
Next:
ok, now
Thanks! Now
Great. Next,
New task:
Perfect, thank you.
Alright, something else:
Another thing:
cool, let's move on.
Also,
Good.
One more task:
Ok.
Hi again,
Different topic.
"""

CODING_GOALS = """
fix the flaky test in tests/test_scheduler.py, it fails about one time in ten
Add a --json flag to the export command
the login page shows a blank screen on Safari, find out why
Upgrade us from pydantic 1 to 2
write a Dockerfile for the worker
I want a dark mode toggle in the settings panel
Our nightly backup job has been failing since Tuesday. Here is the log: pg_dump: error: connection to server failed
set up pre-commit with ruff and mypy
migrate the user table: split name into first_name and last_name
Can you review the diff on branch feature/payments for security problems?
implement rate limiting for the public API, 100 requests per minute per key
Where in the code do we compute shipping costs?
port scripts/deploy.sh to Python
the CSV importer drops the last row when there is no trailing newline
Create a GitHub workflow that builds wheels for Linux and macOS
Profile the report generation, it takes 40 seconds for 2000 rows
replace moment.js by date-fns across the frontend
How does the retry logic in our HTTP client work?
add pagination to GET /orders
Memory of the ingest process grows without bound, please investigate
translate all user-facing strings in the checkout to German
Write unit tests for src/money/rounding.py
we need an index on events.created_at, the dashboard query is slow
Refactor the config loader so that environment variables win over the file
generate a changelog from the commits since v1.8.0
make the websocket reconnect after the laptop wakes up
Delete the dead feature flags that have been on for more than six months
Build a small CLI that converts our YAML fixtures into SQL inserts
The avatar upload returns 413 for files over 1 MB
document the plugin API in docs/plugins.md
convert the class components under src/widgets to hooks
Let's add OpenTelemetry tracing to the gateway
I get "permission denied (publickey)" when the runner clones the repo, help me fix that
sort the leaderboard by score, ties by name
Draft a design note for moving sessions from cookies to Redis
bump all GitHub actions to their newest major versions
"""


def halves(text: str) -> tuple[list[str], list[str]]:
    """The lines of a list: development half, held-out half."""
    lines = text.strip().splitlines()
    return lines[::2], lines[1::2]
