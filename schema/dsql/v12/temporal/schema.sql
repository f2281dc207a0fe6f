-- Temporal's main store on Aurora DSQL: the 37 tables of schema version 1.19 for PostgreSQL 12 and later, and one more.
--
-- `dsql schema apply` brings it in; any client can, one statement per transaction. Every statement may be
-- run again. It uses only what the service accepted in 2025 and still accepts: no CHECK, DEFAULT, SERIAL or
-- foreign key, unique indexes built ASYNC.
--
-- What differs from PostgreSQL's schema:
--   * identifiers of 16 bytes are UUID: BYTEA can't be in a key. They sort the same way.
--   * task_queue_id and chasm_path have no fixed length: they are TEXT in a form that keeps the order of
--     their bytes (docs/temporal-store.md).
--   * ids that are too long for their column or for a key stand there in a short form, with a hash. NAME_full holds
--     the whole id then, where a row must tell it, and is NULL otherwise.
--   * buffered_events.id comes from the client.
--   * shards has UNIQUE (shard_id, range_id): it makes range_id a key column, so that taking a shard over
--     conflicts with a FOR KEY SHARE of its row (docs/fencing.md).
--   * large_values holds what does not fit a column.
--   * current_executions.start_version, which nobody reads or writes, is left out; ports are INTEGER.
--
-- `dsql schema` reads this file line by line: one column a line, one statement up to ';' at a line's end.

-- Versions.

CREATE TABLE IF NOT EXISTS schema_version (
    version_partition INTEGER NOT NULL,
    db_name VARCHAR(255) NOT NULL,
    creation_time TIMESTAMP,
    curr_version VARCHAR(64),
    min_compatible_version VARCHAR(64),
    PRIMARY KEY (version_partition, db_name)
);

CREATE TABLE IF NOT EXISTS schema_update_history (
    version_partition INTEGER NOT NULL,
    year INTEGER NOT NULL,
    month INTEGER NOT NULL,
    update_time TIMESTAMP NOT NULL,
    description VARCHAR(255),
    manifest_md5 VARCHAR(64),
    new_version VARCHAR(64),
    old_version VARCHAR(64),
    PRIMARY KEY (version_partition, year, month, update_time)
);

-- Namespaces.

CREATE TABLE IF NOT EXISTS namespaces (
    partition_id INTEGER NOT NULL,
    id UUID NOT NULL,
    name VARCHAR(255) NOT NULL,
    notification_version BIGINT NOT NULL,
    data BYTEA NOT NULL,
    data_encoding VARCHAR(16) NOT NULL,
    is_global BOOLEAN NOT NULL,
    name_full TEXT,
    PRIMARY KEY (partition_id, id)
);

CREATE TABLE IF NOT EXISTS namespace_metadata (
    partition_id INTEGER NOT NULL,
    notification_version BIGINT NOT NULL,
    PRIMARY KEY (partition_id)
);

-- History: shards and executions.

CREATE TABLE IF NOT EXISTS shards (
    shard_id INTEGER NOT NULL,
    range_id BIGINT NOT NULL,
    data BYTEA NOT NULL,
    data_encoding VARCHAR(16) NOT NULL,
    PRIMARY KEY (shard_id)
);

CREATE TABLE IF NOT EXISTS executions (
    shard_id INTEGER NOT NULL,
    namespace_id UUID NOT NULL,
    workflow_id VARCHAR(255) NOT NULL,
    run_id UUID NOT NULL,
    next_event_id BIGINT NOT NULL,
    last_write_version BIGINT NOT NULL,
    data BYTEA NOT NULL,
    data_encoding VARCHAR(16) NOT NULL,
    state BYTEA NOT NULL,
    state_encoding VARCHAR(16) NOT NULL,
    db_record_version BIGINT NOT NULL,
    PRIMARY KEY (shard_id, namespace_id, workflow_id, run_id)
);

CREATE TABLE IF NOT EXISTS current_executions (
    shard_id INTEGER NOT NULL,
    namespace_id UUID NOT NULL,
    workflow_id VARCHAR(255) NOT NULL,
    run_id UUID NOT NULL,
    create_request_id VARCHAR(255) NOT NULL,
    state INTEGER NOT NULL,
    status INTEGER NOT NULL,
    start_time TIMESTAMP,
    last_write_version BIGINT NOT NULL,
    data BYTEA,
    data_encoding VARCHAR(16),
    create_request_id_full TEXT,
    PRIMARY KEY (shard_id, namespace_id, workflow_id)
);

CREATE TABLE IF NOT EXISTS current_chasm_executions (
    shard_id INTEGER NOT NULL,
    namespace_id UUID NOT NULL,
    business_id VARCHAR(255) NOT NULL,
    archetype_id BIGINT NOT NULL,
    run_id UUID NOT NULL,
    create_request_id VARCHAR(255) NOT NULL,
    state INTEGER NOT NULL,
    status INTEGER NOT NULL,
    start_time TIMESTAMP,
    last_write_version BIGINT NOT NULL,
    data BYTEA,
    data_encoding VARCHAR(16),
    create_request_id_full TEXT,
    PRIMARY KEY (shard_id, namespace_id, business_id, archetype_id)
);

-- The mutable state of an execution.

CREATE TABLE IF NOT EXISTS buffered_events (
    shard_id INTEGER NOT NULL,
    namespace_id UUID NOT NULL,
    workflow_id VARCHAR(255) NOT NULL,
    run_id UUID NOT NULL,
    id BIGINT NOT NULL,
    data BYTEA NOT NULL,
    data_encoding VARCHAR(16) NOT NULL,
    PRIMARY KEY (shard_id, namespace_id, workflow_id, run_id, id)
);

CREATE TABLE IF NOT EXISTS activity_info_maps (
    shard_id INTEGER NOT NULL,
    namespace_id UUID NOT NULL,
    workflow_id VARCHAR(255) NOT NULL,
    run_id UUID NOT NULL,
    schedule_id BIGINT NOT NULL,
    data BYTEA NOT NULL,
    data_encoding VARCHAR(16),
    PRIMARY KEY (shard_id, namespace_id, workflow_id, run_id, schedule_id)
);

CREATE TABLE IF NOT EXISTS timer_info_maps (
    shard_id INTEGER NOT NULL,
    namespace_id UUID NOT NULL,
    workflow_id VARCHAR(255) NOT NULL,
    run_id UUID NOT NULL,
    timer_id VARCHAR(255) NOT NULL,
    data BYTEA NOT NULL,
    data_encoding VARCHAR(16),
    timer_id_full TEXT,
    PRIMARY KEY (shard_id, namespace_id, workflow_id, run_id, timer_id)
);

CREATE TABLE IF NOT EXISTS child_execution_info_maps (
    shard_id INTEGER NOT NULL,
    namespace_id UUID NOT NULL,
    workflow_id VARCHAR(255) NOT NULL,
    run_id UUID NOT NULL,
    initiated_id BIGINT NOT NULL,
    data BYTEA NOT NULL,
    data_encoding VARCHAR(16),
    PRIMARY KEY (shard_id, namespace_id, workflow_id, run_id, initiated_id)
);

CREATE TABLE IF NOT EXISTS request_cancel_info_maps (
    shard_id INTEGER NOT NULL,
    namespace_id UUID NOT NULL,
    workflow_id VARCHAR(255) NOT NULL,
    run_id UUID NOT NULL,
    initiated_id BIGINT NOT NULL,
    data BYTEA NOT NULL,
    data_encoding VARCHAR(16),
    PRIMARY KEY (shard_id, namespace_id, workflow_id, run_id, initiated_id)
);

CREATE TABLE IF NOT EXISTS signal_info_maps (
    shard_id INTEGER NOT NULL,
    namespace_id UUID NOT NULL,
    workflow_id VARCHAR(255) NOT NULL,
    run_id UUID NOT NULL,
    initiated_id BIGINT NOT NULL,
    data BYTEA NOT NULL,
    data_encoding VARCHAR(16),
    PRIMARY KEY (shard_id, namespace_id, workflow_id, run_id, initiated_id)
);

CREATE TABLE IF NOT EXISTS signals_requested_sets (
    shard_id INTEGER NOT NULL,
    namespace_id UUID NOT NULL,
    workflow_id VARCHAR(255) NOT NULL,
    run_id UUID NOT NULL,
    signal_id VARCHAR(255) NOT NULL,
    signal_id_full TEXT,
    PRIMARY KEY (shard_id, namespace_id, workflow_id, run_id, signal_id)
);

CREATE TABLE IF NOT EXISTS chasm_node_maps (
    shard_id INTEGER NOT NULL,
    namespace_id UUID NOT NULL,
    workflow_id VARCHAR(255) NOT NULL,
    run_id UUID NOT NULL,
    chasm_path TEXT NOT NULL,
    metadata BYTEA NOT NULL,
    metadata_encoding VARCHAR(16),
    data BYTEA,
    data_encoding VARCHAR(16),
    chasm_path_full TEXT,
    PRIMARY KEY (shard_id, namespace_id, workflow_id, run_id, chasm_path)
);

-- History events. txn_id is stored negated, so that the newest of a node comes first.

CREATE TABLE IF NOT EXISTS history_node (
    shard_id INTEGER NOT NULL,
    tree_id UUID NOT NULL,
    branch_id UUID NOT NULL,
    node_id BIGINT NOT NULL,
    txn_id BIGINT NOT NULL,
    prev_txn_id BIGINT NOT NULL,
    data BYTEA NOT NULL,
    data_encoding VARCHAR(16) NOT NULL,
    PRIMARY KEY (shard_id, tree_id, branch_id, node_id, txn_id)
);

CREATE TABLE IF NOT EXISTS history_tree (
    shard_id INTEGER NOT NULL,
    tree_id UUID NOT NULL,
    branch_id UUID NOT NULL,
    data BYTEA NOT NULL,
    data_encoding VARCHAR(16) NOT NULL,
    PRIMARY KEY (shard_id, tree_id, branch_id)
);

-- The task queues of history.

CREATE TABLE IF NOT EXISTS history_immediate_tasks (
    shard_id INTEGER NOT NULL,
    category_id INTEGER NOT NULL,
    task_id BIGINT NOT NULL,
    data BYTEA NOT NULL,
    data_encoding VARCHAR(16) NOT NULL,
    PRIMARY KEY (shard_id, category_id, task_id)
);

CREATE TABLE IF NOT EXISTS history_scheduled_tasks (
    shard_id INTEGER NOT NULL,
    category_id INTEGER NOT NULL,
    visibility_timestamp TIMESTAMP NOT NULL,
    task_id BIGINT NOT NULL,
    data BYTEA NOT NULL,
    data_encoding VARCHAR(16) NOT NULL,
    PRIMARY KEY (shard_id, category_id, visibility_timestamp, task_id)
);

CREATE TABLE IF NOT EXISTS transfer_tasks (
    shard_id INTEGER NOT NULL,
    task_id BIGINT NOT NULL,
    data BYTEA NOT NULL,
    data_encoding VARCHAR(16) NOT NULL,
    PRIMARY KEY (shard_id, task_id)
);

CREATE TABLE IF NOT EXISTS timer_tasks (
    shard_id INTEGER NOT NULL,
    visibility_timestamp TIMESTAMP NOT NULL,
    task_id BIGINT NOT NULL,
    data BYTEA NOT NULL,
    data_encoding VARCHAR(16) NOT NULL,
    PRIMARY KEY (shard_id, visibility_timestamp, task_id)
);

CREATE TABLE IF NOT EXISTS replication_tasks (
    shard_id INTEGER NOT NULL,
    task_id BIGINT NOT NULL,
    data BYTEA NOT NULL,
    data_encoding VARCHAR(16) NOT NULL,
    PRIMARY KEY (shard_id, task_id)
);

CREATE TABLE IF NOT EXISTS replication_tasks_dlq (
    source_cluster_name VARCHAR(255) NOT NULL,
    shard_id INTEGER NOT NULL,
    task_id BIGINT NOT NULL,
    data BYTEA NOT NULL,
    data_encoding VARCHAR(16) NOT NULL,
    PRIMARY KEY (source_cluster_name, shard_id, task_id)
);

CREATE TABLE IF NOT EXISTS visibility_tasks (
    shard_id INTEGER NOT NULL,
    task_id BIGINT NOT NULL,
    data BYTEA NOT NULL,
    data_encoding VARCHAR(16) NOT NULL,
    PRIMARY KEY (shard_id, task_id)
);

-- Matching.

CREATE TABLE IF NOT EXISTS tasks (
    range_hash BIGINT NOT NULL,
    task_queue_id TEXT NOT NULL,
    task_id BIGINT NOT NULL,
    data BYTEA NOT NULL,
    data_encoding VARCHAR(16) NOT NULL,
    PRIMARY KEY (range_hash, task_queue_id, task_id)
);

CREATE TABLE IF NOT EXISTS task_queues (
    range_hash BIGINT NOT NULL,
    task_queue_id TEXT NOT NULL,
    range_id BIGINT NOT NULL,
    data BYTEA NOT NULL,
    data_encoding VARCHAR(16) NOT NULL,
    task_queue_id_full TEXT,
    PRIMARY KEY (range_hash, task_queue_id)
);

CREATE TABLE IF NOT EXISTS tasks_v2 (
    range_hash BIGINT NOT NULL,
    task_queue_id TEXT NOT NULL,
    pass BIGINT NOT NULL,
    task_id BIGINT NOT NULL,
    data BYTEA NOT NULL,
    data_encoding VARCHAR(16) NOT NULL,
    PRIMARY KEY (range_hash, task_queue_id, pass, task_id)
);

CREATE TABLE IF NOT EXISTS task_queues_v2 (
    range_hash BIGINT NOT NULL,
    task_queue_id TEXT NOT NULL,
    range_id BIGINT NOT NULL,
    data BYTEA NOT NULL,
    data_encoding VARCHAR(16) NOT NULL,
    task_queue_id_full TEXT,
    PRIMARY KEY (range_hash, task_queue_id)
);

CREATE TABLE IF NOT EXISTS task_queue_user_data (
    namespace_id UUID NOT NULL,
    task_queue_name VARCHAR(255) NOT NULL,
    data BYTEA NOT NULL,
    data_encoding VARCHAR(16) NOT NULL,
    version BIGINT NOT NULL,
    task_queue_name_full TEXT,
    PRIMARY KEY (namespace_id, task_queue_name)
);

CREATE TABLE IF NOT EXISTS build_id_to_task_queue (
    namespace_id UUID NOT NULL,
    build_id VARCHAR(255) NOT NULL,
    task_queue_name VARCHAR(255) NOT NULL,
    build_id_full TEXT,
    task_queue_name_full TEXT,
    PRIMARY KEY (namespace_id, build_id, task_queue_name)
);

-- Queues.

CREATE TABLE IF NOT EXISTS queue (
    queue_type INTEGER NOT NULL,
    message_id BIGINT NOT NULL,
    message_payload BYTEA NOT NULL,
    message_encoding VARCHAR(16) NOT NULL,
    PRIMARY KEY (queue_type, message_id)
);

CREATE TABLE IF NOT EXISTS queue_metadata (
    queue_type INTEGER NOT NULL,
    data BYTEA NOT NULL,
    data_encoding VARCHAR(16) NOT NULL,
    version BIGINT NOT NULL,
    PRIMARY KEY (queue_type)
);

CREATE TABLE IF NOT EXISTS queues (
    queue_type INTEGER NOT NULL,
    queue_name VARCHAR(255) NOT NULL,
    metadata_payload BYTEA NOT NULL,
    metadata_encoding VARCHAR(16) NOT NULL,
    PRIMARY KEY (queue_type, queue_name)
);

CREATE TABLE IF NOT EXISTS queue_messages (
    queue_type INTEGER NOT NULL,
    queue_name VARCHAR(255) NOT NULL,
    queue_partition BIGINT NOT NULL,
    message_id BIGINT NOT NULL,
    message_payload BYTEA NOT NULL,
    message_encoding VARCHAR(16) NOT NULL,
    PRIMARY KEY (queue_type, queue_name, queue_partition, message_id)
);

-- The cluster and its members.

CREATE TABLE IF NOT EXISTS cluster_metadata_info (
    metadata_partition INTEGER NOT NULL,
    cluster_name VARCHAR(255) NOT NULL,
    data BYTEA NOT NULL,
    data_encoding VARCHAR(16) NOT NULL,
    version BIGINT NOT NULL,
    PRIMARY KEY (metadata_partition, cluster_name)
);

CREATE TABLE IF NOT EXISTS cluster_membership (
    membership_partition INTEGER NOT NULL,
    host_id UUID NOT NULL,
    rpc_address VARCHAR(128) NOT NULL,
    rpc_port INTEGER NOT NULL,
    role INTEGER NOT NULL,
    session_start TIMESTAMP NOT NULL,
    last_heartbeat TIMESTAMP NOT NULL,
    record_expiry TIMESTAMP NOT NULL,
    PRIMARY KEY (membership_partition, host_id)
);

-- Nexus endpoints.

CREATE TABLE IF NOT EXISTS nexus_endpoints (
    id UUID NOT NULL,
    data BYTEA NOT NULL,
    data_encoding VARCHAR(16) NOT NULL,
    version BIGINT NOT NULL,
    PRIMARY KEY (id)
);

CREATE TABLE IF NOT EXISTS nexus_endpoints_partition_status (
    id INTEGER NOT NULL,
    version BIGINT NOT NULL,
    PRIMARY KEY (id)
);

-- What does not fit a column of the tables above. There the column then holds a ticket, which begins with the id, and
-- its encoding begins with '+' (docs/temporal-store.md). A row is never changed.

CREATE TABLE IF NOT EXISTS large_values (
    id UUID NOT NULL,
    part INTEGER NOT NULL,
    data BYTEA NOT NULL,
    PRIMARY KEY (id, part)
);

-- Indexes. Each is built in the background; `dsql schema apply` waits for it.

CREATE UNIQUE INDEX ASYNC IF NOT EXISTS shards_fence ON shards (shard_id, range_id);
CREATE UNIQUE INDEX ASYNC IF NOT EXISTS namespaces_name ON namespaces (name);
CREATE UNIQUE INDEX ASYNC IF NOT EXISTS cm_idx_rolehost ON cluster_membership (role, host_id);
CREATE INDEX ASYNC IF NOT EXISTS cm_idx_rolelasthb ON cluster_membership (role, last_heartbeat);
CREATE INDEX ASYNC IF NOT EXISTS cm_idx_rpchost ON cluster_membership (rpc_address, role);
CREATE INDEX ASYNC IF NOT EXISTS cm_idx_lasthb ON cluster_membership (last_heartbeat);
CREATE INDEX ASYNC IF NOT EXISTS cm_idx_recordexpiry ON cluster_membership (record_expiry);

-- The one row that must be there from the start.

INSERT INTO namespace_metadata (partition_id, notification_version) VALUES (54321, 1) ON CONFLICT DO NOTHING;
