"""The index of predicates: which of very many conditions does each row of a batch fulfil?"""

from millpond.standing.index.matches import BitBlock, Matches
from millpond.standing.index.predicates import PredicateIndex

__all__ = ["BitBlock", "Matches", "PredicateIndex"]
