# SPDX-License-Identifier: Apache-2.0
"""What must never leave the machine in a report, and what must stay readable."""

import base64
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from verdicts.redaction import find_secrets, redact, redact_folder

SECRET = "s3cr3t-value"
JWT = "eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJub2JvZHkifQ.c2lnbmF0dXJl"
KEY = "-----BEGIN RSA PRIVATE KEY-----\nMIIEowIBAAKCAQEA\nq2Fz/+x=\n-----END RSA PRIVATE KEY-----"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"Authorization: Bearer {SECRET}", "Authorization: Bearer [redacted]"),
        (f"{{'authorization': 'Basic {SECRET}'}}", "{'authorization': 'Basic [redacted]'}"),
        (f"users:\n- user:\n    token: {SECRET}\n", "users:\n- user:\n    token: [redacted]\n"),
        ('    password: "two words"\n', '    password: "[redacted]"\n'),
        ("client-key-data: LS0tabc=\n", "client-key-data: [redacted]\n"),
        ('{"token": "a\\"b", "kind": "Pod"}', '{"token": "[redacted]", "kind": "Pod"}'),
        ('"{\\"password\\": \\"two words\\"}"', '"{\\"password\\": \\"[redacted]\\"}"'),
        (f"{{'token': '{SECRET}', 'kind': 'Pod'}}", "{'token': '[redacted]', 'kind': 'Pod'}"),
        (f"kubectl --token={SECRET} get pods", "kubectl --token=[redacted] get pods"),
        (f"kubectl --token {SECRET} get pods", "kubectl --token [redacted] get pods"),
        (f'["--token", "{SECRET}", "get"]', '["--token", "[redacted]", "get"]'),
        (f"the answer was {JWT}, sent twice", "the answer was [redacted], sent twice"),
        (f"before\n{KEY}\nafter", "before\n[redacted]\nafter"),
        (f"cut off: {KEY[:50]}", "cut off: [redacted]"),
    ],
)
def test_a_secret_is_replaced_and_its_surroundings_stay(text: str, expected: str) -> None:
    """Each shape of a credential is found, and only the credential is replaced."""
    assert redact(text) == expected


@pytest.mark.parametrize("blob", [KEY, KEY.replace("RSA PRIVATE KEY", "CERTIFICATE")])
@pytest.mark.parametrize("encode", [str, json.dumps, lambda text: base64.b64encode(text.encode()).decode()])
def test_a_pem_block_is_found_however_it_is_encoded(blob: str, encode: Callable[[str], str]) -> None:
    """Keys and certificates go in plain text, with escaped line breaks, and in base64."""
    assert "MII" not in redact(encode(blob))
    assert "TUlJ" not in redact(encode(blob))


@pytest.mark.parametrize(
    "text",
    [
        "automountServiceAccountToken: false",
        '{"automountServiceAccountToken": false}',
        "- serviceAccountToken:\n    expirationSeconds: 3607\n    path: token\n",
        "claim a-4x7 was allocated to dev-1 on node-0",
        "tokens of the scheduler",
    ],
)
def test_ordinary_objects_stay_as_they_are(text: str) -> None:
    """What every Pod carries is no secret, and a report without it would be hard to read."""
    assert redact(text) == text


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text() | st.sampled_from([JWT, KEY, KEY[:50], "token: 'x"]),
    lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from(["token", "password", "a", "b"]), inner),
    max_leaves=8,
)


@settings(deadline=None)
@given(JSON_VALUES)
def test_json_stays_json(value: Any) -> None:
    """However the secrets lie in it, a JSON document can still be read, and redacting twice is once."""
    redacted = redact(json.dumps(value))

    json.loads(redacted)
    assert redact(redacted) == redacted


def test_only_files_with_secrets_are_rewritten(tmp_path: Path) -> None:
    """A folder of a report is free of secrets afterwards; pictures and clean files keep their bytes.

    The log of a node may hold bytes that are no text; they stay.
    """
    (tmp_path / "evidence").mkdir()
    (tmp_path / "evidence" / "log.txt").write_text(f"token: {SECRET}\r\nkept\r\n", newline="")
    (tmp_path / "node.log").write_bytes(b"\xff token: %s\n" % SECRET.encode())
    (tmp_path / "picture.png").write_bytes(b"\x89PNG\0\xff token: abc")
    clean = tmp_path / "clean.txt"
    clean.write_text("nothing here")
    clean.chmod(0o400)
    written = clean.stat().st_mtime_ns
    assert find_secrets(tmp_path) == ["evidence/log.txt: bare field", "node.log: bare field"]

    redact_folder(tmp_path)

    assert find_secrets(tmp_path) == []
    assert (tmp_path / "evidence" / "log.txt").read_bytes() == b"token: [redacted]\r\nkept\r\n"
    assert (tmp_path / "node.log").read_bytes() == b"\xff token: [redacted]\n"
    assert (tmp_path / "picture.png").read_bytes() == b"\x89PNG\0\xff token: abc"
    assert clean.stat().st_mtime_ns == written
