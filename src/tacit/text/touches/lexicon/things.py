"""Things and places that a deed may concern, as tables of lower-case patterns."""

from __future__ import annotations

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
"""What is deleted, sent, changed, checked."""

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
"""Where it may go."""
