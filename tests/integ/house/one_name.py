"""One name stands for one thing: the word behind `dsql_` belongs to one folder of src/, a tag to one struct, and the
letters of numbered rules to one file. And each folder of src/ has one header that says what the folder is ("core: ...") and
names its files.     one_name.py SOURCE_DIR"""
import collections
import fnmatch
import pathlib
import re
import sys

ROOT = pathlib.Path(sys.argv[1])

# The folder whose public header it is.
PUBLIC = {"credentials": "aws", "metrics": "metrics", "pool": "pool", "retry": "core", "temporal": "temporal",
          "visibility": "visibility", "visibility_query": "visibility", "script": "tx", "stmt": "tx", "tx": "tx"}
# Words of one thing that several folders have a part of.
SHARED = {
    "budget": "pool budget",  # pool.h has the options of a budget
    "cache": "base proxy",  # a line of the processor's cache; prepared statements
    "cluster": "aws cli local",  # an Aurora DSQL cluster
    "connect": "core pool",  # an attempt to connect, and what it was told
    "err": "base tx",
    "fence": "tx temporal",
    "id": "base temporal",
    "lease": "core budget",
    "local": "cli local",
    "names": "local proxy",
    "null": "base tx",
    "operation": "tx metrics",
    "pg": "pgwire tx",  # PostgreSQL's formats
    "proxy": "cli proxy",
    "registry": "core budget",
    "retry": "core tx",
    "schema": "schema temporal cli",
    "script": "tx temporal",
    "secret": "base aws",
    "sql": "local proxy",
    "trace": "core pool cli",
}
MARK = re.compile(r"(?<![\w)])\(([A-Z]{1,2})(\d{1,2})\)")


def folder_of(path):
    parts = path.relative_to(ROOT).parts
    return PUBLIC.get(path.stem, "base") if parts[0] == "include" else parts[1]


def declared(text):
    """Names that a header declares: functions, types, constants, macros, and the first part of names made with ##."""
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    yield from re.findall(r"^[A-Za-z].*?\b(dsql_\w+)\(", text, re.M)
    yield from re.findall(r"^(?:struct|union|enum) (dsql_\w+) \{", text, re.M)
    yield from re.findall(r"^typedef .*?\b(dsql_\w+)(?:\(|;)", text, re.M)
    yield from re.findall(r"^#define (DSQL_\w+)", re.sub(r"^#define \w+_H$", "", text, flags=re.M), re.M)
    yield from re.findall(r"\b(DSQL_[A-Z0-9_]+_)##", text)
    for body in re.findall(r"\benum\b[^;{(]*\{(.*?)\}", text, re.S):
        yield from re.findall(r"(?:^|[,\s])(DSQL_\w+)(?=\s*(?:[,=]|$))(?<!= )", re.sub(r"=[^,]*", "=", body), re.M)


def words():
    """Words that stand for things of several folders."""
    owners = collections.defaultdict(lambda: collections.defaultdict(set))
    for path in [*ROOT.glob("include/dsql/*.h"), *ROOT.glob("src/**/*.h")]:
        if "module" in path.parts:
            continue  # a program of its own, which PostgreSQL loads
        for name in declared(path.read_text()):
            owners[name.split("_")[1].lower()][folder_of(path)].add(name)
    for word, folders in sorted(owners.items()):
        if set(folders) - set(SHARED.get(word, "").split()) and len(folders) > 1:
            yield f"dsql_{word} is a word of " + ", ".join(f"{f} ({min(names)})" for f, names in sorted(folders.items()))


def tags():
    """Tags that several structs have."""
    files = collections.defaultdict(set)
    for path in [*ROOT.glob("include/dsql/*.h"), *ROOT.glob("src/**/*.[ch]")]:
        for tag in re.findall(r"^((?:struct|union|enum) dsql_\w+) \{", path.read_text(), re.M):
            files[tag].add(str(path.relative_to(ROOT)))
    return (f"{tag} is in {', '.join(sorted(paths))}" for tag, paths in sorted(files.items()) if len(paths) > 1)


def rules():
    """Letters of rules in several files, and rules that are cited and not there. A list of rules begins with number 1, in a comment."""
    homes, known, cited = collections.defaultdict(set), set(), collections.defaultdict(set)
    for path in (p for folder in ("include", "src", "tests", "bench", "integrations") for p in (ROOT / folder).rglob("*")):
        if path.suffix not in (".c", ".h", ".go") or "corpus" in path.parts:
            continue
        text, name = path.read_text(), str(path.relative_to(ROOT))
        for comment in re.findall(r"/\*.*?\*/|(?:^//.*\n)+", text, re.S | re.M):
            for letters in set(re.findall(r"(?<!\w)\(([A-Z]{1,2})1\) (?!to |and |or |[*]/)", comment)):
                homes[letters].add(name)
                known.update(letters + number for found, number in MARK.findall(comment) if found == letters)
        for letters, number in MARK.findall(text):
            cited[letters + number].add(name)
    yield from (f"({letters}1) is a rule of {', '.join(sorted(names))}" for letters, names in sorted(homes.items())
                if len(names) > 1)
    yield from (f"({mark}) is cited in {', '.join(sorted(names))}, and is the rule of no file"
                for mark, names in sorted(cited.items()) if mark not in known)


def heads():
    """Folders without a header that says what they are, and files that this header does not name."""
    for folder in sorted(path for path in (ROOT / "src").glob("*") if path.is_dir()):
        found = {path: re.match(r"/\*.*?\*/", path.read_text(), re.S) for path in folder.glob("*.h")}
        homes = {path: head.group(0) for path, head in found.items() if head and re.match(rf"/\*\s*(\* )?{folder.name}: ", head.group(0))}
        if len(homes) != 1:
            yield f"src/{folder.name}: {len(homes)} headers begin with '{folder.name}: ', and not one"
            continue
        (path, head), = homes.items()
        named = re.findall(r"([\w*]+)\.[ch]\b", head)
        for file in sorted(folder.glob("*.c")):
            if not any(fnmatch.fnmatch(file.stem, pattern) for pattern in named):
                yield f"{path.relative_to(ROOT)} does not name {file.name}"


bad = [*words(), *tags(), *rules(), *heads()]
print("\n".join(bad), end="\n" if bad else "")
sys.exit(bool(bad))
