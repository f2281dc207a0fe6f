"""Items of the protocol `leases` as the Go plugin writes and reads them, through botocore.
   lease_items.py COMMAND TABLE ENDPOINT [ARG]      the address is in AWS_ENDPOINT_URL_DYNAMODB
   lease_items.py keep TABLE                        what has expired stays, however long a test takes
   lease_items.py serve TABLE ENDPOINT              commands and their arguments from stdin, one line for each"""
import os, sys, time, uuid
import botocore.session
from botocore.exceptions import ClientError

command, table, endpoint = (sys.argv + [""])[1:4]
arg = sys.argv[4] if len(sys.argv) > 4 else ""
ddb = botocore.session.get_session().create_client(
    "dynamodb", region_name="us-east-1", endpoint_url=os.environ["AWS_ENDPOINT_URL_DYNAMODB"])
counter = {"pk": {"S": f"dsqllease_counter#{endpoint}"}}


def number(n):
    return {"N": str(n)}


def acquire(limit):
    lease = uuid.uuid4().hex
    now = time.time()
    ddb.transact_write_items(TransactItems=[
        {"Update": {"TableName": table, "Key": counter,
                    "UpdateExpression": "SET active = if_not_exists(active, :zero) + :one, updated_ms = :nowms",
                    "ConditionExpression": "attribute_not_exists(active) OR active < :limit",
                    "ExpressionAttributeValues": {":zero": number(0), ":one": number(1), ":limit": number(limit),
                                                  ":nowms": number(int(now * 1000))}}},
        {"Put": {"TableName": table,
                 "Item": {"pk": {"S": f"dsqllease#{endpoint}#{lease}"}, "ttl_epoch": number(int(now) + 180),
                          "service_name": {"S": "history"}, "created_ms": number(int(now * 1000))}}}])
    return lease


def release(lease):
    ddb.transact_write_items(TransactItems=[
        {"Delete": {"TableName": table, "Key": {"pk": {"S": f"dsqllease#{endpoint}#{lease}"}}}},
        {"Update": {"TableName": table, "Key": counter,
                    "UpdateExpression": "SET active = active - :one, updated_ms = :nowms",
                    "ConditionExpression": "attribute_exists(active) AND active >= :one",
                    "ExpressionAttributeValues": {":one": number(1), ":nowms": number(int(time.time() * 1000))}}}])


def items(prefix):
    return [i for i in ddb.scan(TableName=table, ConsistentRead=True)["Items"] if i["pk"]["S"].startswith(prefix)]


def leases():
    return items(f"dsqllease#{endpoint}#")


seconds = {}  # permits that were seen


def act(command, arg):
    if command == "acquire":
        try:
            print(acquire(int(arg)))
        except ClientError as error:
            print(error.response["Error"]["Code"], error.response["CancellationReasons"][0]["Code"])
    elif command == "release":
        release(arg)
    elif command == "active":
        print(ddb.get_item(TableName=table, Key=counter, ConsistentRead=True).get("Item", {}).get("active", number(0))["N"])
    elif command == "ours":  # how many leases are not the plugin's, each with all the plugin's attributes
        ours = [i for i in leases() if i["service_name"]["S"] != "history"]
        for item in ours:
            assert len(item["pk"]["S"].split("#")[2]) == 32 and {"ttl_epoch", "created_ms"} <= item.keys(), item
            left = int(item["ttl_epoch"]["N"]) - time.time()
            assert 0 < left <= 181, item
        print(len(ours))
    elif command == "lose":  # as DynamoDB's TTL would: the item goes, the counter stays
        for item in leases():
            if item["service_name"]["S"] != "history":
                ddb.delete_item(TableName=table, Key={"pk": item["pk"]})
    elif command == "expire":  # the same for the plugin's leases, whose connections live on
        for item in leases():
            if item["service_name"]["S"] == "history":
                ddb.delete_item(TableName=table, Key={"pk": item["pk"]})
        print()
    elif command == "keep":  # DynamoDB Local deletes what has expired, as DynamoDB does; tests say when that happens
        ddb.update_time_to_live(TableName=table, TimeToLiveSpecification={"Enabled": False, "AttributeName": "ttl_epoch"})
        says = ddb.describe_time_to_live(TableName=table)["TimeToLiveDescription"]
        assert says["TimeToLiveStatus"] in ("DISABLED", "DISABLING"), says
    elif command == "reset":  # the plugin's emergency procedure
        ddb.update_item(TableName=table, Key=counter, UpdateExpression="SET active = :val",
                        ExpressionAttributeValues={":val": number(0)})
    elif command == "move":  # counter, leases of ours, permits of the table ARG with their most in a second
        everything = [i for name in {table, arg} for i in ddb.scan(TableName=name, ConsistentRead=True)["Items"]]
        mine = {i["pk"]["S"]: i for i in everything if i["pk"]["S"].split("#")[1] == endpoint}
        # A second's item goes after three minutes, which its permits outlive.
        seconds.update((pk, int(i["count"]["N"])) for pk, i in mine.items() if pk.startswith("dsqlconnect#"))
        counts = seconds.values()
        print(mine.get(counter["pk"]["S"], {}).get("active", number(0))["N"],
              sum(1 for pk, i in mine.items() if pk.startswith("dsqllease#") and "owner" in i), sum(counts),
              max(counts, default=0))
    elif command == "connects":  # all permits that were drawn, none beyond the limit of a second
        counts = [int(i["count"]["N"]) for i in items(f"dsqlconnect#{endpoint}#")]
        assert all(c <= int(arg) for c in counts), counts
        print(sum(counts))


if command == "serve":
    for line in sys.stdin:
        words = line.split() + [""]
        act(words[0], words[1])
        sys.stdout.flush()
else:
    act(command, arg)
