#!/usr/bin/env python3
"""No test fails because the machine is busy: fails on a line of a test's script that waits for less than a minute (a
loop that sleeps and gives up, a timeout, seconds that are counted), and on a sleep that stands for a condition. A sleep
outside a loop says in a comment what it is for.   patience.py [FILE...]"""
import pathlib
import re
import sys

LEAST_S = 60
FOLDERS = ("tests", "integrations/temporal/test")
OWN_TEST = "tests/integ/house/patience.sh"


def wait_of(lines, at):
    """How long the loop that begins at this line waits: tries times pause; nothing if it is no wait."""
    tries = re.search(r"\$\(seq (\d+)\)|\w+ < (\d+); \w+\+\+", lines[at])
    if not tries:
        return None
    body = []
    for line in lines[at:]:
        body.append(line)
        if re.search(r"\bdone\b", line):
            break
    pause = re.search(r"\bsleep ([\d.]+)", "\n".join(body))
    return int(tries[1] or tries[2]) * float(pause[1]) if pause else None


def findings(lines):
    depth = 0
    for at, line in enumerate(lines):
        wait = wait_of(lines, at)
        if wait is not None and wait < LEAST_S:
            yield at, f"gives up after {wait:.0f} s"
        for limit in re.findall(r"\btimeout (?:-\S+ (?:[A-Z]+ )?)?(\d+) ", line):
            if int(limit) < LEAST_S:
                yield at, f"is ended after {limit} s"
        for limit in re.findall(r"\bSECONDS -(?:lt|ge|le|gt) (\d+)|\btimeout ?= ?(\d+)\b", line):
            if int(limit[0] or limit[1]) < LEAST_S:
                yield at, f"has {limit[0] or limit[1]} s"
        if depth == 0 and re.match(r"\s*sleep \S+\s*$", line):
            yield at, "sleeps: wait for a condition (eventually), or say in a comment what the time is for"
        depth += len(re.findall(r"\bdo\b", line)) - len(re.findall(r"\bdone\b", line))


def main(names):
    all_files = (p for folder in FOLDERS for p in pathlib.Path(folder).rglob("*") if p.suffix in (".sh", ".bash", ".py"))
    files = names or sorted(str(p) for p in all_files if str(p) != OWN_TEST)
    found = 0
    for name in files:
        lines = pathlib.Path(name).read_text(encoding="utf-8").splitlines()
        for at, what in findings([re.sub(r"^\s*#.*", "", line) for line in lines]):
            print(f"{name}:{at + 1}: {what}: {lines[at].strip()}")
            found += 1
    return found > 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
