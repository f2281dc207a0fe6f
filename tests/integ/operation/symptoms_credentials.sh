#!/bin/bash
# Symptoms of docs/operations.md: credentials that run out.
# shellcheck source=tests/integ/operation/symptoms.bash
. "$SOURCE_DIR/tests/integ/operation/symptoms.bash"

# Keys with a short life, from a command that one day fails.
cat >"$scratch/keys" <<KEYS
[ ! -e "$scratch/broken" ] || exit 1
expires=\$(date -u -d '+10 seconds' +%Y-%m-%dT%H:%M:%SZ)
printf '{"Version": 1, "AccessKeyId": "%s", "SecretAccessKey": "%s", "Expiration": "%s"}\n' \\
    "$AWS_ACCESS_KEY_ID" "$AWS_SECRET_ACCESS_KEY" "\$expires"
KEYS
printf '[default]\ncredential_process = bash %s\n' "$scratch/keys" >"$scratch/config"
unset AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY AWS_SESSION_TOKEN
export AWS_CONFIG_FILE=$scratch/config AWS_SHARED_CREDENTIALS_FILE=/dev/null
healthy 'Credentials fail'
begin 'Credentials fail'
touch "$scratch/broken"
check
