/* Replays a fuzz target's corpus (the folder in $CORPUS) as an ordinary test. */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/fuzz.h"

static int replay(const char *path)
{
    FILE *in = fopen(path, "rb");
    if (!in) {
        fprintf(stderr, "can't open %s: %s\n", path, strerror(errno));
        return 1;
    }
    size_t cap = 1 << 20;
    unsigned char *bytes = malloc(cap);
    size_t len = bytes ? fread(bytes, 1, cap, in) : 0;
    fclose(in);
    if (!bytes)
        return 1;
    /* A copy of exactly this size, so that a sanitizer sees the first byte read behind it. */
    unsigned char *exact = malloc(len ? len : 1);
    if (exact) {
        memcpy(exact, bytes, len);
        (void)LLVMFuzzerTestOneInput(exact, len);
    }
    free(bytes);
    free(exact);
    return exact ? 0 : 1;
}

int main(void)
{
    const char *folder = getenv("CORPUS");
    DIR *dir = folder ? opendir(folder) : NULL;
    if (!dir) {
        fprintf(stderr, "no corpus at %s\n", folder ? folder : "$CORPUS (not set)");
        return 1;
    }
    unsigned count = 0;
    int failed = 0;
    for (struct dirent *entry; (entry = readdir(dir));) {
        char path[PATH_MAX];
        if (entry->d_name[0] == '.')
            continue;
        (void)snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
        failed += replay(path);
        count++;
    }
    closedir(dir);
    printf("%u inputs replayed\n", count);
    return failed || count == 0;
}
