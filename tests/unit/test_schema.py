from __future__ import annotations

import pytest

from millpond.errors import CatalogError, UnknownName
from millpond.schema import ALIASES, TYPE_NAMES, Column, DataType, Schema


@pytest.mark.parametrize("name", [t for t in TYPE_NAMES if t != "DECIMAL"])
def test_types_are_read_and_written_alike(name: str) -> None:
    assert str(DataType.parse(name.lower())) == name


@pytest.mark.parametrize(("alias", "name"), ALIASES.items())
def test_aliases(alias: str, name: str) -> None:
    assert DataType.parse(alias).name == name


def test_decimals() -> None:
    assert DataType.parse("decimal") == DataType("DECIMAL", 10, 0)
    assert DataType.parse("DECIMAL( 38 , 18 )") == DataType("DECIMAL", 38, 18)
    assert str(DataType.parse("numeric(5,2)")) == "DECIMAL(5,2)"
    for bad in ("DECIMAL(39,0)", "DECIMAL(5,6)", "DECIMAL(0)"):
        with pytest.raises(CatalogError, match="is out of range"):
            DataType.parse(bad)


def test_an_unknown_type_offers_the_nearest() -> None:
    with pytest.raises(UnknownName) as caught:
        DataType.parse("TIMESTMP")
    assert str(caught.value) == 'type "TIMESTMP" does not exist\nHint: Did you mean "TIMESTAMP"?'


def test_names_are_found_in_any_case() -> None:
    schema = Schema.of([("vid", "INT"), ("Name", "STRING")])
    assert schema.find("VID", "t") == Column("vid", DataType("INT"))
    assert "NAME" in schema
    assert "x" not in schema
    assert schema.names == ["vid", "Name"]
    assert len(schema) == 2
    assert schema.without("NAME").names == ["vid"]
    assert schema.plus(Column("w", DataType("INT"))).names == ["vid", "Name", "w"]


def test_a_name_is_there_once() -> None:
    with pytest.raises(CatalogError, match='column "VID" is named twice'):
        Schema.of([("vid", "INT"), ("VID", "INT")])


def test_an_unknown_column_offers_the_nearest() -> None:
    with pytest.raises(UnknownName) as caught:
        Schema.of([("speed", "INT")]).find("sped", "reports")
    assert str(caught.value) == 'column "sped" does not exist in table "reports"\nHint: Did you mean "speed"?'
