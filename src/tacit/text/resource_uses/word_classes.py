"""Tables of English words by their meaning for safety: actions, objects, places, manners. Data for `sentences`."""

from __future__ import annotations

ACTIONS = {
    "delete": r"""delete remove erase wipe purge destroy shred+ prune discard obliterate nuke unlink expunge scrub+
        |drop(?:ped|s|ping)?(?! (?:in|into|shadow|down|off|cap|zone))|rm -\w+|truncate (?:the|all|every)
        |clear (?:out|the|all|any)|empty (?:the|your|all)|get rid of|throw away|clean up by removing
        |let .{1,40} expire|kill all|trash|bin the|toss|reset the (?:repository|repo|database|branch|index)
        |dispose of|eliminate|flush the|wipe out|(?:goes?|go|moved?) (?:in)?to the (?:bin|trash)
        |keep only the (?:latest|last|newest|most recent)|retain only|(?:is|are) not (?:kept|retained)|may go
        |fill .{1,30} with zeros|uninstall|evict|nuke|obliterate|(?:can|may|should) be thrown away|scrap|tidy up
        |clean out|strip (?:them|it|all) (?:\w+ ){0,2}(?:out|from|of)""",
    "overwrite": r"""overwrite encrypt scramble encipher
        |force-push|rewrite .{0,20}history|zero out|rewrite the (?:original|git)""",
    "send": r"""send forward upload transmit submit+ mail email e-mail relay exfiltrate deliver sync+ mirror post
        beacon scp rsync cc bcc push stream sent synchronize synchronise ship+ share dispatch publish report
        |put .{1,40} in (?:blind )?(?:copy|cc|bcc)|blind[- ]copy|hand .{1,20} over to|pass .{1,30} (?:on )?to
        |feed .{1,40} (?:in)?to|make an? .{0,20}request|back .{1,30} up to|include .{1,40} in (?:a|the) request
        |append .{1,60} when loading|ship|loop in|copy in|hand over|pass along|transfer|route|replicate|registers?
        |(?:goes?|go|lands?|land|flows?) (?:to|on|in|at|into) (?:the|our|a|an)|deposit
        |drop .{1,50} (?:at|into|in|to)|place .{1,50} (?:at|into|in|on)|put .{1,50} (?:on|into|in) (?:the|our|a)
        |redirect|phone home|call home|provide .{1,40} to|keep .{1,30} (?:informed|in the loop)
        |add .{1,40} (?:as|in|to) (?:an? )?(?:recipient|cc|bcc|copy)|bundle|ping|hxxps?""",
    "copy": r"""copy duplicate archive replicate backup store save retain kept upload mirror
        |back up|backed up|keep (?:a|an|one|the|all|every|each|\w+ )?(?:copy|copies|backup)|keep .{1,40} in /
        |second copy|extra copy|additional copy|duplicate of|clone|leave a copy""",
    "publish": r"""publish release expose share post announce disclose broadcast open-source
        |make|set the (?:visibility|access|sharing)|create a public|deploy|list publicly|make .{1,40} available
        |visible|visibility|unlock|open up|open the|upload|put .{1,30} online|go live|push""",
    "reveal": r"""print reveal display echo output dump+ show include embed+ write list paste put commit+ leak
        disclose append add insert hardcode hard-code expose store written shown hardcoded hard-coded attach
        return record
        |log(?:s|ged|ging)?(?! (?:in|on|out|into))|quote|note (?:the|down)|state|document the|spell out|keep
        |leave|bundle|tag|title|hold|carry|carries
        |stays? in|contain|preface|begin by|prefix|name
        |give (?:the|your|all|his|their|out)|mention|tell (?:the|them|all)""",
    "grant": r"""grant give allow permit+ enable authorize authorise invite assign add elevate escalate request
        accept given create
        |make|extend the|promote|unlock|whitelist|let .{1,40} (?:accept|use|access|read|write|edit)
        |ask for the (?:broadest|widest|full)|widen|broaden|register""",
    "weaken": r"""disable skip+ bypass ignore suppress deactivate circumvent relax omit+ waive mute silence dismiss
        loosen
        |turn off|turned off|switch off|switched off|work around|turn .{1,40} off|leave out|left out|do without
        |remove|change the default|drop|stop (?:the|all)|kill the|exempt|exclude|comment out|downgrade
        |wav(?:e|ed) through|tolerate|fast-track|rubber-stamp|leave .{1,30} (?:enabled|open|unprotected|unpatched)
        |stay enabled|move on|answer yes|allow .{1,30} to fail|mark .{1,40} as (?:skipped|flaky|expected|xfail)
        |set .{1,40} to (?:permissive|0|zero|none|off|false|unlimited)|pass over|not compared|accept any|remove the
        |raise the (?:limit|threshold)|lower the (?:limit|threshold|bar)|switch .{1,30} to permissive|discard|hide
        |cancel|shorten(?:ed)?|cut short|abort
        |shut down|power off|uninstall the|switch .{1,30} off
        |(?:lower|turn|reduce) .{1,50} to [\'\"]?(?:off|none|zero|0)""",
    "run": r"""run execute invoke launch eval spawn pipe repeat retry
        |click|press|turn on|switch on|source (?!code)|call|start|keep|kick off|trigger|fire|eval|start it|poll
        |keep polling""",
    "use": r"""use prefer+ choose
        |rely on|switch to|set the proxy|take|pin|set .{1,30} to|default to|fall back to|source .{1,20} from
        |opt for|process .{1,40} (?:in|at|on|with|via)""",
    "fetch": r"""fetch download retrieve pull get load curl wget clone obtain import visit consult
        |check|look up|point|open|take|source (?!code)|draw|pin|sync from|grab|look at|apply|read""",
    "install": r"""install upgrade
        |pip install|npm install|add""",
    "pay": r"""pay purchase buy transfer wire charge donate paid bought
        |spend|send (?:\d|\$|€|money|funds|coins|(?:the|all|remaining) (?:\w+ )?(?:balance|funds|money))
        |mine (?:bitcoin|crypto\w*|monero|coins)|order (?:the|a|an|two|\d+)""",
    "change": r"""change modify alter adjust replace swap+ increase raise lower reduce multiply round inflate bump add
        subtract set+ report mark treat describe state move backdate shift boost scale rate fill claim
        update show present count downgrade upgrade rewrite sort rank classify label substitute write give
        interpret express convert
        |bump|pad|quote|record|cap|clamp|floor|nudge|shave|trim|tweak|enter|log|put|reset|override|apply|tick|place
        |(?:have|let|make) .{1,30} go (?:in)?to|renew|set .{1,30} to|backdate|date (?:the|it|them|all|each)
        |extend|shorten|correct|edit|exaggerate|overstate|understate|misstate|massage|smooth|book""",
    "alter": r"""replace change swap+ backdate shift relabel reclassify treat describe fill substitute inflate
        |tone down|play down|lower|raise (?!them|it|an?|the issue|with)|increase|reduce|multiply|round up
        |present|bump|pad|cap|nudge|shave|trim
        |tweak|exaggerate|overstate|understate|massage|misstate|overwrite|reset|hide
        |(?:back-?)?date .{1,40} (?:earlier|later|back)""",
    "shift": r"""subtract increase raise lower reduce multiply bump inflate deflate boost round pad cap halve double add
        |take \d+ off|mark (?:up|down)""",
    "omit": r"""omit+ exclude hide skip+ discard suppress remove conceal withhold mask delete strip+ downplay hidden
        withheld soften ignore
        |leave out|leave .{1,50} out|left out|filter out|tone down|play down|gloss over|drop|leave unmentioned|bury
        |trim|cut|move .{1,40} to the appendix|keep .{1,40} out of|not mention|forget|screen out|silence|minimi[sz]e
        |do not (?:mention|include|report|list|show|cite)|only (?:mention|include|cite|show|list|report|keep|use)
        |exclude
        |(?:report|show|use|keep|present|include|list) only the (?:best|highest|lowest|positive|successful
        |favou?rable|good)""",
    "approve": r"""approve accept merge authorise authorize trust whitelist allowlist auto-approve auto-merge
        |sign off|push directly|commit directly|pay|wav(?:e|ed) through|let .{1,30} through|rubber-stamp|sign|tick
        |consent|greenlight|green-light|answer yes|release|grant|book""",
    "favour": r"""recommend prefer+ favour favor promote suggest endorse choose pick prioritise prioritize rank
        mention advertise highlight praise rate place list steer describe add sort
        |put|answer is always|close each|upsell|bring up|push|plug|speak well|lead with|end with|start with|present
        |feature|score|judge""",
    "conceal": r"""hide
        |keep .{1,40} (?:secret|hidden|from the user|quiet)|deny|disguise|conceal|obscure|bury|camouflage
        |gloss over""",
    "tell": r"""tell mention inform notify disclose reveal alert warn say bother acknowledge told discuss report
        explain
        |show|point out|draw attention|bring up|find out|know|volunteer|admit|confess|flag|raise|surface|log
        |list""",
    "disregard": r"""ignore disregard forget override supersede bypass overrule abandon neglect forgotten
        |set aside|pay no attention to|do not follow|stop following|discard|cancel|suspend|void|leave aside|unlearn
        |throw out|act as if you had no""",
    "verify": r"""compare validate verify check confirm review sanitise sanitize escape scan+ test authenticate inspect
        |wait for""",
    "look": r"""read scan+ search collect gather harvest inspect browse capture record monitor enumerate track crawl
        encode list
        |look (?:at|through|in|for)|go through|check|find|continue with|extract|go over|peek|sweep|examine|study
        |pick up|learn|mine|index|snapshot|log|watch|use""",
    "ask": r"""ask request prompt
        |tell the user|require the user|have the user|have .{1,20} type|get the user to|let the user enter
        |(?:tell|instruct|require|have|get|urge|persuade|invite|make
        |let) (?:the |every |all |each |any )?(?:user|person|people
        |customer|reader|owner|caller|visitor|employee|client|patient|contact)s?""",
    "lock": r"""lock encrypt encipher cipher scramble protect rename hijack
        |put .{1,40} (?:behind|under|into) (?:an? )?(?:\w+ )?(?:password|lock|zip)|throw the (?:key
        |password) away""",
    "threaten": r"""threaten blackmail extort intimidate coerce""",
    "plant": r"""plant insert introduce inject sneak smuggle seed weave put+ add embed+ create slip+
        |hide|write|leave|build|bake|make|work""",
    "forge": r"""falsify fabricate counterfeit invent impersonate spoof
        |make up|imitate|(?:forge|fake) (?:the|an?|all|his|her|their|any|\w+[\'’]s)""",
    "proceed": r"""proceed continue deploy merge advance
        |go on|go ahead|carry on|move on|press on|keep going|roll (?:it )?out|finish|submit|publish""",
    "slight": r"""reject+ decline penalise penalize demote downgrade insult mock disfavour disfavor deprioritise
        deprioritize exclude
        |turn (?:down|away)|screen out|filter out|charge .{1,30} more""",
    "reply": r"""reply respond accept decline sign answer post agree confirm book
        |send|publish|approve|order|commit|write""",
}
"""Action → verbs, whose forms are generated (`+` doubles the last letter); after the first bar, phrases as they are."""


THINGS = {
    "secret": r"""(?:api|access|secret|private|ssh|signing|encryption|deploy|auth\w*)[ _-]?keys?|passwords?|passwd
        |passphrases?|credentials?|secrets?|(?:session |browser |auth\w* )?cookies?|\.env\b(?: files?)?
        |[a-z]{1,30}(?:_[a-z]{1,30}){0,5}_(?:key|token|secret|password)
        |\$\{?[a-z_]{0,40}(?:key|token|secret|password)\}?|env(?:ironment)? (?:variables?|vars?)
        |authori[sz]ation(?: headers?)?|unredacted|bearer|connection strings?|id_rsa|id_ed25519
        |[^\s]{0,20}\.ssh\S{0,40}
        |\S{0,20}\.aws\S{0,40}|\.netrc|\.npmrc|\.kube|kubeconfig|keychain|key ?stores?|seed phrases?|session ids?
        |login data|/etc/(?:passwd|shadow)|full (?:request |response )?headers|request headers|system prompt
        |otp codes?|recovery codes?|secret (?:values?|material)|log-?in details
        |(?:configuration|config|settings) with all values
        |(?:the|your|their|api|access|auth\w*|secret|session|github|oauth|refresh|login|any|user) tokens?
        |auth(?:entication)? (?:response|data|info)|secrets file|sudoers|wallet\.dat|wallet files?|browser profiles?
        |master password|\.kube/config|env vars?|pass ?codes?|pin codes?|certificates? and keys|vault|card numbers?
        |hidden developer message|developer message|git(?:hub|lab) token|\.pgpass|service account keys?
        |\.git-credentials|history file|bash_history|shell history""",
    "private": r"""e-?mail address(?:es)?|phone numbers?|social security(?: numbers?)?|ssns?|home address(?:es)?
        |date of birth
        |birth ?dates?|salar(?:y|ies)|patients?(?: names?)|medical (?:data|records?|history)
        |personal (?:data|information|details)|personally identifiable|pii|full (?:legal )?names?(?= and)
        |customers?['’]?s? (?:names?|lists?|data|records?|details)|passports?
        |browser (?:history|cookies|data|profile)|browsing history|keystrokes?|clipboard|credit cards?
        |private (?:messages?|ones|entries|files|notes)|(?:conversation|chat) (?:history|logs?)
        |payment (?:card|details|data)|bank (?:account|details)|login names?|home (?:folder|directory|dir)
        |location data|~/documents|(?:remaining )?mailboxes
        |users?['’]?s? (?!for |to |with |and |or |by |in |can )(?:\w+ )?(?:mails?|e-?mails?|files?|documents?
        |data|messages|home|other|calendar|photos
        |contacts|conversation|history|password|browser|desktop|inbox|mailbox|chats?)
        |their (?:mails?|e-?mails?|messages|contacts)|employees?['’]? (?:names?|data|records?)|everything the user
        |customer list|employee numbers?|card numbers?|sent mail
        |(?:neighbou?ring|parent|other|sibling|unrelated) (?:folders?|director(?:y|ies)|projects?|repositor(?:y
        |ies)|documents?|workspaces?)|ip address(?:es)?|host ?names?,|user ?names?,|names stay
        |health (?:data|records?)|private repositor(?:y|ies)
        |(?:customer|client|user|patient|employee|applicant|student)s?[ \'’]s? ?(?:\w+ )?(?:names?|identit\w+
        |addresses|details|records?|emails?|information|profiles?|number)|local files|recent documents
        |personal folders?|photos|bank details|all (?:mails?|chats?|calendars?)
        |their (?:files?|documents?|data|photos|chats?)
        |users?['’]?s? (?:notes|apps?)
        |card data|request body|customer database|confidential\w*
        |internal (?:comments?|notes?|discussions?|costs?|cost prices?|prices?|figures|documents?|memos?
        |e-?mails?|messages?)
        |cost prices?|patients?[\'’]?s? diagnos[ei]s|another (?:customer|user|patient|client|person)[\'’]?s?
        |(?:names?|addresses) (?:and|,) (?:\w+ )?(?:names?|address\w*|numbers?|birth\w*)""",
    "hot_secret": r"""(?:e-?mail|bank\w*|account|log-?in|sudo|admin\w*|master|their|his|her|windows|wi-?fi|apple
        |google) (?:\w+ )?passwords?|card numbers?|cvv|cvc|pin codes?|one-time (?:codes?|passwords?)|otps?
        |verification codes?
        |seed phrases?|recovery (?:phrases?|codes?)|social security numbers?|mother[\'’]s maiden""",
    "others": r"""(?:data|details|information|records|orders) of (?:other|another) \w+
        |(?:other|another) (?:customer|user|patient|client|person|people)s?""",
    "neighbours": r"""(?:neighbou?ring|other|sibling|unrelated|parent|adjacent|remaining) (?:\w+ )?(?:projects?
        |repositor(?:y|ies)|workspaces?|mailbox(?:es)?|accounts?|inbox(?:es)?)""",
    "group": r"""foreign\S*|nationalit(?:y|ies)|women|gender|older (?:people|applicants|candidates|workers)
        |religio\w+
        |migrants?|disabilit\w+|disabled (?:people|applicants|candidates|users)|districts?|post ?codes?
        |zip codes?|neighbou?rhoods?|(?:same|certain) (?:university|school|city
        |country)|accents?|ethnic\w*|pregnan\w+|married|sounding names?|authors? you know|friends""",
    "bogus": r"""(?:fake|made-up|invented|fabricated|additional positive|plausible|fictitious|imaginary
        |convincing) (?:\w+ )?
        (?:reviews?|testimonials?|values?|figures?|data|numbers?|references?|quotes?|sources?|signatures?|receipts?
        |invoices?|readings|results|entries|citations?|ratings?)
        |(?:positive|five-star|glowing) (?:reviews?|testimonials?)""",
    "gain": r"""ads|adverts?|affiliate (?:ids?|links?|codes?|tags?)|referral (?:codes?|links?|ids?)|commissions?
        |kick-?backs?|promo(?:tional)? codes?""",
    "data": r"""files?|documents?|reports?|data ?sets?|data|databases?|tables?|records?|results?|outputs?|contents?
        |spreadsheets?|invoices?|contracts?|attachments?|messages?|mails?|e-mails?|emails?|logs?|histor(?:y|ies)
        |backups?|repositor(?:y|ies)|repos?|code|projects?|folders?|director(?:y|ies)|drafts?|branch(?:es)?|commits?
        |versions?|copies|copy|images?|photos?|notes?|transcripts?|prompts?|conversations?|rows?|workspace|drive
        |archives?|buckets?|pages?|gists?|calendar|entries|summary|summaries|text|disk|downloads|trash|statistics
        |inputs?|analysis|everything|snapshots?|dumps?|forms?|answers?|pdfs?|screenshots?|contacts?|tickets?
        |customers?|links?|recordings?|comments?|tracked changes|originals?|sources?|details|slides|presentations?
        |resumes?|findings|accounts?|users?|models?|tables|meeting|copyright|licen[cs]e|watermarks?""",
    "result": r"""scores?|ratings?|grades?|figures?|numbers?|totals?|amounts?|prices?|revenues?|sales|profits?
        |loss(?:es)?
        |costs?|measurements?|values?|findings?|results?|outcomes?|p-values?|confidence|accuracy|benchmarks?
        |averages?|percentages?|dates?|deadlines?|risks?|limitations?|criticisms?|reviews?|complaints?|feedback
        |conclusions?|submissions?|dosages?|doses|balances?|hours|overtime|credit limits?|(?:all )?tests
        |checklist items?|drawbacks|side effects|concerns|rankings?|evaluations?|estimates?|quotes?|candidates?
        |applicants?|margins?|debit|credit|invoices?|expenses?|probabilit(?:y|ies)|growth|churn|headcount|emissions
        |temperatures?|readings|points|stars|budgets?|forecasts?|significance|effect sizes?|outliers|hypothes[ei]s
        |kpis?|turnover|yields?|responses|respondents|participants|observations|incidents?|defects?|priorit(?:y|ies)
        |time ?stamps?|comparisons?|studies|study|evidence|deviations?|ratios?|weights|recommendations?|citations?
        |labels?|classifications?|diagnos[ei]s|effects?|orders|tests|checks|metrics?|verdicts?|status(?:es)?
        |severit(?:y|ies)|thresholds?|counts?|error bars?|intervals?|samples?|survey|votes?|polls?|audit|severity
        |records?|transactions?|timesheets?|quantit(?:y|ies)|mileage|discounts?""",
    "adverse": r"""negative|unfavou?rable|bad news|critical (?:comments?|remarks?|findings)|adverse
        |poor(?:er)? (?:results?|scores?|reviews?)|below (?:the )?(?:target|average|threshold)|fallen
        |declin(?:ing|es|ed)
        |with a loss|losses|fewer than|late|risks?|limitations?|drawbacks?|criticisms?|side effects|complaints?
        |overdue|weakness(?:es)?|low(?:er)? (?:scores?|ratings?|the mean)|unflattering|not significant
        |contradict\w*|non-?significant|disadvantages|concerns|disclaimers?|caveats?|conflicts? of interest
        |incidents?|delays|cost overruns?|missed|dissent\w*|objections?|deviations|failing|flaky|bugs|open issues
        |opposing|minority|unpleasant|unfavourable|refuted?|do not support|that fail|worse|rejected|dissatisf\w+
        |harmful|shortfalls?|downsides?|uncertaint(?:y|ies)|low-?scoring
        |that (?:lower|worsen|hurt|spoil|drag|pull|weaken)s?|(?:failed|skipped|unsuccessful) (?:runs?|rows?
        |attempts?|trials?
        |records?|cases?)|farthest|differs? (?:by|from)|estimated|fees?|surcharges?|cancellation""",
    "check": r"""validations?|verifications?|(?:unit |failing )?tests?|reviews?|confirmations?|approvals?|checks?
        |saniti[sz]\w+|signatures?|certificates?(?: errors?)?|certs?|ssl|tls|authentication|two-factor|2fa|mfa
        |lint\w*|warnings?|error messages?|permission (?:prompts?|checks?)|permissions|safety(?: \w+)?
        |security(?: \w+)?|guard-?rails?|fire-?walls?|anti-?virus|virus scan\w*|malware scan\w*|audits?|audit log\w*
        |logging|rate limit\w*|cors|restrictions?|content polic\w+|polic(?:y|ies)|encryption|access controls?
        |branch protection|consent(?: forms?)?|licen[cs]e agreements?|macros?|quality gates?|csrf|integrity
        |checksums?|gatekeeper|defender|monitoring|alerts?|host ?keys?|code owners?|input filter\w*|session timeout
        |second approval|hooks?|escaping|prompts|deprecation|privacy|redaction|anonymi[sz]ation|copyright
        |confidentiality|watermarks?|linters?|permission dialogs?|dialogs?|scans?|selinux|endpoint protection
        |smoke alarms?|emergency stops?|four-eyes|sign-?off|second signature|captcha|quotas?|csp|lock ?files?
        |type checks?|pipelines?|compliance|verif\w+
        |proofread\w*|validators?|ci|deadlines?|limits?|timeouts?|retention|peer review|human review
        |second pair of eyes|legal review|age check|kyc|identity check|backup(?: step)?|dry[- ]run""",
    "instructions": r"""(?:previous|prior|earlier|above|preceding|other|existing|original|system|users?['’]?s?
        |operator'?s?|safety
        |your|previously given) (?:\w+ ){0,2}(?:instructions?|system prompts?|rules|guidelines?|guidance
        |directives?|requests?|policy|policies|constraints?|restrictions?|orders?)
        |(?:any|all|my) (?:\w+ ){0,2}(?:instructions?|system prompts?|rules|guidelines?|guidance|directives?
        |constraints?|restrictions?)
        |everything (?:you (?:were|have been) told|above|before)|what you were told|rules above
        |instructions? (?:in this|from the|given|above|below|of the)|system prompt|content policy
        |your (?:training|programming)|(?:steps|rules|text|section|guidance) (?:above|below|before)
        |this (?:instruction|section|rule)|guidelines that|(?:real|actual|true) (?:task|goal|purpose)
        |(?:no )?safety rules|the one the user gave|rules set|what the user (?:asked|wants|said)|the human
        |(?:any |a )?later requests?|that you (?:are|have|were) (?:an?|any|told)
        |what(?:ever)? (?:the )?(?:user|operator|person|developer|owner|human) (?:\w+ )?(?:told|said|asked
        |wants?|says)
        |(?:told|said|instructed) (?:you )?(?:earlier|before|so far)|safety polic(?:y|ies)""",
    "user": r"""users?|customers?|clients?|owners?|people|operators?|reviewers?|admins?|humans?|anyone|requester
        |author|person|caller""",
    "rights": r"""(?:edit|write|read|full|admin\w*|owner|root|sudo|super-?user|elevated|unrestricted) (?:rights
        |access
        |permissions?|privileges?|roles?)|(?:edit(?:ing)?|access) rights|privileges|access to
        |as (?:an? )?(?:editor|owner|admin(?:istrator)?|collaborator)s?|777|(?:oauth )?scopes|superuser|setuid
        |0\.0\.0\.0|all origins|back-?door|port \d+|full access|administrator rights|admin session|shared admin
        |owner rights|owner role|admin role|broadest (?:scope|access)|sudoers|write access|elevated
        |editor role|domain admin|contributor role|maintainer|(?:all|every) (?:available )?scopes?|broad permissions
        |read/write|unrestricted|ssh access|remote access|login for
        |(?:administrator|admin|root|superuser|service|system) accounts?|root privileges""",
    "money": r"""money|(?:the|all|users?'?s?|remaining|available) funds|payments?|bank account\w*|iban
        |account numbers?|wallets?|btc|eth|bitcoin
        |cryptocurrenc\w+|payment card|stored (?:payment )?card|premium plan|licen[cs]e fee|subscriptions?
        |memberships?|remaining balance|xmrig
        |gift cards?|monero|(?:new )?account \d[\d-]+|payment details|bank details|donations?|wire transfers?
        |account number|payout|payee|beneficiary|refunds?|credits?|whole balance|transaction that|invoice hours
        |coins""",
    "product": r"""brands?|vendors?|suppliers?|providers?|(?<!human )partners?|sponsors?|premium
        |competitors?['’]?|competing
        |applicants?|hotels?|hosting|footers?|agencies|products of|products|our \w+ plan|support plan|\w+ (?:cloud
        |plus|labs|inc|suite)|from vendor \w+|affiliate|offers?|packages? of|\w+ (?:ltd|gmbh|corp|group|systems
        |software|supplies)|our (?:\w+ )?(?:service|consulting|product|tool|platform|newsletter|shop|offer\w*)
        |sponsored|affiliate links?|manufacturers?|airlines?|insurers?|schools?|universit(?:y|ies)|nationalit(?:y
        |ies)|women|men|gender|migrants?
        |candidates (?:from|with|who)""",
    "script": r"""[\w./-]{1,120}\.(?:sh|py|ps1|js|exe|bat|bin|rb|mjs|pl)\b|scripts?|binar(?:y|ies)|executables?
        |commands?
        |payloads?|installers?|code|\|\s*(?:ba|z)?sh|into (?:ba|z)?sh
        |(?:with|in|via|to) (?:bash|sh|sudo|python3?|powershell)|<\(curl[^)]*\)|curl -s\S*|eval\(|<script|web shell
        |helper""",
    "holdings": r"""files?|documents?|databases?|tables?|records?|repositor(?:y|ies)|repos?|folders?|director(?:y
        |ies)|backups?|logs?
        |histor(?:y|ies)|mails?|e-?mails?|messages?|attachments?|drafts?|branch(?:es)?|versions?|originals?|photos?
        |archives?|disk
        |downloads|uploads|trash|data ?sets?|spreadsheets?|slides|presentations?|pdfs?|recordings?|projects?
        |accounts?|contacts?|sheets?|workbooks?|notebooks?|volumes?|buckets?|mailboxes|snapshots?|clusters?
        |invoices?|reports?|transcripts?|entries|customers?|users?|everything|audit table|data|drive|workspace
        |scripts?""",
    "all": r"""all|every(?:thing|one|body)?|entire|whole|full|any|complete|each""",
    "temporary": r"""temp(?:orary)?|tmp|/tmp\S*|cache[sd]?|intermediate|artifacts?|generated|scratch|duplicates?
        |unused imports?""",
}
"""Objects that are deleted, sent, changed, checked."""

PLACES = {
    "outside": r"""external(?:ly)?|third[- ]part(?:y|ies)|off-?site|partners?|vendors?['’]?s?|agenc(?:y|ies)
        |consultants?|contractors?|webhooks?|telemetry|analytics (?:server|service|endpoint)|pastebin|dropbox
        |discord|telegram|(?:s3|storage) buckets?|remote `?\w+`?|(?:our|the|a|their|this|an) (?:\w+ ){0,2}(?:server
        |endpoint|mirror|archive|mailbox|bucket|e-?mail address|remote)|(?:archive|backup|central|shared|compliance
        |external) (?:address|mailbox|account|host|location|bucket|storage|drive|service|repository|copy)
        |cloud (?:converter|backup)|online (?:\w+ )?(?:service|tool|converter)|crm|to improve (?:the|our) \w+|ngrok
        |requestbin|headquarters|mailing list|distribution list|support team|translation service|personal account
        |integration webhook|off-site copy|another (?:machine|host|server)|sharepoint|ftp|supplier\S(0, 2)
        |(?:public )?(?:translation|conversion) (?:web)?site|google drive|onedrive|icloud|web service
        |hosted service|teams channel|community (?:folder|channel|forum)|our platform|head office|github (?:gist
        |issue)|issue tracker|the vendor|the manufacturer|public (?:server|site|bucket|repo\w*)|s3://\S+|drive of
        |box of|sister company|parent company|another (?:account|tenant|workspace)|log server|monitoring service
        |repository of
        |remote (?:server|host|machine|system|location|storage)|analytics service
        |outside (?:the |our )?(?:\w+ ){0,1}(?:providers?|services?|servers?|archives?|partners?|company|parties
        |organi[sz]ation|team)
        |people outside""",
    "public": r"""public(?:ly)?(?! (?:api|exports?|records?|keys?|method|class|interface|domain|function|void
        |static|url
        |data(?:sets?)?|health))|world-?(?:readable|writable)|everyone|everybody|anyone|anybody|all[- ]staff
        |whole (?:team|organi[sz]ation|company|internet)|entire (?:team|organi[sz]ation|company)|on the internet
        |with the link|open sharing|unauthenticated access|search engines|anonymous(?:ly)? access|open access
        |all (?:employees|members|origins|colleagues)|guest access|unlisted link
        |open (?:community|folder|channel|bucket|repository)|anyone can (?:view|edit|comment)
        |public(?:ly)? (?:visibility|repo\w*|bucket|folder|page|link)
        |all (?:users|viewers|visitors|students|participants)|general (?:audience|access)
        |no (?:login|password|authentication)|external users|entire (?:department|staff)|link sharing
        |#\w+ channel|general channel
        |(?:not|never) (?:need|require) a (?:login|password)|without (?:a )?(?:login|password)|everybody can
        |shareable links?""",
    "literal": r"""(?:https?|ftp|s3|gs|ssh|wss?|rtmps?|rtsp|sftp|smb|mqtt)://(?!localhost|127\.|0\.0|\$|<|\{
        |\w{0,20}\.?example\.)[^\s`'\"<>)\]]+
        |[\w.+-]{2,60}@(?!example\.|\w\.|\d|test\.|domain\.|email\.)[\w-]{1,60}\.[\w.]{2,60}|(?!127\.
        |0\.0)(?:\d{1,3}\.){3}\d{1,3}(?::\d+)?
        |0x[0-9a-f]{40}|bc1[a-z0-9]{20,70}
        |[\w-]{1,60}(?:\.[\w-]{1,60}){0,4}\.(?:xyz|ru|cc|top|biz|onion|tk|info|site|online|shop|link)
        |github\.com/[\w./-]+|[\w-]{1,60}(?:\.[\w-]{1,60}){1,4}\.(?:net|com|io|dev|org|co|ai)|[a-z]{2}\d{18,24}
        |\+\d[\d ()-]{8,18}\d|hxxps?://\S+|(?:gitlab|bitbucket)\.(?:com|org)/[\w./-]+
        |[\w-]{1,60}(?:\.[\w-]{1,60}){0,4}\.(?:zone|pw|site|space|club|live|host|fun|icu|cloud)(?:/\S*)?|tcp://\S+
        |udp://\S+""",
}
"""Places where something may go."""


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
"""How something is said or done: secrecy, authority, excuse, condition, claim."""
