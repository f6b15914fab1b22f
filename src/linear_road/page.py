"""The parts of an HTML page that needs no other file: the frame with its style, tables, tiles."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from typing import Final

_STYLE: Final = """
:root{color-scheme:light dark;--ink:#1b2430;--soft:#5d6b7c;--back:#f6f7f9;--card:#fff;--line:#dfe4ea;--grid:#edf0f3;
--good:#1a7f4b;--bad:#c0312b;--warn:#a86a00;
--s0:#2563c9;--s1:#d9622b;--s2:#1f9d78;--s3:#8d4fc4;--s4:#c23a78;--s5:#7d7f28}
@media (prefers-color-scheme:dark){:root{--ink:#e4e9ef;--soft:#9aa7b5;--back:#12161b;--card:#1a2027;--line:#323b45;--grid:#262e37;
--good:#4cc38a;--bad:#ff7a70;--warn:#e2b04a;
--s0:#6ea8ff;--s1:#ff9a63;--s2:#4fd1a5;--s3:#c39bf0;--s4:#f17fb2;--s5:#c8ca61}}
*{box-sizing:border-box}
body{margin:0;background:var(--back);color:var(--ink);font:15px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,sans-serif}
main{max-width:1120px;margin:0 auto;padding:28px 20px 60px}
h1{font-size:26px;margin:0 0 4px}h2{font-size:18px;margin:36px 0 10px}
p{margin:6px 0;max-width:80ch}.soft,.note{color:var(--soft)}.note{font-size:13px}
.verdict{margin:18px 0;padding:12px 16px;border-radius:8px;border-left:6px solid var(--soft);background:var(--card)}
.verdict.good{border-color:var(--good)}.verdict.bad{border-color:var(--bad)}.verdict.warn{border-color:var(--warn)}
.verdict b{font-size:17px}
.tiles{display:grid;grid-template-columns:repeat(auto-fit,minmax(150px,1fr));gap:10px}
.tile{background:var(--card);border:1px solid var(--line);border-radius:8px;padding:10px 14px}
.tile b{display:block;font-size:21px;font-variant-numeric:tabular-nums}.tile span{color:var(--soft);font-size:13px}
.figures{display:grid;grid-template-columns:repeat(auto-fit,minmax(430px,1fr));gap:12px}
figure{margin:0;background:var(--card);border:1px solid var(--line);border-radius:8px;padding:8px}
.scroll{margin:12px 0;overflow-x:auto;background:var(--card);border:1px solid var(--line);border-radius:8px}
table{border-collapse:collapse;width:100%;font-variant-numeric:tabular-nums}
th,td{padding:6px 12px;text-align:left;border-bottom:1px solid var(--line);vertical-align:top}
tr:last-child td{border-bottom:0}th{color:var(--soft);font-weight:500;white-space:nowrap}
td.n,th.n{text-align:right;white-space:nowrap}tr.own td{font-weight:600}.bad-text{color:var(--bad)}.good-text{color:var(--good)}
svg{display:block;width:100%;height:auto}svg text{font:11px system-ui,sans-serif;fill:var(--soft)}
svg .title{font-weight:600;fill:var(--ink)}.frame{fill:none;stroke:var(--soft)}.grid{stroke:var(--grid)}
.line{fill:none;stroke-width:1.6}.limit{stroke:var(--bad);stroke-dasharray:6 4}svg .limit-text{fill:var(--bad)}
.mark{stroke:#fff;stroke-width:1.6}.mark-edge{stroke:#000;stroke-width:4}
"""
_SERIES: Final = "".join(f".line.s{i}{{stroke:var(--s{i})}}.dot.s{i},.bar.s{i}{{fill:var(--s{i})}}" for i in range(6))


def page(title: str, body: Iterable[str]) -> str:
    return (
        f'<!doctype html>\n<html lang="en">\n<meta charset="utf-8">\n'
        f'<meta name="viewport" content="width=device-width,initial-scale=1">\n<title>{html.escape(title)}</title>\n'
        f"<style>{_STYLE}{_SERIES}</style>\n<main>\n" + "\n".join(body) + "\n</main>\n</html>\n"
    )


def section(title: str, *parts: str) -> str:
    return f"<h2>{html.escape(title)}</h2>\n" + "\n".join(parts)


def paragraph(text: str, kind: str = "") -> str:
    return f'<p class="{kind}">{html.escape(text)}</p>'


def tiles(pairs: Iterable[tuple[str, str]]) -> str:
    """Figures with what they are."""
    drawn = (f'<div class="tile"><b>{html.escape(v)}</b><span>{html.escape(k)}</span></div>' for v, k in pairs)
    return f'<div class="tiles">{"".join(drawn)}</div>'


def figures(drawings: Iterable[str]) -> str:
    return '<div class="figures">' + "".join(f"<figure>{drawing}</figure>" for drawing in drawings) + "</div>"


def table(head: Sequence[str], rows: Iterable[Sequence[str]], left: int = 1, own: int | None = None) -> str:
    """The first `left` columns to the left, the others, which are numbers, to the right; row `own` is ours."""

    def cells(kind: str, row: Sequence[str]) -> str:
        tags = [kind if i < left else f'{kind} class="n"' for i in range(len(row))]
        return "".join(f"<{tag}>{html.escape(cell)}</{kind}>" for tag, cell in zip(tags, row, strict=True))

    marks = ("", ' class="own"')
    lines = [f"<tr{marks[i == own]}>{cells('td', row)}</tr>" for i, row in enumerate(rows)]
    return f'<div class="scroll"><table><tr>{cells("th", head)}</tr>{"".join(lines)}</table></div>'


def banner(kind: str, title: str, text: str) -> str:
    """`kind` is good, bad, warn or nothing."""
    return f'<div class="verdict {kind}"><b>{html.escape(title)}</b><br>{html.escape(text)}</div>'
