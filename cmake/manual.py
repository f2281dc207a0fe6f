#!/usr/bin/env python3
"""Man pages of the public headers, from their comments: manual.py FOLDER HEADER...

dsql/pool.h becomes dsql_pool.h.3: the comment at its top, then each declaration with the comment above it, as they stand.
Each function has a page of its own name that leads there, so that `man dsql_pool_checkout` works."""
import pathlib
import re
import sys


def pieces(text):
    """Comments and code of the header in turn, as ("comment" | "code", lines); an empty line ends a piece of code."""
    inside, kind, lines, depth = False, None, [], 0
    for line in text.split("\n"):
        starts = not inside and depth == 0 and line.startswith("/*")
        if starts or inside:
            if starts:
                if lines:
                    yield kind, lines
                kind, lines, inside = "comment", [], True
            lines.append(line)
            if "*/" in line:
                inside = False
                yield kind, lines
                lines = []
            continue
        if not line.strip() and depth == 0:
            if lines:
                yield kind, lines
            lines = []
            yield "gap", []
            continue
        kind = "code"
        lines.append(line)
        depth += line.count("{") - line.count("}")
    if lines:
        yield kind, lines


def words(comment):
    """The text of a comment, without its stars."""
    text = "\n".join(comment)
    text = re.sub(r"^/\*+ ?", "", text)
    text = re.sub(r"\s*\*/$", "", text)
    return [re.sub(r"^ \* ?", "", line) for line in text.split("\n")]


def escaped(text):
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return "\\&" + text if text[:1] in (".", "'") else text


def prose(lines):
    """Paragraphs are filled; what is indented, and lists, stay as they are."""
    out, exact = [], False
    for line in lines:
        keeps = line.startswith("    ") or line.startswith("- ") or (exact and line.startswith("  "))
        if keeps and not exact:
            out += [".PP", ".nf"]
        elif exact and not keeps and line.strip():
            out += [".fi", ".PP"]
        if keeps or line.strip():
            exact = keeps
        if not line.strip():
            out.append("" if exact else ".PP")
        else:
            out.append(escaped(line))
    if exact:
        out.append(".fi")
    page = []
    for line in out:
        if line == ".PP" and (not page or page[-1] == ".PP"):
            continue
        page.append(line)
    while page and page[-1] in (".PP", ""):
        page.pop()
    return page


def is_shown(code, comment):
    """Declarations, and macros that are explained; no includes, no bodies of functions."""
    text = "\n".join(code)
    if text.startswith("#"):
        return bool(comment) and text.startswith("#define")
    return not (text.startswith("}") or re.search(r"\bstatic inline\b[^;]*{", text))


def functions(code):
    text = " ".join(code)
    if not re.match(r"\s*(DSQL_API|DSQL_MUST_USE|static inline)\b", text):
        return []
    return re.findall(r"\b(dsql_\w+)\(", text)[:1]


def clean(code):
    return [re.sub(r"\b(DSQL_API|DSQL_MUST_USE|static inline)\s", "", line) for line in code]


def page(header, include):
    text = re.sub(r"#ifdef __cplusplus\n.*?#endif\n", "", header.read_text(encoding="utf-8"), flags=re.S)
    text = re.sub(r"#endif\n$", "", text)
    found = [piece for piece in pieces(text)]
    top = words(found[0][1]) if found and found[0][0] == "comment" else []
    name = f"dsql_{header.name}"
    first = re.split(r"(?<=[.:]) ", " ".join(line.strip() for line in top if line.strip()) + " ")[0].rstrip(".: ")
    out = [f'.TH "{name.upper()}" "3" "" "libdsql" "libdsql"', ".SH NAME", f"{name} \\- {escaped(first)}", ".SH SYNOPSIS", ".nf",
           f"#include <{include}>", ".fi", ".SH DESCRIPTION", *prose(top)]
    names, comment = [], []
    listed = [".SH DECLARATIONS"]
    for kind, lines in found[1:]:
        if kind == "gap":
            comment = []
        elif kind == "comment":
            comment = lines
        elif is_shown(lines, comment):
            listed += [".PP", ".nf", ".B", *(escaped(line) if line else "\\&" for line in clean(lines)), ".fi"]
            if comment:
                listed += [".RS 4", *prose(words(comment)), ".RE"]
            names += functions(lines)
    if len(listed) > 1:
        out += listed
    return name, names, "\n".join(line for line in out if line is not None) + "\n"


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for argument in sys.argv[2:]:
        header = pathlib.Path(argument)
        name, names, text = page(header, f"dsql/{header.name}")
        (folder / f"{name}.3").write_text(text, encoding="utf-8")
        for function in names:
            (folder / f"{function}.3").write_text(f".so man3/{name}.3\n", encoding="utf-8")


main()
