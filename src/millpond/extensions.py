"""Kinds that can be added: what sources, sinks and foreign tables share, which is options and a registry.

A kind is one object: its name in SQL, the options it takes, and a function that opens it. It is found by name in a `Registry`:
the built-in ones, those that a program has registered, and those of installed packages, by entry point. So a new kind is one
new module, and no other module knows its name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import entry_points
from typing import Any, Generic, Protocol, TypeVar
from urllib.parse import urlsplit

from millpond.errors import CatalogError, Span, UnknownName, nearest

HIDDEN = "***"


def boolean(text: str) -> bool:
    """Reads the value of an option that is true or false."""
    return {"true": True, "false": False}[text.lower()]


@dataclass(frozen=True)
class Option:
    """An option of a kind, as it is set in `WITH (name = 'value')`.

    `read` makes the value of its text, and raises ValueError or LookupError for a text that is none; `allowed` says in words
    what is one. `default` is the value of an option that is not set. A `secret` is never shown.
    """

    name: str
    description: str
    read: Callable[[str], Any] = str
    allowed: str | None = None
    default: Any = None
    required: bool = False
    secret: bool = False


def read_options(given: Mapping[str, str], known: Sequence[Option], *, owner: str, kind: str) -> dict[str, Any]:
    """The values of all options, those that are not set included. `owner` has them, such as `source "s"`; `kind` is of
    what kind it is; both are for the errors."""
    names = sorted(option.name for option in known)
    for name in given:
        if name not in names:
            close = nearest(name, names)
            raise CatalogError(
                f'option "{name}" does not exist for {owner} ({kind})',
                detail=f"There is: {', '.join(names)}." if names else "It has no options.",
                hint=f'Did you mean "{close}"?' if close else None,
            )
    values = {}
    for option in known:
        text = given.get(option.name)
        if text is None and option.required:
            raise CatalogError(
                f'option "{option.name}" of {owner} is missing',
                detail=f"It is {option.description}.",
                hint=f"Add WITH ({option.name} = '...').",
            )
        try:
            values[option.name] = option.default if text is None else option.read(text)
        except (ValueError, LookupError) as error:
            shown = HIDDEN if option.secret else text
            hint = f"It can be {option.allowed}." if option.allowed else None
            raise CatalogError(f'option "{option.name}" of {owner} is "{shown}"', hint=hint) from error
    return values


def shown_options(given: Mapping[str, str], known: Sequence[Option] | None) -> str | None:
    """Options as they may be shown: without secrets, and without any value if it is not known which are secret."""
    open_ones = {option.name for option in known or () if not option.secret}
    return ", ".join(f"{k} = '{v if k in open_ones else HIDDEN}'" for k, v in given.items()) or None


def shown_location(location: str) -> str:
    """An address as it may be shown: without its password."""
    try:
        password = urlsplit(location).password
    except ValueError:
        return location
    return location.replace(f":{password}@", f":{HIDDEN}@", 1) if password else location


class Kind(Protocol):
    """What a registry asks of a kind."""

    @property
    def name(self) -> str:
        """Its name in SQL, in lower case."""


K = TypeVar("K", bound=Kind)


class Registry(Generic[K]):
    """Kinds by name. `noun` is what they are, `group` the entry points under which packages offer more of them.

    Registering and finding may be done by any thread.
    """

    def __init__(self, noun: str, group: str, built_in: Iterable[K], reserved: Iterable[str] = ()) -> None:
        self._noun = noun
        self._group = group
        self._reserved = frozenset(reserved)
        self._kinds: dict[str, K] = {}
        for kind in built_in:
            self.register(kind)

    def register(self, kind: K) -> None:
        """Add a kind; SQL knows it from now on, in this process."""
        name = kind.name
        if not (name.isidentifier() and name.isascii() and name == name.lower()) or name in self._reserved:
            raise CatalogError(f'"{name}" cannot be the name of a {self._noun}', hint="Use a word in lower case.")
        if self._kinds.setdefault(name, kind) is not kind:
            raise CatalogError(f'{self._noun} "{name}" is registered already', hint="Use another name.")

    def find(self, name: str, *, sql: str | None = None, span: Span | None = None) -> K:
        """The kind of that name, in any case. `sql` and `span` say where it is written."""
        found = self.get(name)
        if found is None:
            raise UnknownName(self._noun, name.upper(), [n.upper() for n in self.names()], sql=sql, span=span)
        return found

    def get(self, name: str) -> K | None:
        """The kind of that name, or None."""
        found = self._kinds.get(name.lower())
        return self._load(name.lower()) if found is None else found

    def names(self) -> list[str]:
        """The names of all kinds, those of installed packages included."""
        return sorted({*self._kinds, *(entry.name for entry in entry_points(group=self._group))})

    def _load(self, name: str) -> K | None:
        """A kind of an installed package, imported when it is first asked for."""
        for entry in entry_points(group=self._group, name=name):
            try:
                kind: K = entry.load()
            except Exception as error:
                detail = f"{entry.value} raised {type(error).__name__}: {error}"
                raise CatalogError(f'{self._noun} "{name}" cannot be loaded', detail=detail) from error
            if kind.name != name:
                raise CatalogError(f'{self._noun} "{name}" calls itself "{kind.name}"', detail=f"It is {entry.value}.")
            self._kinds.setdefault(name, kind)
            return self._kinds[name]
        return None
