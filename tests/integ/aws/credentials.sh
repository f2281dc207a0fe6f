#!/bin/bash
# The credentials of `dsql token` against those of botocore, AWS's own chain for Python: random files,
# profiles, chains of roles, web identities, commands, containers and instances, served by one small server
# that stands for AWS. Either both find the same credentials (the tokens signed with them are equal) or
# neither finds any; and every signed request to STS is checked with botocore's signer.
#
# CASES=n and SEED=n repeat a run.
# shellcheck source=tests/integ/lib.bash
. "$SOURCE_DIR/tests/integ/lib.bash"

DSQL=$dsql SCRATCH=$scratch /usr/bin/python3 - <<'PYTHON'
import datetime
import hashlib
import http.server
import json
import os
import random
import re
import subprocess
import sys
import threading
import types
import urllib.parse

import botocore.auth
import botocore.awsrequest
import botocore.credentials
import botocore.exceptions
import botocore.session

seed = int(os.environ.get("SEED") or random.SystemRandom().randrange(2**32))
cases = int(os.environ.get("CASES") or 60)
scratch = os.environ["SCRATCH"]
rng = random.Random(seed)
print(f"seed {seed}, {cases} cases", flush=True)
problems = []
requests = {"AssumeRole": 0, "AssumeRoleWithWebIdentity": 0, "container": 0, "instance": 0}
expires = "2100-01-01T00:00:00Z"


def secret_of(key):
    return hashlib.sha256(key.encode()).hexdigest()[:40]


def session_of(key):
    return "session+/=" + secret_of(key + "s")


def derived(*parts):
    return "ASIA" + hashlib.sha256("|".join(parts).encode()).hexdigest()[:16].upper()


def check_signature(handler, body):
    form = re.fullmatch(
        r"AWS4-HMAC-SHA256 Credential=([^/]+)/\d{8}/([^/]+)/sts/aws4_request, "
        r"SignedHeaders=([^,]+), Signature=([0-9a-f]{64})",
        handler.headers["Authorization"],
    )
    if not form:
        problems.append("a request without a proper signature")
        return "nobody"
    key, region, names, signature = form.groups()
    token = session_of(key) if key.startswith("ASIA") else None
    if handler.headers.get("X-Amz-Security-Token") != token:
        problems.append("a session token is missing or too many")
    signer = botocore.auth.SigV4Auth(
        botocore.credentials.Credentials(key, secret_of(key), token), "sts", region
    )
    headers = {name: handler.headers[name] for name in names.split(";")}
    request = botocore.awsrequest.AWSRequest(
        "POST", f"http://{handler.headers['Host']}{handler.path}", headers=headers, data=body
    )
    request.context["timestamp"] = handler.headers["X-Amz-Date"]
    wanted = signer.signature(signer.string_to_sign(request, signer.canonical_request(request)), request)
    if wanted != signature:
        problems.append(f"signature {signature}, not {wanted}")
    if not {"host", "x-amz-date"} <= set(names.split(";")):
        problems.append(f"only {names} are signed")
    return key


class Aws(http.server.BaseHTTPRequestHandler):
    def say(self, text, status=200):
        self.send_response(status)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text.encode())

    def do_PUT(self):
        self.say("metadata-token", 200 if self.path == "/latest/api/token" else 404)

    def do_GET(self):
        key = None
        base = "/latest/meta-data/iam/security-credentials/"
        if self.path == base:
            return self.say("the-role")
        if self.path == base + "the-role":
            requests["instance"] += 1
            key = derived("instance")
        if self.path == "/container":
            requests["container"] += 1
            key = derived("container", self.headers.get("Authorization", ""))
        if not key:
            return self.say("", 404)
        self.say(json.dumps({
            "Code": "Success", "AccessKeyId": key, "SecretAccessKey": secret_of(key),
            "Token": session_of(key), "Expiration": expires, "RoleArn": "x",
            "Type": "AWS-HMAC", "LastUpdated": "2020-01-01T00:00:00Z",
        }))

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        form = dict(urllib.parse.parse_qsl(body.decode(), strict_parsing=True))
        action = form["Action"]
        requests[action] += 1
        who = check_signature(self, body) if action == "AssumeRole" else form["WebIdentityToken"]
        key = derived(action, form["RoleArn"], who, form.get("ExternalId", ""), form.get("DurationSeconds", ""))
        if not form["RoleSessionName"] or form["Version"] != "2011-06-15":
            problems.append(f"a strange request: {form}")
        self.say(
            f'<{action}Response xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><{action}Result>'
            "<AssumedRoleUser><AssumedRoleId>a:b</AssumedRoleId><Arn>c</Arn></AssumedRoleUser>"
            f"<Credentials><AccessKeyId>{key}</AccessKeyId><SecretAccessKey>{secret_of(key)}</SecretAccessKey>"
            f"<SessionToken>{session_of(key)}</SessionToken><Expiration>{expires}</Expiration></Credentials>"
            f"</{action}Result><ResponseMetadata><RequestId>1</RequestId></ResponseMetadata></{action}Response>"
        )

    def log_message(self, *args):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Aws)
url = f"http://127.0.0.1:{server.server_address[1]}"
threading.Thread(target=server.serve_forever, daemon=True).start()


def write(name, text):
    path = os.path.join(scratch, name)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return path


def keys_lines(key, half=False):
    lines = [f"aws_access_key_id = {key}", f"aws_secret_access_key={secret_of(key)}"]
    if key.startswith("ASIA"):
        lines.append(f"aws_session_token = {session_of(key)}")
    return lines[:1] if half else lines


def a_key():
    return derived(str(rng.random())).replace("ASIA", rng.choice(["AKIA", "ASIA"]))


def profile_lines(names):
    """What stands about one profile in the config file and in the credentials file."""
    config, credentials = [], []
    if rng.random() < 0.4:
        config.append(f"role_arn = arn:aws:iam::123456789012:role/{rng.choice('pqr')}/x")
        if rng.random() < 0.75:
            config.append(f"source_profile = {rng.choice(names)}")
        if rng.random() < 0.2:
            config.append("credential_source = " + rng.choice(["Environment", "EcsContainer", "Ec2InstanceMetadata", "Moon"]))
        if rng.random() < 0.3:
            config.append("external_id = e+x=/,.:@-7")
        if rng.random() < 0.3:
            config.append(f"duration_seconds = {rng.randint(900, 43200)}")
        if rng.random() < 0.3:
            config.append("role_session_name = me@example.com")
    if rng.random() < 0.1:
        config.append("web_identity_token_file = " + os.path.join(scratch, "web-token"))
    if rng.random() < 0.4:
        credentials += keys_lines(a_key(), rng.random() < 0.1)
    if rng.random() < 0.2:
        config += keys_lines(a_key())
    if rng.random() < 0.2:
        key = a_key()
        answer = {"Version": 1, "AccessKeyId": key, "SecretAccessKey": secret_of(key)}
        if key.startswith("ASIA"):
            answer["SessionToken"] = session_of(key)
        if rng.random() < 0.5:
            answer["Expiration"] = expires
        if rng.random() < 0.1:
            del answer["SecretAccessKey"]
        config.append("credential_process = cat '" + write(f"process-{key}", json.dumps(answer)) + "'")
    rng.shuffle(config)
    if rng.random() < 0.2:
        config.append("s3 =\n  addressing_style = path")
    return config, credentials


def make_case():
    names = ["default", "a", "b", "c d"]
    config, credentials = "# made up\n", ""
    for name in names:
        if rng.random() < 0.15:
            continue
        in_config, in_credentials = profile_lines(names)
        section = name if name == "default" else f'profile "{name}"' if " " in name else f"profile {name}"
        if in_config or rng.random() < 0.5:
            config += f"[{section}]\nregion = us-west-2\n" + "".join(line + "\n" for line in in_config) + "\n"
        if in_credentials:
            credentials += f"[{name}]\n" + "".join(line + "\n" for line in in_credentials)
    env = {
        "HOME": scratch,
        "PATH": os.environ["PATH"],
        "AWS_CONFIG_FILE": write("config", config),
        "AWS_SHARED_CREDENTIALS_FILE": write("credentials", credentials),
        "AWS_EC2_METADATA_SERVICE_ENDPOINT": url,
        "AWS_ENDPOINT_URL_STS": url,
        "AWS_DEFAULT_REGION": "us-east-1",
    }
    write("web-token", "a.web+token/=")
    has_keys = rng.random() < 0.15
    if has_keys:
        key = a_key()
        env["AWS_ACCESS_KEY_ID"] = key
        if rng.random() < 0.9:
            env["AWS_SECRET_ACCESS_KEY"] = secret_of(key)
        if key.startswith("ASIA"):
            env["AWS_SESSION_TOKEN"] = session_of(key)
    if rng.random() < 0.6:
        # A name that is in no file fails in botocore before it looks at the environment; not so here.
        there = [name for name in names if f"[{name}]" in credentials or f"[profile {name}]" in config or f'"{name}"' in config]
        names = there if has_keys else there + ["default", "nowhere"]
        if names:
            env["AWS_PROFILE"] = rng.choice(names)
    if rng.random() < 0.15:
        env["AWS_WEB_IDENTITY_TOKEN_FILE"] = os.path.join(scratch, "web-token")
        if rng.random() < 0.8:
            env["AWS_ROLE_ARN"] = "arn:aws:iam::123456789012:role/web"
    if rng.random() < 0.3:
        env["AWS_CONTAINER_CREDENTIALS_FULL_URI"] = url + "/container"
        if rng.random() < 0.5:
            env["AWS_CONTAINER_AUTHORIZATION_TOKEN"] = "Basic abc="
    if rng.random() < 0.5:
        env["AWS_EC2_METADATA_DISABLED"] = "true"
    return {"env": env, "config": config, "credentials": credentials}


def theirs(case):
    """The frozen credentials botocore finds, or why it finds none."""
    os.environ.clear()
    os.environ.update(case["env"])
    session = botocore.session.Session()
    create = session.create_client
    session.create_client = lambda name, *args, **more: create(name, *args, **{**more, "endpoint_url": url})
    try:
        found = session.get_credentials()
        return (found.get_frozen_credentials(), None) if found else (None, "none")
    except (botocore.exceptions.BotoCoreError, botocore.exceptions.ClientError) as error:
        return None, repr(error)


at = datetime.datetime(2026, 11, 16, 12, 0, 0)


def token_of(keys):
    class Then(datetime.datetime):
        @classmethod
        def utcnow(cls):
            return at

    before = botocore.auth.datetime
    botocore.auth.datetime = types.SimpleNamespace(datetime=Then)
    request = botocore.awsrequest.AWSRequest("GET", "https://h.dsql.us-east-1.on.aws/?Action=DbConnectAdmin")
    botocore.auth.SigV4QueryAuth(keys, "dsql", "us-east-1", 900).add_auth(request)
    botocore.auth.datetime = before
    return sorted(request.prepare().url.removeprefix("https://").partition("/?")[2].split("&"))


dsql = os.environ["DSQL"]
path = os.environ["PATH"]
found = 0
for number in range(cases):
    os.environ["PATH"] = path
    case = make_case()
    wanted, why = theirs(case)
    command = [dsql, "token", "--endpoint", "h.dsql.us-east-1.on.aws", "--at", at.strftime("%Y%m%dT%H%M%SZ")]
    ours = subprocess.run(command, env=case["env"], capture_output=True, text=True, check=False, timeout=100)
    story = f"case {number} of seed {seed}\n{case['env']}\n{case['config']}\n--\n{case['credentials']}\n--\n"
    story += f"theirs: {wanted or why}\nours: {ours.stdout or ours.stderr}"
    if problems:
        sys.exit(f"{problems}\n{story}")
    if (wanted is None) != (ours.returncode != 0):
        sys.exit(f"only one of the two finds credentials: {story}")
    if wanted is None:
        if re.search("[0-9a-f]{40}", ours.stderr):
            sys.exit(f"a secret in a message: {story}")
        if ours.returncode not in (1, 2) or len(ours.stderr.splitlines()) < 2:
            sys.exit(f"an error without advice: {story}")
        continue
    found += 1
    if sorted(ours.stdout[:-1].partition("/?")[2].split("&")) != token_of(wanted):
        sys.exit(f"the two find different credentials: {story}")
print(f"{found} of {cases} setups have credentials, the same as botocore's; requests: {requests}")
PYTHON
