from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from millpond import catalog_file
from millpond.catalog import Catalog, Feed, Index, Source, StandardTable, StreamingTable, kind_of
from millpond.codec import from_json, to_json
from millpond.errors import CatalogError, CorruptBlock, PondError, UnknownName
from millpond.schema import Schema

COLUMNS = Schema.of([("vid", "INT"), ("price", "DECIMAL(10,2)"), ("t", "BIGINT")])
TABLE = StreamingTable(
    "reports",
    COLUMNS,
    "t",
    "reports-0",
    3,
    ("vid",),
    timedelta(days=70),
    timedelta(seconds=5),
    False,
    "keep",
    (Index("by_vid", ("vid",)),),
)
STANDARD = StandardTable("owners", Schema.of([("vid", "INT")]), "owners-1", "postgresql://h/d", "public.owners")
SOURCE = Source("cars", "files", "/data", COLUMNS, "json", {"pattern": "*.x"})
FEED = Feed(
    "reports_from_cars",
    "reports",
    "cars",
    ("vid", "t"),
    "INSERT INTO reports SELECT vid, t FROM cars",
    "reports_from_cars-4",
)


def full() -> Catalog:
    return Catalog().with_streaming(TABLE).with_standard(STANDARD).with_source(SOURCE).with_feed(FEED)


def test_round_trip(tmp_path: Path) -> None:
    catalog_file.save(full(), tmp_path)
    assert catalog_file.load(tmp_path) == full()
    catalog_file.save(Catalog(), tmp_path)
    assert catalog_file.load(tmp_path) == Catalog()


def test_a_foreign_table_of_a_catalog_without_kinds_is_in_postgres() -> None:
    data = to_json(full())
    del data["standard"]["owners"]["foreign_kind"]
    assert from_json(Catalog, data).standard["owners"] == STANDARD


def test_each_change_is_a_version() -> None:
    assert full().version == 4
    assert full().made == 3


@pytest.mark.parametrize("text", ["", "{", "[]", '{"version": 1}'])
def test_a_damaged_catalog(tmp_path: Path, text: str) -> None:
    (tmp_path / catalog_file.FILE).write_text(text)
    with pytest.raises(CorruptBlock, match=f'the catalog of pond "{tmp_path.name}" cannot be read'):
        catalog_file.load(tmp_path)


def test_lookups() -> None:
    catalog = full()
    assert catalog.relation("REPORTS") is TABLE
    assert catalog.streaming_table("Reports") is TABLE
    assert catalog.standard_table("owners") is STANDARD
    assert catalog.source("CARS") is SOURCE
    assert catalog.relation("x") is None
    assert catalog.relation_names() == ["owners", "reports", "reports_rejected"]
    assert [kind_of(r) for r in (TABLE, STANDARD, SOURCE)] == ["streaming table", "standard table", "source"]


@pytest.mark.parametrize(
    ("look", "message"),
    [
        (
            lambda c: c.streaming_table("report"),
            'streaming table "report" does not exist\nHint: Did you mean "reports"?',
        ),
        (lambda c: c.standard_table("x"), 'standard table "x" does not exist\nDetail: There is: owners.'),
        (lambda c: c.source("car"), 'source "car" does not exist\nHint: Did you mean "cars"?'),
        (lambda c: c.without_feed("f"), 'feed "f" does not exist\nDetail: There is: reports_from_cars.'),
    ],
)
def test_names_that_do_not_exist(look: object, message: str) -> None:
    with pytest.raises(UnknownName) as caught:
        look(full())  # type: ignore[operator]
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda c: c.streaming_table("owners"), '"owners" is a standard table, not a streaming table'),
        (lambda c: c.standard_table("cars"), '"cars" is a source, not a standard table'),
        (
            lambda c: c.streaming_table("reports_rejected"),
            '"reports_rejected" holds the rejected rows of "reports" and cannot be changed\nHint: It can only be read.',
        ),
        (lambda c: c.check_free("Cars"), 'source "cars" exists already\nHint: Drop it first, or use IF NOT EXISTS.'),
        (
            lambda c: c.check_free("reports_rejected"),
            '"reports_rejected" is the name of the rejected rows of "reports"\nHint: Take another name.',
        ),
        (
            lambda c: c.with_standard(StandardTable("a_rejected", COLUMNS, "x")).check_free("a"),
            '"a_rejected" exists already\nHint: Take another name.',
        ),
        (
            lambda c: c.check_free("a.b"),
            'name "a.b" has a dot\nDetail: A dot stands between a schema and a name, and a pond has no schemas of its own.'
            "\nHint: Take another name.",
        ),
        (lambda c: c.check_free("_x"), '"_x" starts with an underscore\nHint: Such names belong to millpond.'),
        (
            lambda c: c.without("cars"),
            'feed "reports_from_cars" uses "cars"\nHint: Drop it first: DROP FEED reports_from_cars.',
        ),
        (
            lambda c: c.renamed("reports", "other"),
            'feed "reports_from_cars" fills "reports"\nHint: Drop the feed first.',
        ),
        (
            lambda c: c.renamed("owners", "reports"),
            'streaming table "reports" exists already\nHint: Drop it first, or use IF NOT EXISTS.',
        ),
    ],
)
def test_clashes(change: object, message: str) -> None:
    with pytest.raises(CatalogError) as caught:
        change(full())  # type: ignore[operator]
    assert str(caught.value) == message


def test_drop_and_rename() -> None:
    catalog = full().without_feed("REPORTS_from_cars").without("Cars")
    assert catalog.relation("cars") is None
    renamed = catalog.renamed("reports", "traffic").renamed("owners", "people")
    assert renamed.streaming_table("traffic").folder == "reports-0"
    assert renamed.standard_table("people").folder == "owners-1"
    assert renamed.relation("reports") is None


def test_a_table_tells_its_unit_indexes_and_explicit_columns() -> None:
    assert TABLE.unit.value == "second"
    assert TABLE.indexed == ("vid",)
    assert TABLE.explicit.names == ["vid", "price"]


def test_every_flipped_bit_of_the_catalog_is_noticed(tmp_path: Path) -> None:
    """One bit can turn a definition into another that is just as readable."""
    catalog_file.save(full(), tmp_path)
    file = tmp_path / catalog_file.FILE
    whole = file.read_bytes()
    for place in range(len(whole)):
        changed = bytearray(whole)
        changed[place] ^= 1 << place % 8
        file.write_bytes(changed)
        with pytest.raises(CorruptBlock):
            catalog_file.load(tmp_path)
    file.write_bytes(whole)
    assert catalog_file.load(tmp_path) == full()


def test_a_folder_in_the_place_of_the_catalog(tmp_path: Path) -> None:
    (tmp_path / catalog_file.FILE).mkdir()
    with pytest.raises(PondError) as caught:
        catalog_file.load(tmp_path)
    assert str(caught.value) == (
        f'"{tmp_path / catalog_file.FILE}" is a folder where the pond has a file\n'
        "Hint: Move it away, and restore what was there from a copy."
    )
