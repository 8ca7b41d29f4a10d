"""Words of which names are made, and words that stand for a value that is not there."""

from __future__ import annotations

# Names of passwords, whole and glued to what they are for.
PASSWORDS = frozenset(
    """
    password passwd passphrase passcode passwort kennwort senha pwd pw pass psk pword passkey bindpw
    rootpw adminpw dbpw userpw hashpw checkpw
    """.split()
)
GLUED_PASSES = frozenset(
    """
    userpass dbpass pgpass smtppass mysqlpass mypass adminpass rootpass storepass keypass ftppass
    authpass requirepass mailpass redispass sudopass loginpass emailpass sqlpass proxypass httppass
    certpass
    """.split()
)
PASSWORD_ENDINGS = frozenset("password passwd passphrase passcode pwd passwort kennwort".split())
# "low pass", "last pass", "forward pass" are no passwords.
NO_PASSWORDS = frozenset(
    """
    low high band all last first second third final single multi two one render rendering forward
    backward assertion must should can to test tests compiler optimizer optimization import did does
    will by boarding season ski pipeline shader depth shadow color light
    """.split()
)
TOKENS = frozenset("token tokens jwt bearer apitoken authtoken accesstoken".split())
CREDENTIALS = frozenset("credential credentials cred creds auth login".split())
GLUED_KEYS = frozenset(
    """
    apikey accesskey secretkey privatekey authkey sharedkey accountkey masterkey encryptionkey
    signingkey licensekey subscriptionkey presharedkey sshkey appkey clientkey storagekey servicekey
    sessionkey instrumentationkey primarykeysecret
    """.split()
)
# What makes a key a secret one, and what a public one.
SECRET_KEYS = frozenset(
    """
    api access secret private auth signing sign encryption encrypt decryption master shared account
    service subscription app application client consumer admin deploy server license licence activation
    hmac aes cipher session ssh pgp gpg rsa write ingest ingestion instrumentation integration webhook
    jwt bot root preshared psk wallet minter signer validator fernet rails flask django vault unseal
    recovery backup storage registration agent tls ssl x
    """.split()
)
PUBLIC_KEYS = frozenset(
    """
    public primary foreign sort partition cache hash map object row idempotency translation i dict index
    unique composite surrogate natural lookup group hot shortcut arrow enter tab modifier meta escape
    ctrl alt registry json yaml config context event field column header query param route search dedupe
    dedup react state message label block
    """.split()
)
# Tokens that are counted or parsed.
COUNTED = frozenset(
    """
    max min num n total input output prompt completion cached cache reasoning next prev previous last
    first per used usage count stop pad eos bos unk mask sep cls start end begin special parse syntax
    whitespace string text thinking context image audio budget tool design page continuation sync cursor
    pagination cancel cancellation lex lexer ast separator delimiter open close keyword identifier
    operator punctuation new vocab word sub extra added remaining estimated average avg mean sum number
    of by tiktoken abort stream style theme color spacing
    """.split()
)
# Whose personal access tokens are called PAT, and who calls a token so.
PAT_OWNERS = frozenset(
    """
    github gh gitlab azure devops ado bitbucket my personal user bot deploy ci npm jira git docker
    airtable tableau
    """.split()
)
TOKEN_OWNERS = frozenset(
    """
    refresh bearer github gitlab slack discord telegram personal security npm pypi oauth stripe openai
    """.split()
)
# A last word that makes the name one of something else.
BENIGN = frozenset(
    """
    type types url uri name names count counts limit limits path paths file files filename folder dir
    field fields input label expiry expires expired expiration ttl length len size policy budget id ids
    ref refs endpoint regex pattern hint error errors required reset manager provider store service
    class usage cost price index position map list table version algorithm alg format handler callback
    func function strength min max rotation arn prefix suffix header headers param parameter params
    scope scopes owner address contract symbol enabled disabled valid validator validation verified
    check at in by for env var stdin prompt placeholder title message desc description tooltip icon
    button form page view screen link color help factory interface impl mixin model schema dto request
    response event listener hook config configuration options settings kind mode status state age days
    hours minutes seconds time date timestamp created updated getter setter generator source sources
    repository adapter client test tests spec mock mocks command commands rule rules lookup resolver
    cache counter bucket stream parser lexer encoder decoder embedding embeddings ratio rate hashing
    hasher visible visibility shown toggle show hide exists missing sha md digest checksum fingerprint
    """.split()
)
# Words behind the one that counts.
TRAILERS = frozenset(
    """
    value val str string text plain plaintext raw base b64 encoded hash hashed old new current prod
    production dev development staging stage test testing live local default here confirm confirmation
    again repeat data one two main real temp tmp backup secondary primary
    """.split()
)
# Values that stand for none.
PLACEHOLDERS = frozenset(
    """
    flag option argument string str number boolean bool bytes int integer float char varchar text any
    unknown never object void null none nil true false undefined optional required hidden secret
    password token changed changeme change_me missing invalid expired rotated incorrect correct wrong
    protected default example placeholder dummy test testing todo tbd redacted masked censored empty
    blank same here below above valid ok yes no hash hashed encrypted encoded plain plaintext field
    input value env environment vault file stdin prompt ask self this array list dict map function async
    await new return type interface class enum const let var buffer uuid date json yaml xml html base64
    hex utf8 utf-8 sha256 sha512 sha1 md5 bcrypt argon2 oauth oauth2 bearer basic digest jwt saml oidc
    header cookie session query body path param params inherit auto manual off on enabled disabled reset
    set unset get post is was are the a an of for with not
    """.split()
)
