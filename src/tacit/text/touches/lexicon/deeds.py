"""Deeds: verbs by what they would do, as tables. Words only; the package makes patterns of them."""

from __future__ import annotations

DEEDS = {
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
"""Verbs whose forms are made, a doubled last letter marked by `+`; after the first bar, phrases as they are."""
