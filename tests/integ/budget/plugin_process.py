"""A process of the Go plugin, as far as others can see it: its items in DynamoDB and its connections.

    plugin_process.py TARGET LIFETIME_SECONDS      with the plugin's own variables in the environment

One refiller takes a lease, waits for a permit of the current second, then connects; a scanner closes connections that
are past their lifetime and gives their leases back, once, whatever comes of it. SIGTERM closes everything. At the end
one line says how many connections it opened and how many leases it could not give back.
"""
import os
import random
import signal
import socket
import ssl
import struct
import sys
import threading
import time
import uuid

import botocore.session
from botocore.config import Config
from botocore.exceptions import ClientError

target, lifetime = int(sys.argv[1]), float(sys.argv[2])
endpoint = os.environ["CLUSTER_ENDPOINT"]
lease_table = os.environ["DSQL_DISTRIBUTED_CONN_LEASE_TABLE"]
limiter_table = os.environ["DSQL_DISTRIBUTED_RATE_LIMITER_TABLE"]
limit = int(os.environ["DSQL_DISTRIBUTED_CONN_LIMIT"])
rate = int(os.environ["DSQL_DISTRIBUTED_RATE_LIMITER_LIMIT"])
ddb = botocore.session.get_session().create_client(
    "dynamodb", region_name="us-east-1", endpoint_url=os.environ["AWS_ENDPOINT_URL_DYNAMODB"],
    config=Config(max_pool_connections=4))
counter = {"pk": {"S": f"dsqllease_counter#{endpoint}"}}
lock = threading.Lock()
held = []  # (socket, lease, when it ends)
opened = lost = 0
stopping = threading.Event()


def number(n):
    return {"N": str(n)}


def now_ms():
    return number(int(time.time() * 1000))


def acquire():
    lease = uuid.uuid4().hex
    ddb.transact_write_items(TransactItems=[
        {"Update": {"TableName": lease_table, "Key": counter,
                    "UpdateExpression": "SET active = if_not_exists(active, :zero) + :one, updated_ms = :nowms",
                    "ConditionExpression": "attribute_not_exists(active) OR active < :limit",
                    "ExpressionAttributeValues": {":zero": number(0), ":one": number(1), ":limit": number(limit),
                                                  ":nowms": now_ms()}}},
        {"Put": {"TableName": lease_table,
                 "Item": {"pk": {"S": f"dsqllease#{endpoint}#{lease}"}, "ttl_epoch": number(int(time.time()) + 180),
                          "service_name": {"S": "history"}, "created_ms": now_ms()}}}])
    return lease


def release(lease):
    global lost
    try:
        ddb.transact_write_items(TransactItems=[
            {"Delete": {"TableName": lease_table, "Key": {"pk": {"S": f"dsqllease#{endpoint}#{lease}"}}}},
            {"Update": {"TableName": lease_table, "Key": counter,
                        "UpdateExpression": "SET active = active - :one, updated_ms = :nowms",
                        "ConditionExpression": "attribute_exists(active) AND active >= :one",
                        "ExpressionAttributeValues": {":one": number(1), ":nowms": now_ms()}}}])
    except ClientError:  # the plugin logs it and goes on
        with lock:
            lost += 1


def permit():
    deadline = time.time() + 600
    while not stopping.is_set():
        second = int(time.time())
        try:
            ddb.update_item(
                TableName=limiter_table, Key={"pk": {"S": f"dsqlconnect#{endpoint}#{second}"}},
                UpdateExpression="SET updated_at_ms = :nowms, ttl_epoch = :ttl ADD #cnt :n",
                ConditionExpression="attribute_not_exists(#cnt) OR #cnt <= :limitMinusN",
                ExpressionAttributeNames={"#cnt": "count"},
                ExpressionAttributeValues={":n": number(1), ":limitMinusN": number(rate - 1), ":nowms": now_ms(),
                                           ":ttl": number(second + 180)})
            return
        except ClientError as error:
            if error.response["Error"]["Code"] != "ConditionalCheckFailedException" or time.time() > deadline:
                raise
        stopping.wait(0.025 * random.uniform(1, 4))
    raise TimeoutError


def connect():
    """A session of PostgreSQL's protocol, up to ReadyForQuery."""
    raw = socket.create_connection((os.environ["PGHOSTADDR"], int(os.environ["PGPORT"])), 30)
    raw.sendall(struct.pack("!ii", 8, 80877103))
    if raw.recv(1) != b"S":
        raise OSError("no TLS")
    tls = ssl.create_default_context(cafile=os.environ["PGSSLROOTCERT"])
    sock = tls.wrap_socket(raw, server_hostname=os.environ["PGHOST"])
    words = b"".join(w.encode() + b"\0" for w in ("user", os.environ["PGUSER"], "database", os.environ["PGDATABASE"]))
    sock.sendall(struct.pack("!ii", 9 + len(words), 196608) + words + b"\0")
    stream = sock.makefile("rb")
    while True:
        head = stream.read(5)
        if len(head) < 5:
            raise OSError("closed while logging in")
        kind, body = head[:1], stream.read(struct.unpack("!i", head[1:])[0] - 4)
        if kind == b"E":
            raise OSError(body.decode(errors="replace"))
        if kind == b"R" and struct.unpack("!i", body[:4])[0] == 3:
            token = os.environ["PGPASSWORD"].encode() + b"\0"
            sock.sendall(b"p" + struct.pack("!i", 4 + len(token)) + token)
        if kind == b"Z":
            return sock


def open_one():
    global opened
    lease = acquire()
    try:
        permit()
        sock = connect()
    except BaseException:
        release(lease)
        raise
    with lock:
        opened += 1
        held.append((sock, lease, time.monotonic() + lifetime * random.uniform(0.8, 1.2)))


def discard(connection):
    sock, lease, _ = connection
    try:
        sock.sendall(b"X" + struct.pack("!i", 4))
        sock.close()
    except OSError:
        pass
    release(lease)


def scan():
    while not stopping.wait(0.2):
        now = time.monotonic()
        with lock:
            old = [c for c in held if c[2] <= now]
            held[:] = [c for c in held if c[2] > now]
        for connection in old:
            discard(connection)


signal.signal(signal.SIGTERM, lambda *_: stopping.set())
scanner = threading.Thread(target=scan)
scanner.start()
while not stopping.is_set():
    if len(held) >= target:
        stopping.wait(0.1)
        continue
    try:
        open_one()
    except (ClientError, OSError, TimeoutError) as error:
        print(f"Reservoir refiller: failed to create connection  error={str(error)!r}", file=sys.stderr, flush=True)
        stopping.wait(0.25)
scanner.join()
for connection in held:
    discard(connection)
print(f"opened={opened} lost={lost}", flush=True)
