"""Tasks and their results as frames: a head of plain JSON values, and bodies of Arrow or of our own formats.

    to a worker     {"do": "define", "text"}                    definitions that tasks to come refer to by their key
                    {"do": "task", "id", "name", "kind", ...}   with the fields of the task
                    {"do": "end"}                               the pipeline stops: no task follows
    to the pond     {"is": "hello", "worker", "millpond"}       who it is; the version of its package
                    {"is": "done", "id", "kind", ...}           with the fields of the result
                    {"is": "failed", "id", "full", "text"}      the task raised an error: the disk is full, or another
                    {"is": "plan"}                              who plans shifts asks, and is answered {"slots"}; nothing follows

A worker that has a shard since the last tick is sent where the rows are that it has not seen; any other also where the rows are
that came before, as far as they are still in the log.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import timedelta
from typing import Any

from millpond.arrow import from_ipc, to_ipc
from millpond.codec import from_json, to_json
from millpond.errors import DiskFull, EngineError, MillpondError
from millpond.event_time import Progress
from millpond.network.run.shard_definitions import ShardDefinitions
from millpond.network.run.state import Seen
from millpond.network.run.task import ShardOutcome, ShardTask
from millpond.standing.work import Matched, MatchTask
from millpond.table.block import BlockSpec
from millpond.table.log import Section
from millpond.table.manifest import ArchiveFile, Copy
from millpond.table.sections import FrameSection
from millpond.table.work import ArchiveTask, CompactTask, CopyTask
from millpond.tick.task_result import FilesWritten, RowsMatched, ShardEvaluated, TaskResult, Work
from millpond.tick.wire import Body, WireError

Head = dict[str, Any]
_MICROSECOND = timedelta(microseconds=1)


def encode_task(task: Work, *, stays: bool = False) -> Head:
    """The fields of a task. `stays`: the worker has the shard since the last tick."""
    if isinstance(task, ShardTask):
        return {"kind": "shard", **_shard_fields(task, stays=stays)}
    if isinstance(task, MatchTask):
        return {
            "kind": "match",
            "columns": task.columns,
            "entries": task.entries,
            "sections": _pack(task.sections),
            "low": task.low,
            "high": task.high,
        }
    if isinstance(task, ArchiveTask):
        return {
            "kind": "archive",
            "table": task.table,
            "rows": task.kind,
            "shard": task.shard,
            "spec": to_json(task.spec),
            "columns": task.columns,
            "sections": _pack([FrameSection(segment, section, 0, 0) for segment, section in task.sections]),
            "from": task.from_row,
        }
    if isinstance(task, CopyTask):
        return {
            "kind": "copy",
            "table": task.table,
            "rows": task.kind,
            "shard": task.shard,
            "spec": to_json(task.spec),
            "file": asdict(task.file),
        }
    return {"kind": "compact", "task": to_json(task)}


def decode_task(head: Mapping[str, Any], definitions: Mapping[str, ShardDefinitions]) -> Work:
    """The task whose fields are in a head; `definitions` are those that were sent before, by their keys."""
    kind = head["kind"]
    if kind == "shard":
        return _shard_task(head, definitions[head["definitions"]])
    if kind == "match":
        columns = tuple((name, type_) for name, type_ in head["columns"])
        return MatchTask(columns, tuple(head["entries"]), _unpack(head["sections"]), head["low"], head["high"])
    if kind == "archive":
        return ArchiveTask(
            table=head["table"],
            kind=head["rows"],
            shard=head["shard"],
            spec=from_json(BlockSpec, head["spec"]),
            columns=tuple((name, type_) for name, type_ in head["columns"]),
            sections=tuple((found.segment, found.section) for found in _unpack(head["sections"])),
            from_row=head["from"],
        )
    if kind == "copy":
        spec = from_json(BlockSpec, head["spec"])
        return CopyTask(head["table"], head["rows"], head["shard"], spec, _file(head["file"]))
    if kind == "compact":
        return from_json(CompactTask, head["task"])
    raise WireError(f'a task of kind "{kind}" is not known here')


def _shard_fields(task: ShardTask, *, stays: bool) -> Head:
    sections, reach = task.sections, task.reach
    if stays:
        low = task.before.position
        sections, reach = tuple(part for part in sections if part.end > low), max(reach, low)
    return {
        "pond": task.pond,
        "run": task.run_id,
        "version": task.version,
        "definitions": task.definitions.key,
        "table": task.table,
        "shard": task.shard,
        "before": [task.before.position, task.before.watermark],
        "after": [task.after.position, task.after.watermark],
        "sections": _pack(sections),
        "reach": reach,
        "progress": task.progress,
        "out": task.out,
        "keep": task.keep,
        "owner": task.owner,
        "planner": task.planner,
        "time": None if task.evaluation_time is None else task.evaluation_time // _MICROSECOND,
        "memory": task.evaluation_memory,
    }


def _shard_task(head: Mapping[str, Any], definitions: ShardDefinitions) -> ShardTask:
    return ShardTask(
        pond=head["pond"],
        run_id=head["run"],
        version=head["version"],
        definitions=definitions,
        table=head["table"],
        shard=head["shard"],
        before=Seen(*head["before"]),
        after=Seen(*head["after"]),
        sections=_unpack(head["sections"]),
        reach=head["reach"],
        progress={folder: (frontier, last) for folder, (frontier, last) in head["progress"].items()},
        out=head["out"],
        keep=head["keep"],
        owner=head["owner"],
        planner=head["planner"],
        evaluation_time=None if head["time"] is None else head["time"] * _MICROSECOND,
        evaluation_memory=head["memory"],
    )


def _pack(sections: Sequence[FrameSection]) -> Head:
    """Sections as lists of integers; each segment is named once."""
    segments = {segment: place for place, segment in enumerate(dict.fromkeys(part.segment for part in sections))}
    rows = [
        [segments[part.segment], s.kind, s.shard, s.rows, s.offset, s.length, s.crc, part.first, part.end]
        for part in sections
        for s in (part.section,)
    ]
    return {"segments": list(segments), "rows": rows}


def _unpack(packed: Mapping[str, Any]) -> tuple[FrameSection, ...]:
    segments = packed["segments"]
    return tuple(
        FrameSection(segments[place], Section(*section), first, end) for place, *section, first, end in packed["rows"]
    )


def encode_result(result: TaskResult) -> tuple[Head, list[Body]]:
    """The fields of a result, and bodies."""
    if isinstance(result, FilesWritten):
        return {"kind": "files", "files": [asdict(file) for file in result.files]}, []
    if isinstance(result, RowsMatched):
        return {"kind": "matched"}, [result.matched.to_bytes()]
    outcome = result.outcome
    head = {
        "kind": "shard",
        "table": outcome.table,
        "shard": outcome.shard,
        "sent": list(outcome.sent),
        "progress": {folder: progress.to_json() for folder, progress in outcome.progress.items()},
        "errors": outcome.errors,
        "held": [[*key, *size] for key, size in outcome.held.items()],
        "costs": outcome.costs,
        "worker": outcome.worker,
        "for_spark": sorted(outcome.for_spark),
    }
    return head, [to_ipc(rows) for rows in outcome.sent.values()]


def decode_result(head: Mapping[str, Any], bodies: Sequence[memoryview]) -> TaskResult:
    """What `encode_result` was given."""
    kind = head["kind"]
    if kind == "files":
        return FilesWritten([_file(item) for item in head["files"]])
    if kind == "matched":
        return RowsMatched(Matched.from_bytes(bodies[0]))
    if kind != "shard":
        raise WireError(f'a result of kind "{kind}" is not known here')
    return ShardEvaluated(
        ShardOutcome(
            table=head["table"],
            shard=head["shard"],
            sent={name: from_ipc(body) for name, body in zip(head["sent"], bodies, strict=True)},
            progress={folder: Progress.from_json(found) for folder, found in head["progress"].items()},
            errors=head["errors"],
            held={(holder, what): (rows, size) for holder, what, rows, size in head["held"]},
            costs={query: (manner, *counts) for query, (manner, *counts) in head["costs"].items()},
            worker=head["worker"],
            for_spark=frozenset(head["for_spark"]),
        )
    )


def _file(item: Mapping[str, Any]) -> ArchiveFile:
    lists = {name: tuple(item[name]) for name in ("columns", "indexed", "clustered")}
    draws = None if item["draws"] is None else tuple(item["draws"])
    copies = tuple(Copy(**copy) for copy in item["copies"])
    return ArchiveFile(**{**item, **lists, "draws": draws, "copies": copies})


def encode_failure(error: Exception) -> Head:
    """An error that a task raised."""
    text = str(error) if isinstance(error, MillpondError) else f"{type(error).__name__}: {error}"
    full = isinstance(error, DiskFull) or "no space left" in text.lower()
    return {"is": "failed", "full": full, "text": text[:2000]}


def decode_failure(head: Mapping[str, Any]) -> MillpondError:
    """The error to tell of a task that failed."""
    if head["full"]:
        return DiskFull("no space left on the disk while archiving", detail=head["text"], hint="Free some space.")
    return EngineError("a worker failed at its task", detail=head["text"])
