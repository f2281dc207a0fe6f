"""What deploy/ says, against what the program knows.   deploy_files.py SOURCE_DIR DSQL

Settings are known and taken as they stand, task definitions are what ECS accepts, policies allow the calls that the
code makes and no others, Terraform says the same as the policies, the image has what it copies and builds with.
"""

import json
import os
import re
import subprocess
import sys

import botocore.loaders
import botocore.model
import botocore.validate
import yaml

source, dsql = sys.argv[1:]
deploy = os.path.join(source, "deploy")
failures = []


def check(holds, text):
    if not holds:
        failures.append(text)


def read(*path):
    with open(os.path.join(source, *path), encoding="utf-8") as file:
        return file.read()


def files(ending):
    found = [os.path.join(at, name) for at, _, names in os.walk(deploy) for name in names]
    return sorted(os.path.relpath(path, source) for path in found if path.endswith(ending))


words = {"ACCOUNT": "123456789012", "REGION": "eu-west-1", "CLUSTER": "abcdefghijklmnopqrstuvwxyz",
         "SERVICE": "history", "IMAGE": "example/dsql:1", "ADDRESS": "10.0.0.1",
         "TABLE": "dsql-budget", "LIMITER": "dsql-connects"}


def filled(path):
    """A file with what its reader puts in place of the words in capitals."""
    return re.sub(r"\b(" + "|".join(words) + r")\b", lambda match: words[match[1]], read(path))


page = read("docs/deployment.md")
listed = set(re.search(r"Words in capitals \(([A-Z,\s]+)\)", page)[1].replace(",", " ").split())
check(listed == set(words), f"docs/deployment.md lists other words in capitals: {listed ^ set(words)}")

# --- settings ---------------------------------------------------------------------------------------------------

def config(environment):
    """What `dsql config` makes of an environment that has nothing else in it."""
    run = subprocess.run([dsql, "config", "--json"], env=environment, capture_output=True, check=False)
    return json.loads(run.stdout)


known = {setting["name"] for setting in config({})["settings"]}


def check_environment(where, environment):
    names = [name for name in environment if name.startswith("DSQL_")]
    check(names, f"{where} sets nothing")
    for finding in config({name: str(environment[name]) for name in names})["findings"]:
        check(False, f"{where}: {finding['message']}")
    check(not [name for name in environment if re.search("SECRET|PASSWORD|ACCESS_KEY", name)],
          f"{where} holds a secret")


for path in files(""):
    if path.startswith(("deploy/grafana/", "deploy/prometheus/")):
        continue  # they set nothing, and speak of outcomes
    for name in re.findall(r"\bDSQL_[A-Z_]+", read(path)):
        check(name in known, f"{path}: {name} is no setting")

variables = set(re.findall(r'env "(TEMPORAL_[A-Z_]+)"', read("deploy/temporal/temporal.yaml")))
for path in files(""):
    for name in re.findall(r"\bTEMPORAL_[A-Z_]+", read(path)):
        check(name in variables or name == "TEMPORAL_DSQL_METRICS", f"{path}: nobody reads {name}")

# --- ECS --------------------------------------------------------------------------------------------------------

task = json.loads(filled("deploy/ecs/task-definition.json"))
line = re.search(r"sed -e .*?task-definition\.json", page, re.S)[0]
for said, meant in (("<id>", "CLUSTER"), ("...", "IMAGE")):
    line = line.replace(said, words[meant])
made = subprocess.run(["sh", "-c", line], cwd=source, env={**os.environ, "service": words["SERVICE"]},
                      capture_output=True, check=False, text=True)
check(made.returncode == 0 and json.loads(made.stdout) == task,
      f"the sed of docs/deployment.md makes another task definition: {made.stderr}{made.stdout}")
ecs = botocore.loaders.Loader().load_service_model("ecs", "service-2")
shape = botocore.model.ServiceModel(ecs, "ecs").operation_model("RegisterTaskDefinition").input_shape
memory = {"256": (512, 2048), "512": (1024, 4096), "1024": (2048, 8192), "2048": (4096, 16384), "4096": (8192, 30720)}


def check_options(where, arguments):
    """The options of a `dsql proxy` that somebody else starts are options of this one."""
    check(arguments[:2] == ["dsql", "proxy"], f"{where} starts something else")
    known = subprocess.run([dsql, "help", "proxy"], capture_output=True, check=True, text=True).stdout
    for argument in arguments[2:]:
        check(argument.split("=")[0] in known, f"{where}: dsql proxy has no {argument}")


def check_task(task, where):
    report = botocore.validate.ParamValidator().validate(task, shape)
    check(not report.has_errors(), f"ECS does not take {where}: {report.generate_report()}")
    check(task["networkMode"] == "awsvpc" and task["requiresCompatibilities"] == ["FARGATE"], f"{where} is not for Fargate")
    least, most = memory[task["cpu"]]
    check(least <= int(task["memory"]) <= most, "Fargate has no such pair of cpu and memory")
    for container in task["containerDefinitions"]:
        check("secrets" not in container, f"{where} has secrets")
        check(int(container["stopTimeout"]) <= 120, "Fargate stops after 120 s at most")
        if container["name"] == "app":
            continue  # the reader's own
        check_environment(where, {pair["name"]: pair["value"] for pair in container["environment"]})
        limit = container["ulimits"][0]["softLimit"]
        pool = next(int(p["value"]) for p in container["environment"] if p["name"] == "DSQL_POOL_MAX_OPEN")
        check(limit > pool, "fewer files than connections")


check_task(task, "the task definition")
sidecar = json.loads(filled("deploy/ecs/proxy-sidecar.json"))
check_task(sidecar, "the task with a proxy")
check_options("the task with a proxy", sidecar["containerDefinitions"][0]["entryPoint"])

# --- Kubernetes -------------------------------------------------------------------------------------------------

pod = yaml.safe_load(filled("deploy/kubernetes/proxy-sidecar.yaml"))["spec"]["template"]["spec"]
proxy = pod["initContainers"][0]
check(proxy["restartPolicy"] == "Always", "the proxy in Kubernetes is no sidecar")
check_environment("the proxy in Kubernetes", {pair["name"]: pair["value"] for pair in proxy["env"]})
check_options("the proxy in Kubernetes", proxy["command"])

# --- compose ----------------------------------------------------------------------------------------------------

compose = yaml.safe_load(read("deploy/compose/compose.yaml"))
for name, service in compose["services"].items():
    if "environment" in service:
        plain = {key: value for key, value in service["environment"].items() if not str(value).startswith("${")}
        check_environment(f"compose: {name}", plain)

# --- systemd ----------------------------------------------------------------------------------------------------

lines = [line for line in filled("deploy/systemd/temporal.env").splitlines() if not line.startswith("#")]
check_environment("temporal.env", dict(line.split("=", 1) for line in lines))
lines = [line for line in filled("deploy/systemd/proxy.env").splitlines() if not line.startswith("#")]
settings = dict(line.split("=", 1) for line in lines)
check_environment("proxy.env", settings)
started = re.search(r"^ExecStart=/usr/bin/(.*) \$PROXY_OPTIONS$", read("deploy/systemd/dsql-proxy.service"), re.M)[1]
check_options("dsql-proxy.service", started.split() + settings["PROXY_OPTIONS"].split())

# --- policies ---------------------------------------------------------------------------------------------------

def policy(name):
    """{action: keys or None}, and the resources, of a file in deploy/iam."""
    actions, resources = {}, set()
    document = json.loads(read("deploy/iam", name + ".json"))
    check(document["Version"] == "2012-10-17", f"{name}: version")
    for statement in document["Statement"]:
        check(statement["Effect"] == "Allow", f"{name}: effect")
        keys = statement.get("Condition", {}).get("ForAllValues:StringLike", {}).get("dynamodb:LeadingKeys")
        for action in statement["Action"]:
            check("*" not in action, f"{name}: {action}")
            actions[action] = keys
        resources.add(statement.get("Resource"))
    check("*" not in resources, f"{name}: every resource")
    return actions


def calls(path, pattern):
    return set(re.findall(pattern, read("src", path)))


def budget_actions(names, parts=()):
    wanted = {f"dynamodb:{name}" for name in names if name != "TransactWriteItems"}
    return wanted | {f"dynamodb:{part}Item" for part in parts}


prefix = dict(re.findall(r'#define (DSQL_\w+_PREFIX)\s+"([^"]+)"',
                         read("src/budget/registry_codec.h") + read("src/budget/lease_items.h")))
blocks = policy("budget-policy")
check(set(blocks) == budget_actions(calls("budget/fleet_blocks.c", r'\*operation = "(\w+)"')), f"blocks: {set(blocks)}")
check(set(blocks["dynamodb:UpdateItem"]) == {prefix["DSQL_REGISTRY_PREFIX"] + "*"}, "blocks: keys")

leases = policy("budget-leases-policy")
parts = calls("budget/lease_items.c", r'json_pack\("\{s:[^"]*",\s*"(Put|Update|Delete|ConditionCheck)"')
called = budget_actions(calls("budget/lease_items.c", r'\*name = "(\w+)"'), parts)
check(set(leases) == called, f"leases: {set(leases) ^ called}")
lease_keys = {prefix[name] + "*" for name in prefix if name != "DSQL_REGISTRY_PREFIX"}
for action, keys in leases.items():
    check(action == "dynamodb:Scan" or set(keys) == lease_keys, f"leases: keys of {action}")

limiter = policy("budget-limiter-policy")
check(limiter == {"dynamodb:UpdateItem": [prefix["DSQL_LEASE_CONNECT_PREFIX"] + "*"]}, f"limiter: {limiter}")

operator = policy("budget-operator-policy")
called = budget_actions(calls("budget/table.c", r'call\(t, "(\w+)"'))
check(set(operator) == called, f"operator: {set(operator) ^ called}")

signed = set(re.findall(r'"(DbConnect\w*)"', read("src/aws/token.c")))
check({name for file in ("connect-policy", "connect-admin-policy") for name in policy(file)} ==
      {"dsql:" + name for name in signed}, "the actions of tokens")
check(set(policy("connect-policy")) == {"dsql:DbConnect"}, "connect-policy is not for DbConnect alone")

# --- Terraform: the same actions and keys ------------------------------------------------------------------------

terraform = "\n".join(read(path) for path in files(".tf"))
statements = re.findall(r"\n  statement \{\n(.*?)\n  \}", terraform, re.S)
said = {}
for statement in statements:
    sid = re.search(r'sid\s*= "(\w+)"', statement)[1]
    actions = re.search(r"actions\s*= \[(.*?)\]", statement, re.S)[1]
    keys = re.search(r"LeadingKeys\"\s*values\s*= \[(.*?)\]", statement, re.S)
    said[sid] = (set(re.findall(r'"([^"]+)"', actions)), set(re.findall(r'"([^"]+)"', keys[1])) if keys else None)
for name in files("policy.json"):
    for statement in json.loads(read(name))["Statement"]:
        if statement["Sid"] == "DsqlBudgetCommands":
            continue  # of people, who have their rights from elsewhere
        keys = statement.get("Condition", {}).get("ForAllValues:StringLike", {}).get("dynamodb:LeadingKeys")
        check(said.get(statement["Sid"]) == (set(statement["Action"]), set(keys) if keys else None),
              f"{name} and Terraform differ about {statement['Sid']}")
created = read("src/budget/table.c")
for word in ("pk", "ttl_epoch", "PAY_PER_REQUEST"):
    check(f'"{word}"' in created and f'"{word}"' in terraform, f"the table of Terraform and of setup: {word}")

# --- the image --------------------------------------------------------------------------------------------------

docker = read("deploy/docker/Dockerfile")
for path in re.findall(r"^COPY (?!--from|\. )(\S+)", docker, re.M):
    check(os.path.exists(os.path.join(source, path)), f"the image copies {path}, which is not there")
builds = re.search(r"Build-Depends:(.*?)\n\n", read("debian/control"), re.S)[1]
for package in re.findall(r"([a-z][a-z0-9+.-]+)(?::any)?(?: \([^)]*\))?(?:,|$)", builds):
    package = "debhelper" if package == "debhelper-compat" else package
    check(re.search(rf"\s{re.escape(package)}\s", docker), f"the image does not install {package} to build with")

for failure in failures:
    print(failure)
print(f"{len(known)} settings known, {len(failures)} failures")
sys.exit(1 if failures else 0)
