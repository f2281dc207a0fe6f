/*
 * A recording of the keeper as bytes, without I/O. Its parts, from small to large:
 *
 *     record    a call and its reply: what the keeper was told, and what it said
 *     snapshot  everything the keeper knows between two turns
 *     chunk     a header, then bytes: what is written at once. The header holds a sum over both,
 *               the number of the segment and the chunk's place in it
 *     segment   chunks, the first of which begins with an opening: format, version of the program,
 *               wall clock, snapshot. Records follow, and maybe an end with a snapshot
 *     file      a ring of DSQL_TRACE_SEGMENTS segments of equal size; segment n begins at
 *               n % DSQL_TRACE_SEGMENTS times that size
 *
 * Integers are LEB128, those with a sign zigzag; doubles are their eight bytes. A chunk's header is
 * little-endian. No text of a caller, no name, no address and no secret is in it: times, counts,
 * slots and reasons only.
 *
 * Whatever is read is checked against its range, so that a keeper that was made of it, and is told
 * only what dsql_keeper_call_is_possible(), neither aborts nor overflows.
 */
#ifndef DSQL_CORE_KEEPER_TRACE_H
#define DSQL_CORE_KEEPER_TRACE_H

#include "core/keeper_call.h"

enum {
    DSQL_TRACE_FORMAT = 1,
    DSQL_TRACE_SEGMENTS = 8,
    DSQL_TRACE_HEADER = 40,      /* bytes of a chunk's header */
    DSQL_TRACE_RECORD_MAX = 128, /* bytes of a record, at most */
    DSQL_TRACE_VERSION_MAX = 32, /* characters of the program's version, with the NUL */
};

/* Reads and writes alike: each function below either takes the value from the bytes or adds it. */
struct dsql_codec {
    const uint8_t *from; /* reading: the next byte; NULL: writing */
    uint8_t *to;         /* writing: the next byte */
    const void *end;
    bool failed; /* no room, or nothing there, or a value that can't be */
};
struct dsql_codec dsql_codec_reader(const void *bytes, size_t len);
struct dsql_codec dsql_codec_writer(void *bytes, size_t room);
/* Bytes that are left to read, or room to write. */
size_t dsql_codec_left(const struct dsql_codec *codec);

void dsql_codec_call(struct dsql_codec *codec, struct dsql_keeper_call *call);
void dsql_codec_reply(struct dsql_codec *codec, enum dsql_keeper_call_kind kind,
                      struct dsql_keeper_reply *reply);

/* The end of a recording that was closed: stands where a record would; a snapshot follows. */
void dsql_codec_put_end(struct dsql_codec *codec);
/* Reads the end mark. False if it is not there. */
bool dsql_codec_take_end(struct dsql_codec *codec);

struct dsql_trace_opening {
    struct dsql_wall wall; /* when the segment began, which is the snapshot's moment */
    struct dsql_mono now;  /* the snapshot's moment, on the keeper's clock */
    bool follows;          /* on the segment before, without a gap */
    char version[DSQL_TRACE_VERSION_MAX]; /* of the program that wrote it */
};
/* DSQL_INVALID if the format is another one. */
void dsql_codec_opening(struct dsql_codec *codec, struct dsql_trace_opening *opening);

/* Bytes of a snapshot, at most. */
size_t dsql_trace_snapshot_max(uint32_t max_open);
/* Between two turns. */
void dsql_trace_put_snapshot(struct dsql_codec *codec, const struct dsql_keeper *keeper);
/* *keeper is not initialized; on success it has to be finished. DSQL_INVALID, DSQL_NO_MEMORY. */
DSQL_MUST_USE enum dsql_rc dsql_trace_take_snapshot(struct dsql_codec *codec,
                                                    struct dsql_keeper *keeper);

/* Bytes of a segment of such a keeper. */
size_t dsql_trace_segment_size(uint32_t max_open);

struct dsql_trace_chunk {
    uint64_t segment;      /* its number, from 0 on */
    uint32_t index;        /* in the segment, from 0 on */
    uint32_t len;          /* bytes after the header */
    uint64_t segment_size; /* of the whole file */
};
/* `bytes` follow the header. */
void dsql_trace_put_chunk(uint8_t header[DSQL_TRACE_HEADER], const struct dsql_trace_chunk *chunk,
                          const uint8_t *bytes);
/* Whether a whole chunk is at the start of the bytes. */
bool dsql_trace_take_chunk(const uint8_t *bytes, size_t len, struct dsql_trace_chunk *chunk);

#endif
