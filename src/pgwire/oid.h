/* The numbers of PostgreSQL's types, from its catalogue pg_type. They never change. A statement
 * declares the types of its parameters, since the service uses an index only if a parameter has the
 * column's own type. */
#ifndef DSQL_PGWIRE_OID_H
#define DSQL_PGWIRE_OID_H

enum {
    DSQL_OID_UNKNOWN = 0, /* the server finds the type out */
    DSQL_OID_BOOL = 16,
    DSQL_OID_BYTEA = 17,
    DSQL_OID_INT8 = 20,
    DSQL_OID_INT2 = 21,
    DSQL_OID_INT4 = 23,
    DSQL_OID_TEXT = 25,
    DSQL_OID_OID = 26,
    DSQL_OID_FLOAT4 = 700,
    DSQL_OID_FLOAT8 = 701,
    DSQL_OID_TEXT_ARRAY = 1009,
    DSQL_OID_BPCHAR = 1042,
    DSQL_OID_VARCHAR = 1043,
    DSQL_OID_TIMESTAMP = 1114,
    DSQL_OID_TIMESTAMPTZ = 1184,
    DSQL_OID_UUID = 2950,
    DSQL_OID_JSONB = 3802,
};

#endif
