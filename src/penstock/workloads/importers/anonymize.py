"""Hide users, names and paths behind keyed hashes, in the same way in every importer."""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
from dataclasses import replace
from pathlib import Path

from penstock.model import InputError
from penstock.workloads.importers.job_records import JobRecord


class Anonymizer:
    """Replaces users, names and paths by keyed hashes: the same text becomes the same hash in every importer and every file.

    The hash is HMAC-SHA256 with a secret key, cut to 12 hex digits. A plain hash would not do: there are few users and
    programs on a machine, and whoever has a list of them could hash them all and compare. Whoever has the key can find out
    who is who; the workload alone tells nobody.

    Args:
        key: the secret, at least 16 bytes.
    """

    def __init__(self, key: bytes) -> None:
        if len(key) < 16:
            raise InputError("anonymize", f"a key of {len(key)} bytes; expected 16 or more")
        self._key = key

    @classmethod
    def from_file(cls, path: str | os.PathLike[str] | None = None) -> Anonymizer:
        """The anonymizer with the key in a file.

        Args:
            path: the file; by default penstock/anonymize.key in the user's folder of settings ($XDG_CONFIG_HOME or
                ~/.config), where 32 random bytes are written if it is missing.

        Raises:
            InputError: if the file cannot be read or made, or holds too little.
        """
        file = default_key() if path is None else Path(path)
        try:
            if path is None and not file.exists():
                file.parent.mkdir(parents=True, exist_ok=True)
                with open(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as made:
                    made.write(secrets.token_bytes(32))
            return cls(file.read_bytes())
        except OSError as error:
            raise InputError(str(file), f"cannot be used: {error.strerror}; expected a key of 16 bytes or more") from None
        except InputError as error:
            raise error.in_file(str(file)) from None

    def hide(self, kind: str, text: str | None) -> str | None:
        """The hash of a text, such as ``user-3f0a92c1d4e7``; None stays None.

        Args:
            kind: what it is: user, group, name, program or path. Equal texts of different kinds get different hashes.
            text: what is to be hidden.
        """
        if text is None:
            return None
        digest = hmac.new(self._key, f"{kind}\0{text}".encode("utf-8", "surrogateescape"), hashlib.sha256).hexdigest()
        return f"{kind}-{digest[:12]}"

    def record(self, record: JobRecord) -> JobRecord:
        """The `record` without users, names and paths. Job ids, dates, sizes and bytes stay."""
        given = record.name != f"job-{record.job_id}"
        return replace(
            record,
            name=str(self.hide("name", record.name)) if given else record.name,
            user=self.hide("user", record.user),
            group=self.hide("group", record.group),
            program=self.hide("program", record.program),
            files=tuple(str(self.hide("path", file)) for file in record.files),
        )


def default_key() -> Path:
    """Where the key of `Anonymizer` is by default."""
    settings = os.environ.get("XDG_CONFIG_HOME") or str(Path.home() / ".config")
    return Path(settings) / "penstock" / "anonymize.key"
