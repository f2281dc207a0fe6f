"""What the project's pages name is there: files, make targets, commands and options of `dsql`, settings, functions, metrics
and log events.     names.py SOURCE_DIR DSQL"""
import pathlib
import re
import subprocess
import sys

ROOT, DSQL = pathlib.Path(sys.argv[1]), sys.argv[2]
PAGES = [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("examples/*.md")]
FOLDERS = "src tests include deploy scripts bench integrations schema scenarios cmake debian".split()
# Names that stand for others.
PATTERNS = {"dsql_noun_verb", "dsql_up_", "dsql_record_"}


def text_of(folders):
    files = (path for folder in folders for path in (ROOT / folder).rglob("*") if path.is_file())
    return "\n".join(path.read_text(errors="replace") for path in files if "corpus" not in path.parts)


def run(*args):
    return subprocess.run([DSQL, *args], capture_output=True, text=True, check=True).stdout


def code(text):
    """What stands in backticks and in blocks, one piece a line of it."""
    fenced = re.findall(r"^```(?:sh)?\n(.*?)^```", text, re.M | re.S)
    indented = re.findall(r"^ {4,}(\S.*)$", text, re.M)
    return re.findall(r"`([^`\n]+)`", text) + indented + "\n".join(fenced).splitlines()


known = text_of(["src", "include", "scripts", "cmake", "integrations", "deploy", "schema"])
targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.M))
events = set(re.findall(r"^\| `([a-z_.]+)` ", (ROOT / "docs/events.md").read_text(), re.M))
areas = "|".join(sorted({event.split(".")[0] for event in events}))
overview = run("help")
commands = set(re.findall(r"^  ([a-z]+(?: [a-z]+)?)  ", overview, re.M))
groups = {command.split()[0] for command in commands if " " in command}
help_of = {}


def usage(piece):
    """What is wrong with a call of dsql."""
    for call in re.findall(r"(?:^|[ (=/])dsql ((?:[^|;&#`)]|'[^']*')+)", piece):
        words = call.split(" -- ")[0].split()
        name = next((" ".join(words[:n]) for n in (2, 1) if " ".join(words[:n]) in commands), None)
        if name is None:
            if words and re.fullmatch("[a-z]+", words[0]) and words[0] not in groups:
                yield f"dsql {words[0]}"
            continue
        help_of.setdefault(name, run("help", *name.split()))
        for word in words[len(name.split()):]:
            option = re.match(r"--[a-z][a-z-]*", word)
            if option and not re.search(rf"^ +{option.group(0)}(?![\w-])", help_of[name], re.M):
                yield f"dsql {name} {option.group(0)}"


def unknown(text):
    for path in re.findall(rf"(?<![\w/.-])((?:{'|'.join(FOLDERS)})/[\w./@*-]+)", text):
        path = path.rstrip(".")
        if not re.search(r"\bX|NAME", path) and not any(ROOT.glob(path)) and path != "schema/elasticsearch/visibility":
            yield path
    for name in re.findall(r"\b(dsql_[a-z0-9_]+)\b", text):
        if name not in PATTERNS and re.sub("_(bucket|sum|count)$", "", name) not in known:
            yield name
    for name in re.findall(r"\b(DSQL_[A-Z0-9_]+)\b", text):
        if not name.endswith("_") and name not in known and not re.search(rf"\b{name[5:]}\b", known):
            yield name
    for piece in code(text):
        yield from (f"make {name}" for name in re.findall(r"^make ([a-z][a-z-]*)", piece) if name not in targets)
        yield from usage(piece)
    for name in re.findall(rf"`(?:event=)?((?:{areas})\.[a-z_]+)", text):
        if name not in events and not re.search(r"\.(md|h|c|sh|py|sql|ya?ml|json|def|go|tf|trace)$", name):
            yield name


bad = [f"{page.relative_to(ROOT)}: there is no {name}" for page in sorted(PAGES)
       for name in sorted(set(unknown(page.read_text())))]
print("\n".join(bad), end="\n" if bad else "")
sys.exit(bool(bad))
