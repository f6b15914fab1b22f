"""What is told of an error of Spark: the line that says something, not the trace around it."""

from __future__ import annotations

import pytest

from millpond.spark.session import spark_message

CALLING = "An error occurred while calling o97.getResult.\n"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            "[DIVIDE_BY_ZERO] Division by zero. SQLSTATE: 22012; line 1 pos 7;\n== SQL ==\n",
            "[DIVIDE_BY_ZERO] Division by zero. SQLSTATE: 22012",
        ),
        (
            "Job aborted.\nTraceback (most recent call last):\n  File x\nValueError: no such thing\n\tat org.a.B(C.java)",
            "ValueError: no such thing",
        ),
        (
            f"{CALLING}: org.apache.spark.SparkException: Exception thrown in awaitResult: \n\tat org.a.B(C.java)\n"
            "Caused by: org.apache.spark.SparkException: [RECURSION_LEVEL_LIMIT_EXCEEDED] Too deep. SQLSTATE: 42836\n"
            "\tat org.a.B(C.java)\nCaused by: java.io.IOException: pipe\n",
            "[RECURSION_LEVEL_LIMIT_EXCEEDED] Too deep. SQLSTATE: 42836",
        ),
        (
            f"{CALLING}: java.lang.IllegalStateException: first\n\tat a\nCaused by: java.io.IOException: the pipe broke",
            "the pipe broke",
        ),
        (CALLING, CALLING.strip()),
        ("", "ValueError"),
    ],
)
def test_the_line_that_tells_something(text: str, told: str) -> None:
    assert spark_message(ValueError(text)) == told
