"""Making a source from its definition, and what is said about a definition that cannot work."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from millpond.catalog import Source
from millpond.clock import ManualClock
from millpond.errors import MillpondError
from millpond.schema import Schema
from millpond.sources.files import FileSource
from millpond.sources.registry import open_source
from millpond.sources.socket import SocketSource, host_and_port

COLUMNS = Schema.of([("i", "INT")])


def source(kind: str, location: str, form: str = "csv", **options: str) -> Source:
    return Source("s", kind, location, COLUMNS, form, options)


def opened(definition: Source, tmp_path: Path) -> Any:
    return open_source(definition, tmp_path / "journal", ManualClock())


def test_each_kind(tmp_path: Path) -> None:
    files = opened(source("files", str(tmp_path), "parquet", pattern="*.parquet"), tmp_path)
    assert isinstance(files, FileSource)
    files.close()
    lines = opened(source("socket", "localhost:9000", "json", strict="true"), tmp_path)
    assert isinstance(lines, SocketSource)
    lines.close()


@pytest.mark.parametrize(
    ("definition", "message"),
    [
        (source("filez", "."), 'kind of source "FILEZ" does not exist\nHint: Did you mean "FILES"?'),
        (source("carrier", "."), 'kind of source "CARRIER" does not exist\nDetail: There is: '),
        (source("files", ".", "xml"), 'source "s" of kind files cannot have format "xml"\n'),
        (source("socket", "a:1", "parquet"), 'source "s" of kind socket cannot have format "parquet"\n'),
        (
            source("files", ".", headr="true"),
            'option "headr" does not exist for source "s" (files, csv)\n'
            'Detail: There is: complete, delimiter, header, null, pattern.\nHint: Did you mean "header"?',
        ),
        (source("files", ".", "parquet", header="true"), 'option "header" does not exist for source "s" (files, p'),
        (source("socket", "a:1", pattern="*"), 'option "pattern" does not exist for source "s" (socket, csv)'),
        (source("files", ".", header="yes"), 'option "header" of source "s" is "yes"\nHint: It can be \'true\' or'),
        (source("files", ".", delimiter="::"), 'option "delimiter" of source "s" is "::"\nHint: It can be one ASCII'),
        (source("files", ".", delimiter='"'), 'option "delimiter" of source "s" is """'),
        (source("files", "/no/such/folder"), 'folder "/no/such/folder" of source "s" does not exist\nHint: Create it'),
        (source("files", __file__), f'folder "{__file__}" of source "s" is not a folder'),
        (source("socket", "localhost"), '"localhost" of source "s" is not a host and a port\nHint: Write host:port'),
        (source("socket", "localhost:http"), '"localhost:http" of source "s" is not a host and a port'),
        (source("socket", "localhost:70000"), '"localhost:70000" of source "s" is not a host and a port'),
        (source("socket", ":9000"), '":9000" of source "s" is not a host and a port'),
        (source("socket", "::1:9000"), '"::1:9000" of source "s" is not a host and a port'),
    ],
)
def test_messages(definition: Source, message: str, tmp_path: Path) -> None:
    with pytest.raises(MillpondError) as caught:
        opened(definition, tmp_path)
    assert str(caught.value).startswith(message)


def test_host_and_port() -> None:
    assert host_and_port(source("socket", "[::1]:9000")) == ("::1", 9000)
    assert host_and_port(source("socket", "example.org:1")) == ("example.org", 1)


def test_a_tab_can_be_written(tmp_path: Path) -> None:
    opened(source("files", str(tmp_path), delimiter="\\t"), tmp_path).close()
