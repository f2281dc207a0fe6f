#include "pool/roots.h"

#include <openssl/pem.h>
#include <openssl/x509.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

const char *dsql_roots_bundle(void)
{
    static const char *const places[] = {
        "/etc/ssl/certs/ca-certificates.crt", /* Debian, Ubuntu, Alpine */
        "/etc/pki/tls/certs/ca-bundle.crt",   /* Amazon Linux, Fedora, RHEL */
        "/etc/ssl/ca-bundle.pem",             /* SUSE */
        "/etc/ssl/cert.pem",
    };
    for (size_t i = 0; i < DSQL_COUNT_OF(places); i++)
        if (access(places[i], R_OK) == 0)
            return places[i];
    return NULL;
}

/* Amazon's own, and the one of Starfield that Amazon bought and signs its own with. */
static bool is_amazons(X509 *certificate)
{
    char subject[512];
    if (!X509_NAME_oneline(X509_get_subject_name(certificate), subject, sizeof(subject)))
        return false;
    return strstr(subject, "/O=Amazon/") != NULL ||
           strstr(subject, "CN=Starfield Services Root Certificate Authority") != NULL;
}

static size_t copy_amazons(FILE *from, FILE *to)
{
    size_t count = 0;
    X509 *certificate;
    while ((certificate = PEM_read_X509(from, NULL, NULL, NULL)) != NULL) {
        if (is_amazons(certificate) && PEM_write_X509(to, certificate))
            count++;
        X509_free(certificate);
    }
    return count;
}

size_t dsql_roots_make(const char *bundle, int *fd, char *path, size_t path_size)
{
    assert(path_size >= 64);
    FILE *from = bundle ? fopen(bundle, "re") : NULL;
    int memory = from ? memfd_create("dsql-roots", MFD_CLOEXEC) : -1;
    int copy = memory >= 0 ? dup(memory) : -1;
    FILE *to = copy >= 0 ? fdopen(copy, "w") : NULL;
    if (copy >= 0 && !to)
        (void)close(copy);
    size_t count = to ? copy_amazons(from, to) : 0;
    if (to && fclose(to) != 0)
        count = 0;
    if (from)
        (void)fclose(from);
    if (count == 0) {
        if (memory >= 0)
            (void)close(memory);
        return 0;
    }
    (void)snprintf(path, path_size, "/proc/self/fd/%d", memory);
    *fd = memory;
    return count;
}
