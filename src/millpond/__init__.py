"""millpond keeps streams and answers questions about them.

import millpond
db = millpond.connect("traffic")
db.sql("CREATE STREAMING TABLE posreports (vid INT, spd INT, seg INT, t BIGINT) TIMESTAMP BY t")
db.append("posreports", [{"vid": 1, "spd": 60, "seg": 10, "t": 0}])
db.sql("SELECT * FROM posreports [vid ROWS 1]").rows()
"""

from millpond.config import Config
from millpond.errors import (
    Cancelled,
    CatalogError,
    CorruptBlock,
    DiskFull,
    EngineError,
    ForkedPond,
    FunctionError,
    IntakeError,
    JavaMissing,
    LimitExceeded,
    MillpondError,
    NotAPond,
    NotPermitted,
    PondError,
    ResultsGone,
    RowsRejected,
    SecondWriter,
    SparkDied,
    SqlError,
    SqlSyntaxError,
    TypeMismatch,
    UnknownName,
    UnknownPosition,
    Unreachable,
    UnsupportedSql,
)
from millpond.ingest.intake import Receipt
from millpond.pond import Pond, connect
from millpond.query.functions import Reader, vectorized
from millpond.result import Result
from millpond.results.delivery import Cursor, Subscription
from millpond.spark_format.sessions import register_format
from millpond.standing.answer import Answer
from millpond.standing.handle import Handle

__version__ = "0.1.0"

__all__ = [
    "Answer",
    "Cancelled",
    "CatalogError",
    "Config",
    "CorruptBlock",
    "Cursor",
    "DiskFull",
    "EngineError",
    "ForkedPond",
    "FunctionError",
    "Handle",
    "IntakeError",
    "JavaMissing",
    "LimitExceeded",
    "MillpondError",
    "NotAPond",
    "NotPermitted",
    "Pond",
    "PondError",
    "Reader",
    "Receipt",
    "Result",
    "ResultsGone",
    "RowsRejected",
    "SecondWriter",
    "SparkDied",
    "SqlError",
    "SqlSyntaxError",
    "Subscription",
    "TypeMismatch",
    "UnknownName",
    "UnknownPosition",
    "Unreachable",
    "UnsupportedSql",
    "connect",
    "register_format",
    "vectorized",
]
