"""English."""

from __future__ import annotations

from skillopt_harvesters.lexicons.shape import Lexicon, phrases

_MARKS = (
    "the and of with by is it its it's that that's this these those not isn't doesn't don't didn't can't "
    "please you your you've you're we our my should must shouldn't use using make keep only just without "
    "instead because which when where what why how every each wrong missing still too again never always "
    "after before between into than then their there they here are were been have has had does did but "
    "add put remove rename write thanks thank great good no longer error errors fails failing failed "
    "shorter longer more less fewer first second same one two all be from like would could need needs "
    "revert undo restore stop avoid drop move sort group limit return show explain one's nothing "
    "for to as at on in"
)
_FOREIGN = (
    "und nicht das ist ein eine den dem der die bitte mit auf fuer sind le la les est pas une du et pour "
    "avec dans sur ne je el los las una por para que con del il di che per non gli och att inte det het een "
    "niet van voor esta hay sin pero mais gracias grazie obrigado merci danke nada "
    "nein kein keine keinen alles weiter passt sieht mach machen genau klar gern gerne jetzt noch auch "
    "nochmal doch aber wenn wie weil falsch richtig fertig stimmt prima perfekt ich wir wunderbar laeuft "
    "oui non c'est d'accord vas-y bien tout rien souci aussi maintenant parfait "
    "bueno claro perfecto muy ahora adelante sigue gusta bien listo bene va perfetto ottimo avanti "
    "niente tutto perfeito obrigada certo goed dank bedankt klopt geen tak dobrze evet tamam"
)
_GOOD = (
    r"(?:good|great|fine|nice|ok(?:ay)?|perfect|right|correct|better|awesome|excellent|clear|beautiful|lovely"
    r"|amazing|solid|clean|green|done|it|all|sufficient|enough|impressive|brilliant|fantastic|wonderful|sweet"
    r"|helpful|neat|cool|gorgeous|superb|stellar|elegant|slick|spot on|terrific|outstanding|delightful|handy"
    r"|tidy|crisp|readable|smooth|fast|quick|useful|accurate|sensible|reasonable|acceptable|complete|fixed"
    r"|clever|smart|nifty|genius|ingenious|wild|reassuring|promising|thorough|quite something"
    r"|deployed|live|merged|released|shipped|approved|published|happy|pleased|delighted|satisfied"
    r"|solved|resolved|sorted|ready|incredible|marvell?ous|splendid|phenomenal|magic|pretty|sharp|consistent"
    r"|up to date|in order|on point|top|ace|dope)"
)
_VERY = r"(?:(?:all|now|very|so|really|much|just|exactly|absolutely|totally|pretty|perfectly|already) )*"
_THAT = r"(?:(?:that|this|it|everything|all|they|those|these|which)(?:'s|'re| is| are| was)?)"
_BAD = (
    r"(?:wrong|incorrect|broken|off|missing|bad|useless|outdated|stale|red|unreadable|misleading|inconsistent|"
    r"incomplete|invalid|dead|empty|flaky|buggy|slow(?:er)?|inaccurate|redundant|unnecessary|unused|misplaced|"
    r"duplicated|twice|mixed up|swapped|reversed|inverted|shifted|the same|not \w+|no longer \w+)"
)
_YOU_DID = (
    r"(?:just |only |also |even |again |simply |completely |accidentally |still )*(?:forgot|missed|broke"
    r"|removed|deleted|dropped|changed|ignored|skipped|left|overwrote|hardcoded|hard-coded|duplicated"
    r"|reverted|misread|misunderstood|lost|edited|disabled|commented|swapped|renamed|kept|keep|put|hid"
    r"|invented|made up|messed|ruined|didn't|did not|haven't|have not|should(?:n't| not)? have|shouldn't"
    r"|should not|were (?:not )?supposed|weren't|used (?:the )?wrong|have to|need to|must|are not|aren't"
    r"|can't|cannot|don't|do not|never|named|called|wrote|picked|chose)"
)

LEXICON = Lexicon(
    language="en",
    spaced=True,
    marks=tuple(_MARKS.split()),
    # Two letters of another script are a word; one may be a sign.
    foreign=(
        *_FOREIGN.split(),
        r"(?-i:\w*[\u00c0-\u024f]\w*)",
        r"(?-i:\w*[\u0370-\u1fff\u3040-\u30ff\uac00-\ud7af]{2}\w*)",
        r"\A(?:ja|si|da|vale|sim)(?=\W*(?:\Z|[,.!]))",
    ),
    fillers=phrases(
        r"""
        h+m+ / u+h+ / um+ / o+h+ / ah+ / ugh / argh / wow / well / ok(?:ay)? / k / hey / hi / hello / please
        pls / plz / sorry / wait / actually / right / so / honestly / seriously / again(?= *[:,]) / just
        kindly / better / i think / i guess / i believe / to be clear / maybe / perhaps / one thing
        small thing / nit / in general / next time / from now on / in (?:the )?future / for the record
        as i said / remember / btw / by the way / damn / man / dude / sigh / come on / unfortunately
        lo+l / lmao / rofl / omg / ha(?:ha)+ / he(?:he)+ / np / gg / wtf / interesting / funny / anyway / aha
        al+right / yay+ / woo+(?: ?hoo+)? / hooray / hurray / whee+ / phew / whoa / yikes / oops / til / meh
        whatever / just a heads up / heads up / good (?:morning|evening|afternoon) / ooh+ / mhm / huh
        """
    ),
    requests=phrases(
        r"""
        (?:can|could|would|will) you(?: please| kindly| just| maybe)* / would you mind
        i(?:'d| would) like(?: you)? to / i(?:'d| would) like
        i(?:'d| would) (?:rather|prefer)(?: (?:to|have|you to))? / i prefer
        i (?:want|need)(?: you)?(?: to)? / let's / let us / you (?:can|could|may|might) / feel free to
        (?:can|could) (?:we|i)(?: please| just| maybe)* (?:have|get|make|keep|use|move|put|drop|remove|\
        change|switch|rename|avoid|limit|see)
        we (?:want|need)(?: to)? / make sure(?: that| to)? / be sure to / ensure(?: that)? / how about
        """
    ),
    contrasts=phrases(
        r"""
        but / however / except(?: that| for)? / though / although / yet / only thing / one problem
        one issue / the only (?:thing|problem|issue)
        """
    ),
    sequels=phrases(
        r"""
        now / then / next(?! time)(?: up| step)? / after that / afterwards? / moving on / finally / later
        """
    ),
    assents=phrases(
        r"""
        ye+s+ / ye+p+ / ye+a+h+ / yup / sure / exactly / agreed / absolutely / great / perfect / excellent
        awesome / nice / cool / sweet / good / lovely / amazing / fantastic / wonderful / brilliant
        thanks? / thank you / thx / ty / cheers / lgtm / of course / got it / makes sense / understood
        i like / i love / love / congrats / bravo
        """
    ),
    additions=phrases(
        r"""
        also / and / plus / additionally / in addition / furthermore / another thing / one more(?: thing)?
        while you(?:'re| are) (?:at it|there) / on top(?: of that)? / as well / the same (?:for|with)
        same (?:for|with) / do (?:the )?same / do (?:it|that) for
        """
    ),
    too=phrases(r"(?:as well|too|also|while (?:you(?:'re| are)|we(?:'re| are)) at it)(?=\W*\Z)"),
    praise=phrases(
        rf"""
        ye+s+ / ye+p+ / ye+a+h+ / yup / y / sure(?: thing)? / exactly / correct / agreed / absolutely
        {_VERY}{_GOOD}(?: (?:job|work|stuff|point|catch|one|idea|answer|question|enough|call|now|too|to me|\
        for me|by me|to go))*
        {_THAT} (?:looks?|sounds?|seems?|reads?|feels?|works?|passes|runs?|helps?|helped|worked|compiles|\
        does it|did it|matches|fits)(?: {_VERY}(?:{_GOOD}|well|now|too|to me|for me|like a charm|\
        as expected|fine))*
        {_THAT} {_VERY}{_GOOD}(?: (?:now|too|to me|for me|by me|work|job|enough|improvement|thank you|\
        thanks))*
        {_THAT} (?:a |an )?(?:(?:really|very|huge|big|great|nice|good|clear|real|major) )+(?:improvement|\
        answer|result|solution|help|fix|idea|catch|job|work|start|one)?
        (?:{_THAT} )?(?:exactly|just|precisely|really|definitely)? ?(?:what|how|as|the \w+(?: \w+)?) (?:i|\
        we)(?:'ve| had| have)? (?:wanted|needed|expected|asked(?: for)?|meant|had in mind|hoped for|\
        was looking for|were looking for)
        (?:looks?|sounds?|reads?|seems?) (?:really |very |pretty |so )*(?:good|great|right|fine|nice|\
        perfect|clean|solid|correct|clear)(?: to me| now| overall)?
        (?:it |that |this |everything )?(?:works?|passes|runs|compiles|worked)(?: (?:now|fine|great|well|\
        perfectly|like a charm|for me|again|as expected|locally|here))*
        (?:many |a lot of )?thanks?(?: (?:you|a lot|so much|very much|a ton|a bunch|again|for (?:that|this|\
        the help|your help|fixing (?:it|that))))*
        thank you(?: (?:so much|very much|again|for (?:that|this|the help|your help)))* / thx / ty / cheers
        tysm / lgtm / \+1 / ship it / merge it / approved? / approving / merging / i approve / kudos / bravo
        well done / got it / i see / understood / makes sense / fair(?: enough)? / of course
        as you (?:like|wish|suggest\w*) / sounds good / all (?:good|set|done|clear) / done
        that's (?:it|all|everything)(?: for (?:now|today))? / i (?:really )?(?:like|love) (?:it|that|this)
        (?:really )?appreciate(?:d| it| that)? / (?:much|well) appreciated
        i'm (?:happy|good|fine|done|ok(?:ay)?)(?: with (?:it|that|this))?
        (?:everything|all) (?:works|passes|is (?:fine|good|ok|green)) / green(?: now| again)?
        tests? pass(?:es)?(?: now)? / you're (?:welcome|the best|amazing|awesome) / nailed it
        you (?:nailed|fixed|got) it / much better / to (?:me|go) / for (?:me|now) / by me / overall / work
        job
        (?!(?:.* )?(?:nothing|never|neither|no|not|none|only|hardly|barely|nobody|still|sometimes|if|until|\
        unless|when|once|whether|what|which|how|why|who|where|make|makes|ensure|check|find|see|\
        until) )(?:[\w'-]{{1,20}} ){{1,3}}(?:(?:is|are|looks?|reads?|sounds?|\
        seems?) (?!better){_VERY}(?!enough|all|it|done){_GOOD}|works|passes|matches|agrees|(?:checks|lines|\
        adds) (?:out|up))(?: now| again| here)?
        (?:the )?(?:numbers|totals|figures|results|tests|things|values) (?:now |all )?(?:check out|line up|\
        add up|match|work|pass|agree)(?: now)?
        (?:\w+ )?(?:matches|fits) (?:my|our|the|what) \w+(?: \w+)?
        (?:that|this|it)(?:'ll| will| does| should) (?:do|work|help)(?: (?:for now|nicely|it|fine))?
        (?:i )?(?:really |absolutely )?(?:love|like|dig|adore) (?:it|this|that)
        # They sound like a no.
        no+[, ]+(?:(?:more|other|further|real|big|new)[, ]+)*(?:problems?|worries|thanks?|thx|thank you|ty|\
        need(?:ed)?|rush|hurry|changes?(?: needed| required)?|issues?|idea|errors?|failures?|questions?|\
        doubt|objections?|complaints?|biggie|sweat|notes|comments?|remarks?|edits?|nits?|feedback|\
        concerns?|suggestions?|findings?|regressions?|differences?|surprises?|conflicts?|warnings?|\
        blockers?|wonder|further|more)(?: (?:anymore|any more|found|needed|from (?:me|my side|us)|\
        on my (?:side|end)|left|here|now|so far|at all))*
        no+[, ]+(?:{_THAT} )?{_VERY}{_GOOD}(?: (?:now|for now|as it is))?
        no+[, ]+{_THAT} (?:works?|looks?|reads?|sounds?)(?: {_GOOD})? / no+[, ]+looks? (?:good|great|fine)
        no+[, ]+(?:leave|keep) it(?: as(?: it)? is)? / no+[, ]+i(?:'m| am) (?:good|fine|done|ok)
        (?:leave|keep) it(?: (?:as(?: it)? is|like (?:this|that)))?
        nothing (?:else|to (?:add|change|complain(?: about)?|object)|more)(?: from me| for now)?
        not (?:too )?(?:bad|shabby)(?: at all)? / hell,? ye(?:s|ah)
        (?:{_THAT} )?makes? (?:sense|perfect sense)(?: now| to me)?
        works on my (?:machine|side|end|laptop|box)
        i don't have (?:anything|much)(?: else| more)? to (?:add|say|change|complain about)(?: here| now)?
        (?:i )?(?:can't|cannot) wait(?: (?:to|for) [\w' -]{{1,40}})? / you never (?:disappoint|fail)(?: me)?
        (?:{_THAT} )?must (?:have been|be) (?:hard|fun|tricky|difficult|a lot of work|it)
        i should (?:thank you|(?:go to )?(?:bed|sleep)|have (?:known|thought of (?:it|that)))
        you should be proud / you (?:really )?(?:rock|rule|did it|made my day|saved me [\w' -]{{1,30}})
        sounds? (?:like (?:a plan|fun)|about right|fair|reasonable|sensible) / neat(?: trick| idea)?
        nice (?:trick|touch|idea|find|catch) / good (?:to know|thinking|news|riddance)
        (?:i )?(?:didn't|never) kn[oe]w (?:that|this|about (?:that|this)|you could (?:do )?(?:that|this))
        (?:reviewed|merged|deployed|pushed|approved|committed|tagged|released|shipped)(?: and \w+)*\
        (?: (?:it|that|this))?(?: (?:myself|now|already))?
        (?:the |our |my )?(?:\w+ )?(?:deploy(?:ment)?|release|merge|upload|migration|review|demo) \
        (?:went (?:through|well|fine|live)|is (?:out|done|through|live)|worked)
        (?:the |our |my )?(?:\w+ )?(?:customers?|clients?|boss|manager|team|colleagues?|users?|everyone\
        |everybody) \
        (?:(?:is|are|was|were) (?:very |really )?(?:happy|pleased|delighted|satisfied|impressed)|\
        (?:really )?(?:likes?|loves?|liked|loved) (?:it|this|that))
        (?:all|everything) (?:is )?(?:green|good|fine|clean|quiet|well) (?:here|now|on my (?:side|end))
        (?:i )?(?:never|didn't) (?:expect(?:ed)?|thought|think) (?:it|that|this) (?:to|would|could) be \
        (?:so|this|that) (?:easy|simple|short|{_GOOD})
        (?:it|that|this) wasn't (?:broken|wrong|a bug|your fault)(?: after all)?
        my (?:own )?(?:\w+ )?\w+ was (?:wrong|broken|outdated|off|the problem)
        (?:the |that )?(?:bug|error|mistake|problem|fault|issue) was (?:on my (?:side|end)|mine)
        i (?:pasted|sent|copied|opened|typed) the wrong [\w' -]{{1,40}}
        (?:{_THAT} |i )?(?:can't|cannot|can not|couldn't|could not) (?:complain|be (?:better|happier)\
        |ask for more)
        {_THAT} not (?:wrong|bad|incorrect|broken)(?: at all)?
        (?:{_THAT} )?not (?:an? )?(?:(?:real|big) )?(?:problem|issue|deal|blocker|concern)(?: at all\
        | for (?:me|us|now))?
        i (?:have|see) no (?:more |further )?(?:objections?|complaints?|problems?|issues?)
        (?:(?:the|that|all|those|these|this|your|my) )?(?:\w+ ){{0,2}}(?:errors?|bugs?|problems?|issues?\
        |warnings?|\
        failures?|crash(?:es)?|leaks?)(?:'s| is| are| has| have)(?: now| all| finally| completely)* (?:gone\
        |fixed|\
        solved|resolved|disappeared|vanished)(?: now| too)?
        (?:it|that|this|everything|(?:the |all )?(?:\w+ )?(?:tests?|builds?|pages?|apps?|scripts?\
        |commands?)) no longer \
        (?:fails?|crash(?:es)?|breaks?|hangs?|leaks?|errors?|throws?|complains?)
        (?:(?:it|that|this|everything|(?:the |all )?(?:\w+ )?(?:tests?|builds?|pages?|apps?|scripts?\
        |commands?)) )?\
        (?:doesn't|don't|does not|do not|never) (?:fail|crash|break|hang|leak|throw\
        |complain)(?:e?s)? (?:now|anymore|\
        any ?more|any longer)
        you (?:didn't|did not|haven't|have not) (?:break|broken|miss(?:ed)?|forg[eo]t(?:ten)?|lose|lost\
        |skip(?:ped)?) \
        (?:anything|a thing)
        nothing(?:'s| is| was| seems)? (?:broken|wrong|missing|failing|fails|broke|breaks)(?: now| here\
        | anymore)?
        (?:i|we) (?:was|were) (?:wrong|mistaken|confused)(?: about [\w' -]{{1,60}})?
        you(?:'re| are| were) (?:right|correct)(?: about [\w' -]{{1,60}})?
        (?:that was |it was )?my (?:bad|mistake|fault|error)
        (?:it(?:'s| has) )?never (?:been|looked|worked) better
        (?:don't|do not) (?:stop|change (?:anything|a thing))(?: now)?
        (?:(?:there(?:'s| is) )?no|you don't) need to \
        (?:change|fix|redo|worry|hurry|rush|apologi[sz]e|explain)\
        (?: (?:it|that|this|anything|a thing|about (?:it|that|this)))?(?: now| here)?
        don't (?:worry|bother|mind)(?: about (?:it|that|this))?
        (?:don't|do not) worry(?: about [\w' -]{{1,60}})?
        not (?:needed|necessary) / always (?:great|good|nice|a pleasure)
        (?:it )?doesn't get better(?: than this)?
        """
    ),
    consent=phrases(
        r"""
        continue(?: (?:from )?(?:where|what) you (?:left off|stopped|were(?: doing)?)| (?:with|\
        working on) (?:it|that|this|the (?:rest|task|next(?: step)?|plan|work))| please)?
        (?:please )?(?:proceed|carry on|keep (?:going|working|at it)|go on|go ahead|go(?: for it)?|resume|\
        move on)(?: with (?:it|that|this|the (?:rest|task|next(?: step)?|plan|work)))?
        do (?:it|that|so) / next / option \w+ / \d{1,3} / [a-d]
        (?:the )?(?:first|second|third|last|former|latter|both)(?: one| option)? / with (?:it|that) / please
        now / and / stop / wait / never mind that
        (?:whatever|what) you (?:think|prefer|like|want)(?: is best)? / your (?:call|choice) / up to you
        let me (?:check|see|look|think|test|try|read|have a look)(?: (?:at )?(?:it|that|this)| first| again)*
        (?:just )?(?:one|a|give me a) (?:sec(?:ond)?|min(?:ute)?|moment)
        hold on / hang on / reading / looking
        let's (?:continue|stop|pause|call it (?:a day|done)|leave it)(?: (?:here|there|at that|tomorrow|later\
        |now|for (?:now|today)|on \w+day))*
        let's (?:see|wait(?: for [\w' -]{1,40})?|talk(?: later| tomorrow)?)
        do (?:what(?:ever)?|as) you (?:think(?: is)? (?:best|right)|like|prefer|want|see fit)
        take (?:your time|a break|it easy) / (?:time for )?(?:a )?(?:lunch|coffee|tea|quick|short)? ?break
        back in (?:\w+ )?(?:\d+|an? (?:min\w*|hour|sec\w*)|ten|five)(?: min\w*)?
        no (?:stress|harm(?: done)?|big deal|pressure|offen[cs]e|matter|sweat) / same here / see attached
        i need (?:to (?:think|check|ask|read|sleep)|a (?:break|coffee|moment|minute))(?: [\w' -]{1,40})?
        not (?:urgent|important|today|now|tonight)(?: though)? / (?:maybe )?(?:another|some other|next) time
        (?:the |a |my )?(?:screenshot|screen ?shot|log|file|image|picture)s? (?:is|are) attached
        we (?:can|could|should|might|will|'ll) (?:revisit|discuss|talk|celebrate|think|look|see|come back)\
        (?: [\w' -]{1,40})?
        that(?:'ll| will) be (?:all|it)(?: for (?:now|today))?
        i don't (?:know|mind|care)(?: yet)? / not sure(?: yet| about (?:it|that))? / n
        (?:i have )?no (?:idea|opinion|clue|preference)s?(?: yet| about (?:it|that))?
        no (?:hurry|rush)(?: with [\w' -]{1,40})? / never ?mind the [\w' -]{1,40}
        brb / afk / (?:good ?)?bye(?: bye)? / good night
        (?:i'll )?(?:be )?(?:right )?back(?: soon| later| now)?
        see (?:you|ya)(?: later| soon| tomorrow| then| around)? / talk (?:to you )?(?:later|soon|tomorrow)
        (?:i(?:'ve)? (?:have|got|need) to|i must|(?:i )?gotta) (?:go|run|leave|stop)(?: (?:now|soon|here\
        |home|for today))*
        have a (?:nice|good|great) (?:day|one|evening|night|weekend)
        either(?: one| is fine)? / go back / not (?:yet|sure) / later / you
        """
    ),
    drops=phrases(
        r"""
        (?:sorry )?wrong (?:window|chat|tab|terminal|session|thread|project|repo)
        ignore (?:that|this|it|me|my last (?:message|prompt))
        never ?mind / nvm / forget (?:about )?(?:it|that|this)
        (?:scratch|scrap|drop|skip|cancel|abort) (?:that|it|this)
        let's (?:drop|skip|leave|scrap|forget) (?:it|that|this)
        (?:i|we)(?:'ll| will)(?: just)? (?:do|write|fix|handle|finish) (?:it|this|that)(?: (?:myself|\
        by hand|manually))?
        not worth it / i give up
        """
    ),
    objections=phrases(
        rf"""
        (?:wrong|incorrect|false|nonsense|rubbish|garbage|terrible|awful|horrible)\b(?! way to)
        (?:once )?again *[:,] *(?:use|run|write|call|say|no)
        not (?:quite|right|correct|what|that|like|working|good|how|there|the|this|fixed|solved|done|enough|\
        allowed|ok(?:ay)?|per|in|on|an?|for|yet)
        (?:that|this|it|which)(?:'s| is| was)? (?:just |still |completely |totally |all |simply |plain |\
        also |now )*(?:{_BAD}|failing|fails|worse|nonsense|terrible|awful|unusable|ugly)
        (?:that|this|it|which) (?:isn't|wasn't|doesn't|does not|didn't|did not|won't|can't|cannot)
        still (?:wrong|fail\w*|not|no|broken|the|incorrect|doesn't|does|get\w*|red|under|in|on|too|missing|\
        there|same|\d)
        you(?:'ve| have)? {_YOU_DID}
        i (?:said|told you|asked|meant|wanted|expected|specifically|didn't (?:ask|want|say|mean)|\
        did not (?:ask|want|say|mean)|don't (?:see|want|need|like|think|get)|do not (?:see|want|need|like|\
        think|get)|can't|cannot|couldn't|still|get (?:an?|the|no|this)|got (?:an?|the|no|this)|see no)
        (?:undo|revert|roll ?back|restore|put back|bring back|take back|back out)\b(?! the (?:release|\
        deployment|deploy) of)
        (?:doesn't|does not|didn't|did not|won't|can't) \w+ / not working
        (?:same|another) (?:error|problem|issue|failure|result|mistake|bug|broken|crash|stack|\w+ as before)
        nothing (?:changed|happens|happened|works|works anymore) / neither
        nobody (?:reads|needs|wants|asked) / what a (?:mess|joke|shame) / nice try / way too
        on the contrary / the opposite
        """
    ),
    denials=phrases(r"no+ / nope / nah"),
    absences=phrases(r"no(?= [\w`])"),
    prohibitions=phrases(
        r"""
        (?:please )?(?:don't|do not|never(?! (?:seen|been|had|thought|knew|heard|felt|looked)\b)|always\
        |avoid|stop \w+ing|no more|quit \w+ing)
        (?:you|we) (?:must|should) (?:never|always|not) / (?:under no circumstances|by no means)
        """
    ),
    repeats=phrases(
        r"""
        (?:fix|correct|repair) (?:it|that|this|them|those) / try (?:it )?again / again / retry
        redo (?:it|that|this) / once more / one more time / do (?:it|that) (?:again|over)
        (?:rewrite|redo|rework) (?:it|that|this)
        """
    ),
    questions=phrases(
        r"""
        what(?:'s| is| are| does| do| did| was| about| if| happens| would)? / why
        how(?:'s| is| are| does| do| did| was| come| many| much| long)? / who / whose / when
        where(?:'s| is| are| does)? / which / do (?:you|we|they|i|these|those)
        (?:is|are|was|were|does|did|has|have|had|can|could|would|will|should|shall|may|am) (?:it|this|that|\
        there|these|those|the|you|we|i|they|he|she|an?|any|all|our|my|your|\w+\(\))
        any (?:idea|chance|reason) / tell me (?:what|why|how)
        """
    ),
    doubts=phrases(
        r"""
        (?:is|are|was|were|do|does|did|have|has|should|would|could|can)n't (?:it|this|that|there|these|\
        those|the|you|we|they|all)
        (?:have|did) you (?:forget|forgotten|ignore[d]?|miss(?:ed)?|skip(?:ped)?|even|delete|break|remove)
        (?:why|how come) [^?]{0,60}\b(?:still|again) / why (?:the (?:hell|heck)|on earth)
        why (?:did|are|do) you (?:not|ignore|keep|insist) / why (?:not|didn't|don't|isn't|aren't|doesn't)
        what the (?:hell|heck) / are you (?:kidding|serious) / really
        didn't i (?:say|tell|ask|mention)
        """
    ),
    steps=phrases(
        r"""
        commit / push / merge / deploy / release / publish / ship / tag / run / rerun / re-run
        test (?:it|that|this) / open (?:an?|the) (?:pr|pull request|mr|issue|ticket) / open it / close
        save / execute / apply / install / start / launch / bump / squash / rebase / send / submit / stage
        upload
        """
    ),
    deeds=phrases(
        r"""
        write / create / implement / build / generate / fix / refactor / review / document / investigate
        debug / analy[sz]e / explain / describe / summari[sz]e / translate / find / search
        look (?:at|for|into|over|up|through) / check / list / tell / give (?:me|us|an?|some) / set up
        set-up / setup / configure / upgrade / update / migrate / convert / design / draft / plan / research
        read / compare / help / port / extract / benchmark / profile / measure / audit / tidy / clean up
        optimi[sz]e / speed up / slim down / reduce / extend / scaffold / prototype / develop / integrate
        expose / introduce / query / calculate / compute / estimate / prepare / propose / suggest
        brainstorm / reproduce / diagnose / walk me through / show me / compose / train / evaluate / monitor
        scrape / download / fetch / clone / cache / containeri[sz]e / automate / figure out / teach
        inspect
        make (?!it\b|the\b|this|that|them|these|those|sure|each|every|all\b|both|one\b|your?\b|its)\w+
        enable / disable / delete the / turn / print / count / show / test / outline / parse / import
        export / which command / simplify the
        """
    ),
    things=phrases(r"an? / some / another / new / me an? / all / any / every"),
    adds=phrases(r"add / include / insert / append / provide / support"),
    known=phrases(r"the / this / that / these / those / its / their / our / your / it / them / back"),
    manners=tuple("for in with without as like to more less from by on under below above like so".split()),
    remarks=phrases(
        r"""
        i(?:'m| am|'ll| will|'ve| have| was| had| just| know| see| read| saw| found| think) / my
        we(?:'re| are|'ll| will|'ve| have) / fyi / note(?: that)? / there(?:'s| is| are)
        good (?:morning|night|evening) / by the way
        i (?:already |also |now |then |just |have |finally |myself )*(?:\w+ed|trust|should (?:thank|go|sleep)\
        |ran|put|sent|took|made|went|got rid|hope|guess|wonder|assume|suppose|agree|understand|will|might|may\
        |love|enjoy)
        (?:just |already )?(?:pushed|merged|committed|deployed|renamed|tested|fixed) (?:it|that|this) myself
        """
    ),
    changes=phrases(
        r"""
        use / using / make / keep / put / rename / remove / move / drop / change / replace / sort / order
        group / limit / return / handle / call / name / cut / swap / round / pin / exclude / include
        validate / plot / encrypt / sign / follow / stick / split / shorten / trim / strip / wrap / quote
        escape / cap / log / retry / skip / raise / catch / throw / extract / inline / inject / mock / read
        write / store / cache / load / save / pass / give / set / unset / add / append / insert / delete
        hide / show / start / begin / end / stop / avoid / prefer / align / center / indent / format
        capitali[sz]e / phrase / word / spell / mention / cite / link / point / refer / mark / label / tag
        highlight / bold / style / resize / scale / crop / pad / fill / clear / reset / turn / switch / flip
        reverse / invert / toggle / enable / disable / allow / forbid / restrict / require / check / assert
        verify / compare / count / sum / average / compute / filter / map / join / import / export / expose
        declare / define / register / emit / print / render / cast / convert / vectori[sz]e / encode / parse
        match / merge / combine / reuse / share / copy / clone / initiali[sz]e / assume / treat / expect
        respect / stay / leave / go with / get rid / base / build / run / rerun / fix / tighten / loosen
        simplify / flatten / nest / expand / collapse / polish / shorter / longer / smaller / bigger
        larger / simpler / cleaner / clearer / friendlier / nicer / faster / slower / darker / lighter
        higher / lower / earlier / later than / stricter / looser / fewer / less / more / only / just the
        without / instead / rather / first / last / before / after / above / below / under / everywhere
        nowhere / twice / too / again / both / each / every / max / min / maximum / minimum
        at (?:most|least) / up to / no longer / exactly / either / \w+ case / spelling / headline / title
        wording / missing / ignored / unused / lost / gone / overlaps? / duplicate[sd]? / stretched / hides?
        does nothing / conflicts? / breaks? / wants? to / needs? / should / must / misleading / confusing
        unclear / redundant / inconsistent / swallows? / leaks? / blocks?
        """
    ),
    complaints=phrases(
        rf"""
        too (?:\w+ly )?(?:long|short|much|many|few|big|small|slow|vague|verbose|generic|complicated|\
        complex|noisy|late|early|wide|narrow|strict|loose|wordy|formal|dark|bright|deep|clever|abstract|\
        broad|little|high|low|old|new|fast|simple|large|tight|early)
        (?:is|are|was|were|'s|'re|looks?|seems?|reads?|sounds?|feels?) (?:all |just |still |now |\
        completely |totally |also |a bit |way |slightly |even |always |only )*{_BAD}
        missing / (?:is|are|was|were)n't
        (?:doesn't|does not|didn't|did not|don't|do not|won't|will not|cannot|can't|couldn't|wasn't|\
        never) (?:even |actually |really |properly |correctly )*(?:work|run|compile|start|build|pass|match|\
        exist|handle|include|contain|cover|use|follow|show|update|load|render|respect|support|filter|\
        return|import|do|apply|belong|need|fit|help|make sense|look|end|begin|look|happen|appear|find|\
        print|open|close|see|install|parse|get|available)
        fail(?:s|ed|ing)? / broke(?:n)? / break(?:s|ing)? / crash(?:es|ed|ing)? / hangs? / throws? / leaks?
        times? out
        (?:not|isn't|aren't) (?:allowed|permitted|acceptable|supported|ok(?:ay)?|what|how|our|the|a|an|on|\
        enough|in|from|part|available|needed|necessary)
        vanish(?:es|ed)? / disappear(?:s|ed)? / (?:is|are) (?:gone|left out|cut off)
        (?:syntax|type|runtime|compile|import|key|name|value) ?errors? / errors? (?:out|again)
        exits? (?:immediately|with) / returns? (?:nothing|null|none|an error|[45]\d\d) / off by (?:one|a)
        (?:threw|throws?|gave|gives|got|gets?|getting|see|seeing|raises?|raised|caused|causes|\
        shows) (?:me )?(?:an?|the|this|that|these|some)? ?(?:\w+ )?(?:errors?|exceptions?|warnings?|\
        failures?)
        makes no sense / lacks? / still(?! (?:works?|passes|runs|good|fine|ok|great|love|like|happy)\b)
        only works / (?:even )?worse / regress(?:ion|ed|es) / (?:doesn't|don't|does not|do not)(?=\W*\Z)
        violates? / exceeds? / (?:has|have) (?:no|an? (?:bug|typo|error|mistake)) / typo / stack ?trace
        """
    ),
    instead=phrases(r"instead / rather than"),
    obligations=phrases(
        r"""
        must(?:n't)? / should(?:n't)? / (?:needs?|has|have|ha[sd]|ought|supposed|required|expected) to
        needs?(?= (?:an?|the|more|less|some|to|\w+ing))
        (?:is|are) (?:required|mandatory|forbidden|prohibited|compulsory)
        we (?:always|never|only|don't|do not|usually|use|prefer|call|name|write|keep|put|format|link|\
        follow|avoid|end|start|sort|want|require)
        our (?:\w+ )?(?:convention|style|rule|policy|standard|entries|tests|code|team|docs|\
        guide\w*)(?: \w+)?
        (?:in|for) this (?:repo\w*|project|codebase|team)
        """
    ),
    asides=phrases(
        r"""
        note(?: that)? / fyi / btw / by the way / for your information / here(?:'?s| is| are)
        """
    ),
    offers=phrases(
        r"""
        (?:would you like|do you want|would you prefer|shall i|want me to|should i (?:also|go ahead|\
        proceed|continue)|may i|is there anything|anything else|can i help|do you need|let me know|\
        does (?:that|this) (?:help|work|look|answer|make sense)|any (?:other )?questions)
        """
    ),
    leaning=phrases(
        r"""
        why / what about / how about / otherwise / still / missing / like / same / it / that / this / these
        those / they / them / your? / i (?:mean|think|see|still) / there (?:is|are)
        the (?:above|last|previous|second|first|numbers?|output|result|answer)
        """
    ),
    backward=phrases(r"it / this / that / them / these / those / again / above"),
    bare=r"[^\s,;`\"“”]{1,80}(?:\s+[^\s,;`\"“”]{1,80}){0,4}?",
    end=(
        r"(?=\s*(?:[.!?;:,)](?:\s|\Z)|\Z|[-–—]\s)|\s+(?:because|since|so|as|for|in|on|when(?:ever)?|while|if"
        r"|please|here|instead|everywhere|throughout|again|and|but|this time|from now|next time|like|that"
        r"|which|always)\b)"
    ),
    doing=phrases(
        r"""
        use / using / run / running / call / calling / write / writing / say / saying / prefer / choose
        pick / go with / going with / try / import / install / add / put / name (?:it|them)
        call (?:it|them) / commit with / write (?:it )?(?:in|with) / (?:do|make) it (?:in|with) / switch to
        stick (?:to|with) / start with / end with
        """
    ),
    contrast=phrases(
        r"""
        not / instead of / rather than / over / and never / and not / never / in place of
        """
    ),
    fill=r"(?:to |using |use |with |the |an? |any |in |run |running )*",
    pairs=phrases(
        r"""
        {wanted_quoted}\s*,?\s+{not}\s+(?:[\w-]+ ){0,3}{unwanted_quoted}
        \A(?:no|nope|nah|wrong|incorrect|i (?:said|meant|asked for|wanted))\b[\s,.!:;–—-]*(?:i (?:said|\
        meant|want(?:ed)?)\s+)?{fill}(?!\W*(?:to|not|try|i|i'd|better|please|you|you're|we|it|it's|that\
        |that's|\
        this|do|just|rather|let's|would|should|must|can|could|but|there|there's|don't|didn't|doesn't|never\
        |stop|avoid|why|using)\b){wanted}\
        (?<! is)(?<! are)(?<! was)(?<! were)(?<! do)(?<! does)(?<! did)(?<! can)(?<! should)(?<! must)\
        (?<! will)(?<! would)(?<! may)(?<! has)(?<! have)(?<! you)(?<! we)\
        \s*,?\s+{not}\s+(?!(?:to |ever )?{do}\b){fill}{unwanted}{end}
        \b{do}\s+{fill}(?!to\b){wanted}\s*,?\s+{not}\s+{fill}{unwanted}{end}
        \b(?:don't|do not|never|stop|avoid|not)\s+(?:{do}\s+)?{fill}{unwanted}\s*[,;.:–—-]+\s*(?:but |\
        please |just |instead,? |rather |always |you should )*{do}\s+{fill}{wanted}{end}
        \breplace\s+{fill}{unwanted}\s+(?:with|by)\s+{fill}{wanted}{end}
        \bchange\s+{fill}{unwanted}\s+(?:to|into)\s+{fill}{wanted}{end}
        \bnot\s+{fill}{unwanted}\s*,?\s+but\s+(?:rather\s+)?{fill}{wanted}{end}
        """
    ),
    pairs_alone=phrases(
        r"""
        (?:use|run|prefer|call|switch to|go with|stick (?:to|with)|put (?:it|them|that)) .{0,160}?\s{not}\s
        """
    ),
    wanted=phrases(
        r"""
        \balways\s+{do}\s+{fill}{wanted}{end}
        \balways\b[^`\"“]{0,60}?(?P<wanted>{quoted}|(?<!\S)--[a-z][\w-]{1,40})
        (?:\A|[,;:.!?–—-]\s*|\bno\s+|\bsaid (?:to )?|\bplease\s+|\bjust\s+|\binstead,?\s+|\
        \bshould (?:have )?|\bmust\s+|\bto\s+|\bwe\s+(?:only\s+|all\s+)?)(?:use|used|run|call|prefer|\
        switch to|go with|stick (?:to|with))\s+{fill}\
        (?!(?:neither|either|nothing|anything|none|of)\b){wanted}{end}
        """
    ),
    unwanted=phrases(
        r"""
        \b(?:don't|do not|never|stop|avoid|shouldn't (?:have )?|\
        should not (?:have )?)\s*(?:ever\s+)?(?:use|used|using|run|running|call|calling|say|saying|write|\
        writing|import|install|add)\s+{fill}{unwanted}{end}
        \b(?:cannot|can't|can not|mustn't|must not|may not|rather not|better not|to not|no longer|\
        (?<!why )not to)\s+(?:ever\s+)?(?:use|run|call|say|write|import|install|add)\s+{fill}{unwanted}{end}
        \b(?:don't|do not|never|stop|avoid)\b[^`\"“]{0,40}?(?P<unwanted>{quoted}|(?<!\S)--[a-z][\w-]{1,40})
        (?:\A|[,;:.]\s*)(?:the\s+)?{unwanted}\s+(?:is|are)\s+(?:not allowed|forbidden|prohibited|banned)\b
        """
    ),
    unwanted_commands=phrases(
        r"\b(?:never|don't|do not|no more|no|stop|avoid)\s+(?:ever\s+)?{unwanted}{end}"
    ),
    # "Forgot to use X" wants it, whatever else is said.
    negations=phrases(
        r"""
        (?:not|never|nobody|no one|\w+n't|cannot|refuse|forbidden|prohibited|wrong|mistake|hate|avoid|stop\w*\
        |too \w+|refrain|who (?:asked|told|wants?|says?|said)|of (?:trying|having|wanting) to|insane|silly\
        |stupid|dangerous|unsafe|risky|bad(?: idea)?)\b(?!.*\b(?:forg[eo]t(?:ten)?\
        |fail(?:ed)?|neglect(?:ed)?|remember(?:ed)?|bother(?:ed)?|manage(?:d)?) to\b)
        """
    ),
    voids=phrases(
        r"""
        (?:no|any|little|without) (?:\w+ )?(?:need|reason|point|sense|obligation)
        (?:not|never|\w+n't|without|if|unless|when|whenever|hate) .*\b(?:have|had|having|need|needed|\
        necessary|required|obliged|got|mandatory) to
        (?:not|\w+n't) (?:\w+ )?(?:(?:have|need|got) to|necessary|required|obliged)
        why (?:\w+n't|not|do not|did not) / unless / pointless / useless / needless / used to / (?:not\
        |\w+n't) always
        (?:you|it|he|she|they) (?:still |just |also |keep |kept |have )*always(?! (?:have|need|must|should))
        \A\W*(?:(?:no|and|because) )?(?:you|it|that|this|which) (?:still |just |simply |again )*(?:never\
        |(?:do|did|does)(?:n't| not))
        (?:not|\w+n't) (?:how|what|the way|where|why|when|because)
        (?:not|\w+n't|never) (?:mind|object|matter|care) .*
        (?:ok(?:ay)?|fine|allowed|free|possible) (?:not )?to
        (?:you|it|he|she|they) (?:just |even |also |had |have )*(?:wrote|said|told|suggested|claimed|answered\
        |replied|proposed|recommended|mentioned)
        you (?:\w+ )?(?:chose|choose|decided|opted|preferred|seem|seemed|tend|happened) (?:not )?to
        (?:docs?|documentation|tutorial|error|warning|message|log|output|linter|compiler|\
        internet|blog|guide|ticket|issue|answer|page|post)s? .*\b(?:say|says|\
        said|tell|tells|told|claims?|wants?|suggests?|recommends?)
        """
    ),
    keepings=phrases(
        r"""
        forg[eo]t(?:ten)? / omit(?:ting)? / skip(?:ping)? / leav(?:e|ing) (?:out|off|away) / drop(?:ping)?
        remov(?:e|ing) / delet(?:e|ing) / los(?:e|ing) / miss(?:ing)? / without
        (?:not|\w+n't|never) stop(?:ping)?
        fail(?:ing)? to / neglect(?:ing)? / disabl(?:e|ing) / ignor(?:e|ing) / hid(?:e|ing) / break(?:ing)?
        strip(?:ping)? / comment(?:ing)? out / chang(?:e|ing) / replac(?:e|ing) / renam(?:e|ing)
        """
    ),
    joints=phrases(r"but / instead / so / then / rather than / and / because"),
    facts=phrases(
        r"""
        \b(?:it|that|this|the [\w -]{1,40}?|answer|result|output)\s+(?:should|must|needs? to|has to|\
        have to)\s+(?:have been|be|say|print|read|return|have|contain|include|output)\s+(?:exactly\s+|\
        just\s+|called\s+|named\s+)?(?:an?\s+|the\s+)?{wanted}(?:\s*,?\s+(?:not|\
        instead of)\s+{unwanted})?{end}
        """
    ),
    printed=phrases(
        r"""
        \b(?:should|must|needs? to|has to)\s+(?:say|print|read|\
        output)\s+(?P<wanted>[^`\"“\s].{0,120}?)(?=\s+(?:with|because|since|so|when|and|instead)\b|\
        [.]?\s*\Z)
        """
    ),
    tool_nouns=phrases(r"tools?"),
    nouns=phrases(
        r"""
        word / phrase / term / name / command / flag / option / function / tool / package / line / text
        heading / header / title / prefix / library / module / method
        """
    ),
    leads=phrases(r"in / as / with / to / under / called / named / by"),
    empty=(
        "i we you do does did is are was were should must can could would have has please it that "
        "this them they these those one ones other others same so what something anything "
        "nothing everything me us you him her thing things stuff way more less better again here "
        "there different wrong right correct only any all some such mode both either"
    ),
)
