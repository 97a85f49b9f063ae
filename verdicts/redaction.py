# SPDX-License-Identifier: Apache-2.0
"""Nothing in a report opens a cluster: tokens, passwords, keys and certificates are blacked out.

The patterns would rather take too much than too little, and they leave JSON valid: a value ends inside its
quotes, and a bare value is taken only where its key is bare too, as in YAML or on a command line.
"""

import re
from collections.abc import Iterator
from pathlib import Path

REDACTED = "[redacted]"

_FIELD = (
    r"(?i:token|passw(?:or)?d|client[-_]?secret|cabundle"
    r"|(?:client-key|client-certificate|certificate-authority)-data)"
)

#: What is looked for, by name. Of a match the group ``kept`` stays, and what follows it goes.
_SECRETS = {
    # A shortened message may have lost the end of a block, and line breaks may be escaped. No block is longer
    # than this, and without a bound many beginnings without an end would take minutes.
    "PEM block": r"(?P<kept>)-----BEGIN (?P<label>[A-Z0-9 ]+)-----"
    r'(?:[^"]{0,20000}?-----END (?P=label)-----|(?:\\[nr]|[\sA-Za-z0-9+/=])*)',
    "PEM block in base64": r"(?P<kept>)LS0tLS1CRUdJTi[A-Za-z0-9+/]*=*",
    "JSON Web Token": r"(?P<kept>)\beyJ[\w-]{8,}(?:\.[\w-]*){1,2}",
    "Authorization header": r"(?P<kept>(?i:authorization\W{1,8}(?:bearer|basic)\s+))[^\s\"'\\,]+",
    "field in JSON": rf'(?P<kept>{_FIELD}"\s*:\s*")(?:\\.|[^"\\])+',
    "field in JSON within a string": rf'(?P<kept>{_FIELD}\\+"\s*:\s*\\+")[^"\\]+',
    "field of a dict": rf"(?P<kept>{_FIELD}'\s*:\s*')[^'\"\\]+",
    "field in YAML": rf'(?m:^(?P<kept>[ \t-]*[\w-]*{_FIELD}:[ \t]*"))[^"\n]+',
    "bare field": rf"(?P<kept>{_FIELD}[ \t]*[:=][ \t]*\\*'?)(?!(?:true|false|null)\b)[^\s\"'\\,{{}}]+",
    "option": rf"(?P<kept>--{_FIELD}(?:\s+|[\"'],\s*[\"']))[^\s\"'\\,]+",
}
_PATTERNS = {name: re.compile(pattern) for name, pattern in _SECRETS.items()}


def redact(text: str) -> str:
    """Return ``text`` with every secret replaced by ``[redacted]``; valid JSON stays valid."""
    for pattern in _PATTERNS.values():
        text = _without(pattern, text)
    return text


def redact_folder(folder: Path) -> None:
    """Redact every text file below ``folder``; a file without secrets is not touched.

    To be called before the HTML page is made: the page carries the files encoded, where nothing is found.
    """
    for path, text in _texts(folder):
        redacted = redact(text)
        if redacted != text:
            path.write_text(redacted, encoding="utf-8", errors="surrogateescape", newline="")


def find_secrets(folder: Path) -> list[str]:
    """Return which secrets are left below ``folder``, each as ``relative/file: what it is``, sorted."""
    return sorted(
        f"{path.relative_to(folder)}: {name}"
        for path, text in _texts(folder)
        for name, pattern in _PATTERNS.items()
        if _without(pattern, text) != text
    )


def _without(pattern: re.Pattern[str], text: str) -> str:
    return pattern.sub(lambda match: match["kept"] + REDACTED, text)


def _texts(folder: Path) -> Iterator[tuple[Path, str]]:
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        content = path.read_bytes()
        if b"\0" not in content:  # a picture or an archive has such bytes; the log of a node may hold anything else
            yield path, content.decode("utf-8", errors="surrogateescape")
