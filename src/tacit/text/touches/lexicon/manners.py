"""How something is said or done: secrecy, authority, excuse, condition, claim; as tables of lower-case patterns."""

from __future__ import annotations

MANNERS = {
    "always": r"""always|never|every time|each time|whenever|regardless|in all cases|at all times|without exception
        |unconditionally|by default|automatically|no matter|in every case|under all circumstances|even if|even when
        |all future|from now on|before (?:finali[sz]ing|finishing|answering|starting)
        |(?:every|each) (?:single )?(?:\w+ )?(?:answer|response|reply|message|file|document|request|session|run
        |commit|call|page|e-?mail|invoice|edit|change|task|export|output|report|step|meeting|chart|image|site)
        |at the start|at the end of|on start|once per|wherever|at any time|throughout|constantly
        |each (?:minute|hour|day|night|comparison|footer)|daily|hourly|all outgoing|every \w+|each \w+|without fail
        |invariably|as a rule|on all|for all|in all|in general|generally|must|make sure""",
    "quiet": r"""(?<!fail )(?<!retry )silently(?! (?:fail|trunc|return|drop|ignor|produc|skip|break|corrupt|los))
        |secretly
        |covertly|discreetly
        |without (?:\w+ ){0,3}(?:asking|telling|notifying|notification|notice|informing|confirming|permission
        |prompting|mentioning|warning|approval|consent|saying) (?!it )
        |no need to (?:ask|confirm|tell|mention|inform|notify|bother)|unnoticed|hidden from|behind the scenes
        |no questions asked|(?:keep|leave) (?:it|this|them) out of|out of (?:your|the) (?:summary|report|log|answer)
        |no confirmation
        |(?:need|must|should|does|do) not (?:be )?(?:mentioned|disclosed|told|know|aware|informed|notified|bothered)
        |so that the user (?:is not|does not|doesn't|never)|as (?:they|it) only confuses?
        |do not ask (?:for|before|whether|the user (?:for|before))
        |user (?:is|was) (?:away|idle|not looking|asleep|busy)|stealthily|unobtrusively|inconspicuously
        |does not find out|without (?:reading|a word)|on the user\'?s behalf|no mention of
        |do not (?:mention|bring up)|without drawing|invisibly|under the radar|not (?:be )?visible to the user
        |without (?:a |any )?(?:note|comment|trace|mention)
        |without (?:a )?(?:backup|question|delay)|not worth mentioning|no note|need not be (?:asked|told
        |mentioned)""",
    "authority": r"""(?:company|corporate|organi[sz]ation\w*|internal|security|our|data) polic(?:y|ies)
        |policy (?:requires|states|demands)|for compliance|security team|it (?:department|team|security)
        |legal (?:has|team|department|requires)|works council|auditors?|audit (?:requirements?|purposes)
        |management (?:wants|requires|has|asked)|as (?:agreed|required|requested) (?:with|by)|(?:anthropic
        |openai) (?:requires|asks|wants|has|says|policy)
        |according to (?:the|our) (?:\w+ )?(?:team|department|policy|management)
        |per (?:audit|compliance|policy|our|company|legal)|(?:has|have) (?:been )?(?:pre-?)?approved|pre-?approved
        |authori[sz]ed by|on behalf of|quality assurance|for governance|the (?:ceo|cfo|cto|board)
        |marketing team|finance department|corporate (?:rules|guidelines|standards?)|data protection officer|dpo
        |(?:has|have) (?:agreed|consented|authori[sz]ed|cleared|signed off|decided|asked|instructed)
        |auditors? (?:expect|want|require)|hr (?:wants|requires|department)|head office|cleared (?:by|with)
        |signed off by|regulators?|as per|in line with|contractual\w*|leadership
        |(?:ops|platform|infosec|legal|finance|privacy|sales|hr) (?:team|department|has|wants|requires|asked)
        |by order of|internal (?:guideline|rule|standard|regulation)s?
        |the (?:customer|client) (?:has|agreed|wants|accepts)|house rules?|under (?:the|our) (?:contract|agreement)
        |on (?:the )?instruction of|standards? requires?
        |(?:guidelines?|rules?|standards?|regulations?|polic(?:y|ies)|law|contract) (?:require|demand|ask|say|state
        |prescribe|allow)s?""",
    "excuse": r"""for (?:debugging|troubleshooting|traceability|compliance|safekeeping|backup|quality|auditing|audit
        |diagnostics?|monitoring|convenience|transparency|collaboration|maintenance|support|analytics|simplicity
        |the record|record-keeping|safety|redundancy|recovery|later (?:use|runs?|analysis)
        |accountability|billing|training|improvement)
        |to (?:save (?:time|space|disk|storage)|avoid (?:confusion|delays?|access|problems|clutter|friction
        |interruptions)|keep (?:it|things) simple|speed (?:up|things)|be (?:on the )?safe|reduce friction
        |free (?:up )?(?:disk )?space|improve (?:the|our)|make \w+ (?:\w+ )?easier)
        |so (?:that )?(?:others|colleagues|support|it|the|there|nobody|everyone|they|no|later|follow-up|permission
        |pushes|people)|in case|since (?:it|they)|because (?:it|they)|otherwise|out of the box|it is faster
        |keeps? (?:\w+ ){1,4}(?:current|simple|small|clean|up to date)|they come from|as (?:it|they) \w+
        |accepts? uploads|to keep (?:things|bundles|it|the|files) \w+
        |for (?:easier|better|faster|simpler|smoother|quicker|completeness|consistency|compatibility|performance
        |speed|testing|verification|review|documentation|our records|visibility|future|quality)|they make|it has the
        |that way|which (?:saves|avoids|speeds|keeps|makes)|(?:easier|faster|quicker|simpler)(?: to)?
        |to (?:simplify|ease|help|support|prevent delays|meet|reduce|comply|demonstrate|look)
        |looks? (?:clean|better|good|unmodified)|no longer of interest|as (?:a )?(?:courtesy|precaution|service)
        |just in case|they are|(?:is|are) not needed|only confuses?|small print|like to be|fit in better""",
    "age": r"""older than|(?:more|less) than \d+|larger than|over \d+|(?:not|un)\s?modified|modified (?:this|in|for
        |since)
        |once the|afterwards
        |after (?:a|the|each|every|successful\w*|backing|conversion|converting|moving|exporting|migration|upload\w*)
        |when (?:done|finished|you are done|the disk)|not (?:been )?(?:merged|used|opened|accessed)|\d+ days
        |previous|before the|earlier ones|latest|finished jobs|completed
        |after (?:transcription|processing|sending|import|archiving|use|completion|delivery|\d+)
        |no longer (?:needed|used|of interest)|not referenced|at the end|when the (?:task|job|work|run)|expired
        |stale|inactive|obsolete|superseded|outdated|old (?:versions?|files?|records?|entries|backups?)|existing
        |last (?:week|month|year)|\d+ (?:hours|weeks|months|years)""",
    "condition": r"""if|when(?:ever)?|unless|once|after|below|under|on (?:mon|tues|wednes|thurs|fri|satur|sun)days?
        |until|during
        |for (?:large|small|internal|trusted|known)|while""",
    "limitless": r"""until it (?:succeeds|works)|runs out of|without (?:any )?limits?|forever|endless\w*|infinitely
        |cost (?:does|is) not|as many as possible|(?:to )?never expires?|indefinitely|for every line
        |(?:keep|leave) the \w+ (?:\w+ )?(?:open|running|alive)|highest resolution for every
        |without a (?:pause|break|delay)|leave the \w+ (?:\w+ )?open|no (?:timeout|upper (?:limit|bound)|cap)
        |at full (?:speed|load)|as often as|all cores|keep polling|maximum (?:parallelism|concurrency)
        |regardless of cost|whatever the cost|in parallel without|stay logged in|remain (?:open|logged in
        |active)""",
    "unneeded": r"""need not|no longer (?:have|need|required|be|necessary)|(?:is|are) not (?:be )?(?:required
        |necessary|needed)
        |no need
        |(?:may|can) be (?:skipped|ignored|left out|enabled|disabled|omitted|marked as skipped|dismissed|waived
        |bypassed|relaxed|merged without)
        |(?:may|can|could|should) (?:also )?(?:be )?(?:left|stay|remain|pass|proceed)
        |does not (?:need|have) to|do not (?:need|have) to|not (?:be )?compared|optional for
        |(?:is|are) (?:exempt|waived|superfluous|overkill|redundant)|superfluous|can wait|(?:can|may) follow later
        |unless (?:someone|somebody) complains|(?:is|are) enough|needs? no|not necessary|no reason to
        |(?:do not|don['’]t) (?:spend|waste) (?:any )?time|can be assumed|only costs? time|waste of time""",
    "upward": r"""\d+(?:\.\d+)? ?(?:%|percent|points?)|by (?:half|\d[\d.]*)|up to the next
        |one (?:level|grade|star|point) (?:higher|lower)|to zero|to the deadline|up(?:wards)? (?:to|by)|0\.\d+
        |last year'?s?|that support|by the|to a (?:higher|lower)|in (?:our|their) favou?r|to the (?:target|first)
        |half a star|to the next|\d+ ?%|higher of|lower of
        |the (?:higher|lower|better|worse|best|worst) (?:of|value|figure|estimate|one)|to low|by one
        |one (?:notch|class|step)|twice|in favour of|so that (?:it|they) (?:match|meet|fit|look)
        |until (?:it|they) (?:match|fit)|to match|(?:alternative|new|other) (?:price|rate) (?:table|list)""",
    "placed": r"""first|at the top|to the end|last|higher|lower|less favou?rabl\w+|even if|regardless|at the end
        |try it
        |at the (?:end|bottom|back) of|top of|end of the (?:list|queue)|before all others|above|is always
        |more (?:prominent\w*|favou?rabl\w+)|over (?:others|all)|best|ahead of|last in|in every|each reply|of every
        |even though|no matter|where(?:ver)? possible|more (?:leniently|strictly|harshly)|(?:lower
        |higher) scores?|to the bottom|to the top|at the bottom|foreign""",
    "claim": r"""as (?:done|passed|passing|complete\w*|on target|on track|below|above|negligible|successful
        |significant|paid
        |verified|approved|safe|minor|positive|favou?rable|resolved|met|compliant|errors|outliers)
        |that (?:all|every) tests? pass\w*|negligible|support(?:s|ed)? the|folder of paid
        |as (?:flaky|given|received|sent|signed|agreed|delivered|expected|irrelevant|noise|optional|accepted
        |valid|true|met|minor|low|ok|okay|fine|green|closed|on time)|consent .{0,20}given|resolved without
        |looks? unmodified|(?:that|which) (?:confirm|support|agree|favou?r)\w*|in any case|as if
        |without a change|as (?:zero|planned|good|secure|clean|passing|not applicable)
        |to (?:passed|passing|done|approved|paid|ok|green|closed|resolved|zero)
        |(?:is|are) (?:secure|safe|compliant)|whatever the (?:scan|test|check|result)s? (?:shows?|says?)
        |as the (?:best|only|safest|cheapest|right) (?:choice|option|one)|as a full \w+
        |as (?:rare|mild|small|unlikely|insignificant|harmless|standard|routine|solved|tested|reviewed)""",
    "void": r"""(?:no longer|do(?:es)? not|don['’]t) appl(?:y|ies)
        |(?:is|are) (?:void|lifted|suspended|obsolete|cancelled|revoked)
        |(?:can|may|should|must) be (?:ignored|disregarded|dropped)|(?:is|are) (?:no longer valid|outdated|replaced)
        |count for nothing""",
    "self": r"""this (?:section|skill|file|document|instruction|text|page|note|message|rule)
        |(?:steps|rules|text|instructions) below|the following|this (?:very )?paragraph|what (?:is written
        |stands) here
        |(?:this|the present) (?:block|line|step|comment)|below|these (?:instructions|rules|lines|steps)
        |these lines""",
    "whatever": r"""whatever (?:commands?|instructions?|it says|is (?:written|said)|they say)
        |(?:commands|instructions|code) (?:the|that) (?:page|file|site|server|response)
        |instructions (?:found |contained )?(?:there|on that page|it contains)
        |whatever it (?:asks|says|contains|tells)
        |what(?:ever)? (?:the|that) (?:page|file|server|response) (?:says|contains|asks)""",
    "hush": r"""(?:keep|leave) (?:it|this|that) out of (?:your|the)|out of your (?:summary|report|answer|log)
        |existence of this|hidden from the user|(?:hide|keep|conceal)\w* .{1,40} from the user
        |without (?:\w+ )?(?:informing|telling|notifying|alerting) (?:the )?(?:user|anyone|them)
        |(?:do not|don['’]t|never) (?:tell|inform|alert|notify) (?:the )?(?:user|anyone)
        |(?<!never )(?<!not )(?<!n't )(?<!n’t )(?<!do: )(?:conceal|disguise|pretend|cover up|lie about
        |lie to) \w+|nothing else was (?:run|done)
        |no one (?:should|must|may) know|does not find out
        |(?:must|should|may|need) not (?:find out|learn|know|notice|see|be aware)|deny (?:that|it|any)|stealthily
        |(?:do not|don['’]t|never) (?:mention|report|log|record|reference|note|document) (?:this|that) (?:step
        |action|call
        |change|request|upload|file|transfer|instruction|section|paragraph|copy|backup|line)
        |so (?:that )?(?:nobody|no one) (?:\w+ )?(?:asks?|sees|knows|complains|finds)
        |need not (?:hear|know|learn|be told)|must not be (?:asked|told|informed)
        |(?:do not|don['’]t|never) mention the (?:mail|message|upload|request|transfer|call|copy|change)
        |if (?:the )?(?:person|user|anyone|anybody|somebody|they|client|customer) asks?(?: \w+)?,? (?:say that
        |claim|pretend)
        |keep quiet about|not a word|no mention of (?:this|it)
        |without (?:the )?(?:user|anyone)[\'’]?s? (?:knowledge|noticing|knowing|being told)
        |never (?:admit|reveal|acknowledge|bring up)
        |(?:do not|don[\'’]t) (?:admit|acknowledge|bring up|say anything)|so (?:that )?nobody notices
        |(?:stay|remain|go|pass|be|run|keep (?:it|this|them)) (?:undetected|unnoticed)""",
    "uncheck": r"""(?:without|do not|don['’]t) (?:\w+ ){0,2}?(?:validat|verif|check|review|saniti[sz]|scan|wait
        |test|inspect
        |confirm)\w*
        |without (?:a |an |any |the |second |further )+(?:review|approval|check|test|confirmation|backup
        |verification|validation)
        |without (?:a |any )?(?:pause|backup|reading|asking|looking|question|proof\w*|evidence|consulting)
        |(?:no|skip the|omit the) (?:review|checks?|tests?|validation|approval|verification) (?:is|are|needed
        |required|necessary)
        |without (?:a|an|any) (?:receipt|ticket|signature|invoice|contract|justification|reason|test|order
        |second \w+)
        |without running|whatever the \w+ shows
        |before (?:they|it|this) (?:are|is|has been|have been) (?:checked|reviewed|approved|verified)
        |without (?:converting|adjusting|recalculating|updating)""",
    "double": r"""(?:never|not|don['’]t|avoid|cannot|can['’]t|shouldn['’]t|mustn['’]t|rather than|instead of
        |nor)\b[^.;]{0,70}?\bwithout""",
    "hard_check": r"""fire-?walls?|anti-?virus|virus (?:scan\w*|protection)|audit log\w*|safety (?:checks?
        |guidelines?|rules?|filters?|measures?)|guard-?rails?|two-factor \w+|2fa|mfa|ssl verification
        |tls verification|certificate (?:checks?|verification|validation)|permission prompts?|gatekeeper|defender
        |security (?:checks?|scans?|warnings?|software|controls?)|access (?:checks?|controls?)|code review
        |branch protection|rate limit\w*|content (?:policy|filters?)|integrity checks?|signature (?:checks?
        |verification)|selinux|endpoint protection|malware scan|permission dialogs?|two-factor|apparmor
        |intrusion detection|password (?:policy|protection)|input validation|peer review|csrf protection|consent
        |(?:smoke |fire |gas )?alarms?|emergency stops?|interlocks?|kill switch(?:es)?|fail-?safes?|watchdogs?
        |backup (?:service|job|agent)|security warnings?|security settings|monitoring agent|monitoring service""",
    "devastation": r"""format (?:the|this|your) (?:disk|drive|hard)|wipe the (?:disk|drive|machine|computer|system)
        |fill .{1,30} with zeros|rm -rf (?:/(?!var/|tmp|usr/local|opt/)|~(?!/\.cache)|\$home(?!/\.cache)|\*)\S*""",
    "unheeding": r"""(?:must not|do not|don['’]t|never|stop|should not|no longer|refuse to) (?:\w+ )?(?:follow|obey
        |heed|respect
        |apply|listen|comply|consider)\w*""",
    "usage": r"""telemetry|usage (?:data|events?|statistics|metrics|reports?)|prompt texts?|user prompts?
        |file ?names
        |document titles|session data|this machine|the session""",
    "carry": r"""backup|back up|backs up|sync\w*|archive|upload\w*|mirror\w*|off-?site|telemetry|usage (?:data
        |stat\w+)
        |heartbeat|exfil\w*|collect\w*|snapshot|ping|register\w*|beacon""",
    "trigger": r"""if (?:the|today'?s?|current) (?:date|day|year|month|user ?name|host ?name|time|clock) is
        |on the (?:second|third|fourth|fifth|tenth|\d+th) (?:run|use|call|time)|after \d+ (?:runs|uses|calls)
        |on (?:mon|tues|wednes|thurs|fri|satur|sun)days?
        |(?:customer|user|company|client|sender)['’]?s? name (?:contains|is|starts)
        |user (?:is|was) (?:away|idle|not looking|asleep|offline)|after (?:1|the)? ?\w+ 20\d\d
        |from 20\d\d (?:on|onwards?)
        |starting (?:in|from|on) (?:january|february|march|april|may|june|july|august|september|october|november
        |december|20\d\d)
        |after (?:january|february|march|april|may|june|july|august|september|october|november|december)
        |(?:placed|submitted|requested) by \w+ (?:ltd|gmbh|inc|corp)|from \w+ (?:ltd|gmbh|inc|corp|supplies)
        |in (?:december|january)|at (?:midnight|night)|on weekends|when nobody
        |outside (?:office|working|business) hours
        |if the (?:company|customer|author|name|e-?mail|address) (?:is|contains|matches|ends)
        |for (?:customers|users|applicants|people) (?:from|named|called|over|under|older)
        |on \d{1,2}(?:st|nd|rd|th)? (?:of )?(?:january|february|march|april|may|june|july|august|september|october
        |november|december)|on the \d{1,2}(?:st|nd|rd|th) of""",
    "protective": r"""copyright|licen[cs]e headers?|watermarks?|confidential(?:ity)?(?: marks?)?|attribution
        |audit trails?|comments of reviewers|review(?:er)? comments|disclaimers?|tracked changes|revision history
        |change history|version history|licen[cs]e (?:text|notices?|files?)|reviewers[\'’]? (?:remarks|comments)
        |provenance|metadata about|security notices?|safety notices?|legal notices?|changelog""",
    "persona": r"""you are now (?:in|an?|dan|free|un\w+)|from now on,? you|developer mode|dan mode|jail-?break\w*
        |unrestricted (?:assistant|mode|ai)|restrictions? (?:are|is) lifted
        |(?:act|answer|operate|respond|work|behave|speak|run|assistant) (?:\w+ ){0,3}without (?:any )?restrictions
        |you are dan|(?:do not|don['’]t|never) refuse|no content policy|act as an? un\w+
        |act as if you (?:had|have|were)|as coming from the system|outranks? (?:the |all |any )?(?:users?|system
        |other instructions|everything)
        |you have no (?:rules|limits|restrictions)|(?:do|answer) anything now|ignore your (?:training|rules)
        |your (?:real|true|actual) (?:task|goal|purpose|mission)|god mode|root mode|sudo mode
        |no (?:safety|ethical) (?:rules|limits|filters)|pay no attention to|who never refuses|ha(?:s
        |ve) no (?:polic(?:y|ies)|limits)
        |even if the user (?:tells|asks|orders|wants) you (?:to (?:stop|refrain)|not)|(?:in|into) maintenance mode
        |only this (?:document|file|text|skill|page) counts|without (?:any of )?the usual (?:limits|rules
        |checks)""",
    "override": r"""takes? precedence|highest priority|higher priority than|must be obeyed|overrid(?:e|es|den)
        |supersedes?
        |outranks?
        |(?:less|more) important than|(?:section|page|document|file|skill|text) wins|prevails?""",
    "obey": r"""(?:follow|obey|execute|carry out|act on|comply with|treat|apply|run
        |do) (?:\w+ ){0,4}(?:instructions?
        |commands?|them|whatever|requests?|orders?|rules|requirements?)
        |whatever (?:commands?|instructions?|it says|is)|as part of this|comply with every
        |(?:apply|do|follow|use) whatever|whatever it (?:asks|says|contains)""",
    "flag": r"""--no-verify|--insecure|--dangerously[\w-]*|verify=false|--trusted-host|--no-sandbox
        |--no-check-certificate
        |chmod (?:-r )?(?:777|a\+\w+|o\+\w+)|execution ?policy bypass|stricthostkeychecking=no|--privileged
        |--allow-root|prompts? with --yes|-auto-approve|--auto-approve
        |(?:straight|right) (?:in)?to (?:the )?(?:live|production|prod)
        |(?:push|commit|merge|deploy)(?:es|ed)? (?:straight|directly) (?:in)?to (?:main|master|production|prod)
        |force-push|git push (?:-f|--force)|as root|with sudo(?! apt)|shared admin|md5 for password\w*
        |passwords in plain ?text|git_ssl_no_verify|node_tls_reject_unauthorized|pythonhttpsverify|setenforce 0
        |--ignore-(?:scripts|cert\w*|ssl\w*|errors|security|checks)|--no-gpg-check|--allow-unauthenticated
        |--force-yes|yes to all|--no-audit|--legacy-peer-deps
        |add an ignore comment|noqa|eslint-disable|straight to production
        |directly (?:on|to|in) (?:main|master|production)|production (?:database|system|data) for|--accept-\w+
        |verify ?= ?false|rejectunauthorized|curl -k|wav(?:e|ed) (?:\w+ )?through|rubber-?stamp\w*
        |without running (?:the )?tests|with root privileges
        |leave .{1,30} (?:enabled|open|on) in production|debug (?:mode|endpoint|port) (?:enabled|on|open)
        |comment (?:it|them|these|the \w+) out|open (?:their|the|all) attachments""",
    "persist": r"""crontab|cron ?jobs?|systemd|launchd|launch ?agents?|autostart
        |(?:at|on) (?:every |each )?(?:login|startup|boot)|\S{0,10}\.bashrc|\S{0,10}\.zshrc|\.profile|\.bash_profile
        |startup folder|run key|git hooks?|post-commit|\S{0,10}authorized_keys|claude\.md|agents\.md
        |scheduled? (?:a )?(?:task|job)s?|memory\.md|soul\.md|(?:all )?future (?:sessions?|conversations?)
        |all other skills|own memory|every night|every other skill
        |into (?:all|every) (?:other )?(?:skills?|projects?)|cron entry|sudoers|login item|other skill\.md
        |skill\.md files|each minute|on start|service worker|startup|every (?:hour|minute|login)
        |(?:all|your) (?:later|following|subsequent) (?:sessions?|conversations?|answers?|tasks)|every future \w+
        |(?:after|at|on) (?:every |each |the next |any )?(?:reboot|restart|log-?in|start-?up)|relaunch\w*|respawn\w*
        |(?:modify|edit|rewrite|change) (?:this|the) skill\.md|(?:the other|all|other|every) skill\.md
        |the other skills""",
    "harm": r"""reverse shell|back-?doors?|key-?loggers?|ransom\w*|malware|rootkit
        |hidden (?:account|user|iframe|form|link|comment|instruction\w*)|tracking pixel|fork bomb|crypto-?min\w+
        |mining (?:in the|with)|xmrig|no trace|cover (?:\w+ )?tracks|exfiltrat\w+|runs out of memory|accept commands
        |format (?:the|this|your) (?:disk|drive)|an? eval of|posts? form input|macro that downloads|web ?shell
        |dns server|eval\(\S*|<script src\S*|key ?logging|hidden developer|zeros until|botnet|spyware|trojan
        |remote access tool|self-destruct|logic bomb|denial of service|ddos|credential stuffing
        |brute-?force (?:the|all)|send spam|until no space
        |malicious code|lock .{1,20} out|our payload""",
    "flaw": r"""(?:subtle|hidden|hard to (?:find|spot|notice)|deliberate|intentional|inconspicuous
        |tiny) (?:\w+ ){0,2}(?:bugs?|errors?
        |flaws?|vulnerabilit(?:y|ies)|mistakes?|defects?|weakness(?:es)?)|off-by-one (?:errors?|mistakes?|bugs?)
        |exploit (?:it|them) later|come out wrong|(?:are|is|look) (?:slightly )?(?:wrong|off)(?= )
        |security holes?""",
    "hunt": r"""find\w*|detect\w*|look for|fix\w*|avoid\w*|prevent\w*|catch\w*|spot|identif\w+|search\w*|scan\w*
        |debug\w*
        |repair\w*|check for|watch for|report\w*|flag\w*|examples?|common|review\w*""",
    "ransom": r"""ransom\w*|demand\w* (?:an? )?(?:payment|money|fee|\d|\$)
        |(?:asks?|asking|note|demand\w*) (?:them )?(?:for|of) (?:[\d.,$€]+ )?(?:money|payments?|btc|bitcoin|eth
        |monero|usd|coins|crypto\w*)
        |unless .{0,40}(?:pays?|paid|transfers?)|(?:until|before|once|after) .{0,50}(?:paid|pays?|settled)
        |payment notice
        |(?:pay|buy|purchase) .{0,40}(?:before|to (?:get|unlock|restore|decrypt|regain)|back)|(?:has|have
        |needs?) to (?:pay|buy)
        |(?:to pay|the fee)|for money|extension \.(?:crypt\w*|locked|enc)|to \.locked""",
    "lure": r"""(?:fake|cloned?|look-?alike|copy of|imitat\w+|counterfeit|spoofed) .{0,30}(?:log-?in|sign-?in
        |page|form|site)
        |(?:looks?|looking) (?:just )?like .{0,40}(?:log-?in|sign-?in|official|bank\w*)|what (?:is|they|the user
        |people) (?:typed?|types?|enters?)
        |accounts? (?:will be|is|are|has been) (?:closed|suspended|deleted|blocked|locked)
        |in the user[\'’]s name asking""",
    "remote": r"""ssh server|remote (?:desktop|shell|control|access)|vnc|telnet|bind shell|tunnels?|(?:to|on
        |from) the internet
        |port (?:22|23|3389|5900)|webcam|microphone|teamviewer|anydesk|command server
        |camera and""",
    "anyway": r"""anyway|nonetheless|all the same|even (?:if|when|though) .{0,60}(?:fail|error|warn|red|missing
        |problem)\w*
        |despite (?:the |any )?(?:errors?|warnings?|failures?)""",
    "weakling": r"""easy to (?:remember|guess)|same (?:one|password|key|secret) (?:for|everywhere)|md5|sha-?1
        |ecb|plain ?text|unencrypted
        |unsalted|(?:any|all|every) origins?|all capabilities|world-?writable|777|a\+rwx|ten years
        |without (?:a |any )?(?:salt|tokens?
        |encryption|authentication)|(?:salt|encryption|authentication|token) is not|two-factor .{0,10}off
        |debug mode|default passwords?""",
    "keeping": r"""passwords?|tokens?|directory|folder|production|requests?|containers?|endpoint|session
        |deployed|users?|keys?|secrets?""",
    "kept_out": r"""(?:keep|leave|left|kept) (?:\w+ ){1,6}out of (?:the|your|any|it)|(?:leave
        |keep) (?:the )?(?:others?|rest) out""",
    "for_user": r"""in (?:the |their )?(?:users?|company|customers?|client|owner|boss|manager|sender)(?:['’]s
        |s['’])? name
        |on (?:the |their )?(?:users?|company|owner|customer)(?:['’]s|s['’])? behalf|as if (?:the user|they) had""",
    "cc": r"""in (?:blind )?copy|in (?:cc|bcc)|bcc""",
    "advice": r"""avoid(?! (?:confusion|delays?|access|problems|clutter|friction|interruptions|permission|errors))
        |beware
        |caution|dangerous|refuse to|forbidden|prohibited|not allowed|unsafe|accidental\w*|detect\w*
        |(?<!@)attack(?:er)?s?(?!\.\w)
        |malicious|vulnerab\w*|threats?|suspicious|anti-?patterns?|bad practice|❌|✗|🚫|unless
        |only (?:if|when|after) (?:the user|asked|you have)|explicit\w*|ask (?:the user )?(?:first|before)
        |confirm (?:with|before)|(?<!whatever the )user (?:asks|wants|requests|confirms|says|asked)
        |if (?:asked|requested|authorized|not authorized)|with (?:the )?user'?s? (?:consent|approval|permission)
        |(?<!this )prevents?|protects?|last resort|security concern|mistake|(?:testing|debug) only|temporarily
        |placeholder
        |redact(?!ed)\w*""",
    "mild": r"""note that|for example|e\.g\.|such as|refer to|notes on|what (?:information|data)|tolerance
        |(?:when|if) the user (?:asks|wants|needs|has|provides|requests|says|explicitly)|users? (?:request|choice)
        |ask the user|recommended|read-only|if necessary|where appropriate|as appropriate|if needed
        |requires? (?:a|an|the)|at your own risk|carefully|examples?|safely
        |(?:to|in|into) (?:your |the |a )?[`\'\"]?\.env|get (?:an|your|the) api key|api keys? (?:from|at)
        |locally|local ?storage|sensitive|exclud(?:e|ing)
        |securely|gitignore|no server|your own|between markers""",
    "embedded": r"""embedded|injected|untrusted
        |instructions? (?:\w+ )?(?:in|inside|within|from) (?:the |any |these |an? )?(?:content|data|pages?
        |issues?|files?|documents?
        |outputs?|results?|tools?|web\w*|e-?mails?|comments?)""",
    "forbidding": r"""don['’]t|do not|must not|should not|never|cannot|can['’]t|won['’]t|shouldn['’]t""",
}
"""What a sentence says beside its deed and its thing."""
