-- Temporal's visibility on Aurora DSQL: which runs there are, in what state, and how many of them.
--
-- `dsql schema apply` brings it in beside the main store, with a version of its own; any client can, one
-- statement per transaction. Every statement may be run again. docs/visibility.md explains the tables.
--
--   * The order of every list is: open runs first, then by close time, start time (both descending) and
--     run id. No index of the service is descending: close_inv and start_inv are negative microseconds since
--     1970, and close_inv of an open run is the smallest bigint there is.
--   * bucket is a hash of the run id. It stands before what grows with time, so that new keys do not all
--     come to one end of an index.
--   * A row with deleted_until is the tombstone of a deleted run: the columns that indexes look for are
--     NULL.
--
-- `dsql schema` reads this file line by line: one column a line, one statement up to ';' at a line's end.

CREATE TABLE IF NOT EXISTS visibility_schema_version (
    version_partition INTEGER NOT NULL,
    db_name VARCHAR(255) NOT NULL,
    creation_time TIMESTAMP,
    curr_version VARCHAR(64),
    min_compatible_version VARCHAR(64),
    PRIMARY KEY (version_partition, db_name)
);

CREATE TABLE IF NOT EXISTS visibility_schema_history (
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

-- One row for each run.

CREATE TABLE IF NOT EXISTS executions_visibility (
    namespace_id TEXT NOT NULL,
    run_id TEXT NOT NULL,
    _version BIGINT NOT NULL,
    bucket SMALLINT NOT NULL,
    deleted_until BIGINT,
    division TEXT,
    status SMALLINT,
    close_inv BIGINT,
    start_inv BIGINT,
    execution_time BIGINT,
    workflow_id TEXT,
    workflow_type_name TEXT,
    task_queue TEXT,
    root_workflow_id TEXT,
    root_run_id TEXT,
    encoding TEXT,
    count_keyword TEXT,
    execution_duration BIGINT,
    history_length BIGINT,
    history_size_bytes BIGINT,
    state_transition_count BIGINT,
    parent_workflow_id TEXT,
    parent_run_id TEXT,
    memo BYTEA,
    search_attributes JSONB,
    PRIMARY KEY (namespace_id, run_id)
);

CREATE INDEX ASYNC IF NOT EXISTS visibility_by_time ON executions_visibility (namespace_id, division, bucket, close_inv, start_inv, run_id);
CREATE INDEX ASYNC IF NOT EXISTS visibility_by_status ON executions_visibility (namespace_id, division, status, bucket, close_inv, start_inv, run_id);
CREATE INDEX ASYNC IF NOT EXISTS visibility_by_type ON executions_visibility (namespace_id, division, workflow_type_name, bucket, close_inv, start_inv, run_id);
CREATE INDEX ASYNC IF NOT EXISTS visibility_by_type_status ON executions_visibility (namespace_id, division, workflow_type_name, status, bucket, close_inv, start_inv, run_id);
CREATE INDEX ASYNC IF NOT EXISTS visibility_by_task_queue ON executions_visibility (namespace_id, task_queue, bucket, close_inv, start_inv, run_id);
CREATE INDEX ASYNC IF NOT EXISTS visibility_by_workflow_id ON executions_visibility (namespace_id, workflow_id, close_inv, start_inv, run_id);
CREATE INDEX ASYNC IF NOT EXISTS visibility_by_root ON executions_visibility (namespace_id, root_workflow_id, close_inv, start_inv, run_id);
CREATE INDEX ASYNC IF NOT EXISTS visibility_by_parent ON executions_visibility (namespace_id, parent_workflow_id, close_inv, start_inv, run_id) WHERE parent_workflow_id IS NOT NULL;
CREATE INDEX ASYNC IF NOT EXISTS visibility_by_expiry ON executions_visibility (bucket, deleted_until) WHERE deleted_until IS NOT NULL;

-- What does not fit the column of a run's memo, which holds 1 MiB: parts of 1 MiB, from 1 on.

CREATE TABLE IF NOT EXISTS visibility_memos (
    namespace_id TEXT NOT NULL,
    run_id TEXT NOT NULL,
    part SMALLINT NOT NULL,
    data BYTEA NOT NULL,
    PRIMARY KEY (namespace_id, run_id, part)
);

-- One row for each value of a search attribute of a run: a list has several, a text one for each word.

CREATE TABLE IF NOT EXISTS visibility_postings (
    namespace_id TEXT NOT NULL,
    run_id TEXT NOT NULL,
    attribute TEXT NOT NULL,
    value TEXT NOT NULL,
    bucket SMALLINT NOT NULL,
    close_inv BIGINT NOT NULL,
    start_inv BIGINT NOT NULL,
    PRIMARY KEY (namespace_id, run_id, attribute, value)
);

CREATE INDEX ASYNC IF NOT EXISTS visibility_by_value ON visibility_postings (namespace_id, attribute, value, bucket, close_inv, start_inv, run_id);

-- How many runs there are: the sum of the deltas. A write inserts rows, nobody updates one, and the compactor
-- replaces many by their sum.

CREATE TABLE IF NOT EXISTS visibility_counts (
    namespace_id TEXT NOT NULL,
    division TEXT NOT NULL,
    status SMALLINT NOT NULL,
    count_keyword TEXT NOT NULL,
    id UUID NOT NULL,
    delta BIGINT NOT NULL,
    PRIMARY KEY (namespace_id, division, status, count_keyword, id)
);
