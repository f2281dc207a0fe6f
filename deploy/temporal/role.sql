-- The database role of the Temporal servers, made once by admin after `dsql schema apply`. It reads and writes
-- rows and changes no table. Put the ARN of the servers' IAM role in place of ROLE_ARN; that role needs
-- dsql:DbConnect (deploy/iam/connect-policy.json), and the servers DSQL_USER=temporal.
CREATE ROLE temporal WITH LOGIN;
AWS IAM GRANT temporal TO 'ROLE_ARN';
GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO temporal;
