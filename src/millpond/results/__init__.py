"""Results of continuous queries: their log and archive, who reads them, who is told."""
