"""Stands between a program and a DynamoDB and lets pass what IAM policies allow.

    policy_gateway.py UPSTREAM PORT_FILE TABLE=POLICY...

Writes its port to PORT_FILE. Every action that passes is printed as `allow ACTION`, every other as
`deny ACTION KEY` and answered as AWS does. Of a policy it knows what ours use: actions, one table, leading keys.
"""

import fnmatch
import http.server
import json
import os
import sys
import urllib.error
import urllib.request

upstream, port_file = sys.argv[1:3]
statements = []  # (table, statement)
for pair in sys.argv[3:]:
    table, path = pair.split("=", 1)
    with open(path, encoding="utf-8") as file:
        statements += [(table, statement) for statement in json.load(file)["Statement"]]


def wanted(operation, body):
    """The (action, table, key) triples that a request stands for."""
    if operation == "TransactWriteItems":
        for part in body["TransactItems"]:
            (kind, inner), = part.items()
            key = inner.get("Key") or inner.get("Item")
            yield kind if kind == "ConditionCheck" else kind + "Item", inner["TableName"], key["pk"]["S"]
        return
    key = body.get("Key") or body.get("Item")
    yield operation, body["TableName"], key["pk"]["S"] if key else None


def allowed(action, name, key):
    for table, statement in statements:
        if "dynamodb:" + action not in statement["Action"] or name != table:
            continue
        keys = statement.get("Condition", {}).get("ForAllValues:StringLike", {}).get("dynamodb:LeadingKeys")
        if not keys or key is None or any(fnmatch.fnmatchcase(key, pattern) for pattern in keys):
            return True
    return False


class Gateway(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):  # noqa: N802
        raw = self.rfile.read(int(self.headers["Content-Length"]))
        operation = self.headers["X-Amz-Target"].split(".")[1]
        triples = list(wanted(operation, json.loads(raw)))
        refused = [triple for triple in triples if not allowed(*triple)]
        for triple in triples:
            print(f"deny {triple[0]} {triple[2]}" if triple in refused else f"allow {triple[0]}", flush=True)
        if refused:
            self.answer(400, json.dumps({"__type": "com.amazon.coral.service#AccessDeniedException",
                                         "Message": f"not authorized to perform: {refused[0][0]}"}).encode())
            return
        kept = {name: value for name, value in self.headers.items() if name.lower() not in ("host", "connection")}
        try:
            with urllib.request.urlopen(urllib.request.Request(upstream, raw, kept)) as reply:
                self.answer(reply.status, reply.read())
        except urllib.error.HTTPError as error:
            self.answer(error.code, error.read())

    def answer(self, status, body):
        self.send_response(status)
        self.send_header("Content-Type", "application/x-amz-json-1.0")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Gateway)
with open(port_file + ".new", "w", encoding="utf-8") as file:
    file.write(str(server.server_address[1]))
os.rename(port_file + ".new", port_file)
server.serve_forever()
