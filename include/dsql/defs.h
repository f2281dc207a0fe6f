/* Attributes used by the public headers. Nothing here is meant for callers. */
#ifndef DSQL_DEFS_H
#define DSQL_DEFS_H

#if defined(__GNUC__) || defined(__clang__)
#define DSQL_API               __attribute__((visibility("default")))
#define DSQL_MUST_USE          __attribute__((warn_unused_result))
#define DSQL_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#else
#define DSQL_API
#define DSQL_MUST_USE
#define DSQL_PRINTF(fmt, args)
#endif

#endif
