#!/usr/bin/env python3
"""The picture of the house, docs/images/architecture.svg: which folder of src/ includes which. `picture` prints it;
`picture --check FILE` ends with 1 if FILE is another one. The rows are the tiers of scripts/arrows. An arrow that follows
from others (cli to base, by way of pool) is not drawn. `make docs` writes the file."""
import collections
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
# Where a folder stands from left to right, and what it is.
WHAT = {
    "base": (300, "memory, text, time, log"),
    "core": (430, "policy, without I/O"),
    "config": (600, "the table of settings"),
    "metrics": (790, "the table of metrics"),
    "aws": (290, "credentials, DynamoDB"),
    "pgwire": (110, "PostgreSQL's protocol"),
    "budget": (350, "connections of a fleet"),
    "net": (110, "sockets, TLS, event loop"),
    "pool": (430, "the threads around core"),
    "tx": (490, "transactions, scripts"),
    "schema": (610, "apply, verify, drop"),
    "temporal": (490, "Temporal's persistence"),
    "visibility": (680, "Temporal's visibility"),
    "proxy": (300, "the pool as a server"),
    "local": (110, "Aurora DSQL on your desk"),
    "sim": (800, "the fleet on paper"),
    "cli": (490, "the program dsql"),
}
# Whose the public headers are that are not called like their folder.
PUBLIC = {"retry": "tx", "script": "tx", "stmt": "tx", "credentials": "aws", "visibility_query": "visibility",
          "temporal_ops": "temporal", "err": "base", "log": "base"}
WIDTH, ROW, BOX_W, BOX_H, TOP = 900, 84, 172, 46, 20


def tiers():
    text = (ROOT / "scripts/arrows").read_text()
    return [tier.split(",") for tier in re.search(r'split\("([^"]+)", tiers', text).group(1).split()]


def includes():
    """Folder to folders. A public header counts as its folder where that is in a lower tier: core shares names with the
    pool's header and does not use the pool."""
    tier = {name: i for i, names in enumerate(tiers()) for name in names}
    graph = collections.defaultdict(set)
    for path in sorted((ROOT / "src").rglob("*")):
        if path.suffix not in (".c", ".h", ".def"):
            continue
        folder = path.relative_to(ROOT / "src").parts[0]
        graph[folder]
        for target, header in re.findall(r'^\s*#\s*include\s*"(\w+)/(\w+)', path.read_text(errors="replace"), re.M):
            if target == "dsql":
                target = PUBLIC.get(header, header)
                if tier.get(target, len(tier)) >= tier.get(folder, 0):
                    continue
            if target != folder:
                graph[folder].add(target)
    return graph


def below(graph, folder):
    """Every folder that this one sees, directly or by way of others."""
    seen, todo = set(), [folder]
    while todo:
        for target in graph.get(todo.pop(), ()):
            if target not in seen:
                seen.add(target)
                todo.append(target)
    return seen


def drawn(graph):
    for folder in sorted(graph):
        for target in sorted(graph[folder]):
            if not any(target in below(graph, other) for other in graph[folder] - {target}):
                yield folder, target


def places(graph):
    rows = [[name for name in tier if name in graph] for tier in reversed(tiers())]
    return {name: (WHAT[name][0], TOP + y * ROW) for y, row in enumerate(filter(None, rows)) for name in row}


def svg():
    graph = includes()
    unknown = sorted(set(graph) - {name for tier in tiers() for name in tier if name in WHAT})
    if unknown:
        sys.exit(f"picture: no tier in scripts/arrows, or no place here, for {', '.join(unknown)}")
    at = places(graph)
    height = max(y for _, y in at.values()) + BOX_H + TOP
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" font-family="sans-serif" '
        'text-anchor="middle">',
        "<title>The folders of src/: each sees those that its arrows lead to, and what these see</title>",
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        '<path d="M0 0L8 4L0 8z" fill="#5b6b7b"/></marker></defs>',
        f'<rect width="{WIDTH}" height="{height}" fill="#fff"/>',
    ]
    for folder, target in drawn(graph):
        (x1, y1), (x2, y2) = at[folder], at[target]
        y1, middle = y1 + BOX_H, (y1 + BOX_H + y2) // 2
        out.append(f'<path d="M{x1} {y1}C{x1} {middle} {x2} {middle} {x2} {y2}" fill="none" stroke="#5b6b7b" '
                   'marker-end="url(#tip)"/>')
    for name, (x, y) in sorted(at.items()):
        out.append(f'<rect x="{x - BOX_W // 2}" y="{y}" width="{BOX_W}" height="{BOX_H}" rx="6" fill="#eef3f7" '
                   'stroke="#2f6f8f"/>')
        out.append(f'<text x="{x}" y="{y + 19}" font-size="15" font-weight="bold">{name}</text>')
        out.append(f'<text x="{x}" y="{y + 36}" font-size="12" fill="#445">{WHAT[name][1]}</text>')
    return "\n".join(out + ["</svg>"]) + "\n"


if __name__ == "__main__":
    picture = svg()
    if sys.argv[1:2] == ["--check"]:
        if pathlib.Path(sys.argv[2]).read_text() != picture:
            sys.exit(f"{sys.argv[2]}: run 'make docs'")
    else:
        sys.stdout.write(picture)
