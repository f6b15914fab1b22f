"""Frozen dataclasses as JSON values, and back, by their type hints. One rule per type, so a new field needs no code here.

| Python                 | JSON                              |
|------------------------|-----------------------------------|
| dataclass              | object, a member per field        |
| `Schema`               | list of [name, type]              |
| `timedelta`            | microseconds                      |
| tuple                  | list                              |
| Mapping with text keys | object                            |
| text, integer, bool, None | itself                         |

Reading is strict: a member that no field has, a field without default that is missing, or a value of another type is a
ValueError. A field that has a default may be missing, so a new one can be added to what is already written.
"""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Callable, Mapping
from datetime import timedelta
from functools import cache
from typing import Any, TypeVar, cast

from millpond.schema import Column, DataType, Schema

NOT_DURABLE = {"durable": False}
"""As the metadata of a field with a default: it is neither written nor read."""


def stored_as(key: str) -> dict[str, str]:
    """As the metadata of a field: it has this name in JSON."""
    return {"key": key}


T = TypeVar("T")
Decoder = Callable[[Any], Any]


def to_json(value: Any) -> Any:
    """`value` as JSON holds it."""
    if value is None or isinstance(value, str | int):
        return value
    if isinstance(value, Schema):
        return [[c.name, str(c.type)] for c in value]
    if isinstance(value, timedelta):
        return value // timedelta(microseconds=1)
    if isinstance(value, tuple):
        return [to_json(item) for item in value]
    if isinstance(value, Mapping):
        return {key: to_json(item) for key, item in value.items()}
    assert dataclasses.is_dataclass(value), f"{type(value).__name__} has no form in JSON"
    return {key: to_json(getattr(value, f.name)) for key, f in _durable(value).items()}


def _durable(value: Any) -> dict[str, dataclasses.Field[Any]]:
    """The fields of a dataclass that are written, by their names in JSON."""
    return {f.metadata.get("key", f.name): f for f in dataclasses.fields(value) if f.metadata.get("durable", True)}


def from_json(kind: type[T], data: Any) -> T:
    """The value of type `kind` that `to_json` made `data` of."""
    decode: Callable[[Any], T] = _decoder(cast("Any", kind))
    return decode(data)


@cache
def _decoder(kind: Any) -> Decoder:
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if kind is Schema:
        return _schema
    if kind is timedelta:
        return lambda data: timedelta(microseconds=_plain(int, data))
    if kind in (str, int, bool):
        return lambda data: _plain(kind, data)
    if kind is types.NoneType or origin is Callable:
        return _none
    if origin in (types.UnionType, typing.Union):
        (wanted,) = [a for a in arguments if a is not types.NoneType]
        inner = _decoder(wanted)
        return lambda data: None if data is None else inner(data)
    if origin is tuple:
        item = _decoder(arguments[0])
        return lambda data: tuple(item(one) for one in _plain(list, data))
    if origin is Mapping:
        member = _decoder(arguments[1])
        return lambda data: {key: member(one) for key, one in _plain(dict, data).items()}
    assert dataclasses.is_dataclass(kind), f"{kind} has no form in JSON"
    return _dataclass(kind)


def _dataclass(kind: Any) -> Decoder:
    hints = typing.get_type_hints(kind)
    decoders = {key: (f.name, _decoder(hints[f.name])) for key, f in _durable(kind).items()}

    def decode(data: Any) -> Any:
        unknown = _plain(dict, data).keys() - decoders.keys()
        if unknown:
            raise ValueError(f"{kind.__name__} has no {', '.join(sorted(unknown))}")
        try:
            found = {}
            for key, value in data.items():
                name, of_field = decoders[key]
                found[name] = of_field(value)
            return kind(**found)
        except TypeError as error:
            raise ValueError(str(error)) from error

    return decode


def _plain(kind: Any, data: Any) -> Any:
    if type(data) is not kind:
        raise ValueError(f"{data!r} is not a {kind.__name__}")
    return data


def _none(data: Any) -> None:
    if data is not None:
        raise ValueError(f"{data!r} is not null")


def _schema(data: Any) -> Schema:
    return Schema(tuple(Column(name, DataType.parse(kind)) for name, kind in _plain(list, data)))
