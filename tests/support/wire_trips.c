#include "support/wire_trips.h"

#include <libpq-fe.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/test.h"

void wire_trips_begin(struct wire_trips *trips, PGconn *pg)
{
    *trips = (struct wire_trips){.pg = pg};
    trips->file = open_memstream(&trips->text, &trips->size);
    assert_non_null(trips->file);
    PQtrace(pg, trips->file);
    PQsetTraceFlags(pg, PQTRACE_SUPPRESS_TIMESTAMPS);
}

unsigned wire_trips_end(struct wire_trips *trips, unsigned *syncs)
{
    PQuntrace(trips->pg);
    fclose(trips->file);
    unsigned changes = 0, sent_syncs = 0;
    char speaker = 'B', *rest = NULL;
    for (char *line = strtok_r(trips->text, "\n", &rest); line;
         line = strtok_r(NULL, "\n", &rest)) {
        if (line[0] != 'F' && line[0] != 'B')
            continue; /* a value with a line end in it */
        changes += line[0] == 'B' && speaker == 'F';
        speaker = line[0];
        const char *tab = strchr(line, '\t'), *name = tab ? strchr(tab + 1, '\t') : NULL;
        sent_syncs += speaker == 'F' && name && strncmp(name + 1, "Sync", 4) == 0;
    }
    free(trips->text);
    if (syncs)
        *syncs = sent_syncs;
    return changes;
}
