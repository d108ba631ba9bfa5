"""Secrets hidden in text, wherever they stand: a URL, its query, a DSN, any of them mistyped.

    postgresql://user:SECRET@host/name      postgresql:/user:SECRET@host      user:SECRET@host/name
    ?sslpassword=SECRET&…                   host=h password='SECRET'          PWD={SECRET};SERVER=…

Where a secret may hold the very character that ends it, more is hidden rather than less: in a line with a URL that has
a user and a password, everything up to the last @. Repetitions that could meet at one place have bounds, so that the
time is linear in the text, whoever wrote it.
"""

import re

HIDDEN = "***"
_DONE = r"(?!\*\*\*(?:[@&;,)\s\"']|$))"
"""Not what is hidden already; so masked text can be put into a message that is masked again."""
_KEY = (
    r"[\w.-]{0,40}(?:passw(?:or)?d|passphrase|pwd|(?<![A-Za-z])pass|secret|token|api[_-]?key|access[_-]?key"
    r"|private[_-]?key|odbc_connect)"
)
_PARAMETER = re.compile(rf"(?i)([?&;]\s*{_KEY}[\w.-]{{0,40}}\s*=){_DONE}(?:(?![&;]\s*[\w.]+\s*=).)+")
_VALUE = r"""(?:(?:'(?:.*'|.*)|"(?:.*"|.*)|\{(?:.*\}|.*))\S*|[^;]{1,200}(?=;\s*\w+\s*=)|(?:\\.|[^\s\\])+)"""
"""In quotes or braces, up to the next field of ODBC, or up to a space that is not escaped."""
_FIELD = re.compile(rf"(?i)((?<![\w.-])(?:{_KEY}\s*=|([\"']){_KEY}\2\s*:)\s*){_DONE}{_VALUE}")
_URL = re.compile(
    r"(?:(?<=\w\w):/|//)/{0,2}"  # also :/ and //, which are mistyped; one letter and : is a drive of Windows
    r"(?!\[|(?<=///)[A-Za-z]:[\\/])"  # no IPv6 address, no path of Windows
    rf"[^\s:/]*:(?=\S){_DONE}"
    r"(?!\d{1,5}[/\s].{0,200}\w\w://)"  # no port with another URL behind it
)
_NO_SCHEME = re.compile(  # one letter and : is a drive of Windows, and what // follows has a scheme
    rf"(?i)(?<![\w.+%-])(?!\d+:|mailto:)(?:[\w.+%-]:(?![/\\])|[\w.+%-]{{2,}}:(?!//|/[^\s:]*:\*\*\*)){_DONE}"
)
_NO_HOST = re.compile(rf"(?<=\w\w)(://(?!\[)[^\s:/@]*:)(?!\d{{1,5}}(?!\w)|\\){_DONE}[^\s/]\S*")


def mask(text: str) -> str:
    """The text with every secret in it replaced by ***; to mask it again changes nothing."""
    while True:
        masked = "\n".join(map(_mask_line, text.split("\n")))
        if masked == text:
            return masked
        text = masked


def mask_place(given: str) -> str:
    """`mask` for a text that is one place as a whole: a space in it ends nothing."""
    return mask(re.sub(r"\s", "\0", re.sub(r"\s*=\s*", "=", given))).replace("\0", " ")


def _mask_line(line: str) -> str:
    for pattern in (_PARAMETER, _FIELD):
        line = pattern.sub(rf"\1{HIDDEN}", line)
    line = _to_last_at(line, _URL)
    line = re.sub(r"\S+", lambda token: _to_last_at(token[0], _NO_SCHEME), line)
    return _NO_HOST.sub(rf"\1{HIDDEN}", line)


def _to_last_at(text: str, user: re.Pattern[str]) -> str:
    """What stands between the first user (with its colon) and the last @, hidden."""
    at = text.rfind("@")
    found = user.search(text, 0, at) if at > 0 else None
    return text if found is None else text[: found.end()] + HIDDEN + text[at:]
