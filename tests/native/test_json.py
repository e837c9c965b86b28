"""The reader of messages in C takes what JSON and the protocol allow, and nothing else."""

from __future__ import annotations

import json
import subprocess
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.naive.profiles import examples
from tests.native.building import built


def decoded(*lines: bytes) -> list[Any]:
    """What the C library makes of the lines of a coordinator; None where it refuses one."""
    told = b"".join(b"coordinator " + line + b"\n" for line in lines)
    done = subprocess.run([built() / "codec"], input=told, capture_output=True, check=True, timeout=60)
    answers = done.stdout.decode().split("\n")[:-1]
    assert len(answers) == len(lines)
    return [None if answer == "malformed" else json.loads(answer) for answer in answers]


REFUSED = [
    b"",
    b" ",
    b"{}",
    b"[]",
    b"1",
    b'"beat"',
    b'{"type":"beat"}',
    b'{"type":"beat","seq":-1}',
    b'{"type":"beat","seq":1.5}',
    b'{"type":"beat","seq":9007199254740993}',
    b'{"type":"beat","seq":"1"}',
    b'{"type":"beat","seq":null}',
    b'{"type":"beat","seq":true}',
    b'{"type":7,"seq":1}',
    b'{"type":"beat","seq":1}}',
    b'{"type":"beat","seq":1} x',
    b'{"type":"beat","seq":1',
    b'{"type":"beat","seq":1,}',
    b'{"type":"beat" "seq":1}',
    b'{"type":"beat",,"seq":1}',
    b"{type:1}",
    b"{'type':'beat','seq':1}",
    b'{"type":"beat","seq":01}',
    b'{"type":"beat","seq":+1}',
    b'{"type":"beat","seq":1.}',
    b'{"type":"beat","seq":.5}',
    b'{"type":"beat","seq":1e}',
    b'{"type":"beat","seq":0x1}',
    b'{"type":"beat","seq":-}',
    b'{"type":"beat","seq":NaN}',
    b'{"type":"beat","seq":Infinity}',
    b'{"type":"beat","seq":1,"x":nul}',
    b'{"type":"beat","seq":1,"x":[1,]}',
    b'{"type":"beat","seq":1,"x":[1}',
    b'{"type":"beat","seq":1,"x":{"a"}}',
    b'{"type":"beat","seq":1,"x":{"a":1,}}',
    b'{"type":"beat","seq":1,"x":"a\tb"}',
    b'{"type":"beat","seq":1,"x":"\\x"}',
    b'{"type":"beat","seq":1,"x":"\\u12g4"}',
    b'{"type":"beat","seq":1,"x":"\\ud800"}',
    b'{"type":"beat","seq":1,"x":"\\ud800\\u0041"}',
    b'{"type":"beat","seq":1,"x":"\\udc00"}',
    b'{"type":"beat","seq":1,"x":"\xff"}',
    b'{"type":"beat","seq":1,"x":"\xc0\x80"}',
    b'{"type":"beat","seq":1,"x":"\xed\xa0\x80"}',
    b'{"type":"beat","seq":1,"x":"\xf4\x90\x80\x80"}',
    b'{"type":"beat","seq":1,"x":"\xe2\x82"}',
    b'{"type":"beat","seq":1,"x":' + 70 * b"[" + 70 * b"]" + b"}",
    b'{"type":"beat","seq":1,"x":' + 8000 * b"[",
    b'{"type":"beat","seq":1' + b"".join(b',"a%d":1' % i for i in range(64)) + b"}",
    b'{"type":"grant","operation":0,"number":1,"rate":1}',
    b'{"type":"grant","operation":1,"number":0,"rate":1}',
    b'{"type":"grant","operation":1,"number":1,"rate":1e400}',
    b'{"type":"grant","operation":1,"number":1,"rate":"1"}',
    b'{"type":"grant","operation":1,"number":1}',
    b'{"type":"registered","seq":1,"application":1,"key":"k","lease":1,"policy":"p","longest_round":-1}',
    b'{"type":"registered","seq":1,"application":1,"key":null,"lease":1,"policy":"p"}',
    b'{"type":"forgotten"}',
    b'{"type":"error","code":"x"}',
]


@pytest.mark.parametrize("line", REFUSED, ids=lambda line: line[:60].decode("utf-8", "replace"))
def test_it_refuses(line: bytes) -> None:
    assert decoded(line) == [None]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b' {"seq" : 3 ,\t"type":"beat"} ', {"type": "beat", "seq": 3}),
        (b'{"type":"beat","seq":1,"seq":2}', {"type": "beat", "seq": 2}),
        (b'{"\\u0074ype":"\\u0062eat","seq":4}', {"type": "beat", "seq": 4}),
        (b'{"type":"beat","seq":1,"x":' + 60 * b"[" + 60 * b"]" + b"}", {"type": "beat", "seq": 1}),
        (b'{"type":"beat","seq":1,"x":{"":[{},[],-0.0e-5,"\\"\\\\\\/\\b\\f\\n\\r\\t"]}}', {"type": "beat", "seq": 1}),
        (b'{"type":"unheard of","rest":1}', {"type": "other"}),
        (b'{"type":"warned","text":"\\ud83d\\ude00 \xcf\x86"}', {"type": "warned", "text": "😀 φ"}),
        (b'{"type":"warned","text":"' + 900 * b"x" + b'"}', {"type": "warned", "text": ""}),
    ],
)
def test_it_reads(line: bytes, message: dict[str, Any]) -> None:
    (found,) = decoded(line)
    if message.get("text") == "":
        found["text"] = "" if set(found["text"]) == {"x"} and len(found["text"]) == 800 else found["text"]
    assert found == message


@examples(200)
@given(st.lists(st.floats(min_value=-1e300, max_value=1e300, allow_subnormal=False), min_size=20, max_size=20))
def test_numbers_are_read_to_the_last_but_one_bit(rates: list[float]) -> None:
    lines = [json.dumps({"type": "grant", "operation": 1, "number": 1, "rate": rate}).encode() for rate in rates]
    for rate, message in zip(rates, decoded(*lines), strict=True):
        assert message["rate"] == pytest.approx(rate, rel=4e-16, abs=0.0)


@examples(200)
@given(st.lists(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=60), min_size=20))
def test_texts_are_read_as_they_are(texts: list[str]) -> None:
    lines = [json.dumps({"type": "warned", "text": text}, ensure_ascii=len(text) % 2 == 0).encode() for text in texts]
    assert [message["text"] for message in decoded(*lines)] == texts
