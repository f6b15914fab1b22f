"""What others published about Linear Road, to stand beside our own figures. Where a figure is only a claim, it says so."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Published:
    system: str
    year: str
    rating: str
    hardware: str
    source: str
    one_machine: float | None = None
    """The rating as a number, if it was reached on one machine."""


RATINGS: Final = (
    Published("System X, a relational database", "2004", "0.5", "3 GHz Pentium, 2 GB", "VLDB 2004, Table 7", 0.5),
    Published("Aurora", "2004", "2.5", "the same machine", "VLDB 2004, Table 7", 2.5),
    Published("SCSQ-LR", "2007", "1.5", "AMD64 2.2 GHz, 2.9 GB", "project page, Uppsala", 1.5),
    Published("SCSQ-PLR", "2010", "64", "cluster", "DASFAA 2010, abstract"),
    Published("SCSQ-PLR with parasplit", "2011", "512 or more", "cluster", "PVLDB 4(11), abstract"),
    Published("SEEP", "2013", "350", "50 virtual machines", "SIGMOD 2013, abstract"),
    Published("SQLstream", "about 2016", "60", "4 cores, 8 GB", "the vendor's documentation: a claim, 15 a core", 60.0),
    Published("Streaming tables, all reports kept", "2017", "1", "4 cores, 4 GB", "IEEE TSMC 47(10), Table III", 1.0),
)

TOLL_RESPONSES: Final = (
    ("0.5", "3", "1"),
    ("1.0", "2,031", "1"),
    ("1.5", "16,346", "1"),
    ("2.0", "52,443", "2"),
    ("2.5", "-", "2"),
    ("3.0", "-", "196"),
)
"""Table 8 of the paper of 2004: expressways, and the maximum response to tolls of System X and Aurora in whole seconds."""

ONE_TIME: Final = {"high": 0.056, "medium": 0.173, "low": 0.322}
"""Mean seconds of one-time queries, 200 a minute, by selectivity: streaming tables, L1++."""

KEPT: Final = (
    "Streaming tables, all reports kept (2017): L1+ maximum 3.80 s, mean 0.64 s; L2+ maximum 6.64 s, too late."
)
