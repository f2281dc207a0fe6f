"""What messages advise is there: hints_check.py SOURCE_DIR DSQL

Every 'dsql COMMAND' in a text of the program is a command that does something by itself (not a group of commands, which
would only print its help), with options that it has; every variable that a text names is a setting under its own name.
"""
import os
import re
import subprocess
import sys

source, dsql = sys.argv[1:]
problems = []


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def help_of(*words):
    return subprocess.run([dsql, "help", *words], capture_output=True, text=True, check=False)


groups = {""}
commands = {}
listed = help_of().stdout.split("Commands;", 1)[1].split("References", 1)[0]
for line in re.findall(r"^  ([a-z]+(?: [a-z]+)*)  ", listed, re.M):
    text = help_of(*line.split()).stdout
    commands[line] = text
    if re.match(rf"Usage: dsql {line} COMMAND", text):
        groups.add(line)
settings = set(re.findall(r"^\| `(\w+)` ", read(os.path.join(source, "docs/configuration.md")), re.M))
headers = "".join(read(os.path.join(source, "include/dsql", name)) for name in os.listdir(os.path.join(source, "include/dsql")))
codes = set(re.findall(r"\bDSQL_[A-Z_]+\b", headers))
codes |= {"DSQL_" + name for name in re.findall(r"^\s*X\((\w+),", headers, re.M)}
aliases = set(re.findall(r'\{DSQL_SETTING_\w+, "(\w+)"\}', read(os.path.join(source, "src/config/table.c"))))
others = {"DSQL_LOCAL_CONTROL", "DSQL_LOCAL_ARN", "DSQL_LOCAL_TRUST_STORE"}  # of `dsql local env`

seen = 0
for folder, _, names in os.walk(os.path.join(source, "src")):
    for name in sorted(names):
        if not name.endswith((".c", ".def")):
            continue
        path = os.path.join(folder, name)
        code = re.sub(r"/\*.*?\*/", "", read(path), flags=re.S)
        for literal in re.findall(r'"(?:[^"\\\n]|\\.)*"(?:\s*"(?:[^"\\\n]|\\.)*")*', code):
            text = re.sub(r'"\s*"', "", literal)[1:-1]
            where = os.path.relpath(path, source)
            for advice in re.findall(r"'dsql ([a-z][^']*)'", text):
                words = re.match(r"[a-z]+(?: [a-z]+)*", advice)[0].split()
                if words[0] == "help" or "%" in advice:
                    continue
                while words and " ".join(words) not in commands:
                    words.pop()
                command = " ".join(words)
                seen += 1
                if command in groups:
                    problems.append(f"{where}: 'dsql {advice}' is no command that does something")
                    continue
                for option in re.findall(r"(?<=\s)--[a-z-]+", advice.split(" -- ")[0]):
                    if option not in commands[command]:
                        problems.append(f"{where}: 'dsql {advice}': {command} has no {option}")
            for variable in re.findall(r"\bDSQL_[A-Z][A-Z_]*[A-Z]\b(?![(*])", text):
                known = settings | codes | others
                if variable not in known and not any(one.startswith(variable + "_") for one in known):
                    problems.append(f"{where}: {variable} is no setting")
            for alias in re.findall(r"[Ss]et (\w+) to", text):
                if alias in aliases and not alias.startswith(("AWS_", "PG")):
                    problems.append(f"{where}: advises the old name {alias}")
if seen < 30:
    problems.append(f"only {seen} pieces of advice were found")
for problem in problems:
    print(problem)
sys.exit(bool(problems))
