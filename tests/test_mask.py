"""Secrets never survive in a message, wherever they stand in it, and other text stays as it is."""

from __future__ import annotations

import json
import random
import re
import traceback
from urllib.parse import quote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from uhebo.storage.explain import explain, one_line
from uhebo.storage.mask import mask, mask_place

MARK = "zq"
"""In every word of a secret, and in nothing else: wherever it is seen, a part of a secret is."""
JOINTS = st.text(" !\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~ßλ€", max_size=3)
WORDS = st.sampled_from(["zq", "zqA", "zq1", "0zq", "Zzqéλ"])
ALIKE = re.compile(r"[&;]\s*[\w.]+\s*=")
"""What reads as the next field of a query or a DSN, and so ends a value there."""


@st.composite
def secrets(draw: st.DrawFn, spaces: bool = True) -> str:
    parts = [draw(WORDS)]
    for _ in range(draw(st.integers(0, 3))):
        parts += [draw(JOINTS), draw(WORDS)]
    secret = draw(st.sampled_from(["", "", "#", "@", "'", '"', "{", "?", ":", "=", "-"])) + "".join(parts)
    if not spaces:
        secret = secret.replace(" ", "")
    return secret.replace("***", "")


schemes = st.sampled_from(["postgresql", "postgresql+psycopg", "mysql+pymysql", "redis", "s3"])
users = st.sampled_from(["user", "tuner_2", "me@corp.com", "a.b-c", "u"])
around = st.sampled_from(
    ["{}", "cannot reach {} now", "there is no file {}; check it", "ArgumentError: no URL in string '{}'", "a\n{}\nb"]
)
keys = st.sampled_from(["password", "sslpassword", "PASSWD", "pwd", "PGPASSWORD", "token", "client_secret", "api_key"])


def assert_hidden(text: str, secret: str) -> None:
    assert MARK in text
    for masked in (mask(text), one_line(text), explain(ValueError(text)), explain(OSError(text))):
        assert MARK not in masked, (text, masked, secret)
    assert mask(mask(text)) == mask(text)


@settings(max_examples=100, deadline=None)
@given(secrets(), schemes, st.sampled_from(["://", ":/", "//", ":///"]), users, st.booleans(), around)
def test_a_password_in_a_url(secret: str, scheme: str, mark: str, user: str, encoded: bool, text: str) -> None:
    written = quote(secret, safe="") if encoded else secret
    assert_hidden(text.format(f"{scheme}{mark}{user}:{written}@db.example.org:5432/name?x=1"), secret)


@settings(max_examples=100, deadline=None)
@given(
    secrets(spaces=False),
    st.sampled_from(["user", "tuner_2", "a.b-c", "postgresql:user", "u"]),
    st.sampled_from(["", "", "/", "\\"]),
    around,
)
def test_a_password_without_a_scheme(secret: str, user: str, first: str, text: str) -> None:
    if user != "u":  # u:/ and u:\ are drives of Windows
        secret = first + secret
    assert_hidden(text.format(f"{user}:{secret}@host/name"), secret)
    assert_hidden(text.format(f"{user}:{secret}@host"), secret)


def test_ten_thousand_urls() -> None:
    """Of every shape, by a fixed seed: nothing of a password is left."""
    rng = random.Random(0)
    marks = "!\"#$%&'()*+,-./:;<=>?[\\]^_`{|}~ßλ€"
    shapes = ["{0}://{1}:{2}@h:5432/d", "{0}:/{1}:{2}@h/d", "//{1}:{2}@h", "{1}:{2}@h/d", "{0}://h/d?password={3}&x=1"]
    for number in range(10_000):
        secret = "".join(rng.choice(["zq", rng.choice(marks)]) for _ in range(rng.randint(1, 8))) + "zq"
        shape = shapes[number % len(shapes)]
        secret = secret.lstrip("/") if "{2}" in shape else secret
        parts = [rng.choice(["postgresql", "postgresql+psycopg", "mysql"]), rng.choice(["tuner", "me@corp.com"])]
        text = shape.format(*parts, secret.replace("***", ""), quote(secret, safe=""))
        assert MARK not in one_line(f"cannot reach {text} now"), text


@settings(max_examples=100, deadline=None)
@given(secrets(spaces=False), schemes, around)
def test_a_password_without_a_host(secret: str, scheme: str, text: str) -> None:
    assert_hidden(text.format(f"{scheme}://user:{secret.replace('@', '')}/name"), secret)


@settings(max_examples=100, deadline=None)
@given(secrets().filter(lambda s: not ALIKE.search(s + "x")), schemes, keys, st.sampled_from(["", "&x=1"]), around)
def test_a_password_in_a_query(secret: str, scheme: str, key: str, more: str, text: str) -> None:
    assert_hidden(text.format(f"{scheme}://h/name?a=b&{key}={secret}{more}"), secret)
    assert_hidden(text.format(f"{scheme}://me:{secret}@h/name?{key}={secret}{more}"), secret)


@settings(max_examples=100, deadline=None)
@given(secrets(), keys, st.sampled_from(["'", '"']), st.sampled_from(["=", " = "]), around)
def test_a_password_in_a_dsn(secret: str, key: str, mark: str, equals: str, text: str) -> None:
    escaped = secret.replace("\\", "\\\\").replace(mark, f"\\{mark}")
    for written in (escaped, secret):
        assert_hidden(text.format(f"host=h {key}{equals}{mark}{written}{mark} dbname=d"), secret)


@settings(max_examples=100, deadline=None)
@given(secrets().filter(lambda s: not ALIKE.search(s + "x")), keys, around)
def test_a_password_that_is_not_quoted(secret: str, key: str, text: str) -> None:
    assert_hidden(text.format(f"host=h {key}={secret.replace(' ', '')} dbname=d"), secret)
    assert_hidden(text.format(f"SERVER=h;{key}={secret};UID=me"), secret)
    assert_hidden(text.format(f"{key}={{{secret}}};UID=me"), secret)


@settings(max_examples=100, deadline=None)
@given(secrets(), keys)
def test_a_password_in_a_table_or_a_traceback(secret: str, key: str) -> None:
    assert_hidden(str({"user": "me", key: secret, "host": "h"}), secret)
    assert_hidden(json.dumps({key: secret, "host": "h"}, ensure_ascii=False), secret)
    try:
        raise ValueError(f"could not parse 'postgresql:/me:{secret}@h'")
    except ValueError:
        assert_hidden(traceback.format_exc(), secret)


@settings(max_examples=100, deadline=None)
@given(secrets(), st.sampled_from(["", " "]), st.sampled_from(["{}://u:{}@h/d", "{}:/u:{}@h", "{}:{}@h", "{}//u:{}@h"]))
def test_a_place_may_have_spaces_anywhere(secret: str, space: str, shape: str) -> None:
    assert MARK not in mask_place(shape.format("postgresql", space + secret))


@settings(max_examples=100, deadline=None)
@given(secrets().filter(lambda s: not ALIKE.search(s + "x")))
def test_a_place_may_be_a_dsn_without_quotes(secret: str) -> None:
    assert MARK not in mask_place(f"host=h password = {secret}")
    assert MARK not in mask_place(f"postgresql://user:{secret.replace('@', '')}")


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("postgresql+psycopg://me:p@ss:w/rd@host:5432/db", "postgresql+psycopg://me:***@host:5432/db"),
        ("redis://:secret@host/0", "redis://:***@host/0"),
        ("mysql://me@host/db?password=abc&ssl=1", "mysql://me@host/db?password=***&ssl=1"),
        ("cannot reach postgresql://a:b@c/d now", "cannot reach postgresql://a:***@c/d now"),
        ("sqlite:///lab.db and a://u:p@h", "sqlite:///lab.db and a://u:***@h"),
        ("postgresql:/me:my word@h/d", "postgresql:/me:***@h/d"),
        ("host=h password='my word' dbname=d", "host=h password=*** dbname=d"),
        ("postgresql://u:***@h is away, ask me@example.org", "postgresql://u:***@h is away, ask me@example.org"),
    ],
)
def test_row_45_what_is_left_says_what_was_meant(text: str, masked: str) -> None:
    assert mask(text) == masked


PLAIN = [
    "trial 3 failed: value 'high', expected a number", "12:30", "at 12:30:05 on 2024-05-17T12:30:05+02:00", "ratio 3:1",
    r"C:\Users\me@corp\lab.db", "C:/Users/me@corp/lab.db", "sqlite:///C:/Users/me@corp/lab.db", "/home/me@corp/lab.db",
    "sqlite:////home/me@corp.com/lab.db", "sqlite:///lab.db", "./odd {name} %41?#.db", "train:loss", "lr=float:1e-5:1",
    "password authentication failed for user", "no password supplied", "max_tokens=512", "passes=3", "write %40 for @",
    "mailto:me@example.org", "git@github.com:a/b.git", "me@example.org", "λ=0.5; σ: 2", "x = {low: 1}", "a\nb\n", "",
]  # fmt: skip
SERVERS = [
    "http://127.0.0.1:8080/",
    "http://[::1]:8080/x",
    "postgresql://h:5432/d?sslmode=require",
    "postgresql://u@h/d",
]


@given(st.lists(st.sampled_from(PLAIN), max_size=4) | st.lists(st.sampled_from([*PLAIN[:4], *SERVERS]), max_size=4))
def test_ordinary_text_stays(parts: list[str]) -> None:
    text = " ".join(parts)
    assert mask(text) == text
    assert all(mask_place(part) == part for part in parts if "\n" not in part and " = " not in part)


@settings(max_examples=100, deadline=None)
@given(
    st.text("a1:/@'\"=&;?{}* \n\\.") | st.lists(st.sampled_from(["password=", "://u:", "***", "@", " ", "'", ";pwd="]))
)
def test_to_mask_again_changes_nothing(text: str | list[str]) -> None:
    once = mask("".join(text))
    assert mask(once) == once


def test_hostile_text_is_masked_in_no_time() -> None:
    for part in ("//a:", "a:", "password='", ";pwd=", "a://", "@", "pwd", "?pwd=&", "pwd=a ", "//a:1/ xx://"):
        for before in ("", ";", "?", "@"):
            assert mask(before + part * 20_000 + before) is not None
