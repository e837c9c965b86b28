"""The settings of a coordinator. The command line wins over ``PENSTOCK_…`` variables, these over a file, that over defaults.

The file is TOML with the names below as keys. The origin of every value is kept, and ``--print-config`` shows it.
"""

from __future__ import annotations

import json
import math
import os
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Final

from penstock.live.client.environment import Unix, own_socket, parse_address
from penstock.live.client.errors import AddressError
from penstock.live.core.limits import BY_APPLICATION, SHARED_BY, Limits
from penstock.model import Degradation, InputError, parse_units

PREFIX: Final = "PENSTOCK_"
NO_LIMIT: Final = "none"
AUTO: Final = math.inf
"""The bandwidth that stands for ``auto``: it is measured."""
WEIGHTS: Final = '{"ann": 2, "1007": 0.5} by user or uid'
GROUP_WEIGHTS: Final = '{"climate": 2, "500": 0.5} by group or gid'
LOG_FORMATS: Final = ("text", "json")
ANNOUNCED: Final = "announced"
PREDICTED: Final = "predicted"
INFORMATION: Final = (ANNOUNCED, PREDICTED)
"""Whether policies are shown what clients announce or what is learned of them."""


def _text(value: object, place: str) -> str:
    if not isinstance(value, str):
        raise InputError(place, f"{value!r} is not text; expected a string")
    return value


def _path(value: object, place: str) -> str:
    return str(Path(_text(value, place)).expanduser().absolute()) if value else ""


def _socket(value: object, place: str) -> str:
    where = parse_address(_path(value, place) if "/" in _text(value, place) else _text(value, place))
    if not isinstance(where, Unix):
        raise InputError(place, f"{value!r} is no Unix socket; expected its path, and --listen for TCP")
    return str(where)


def _addresses(value: object, place: str) -> str:
    """Addresses, separated by commas, as clients will read them."""
    texts = [text.strip() for text in _text(value, place).split(",")]
    try:
        return ",".join(str(parse_address(os.path.expanduser(text))) for text in texts if text)
    except AddressError as error:
        raise InputError(place, str(error)) from None


def _count(value: object, place: str) -> int:
    if isinstance(value, str) and value.isdecimal():
        value = int(value)
    return parse_units.count(value, place, "these")


def _above_zero(value: object, place: str) -> float:
    seconds = parse_units.seconds(value, place)
    if not seconds > 0.0:
        raise InputError(place, f"{value!r} is too short; expected seconds above 0")
    return seconds


def _limit(read: Callable[[object, str], float]) -> Callable[[object, str], float]:
    """A reader that also takes "none" for no limit."""
    return lambda value, place: math.inf if value == NO_LIMIT else read(value, place)


def _part(value: object, place: str) -> float:
    try:
        part = float(value)  # type: ignore[arg-type]  # whatever cannot be one is refused
    except (TypeError, ValueError):
        part = math.nan
    if not 0.0 <= part < 1.0:
        raise InputError(place, f"{value!r} is no part; expected a number from 0 to below 1, such as 0.01")
    return part


def _count_or_0(value: object, place: str) -> int:
    return 0 if value in (0, "0") else _count(value, place)


def _shared_by(value: object, place: str) -> str:
    if value not in SHARED_BY:
        raise InputError(place, f"{value!r} is unknown; expected {' or '.join(SHARED_BY)}")
    return str(value)


def _bandwidth(value: object, place: str) -> float:
    return AUTO if isinstance(value, str) and value.strip().lower() == "auto" else parse_units.bandwidth(value, place)


def _yes_or_no(value: object, place: str) -> bool:
    known = {"yes": True, "true": True, "1": True, "no": False, "false": False, "0": False, "": False}
    if str(value).lower() not in known:
        raise InputError(place, f"{value!r} is neither; expected yes or no")
    return known[str(value).lower()]


def _degradation(value: object, place: str) -> str:
    """The degradation as JSON, out of a part, a mapping, or a file with one; empty for none."""
    if isinstance(value, str) and value and not value.lstrip().startswith("{"):
        value = _number(value) or _text_of(value, place)
    if not value:
        return ""
    try:
        points = {2: value} if isinstance(value, float | int) else json.loads(value) if isinstance(value, str) else value
        return json.dumps(Degradation.of(points).document())
    except json.JSONDecodeError as error:
        raise InputError(place, f'is not JSON: {error}; expected a part such as 0.9, or {{"2": 0.9, "4": 0.8}}') from None
    except InputError as error:
        raise InputError(f"{place}: {error.place}" if error.place else place, error.message) from None


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _text_of(path: str, place: str, expected: str = "a part such as 0.9") -> str:
    try:
        return Path(path).expanduser().read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        what = error.strerror if isinstance(error, OSError) else "it is no text"
        raise InputError(place, f"{path} cannot be read: {what}; expected {expected}, or a file of JSON") from None


def _weights(value: object, place: str, expected: str = WEIGHTS) -> str:
    """Weights as JSON, by name or number, out of a mapping, its JSON, or a file with it; empty for none."""
    if isinstance(value, str) and value and not value.lstrip().startswith("{"):
        value = _text_of(value, place, expected)
    if not value:
        return ""
    try:
        weights = json.loads(value) if isinstance(value, str) else value
    except json.JSONDecodeError as error:
        raise InputError(place, f"is not JSON: {error}; expected {expected}") from None
    if not isinstance(weights, Mapping):
        raise InputError(place, f"{weights!r} is no mapping; expected {expected}")
    for name, weight in weights.items():
        if isinstance(weight, bool) or not isinstance(weight, int | float) or not 0.0 < weight < math.inf:
            raise InputError(f"{place}: {name}", f"{weight!r} is no weight; expected a finite number above 0")
    return json.dumps(dict(weights))


def _group_weights(value: object, place: str) -> str:
    return _weights(value, place, GROUP_WEIGHTS)


def _information(value: object, place: str) -> str:
    if value not in INFORMATION:
        raise InputError(place, f"{value!r} is unknown; expected {' or '.join(INFORMATION)}")
    return str(value)


def _log_format(value: object, place: str) -> str:
    if value not in LOG_FORMATS:
        raise InputError(place, f"unknown format {value!r}; expected one of {', '.join(LOG_FORMATS)}")
    return str(value)


def _setting(default: Any, read: Callable[[object, str], Any]) -> Any:
    return field(default=default, metadata={"read": read})


@dataclass(frozen=True)
class ServerSettings:
    """The settings of one coordinator, rates in bytes/s and times in seconds; ``penstock serve --help`` explains them."""

    bandwidth: float = _setting(0.0, _bandwidth)
    first_bandwidth: float = _setting(0.0, parse_units.bandwidth)
    node_bandwidth: float = _setting(math.inf, parse_units.bandwidth)
    degradation: str = _setting("", _degradation)
    policy: str = _setting("fair-share", _text)
    observe: bool = _setting(False, _yes_or_no)
    information: str = _setting(ANNOUNCED, _information)
    workload: str = _setting("", _path)
    socket: str = _setting("", _socket)
    listen: str = _setting("", _text)
    addresses: str = _setting("", _addresses)
    token_file: str = _setting("", _path)
    journal: str = _setting("", _path)
    http: str = _setting("", _text)
    http_hosts: str = _setting("", _text)
    http_users: bool = _setting(False, _yes_or_no)
    lease: float = _setting(10.0, _above_zero)
    keep: float = _setting(3600.0, parse_units.seconds)
    max_applications: int = _setting(10_000, _count)
    max_applications_per_user: int = _setting(2_000, _count)
    message_rate: int = _setting(1_000, _count)
    message_rate_per_user: int = _setting(10_000, _count)
    longest_turn: float = _setting(3600.0, _limit(_above_zero))
    longest_round: float = _setting(60.0, _limit(_above_zero))
    least_reached: float = _setting(0.01, _part)
    max_elapsed_claim: float = _setting(0.0, _limit(parse_units.seconds))
    max_nodes: float = _setting(math.inf, _limit(_count))
    share_by: str = _setting(BY_APPLICATION, _shared_by)
    weights: str = _setting("", _weights)
    group_weights: str = _setting("", _group_weights)
    planned_user: str = _setting("", _text)
    lowered_after: int = _setting(3, _count_or_0)
    barred_after: int = _setting(6, _count_or_0)
    penalty: float = _setting(60.0, _above_zero)
    log_format: str = _setting("text", _log_format)
    audit_log: str = _setting("", _path)
    origins: Mapping[str, str] = field(default_factory=dict, compare=False)
    """The origin of each value that is not a default."""

    def as_toml(self) -> str:
        """The settings as a TOML file that gives the same settings again."""
        lines = []
        for name in NAMES:
            value = getattr(self, name)
            if name == "bandwidth" and value == AUTO:
                value = "auto"
            shown = json.dumps(value) if isinstance(value, str | bool) else str(value)
            if (name == "node_bandwidth" and value == math.inf) or (name in ("bandwidth", "first_bandwidth") and not value):
                lines.append(f"# {name} = not set")
            elif value == math.inf:
                lines.append(f'{name} = "{NO_LIMIT}"  # {self.origins.get(name, "default")}')
            else:
                lines.append(f"{name} = {shown}  # {self.origins.get(name, 'default')}")
        return "\n".join(lines) + "\n"

    @property
    def limits(self) -> Limits:
        """What the site allows, whatever clients say.

        Raises:
            InputError: If `planned_user`, or a user or a group with a weight, is not known.
        """
        weights = json.loads(self.weights or "{}")
        of_groups = json.loads(self.group_weights or "{}")
        gids = {name: _gid(name, "group_weights") for name in of_groups}
        return Limits(
            longest_turn=self.longest_turn,
            longest_round=self.longest_round,
            least_reached=self.least_reached,
            max_elapsed_claim=self.max_elapsed_claim,
            max_nodes=self.max_nodes,
            share_by=self.share_by,
            planned_uid=_uid(self.planned_user, "planned_user") if self.planned_user else None,
            weights={_uid(user, "weights"): float(weight) for user, weight in weights.items()},
            group_weights={gids[name]: float(weight) for name, weight in of_groups.items()},
            group_names={**{_name_of(gid): gid for gid in gids.values()}, **gids},
            lowered_after=self.lowered_after,
            barred_after=self.barred_after,
            penalty=self.penalty,
        )


def _uid(user: str, place: str) -> int:
    """The uid of a user, given by name or number."""
    import pwd

    if user.isdecimal():
        return int(user)
    try:
        return pwd.getpwnam(user).pw_uid
    except KeyError:
        raise InputError(place, f"{user!r} is no user here; expected a name or a uid") from None


def _gid(group: str, place: str) -> int:
    """The gid of a group, given by name or number."""
    import grp

    if group.isdecimal():
        return int(group)
    try:
        return grp.getgrnam(group).gr_gid
    except KeyError:
        raise InputError(place, f"{group!r} is no group here; expected a name or a gid") from None


def _name_of(gid: int) -> str:
    """The name of a group; its number if it has none."""
    import grp

    try:
        return grp.getgrgid(gid).gr_name
    except KeyError:
        return str(gid)


NAMES: Final = tuple(setting.name for setting in fields(ServerSettings) if "read" in setting.metadata)
READERS: Final = {setting.name: setting.metadata["read"] for setting in fields(ServerSettings) if "read" in setting.metadata}


def load(options: Mapping[str, object], environment: Mapping[str, str], file: str | None) -> ServerSettings:
    """Read the settings.

    Args:
        options: Those of the command line; None for one that was not given.
        environment: Variables, of which those with `PREFIX` count.
        file: A TOML file; None for ``PENSTOCK_CONFIG``, if that is set.

    Raises:
        InputError: If a value cannot be used, or the file has an unknown key.
    """
    file = file or environment.get(f"{PREFIX}CONFIG") or None
    values: dict[str, Any] = {}
    origins: dict[str, str] = {}
    for origin, given in (
        (str(file), _from_file(file)),
        ("environment", {n: environment[PREFIX + n.upper()] for n in NAMES if environment.get(PREFIX + n.upper())}),
        ("command line", {name: value for name, value in options.items() if value is not None}),
    ):
        for name, value in given.items():
            place = {"environment": PREFIX + name.upper(), "command line": "--" + name.replace("_", "-")}.get(origin)
            values[name] = READERS[name](value, place or f"{origin}: {name}")
            origins[name] = origin
    values.setdefault("socket", str(own_socket()))
    values.setdefault("journal", str(_state_folder(environment) / "journal.sqlite"))
    return ServerSettings(**values, origins=origins)


def _from_file(path: str | None) -> dict[str, Any]:
    if path is None:
        return {}
    try:
        with open(path, "rb") as stream:
            given = tomllib.load(stream)
    except OSError as error:
        raise InputError(path, f"cannot be read: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(path, f"is not TOML: {error}") from None
    for name in given:
        if name not in NAMES:
            raise InputError(path, f"unknown setting {name!r}; expected one of {', '.join(NAMES)}")
    return given


def _state_folder(environment: Mapping[str, str]) -> Path:
    """The state folder that systemd gives, else the user's."""
    by_systemd = environment.get("STATE_DIRECTORY", "").split(":")[0]
    if by_systemd:
        return Path(by_systemd)
    return Path(environment.get("XDG_STATE_HOME") or os.path.expanduser("~/.local/state")) / "penstock"
