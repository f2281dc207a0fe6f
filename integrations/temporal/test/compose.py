"""Starts what a compose file starts, without containers.   compose.py FILE COMMAND...

For one network shared by all, and images whose programs are on this machine: the services without a profile, in the
order of their conditions, with the entry points, environments and health checks of the file. Then it runs COMMAND,
ends everything, and ends with COMMAND's status.
"""

import os
import subprocess
import sys
import time

import yaml

with open(sys.argv[1], encoding="utf-8") as file:
    services = yaml.safe_load(file)["services"]
services = {name: service for name, service in services.items() if "profiles" not in service}
running = {}
LIMIT_S = 900


def holds(name, condition):
    process, service = running[name], services[name]
    if condition == "service_completed_successfully":
        status = process.poll()
        if status:
            sys.exit(f"{name} ended with {status}")
        return status == 0
    if process.poll() is not None:
        sys.exit(f"{name} has ended")
    assert condition == "service_healthy" and service["healthcheck"]["test"][0] == "CMD"
    return subprocess.run(service["healthcheck"]["test"][1:], stdout=subprocess.DEVNULL, check=False).returncode == 0


try:
    while len(running) < len(services):
        for name, service in services.items():
            wanted = service.get("depends_on", {})
            if name in running or not all(other in running for other in wanted):
                continue
            for other, how in wanted.items():
                until = time.monotonic() + LIMIT_S
                while not holds(other, how["condition"]):
                    if time.monotonic() > until:
                        sys.exit(f"{name} waits in vain for {other}")
                    time.sleep(0.2)
            environment = {**os.environ, **service.get("environment", {})}
            running[name] = subprocess.Popen(service["entrypoint"], env=environment, stdout=sys.stderr)
    status = subprocess.run(sys.argv[2:], check=False).returncode
finally:
    for process in reversed(running.values()):
        if process.poll() is None:
            process.terminate()
            process.wait(600)
sys.exit(status)
