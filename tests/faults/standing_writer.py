"""A writer to be killed while standing queries are registered, dropped and asked: `python standing_writer.py SEED POND`.

Says what was acknowledged, a line each: "registered N V" (a query for v = V), "dropped N", "rows N". After a kill all of that must
be there.
"""

from __future__ import annotations

import sys
from pathlib import Path
from random import Random

sys.path.insert(0, str(Path(__file__).parents[2]))

import millpond

TEXT = "SELECT v, t FROM r WHERE v = {} END NOW"


def run(seed: int, folder: Path) -> None:
    random = Random(seed)
    db = millpond.connect(folder, auto_archive=False, standing_memory=200_000)
    db.sql("CREATE STREAMING TABLE IF NOT EXISTS r (v INT, t BIGINT) TIMESTAMP BY t")
    ((rows,),) = db.sql("SELECT count(*) FROM r").rows()
    mine = [number for (number,) in db.sql("SELECT id FROM millpond.standing_queries").rows()]
    print("ready", flush=True)
    while True:
        step = random.choice(["register", "register", "many", "drop", "append", "append", "tick", "archive", "ask"])
        if step == "register":
            value = random.randint(0, 9)
            mine.append(db.register(TEXT.format(value), keep=random.choice(["auto", "partial", "complete"])).id)
            print(f"registered {mine[-1]} {value}", flush=True)
        elif step == "many":
            values = [random.randint(0, 9) for _ in range(3)]
            handles = db.register_many(TEXT.format("?"), [(value,) for value in values])
            mine += [handle.id for handle in handles]
            for handle, value in zip(handles, values, strict=True):
                print(f"registered {handle.id} {value}", flush=True)
        elif step == "drop" and mine:
            number = mine.pop(random.randrange(len(mine)))
            print(f"dropping {number}", flush=True)
            db.registered(number).drop()
            print(f"dropped {number}", flush=True)
        elif step == "append":
            count = random.choice([1, 50])
            db.append("r", [((rows + i) % 10, rows + i) for i in range(count)])
            rows += count
            print(f"rows {rows}", flush=True)
        elif step == "tick":
            db.tick()
        elif step == "archive":
            db.archive()
        elif mine:
            db.registered(random.choice(mine)).invoke()


if __name__ == "__main__":
    run(int(sys.argv[1]), Path(sys.argv[2]))
