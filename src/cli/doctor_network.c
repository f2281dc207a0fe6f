/*
 * The way to the endpoint: its name, a TCP connection, PostgreSQL's request for TLS, the handshake
 * and the certificate. Done apart from libpq because each step has its own cause and its own cure.
 */
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/shown.h"
#include "base/time.h"
#include "cli/doctor.h"

enum { ADDRESSES_SHOWN = 4, ADDRESS_TEXT_MAX = 64, EXPIRES_SOON_DAYS = 14 };

static const char *address_text(const struct addrinfo *at, char (*memory)[ADDRESS_TEXT_MAX])
{
    if (getnameinfo(at->ai_addr, at->ai_addrlen, *memory, sizeof(*memory), NULL, 0, NI_NUMERICHOST))
        (void)snprintf(*memory, sizeof(*memory), "?");
    return *memory;
}

static struct addrinfo *resolve(struct dsql_doctor *doctor)
{
    char service[8], memory[ADDRESS_TEXT_MAX], list_memory[ADDRESSES_SHOWN * ADDRESS_TEXT_MAX];
    const char *fixed = doctor->config.hostaddr;
    bool is_fixed = fixed[0] != '\0';
    struct addrinfo wanted = {.ai_socktype = SOCK_STREAM,
                              .ai_flags = AI_NUMERICSERV | (is_fixed ? AI_NUMERICHOST : 0)};
    struct addrinfo *found = NULL;
    struct dsql_strbuf list;
    (void)snprintf(service, sizeof(service), "%u", doctor->port);
    int failed = getaddrinfo(is_fixed ? fixed : doctor->endpoint.host, service, &wanted, &found);
    if (failed) {
        dsql_doctor_say(doctor, is_fixed ? DSQL_FOUND_DNS_NO_ADDRESS : DSQL_FOUND_DNS_NO_NAME,
                        "%s: %s", is_fixed ? dsql_shown_str(fixed).text : doctor->endpoint.host,
                        gai_strerror(failed));
        return NULL;
    }
    dsql_strbuf_init(&list, list_memory, sizeof(list_memory));
    size_t n = 0;
    for (const struct addrinfo *at = found; at && n < ADDRESSES_SHOWN; at = at->ai_next, n++)
        dsql_strbuf_addf(&list, "%s%s", n ? ", " : "", address_text(at, &memory));
    dsql_doctor_say(doctor, DSQL_FOUND_DNS_OK, "%s is %s%s", doctor->endpoint.host, list_memory,
                    is_fixed ? ", as DSQL_HOSTADDR says" : "");
    return found;
}

/* With a time limit, being stopped and continued interrupts connect(), recv() and what OpenSSL
 * makes of them: that says nothing about the endpoint, and each is done again. */
static bool is_interrupted(void)
{
    return errno == EINTR;
}

/* A connected socket whose reads and writes end after the time limit, or -1 with errno. */
static int dial_once(const struct addrinfo *at, int64_t timeout_ns)
{
    struct timeval limit = {.tv_sec = timeout_ns / DSQL_S,
                            .tv_usec = (suseconds_t)(timeout_ns % DSQL_S / DSQL_US)};
    int fd = socket(at->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -1;
    (void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
    (void)setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit)); /* of connect() too */
    if (connect(fd, at->ai_addr, at->ai_addrlen) == 0)
        return fd;
    int why = errno == EINPROGRESS ? ETIMEDOUT : errno;
    close(fd);
    errno = why;
    return -1;
}

static int dial(const struct addrinfo *at, int64_t timeout_ns)
{
    int fd;
    do
        fd = dial_once(at, timeout_ns);
    while (fd < 0 && is_interrupted());
    return fd;
}

static void say_unreachable(struct dsql_doctor *doctor, const char *address, int why)
{
    enum dsql_diagnosis finding = DSQL_FOUND_TLS_UNREACHABLE;
    if (why == ECONNREFUSED)
        finding = DSQL_FOUND_TLS_REFUSED;
    else if (why == ETIMEDOUT || why == EAGAIN)
        finding = DSQL_FOUND_TLS_DROPPED;
    dsql_doctor_say(doctor, finding, "no connection to %s port %u: %s", address, doctor->port,
                    strerror(why == EAGAIN ? ETIMEDOUT : why));
}

/* The first address that takes a connection; the last one's failure is what is said. */
static int dial_any(struct dsql_doctor *doctor, const struct addrinfo *addresses)
{
    char memory[ADDRESS_TEXT_MAX] = "";
    int why = 0;
    for (const struct addrinfo *at = addresses; at; at = at->ai_next) {
        int fd = dial(at, doctor->timeout_ns);
        why = errno;
        (void)snprintf(doctor->hostaddr, sizeof(doctor->hostaddr), "%s", address_text(at, &memory));
        if (fd >= 0)
            return fd;
    }
    say_unreachable(doctor, doctor->hostaddr, why);
    doctor->hostaddr[0] = '\0';
    return -1;
}

/* PostgreSQL's SSLRequest; 'S' is the answer of a server that speaks TLS. */
static bool ask_for_tls(struct dsql_doctor *doctor, int fd)
{
    static const unsigned char request[8] = {0, 0, 0, 8, 0x04, 0xd2, 0x16, 0x2f};
    char answer = 0;
    ssize_t n = -1;
    if (send(fd, request, sizeof(request), MSG_NOSIGNAL) == (ssize_t)sizeof(request))
        do
            n = recv(fd, &answer, 1, 0);
        while (n < 0 && is_interrupted());
    if (n == 1 && answer == 'S')
        return true;
    const char *what = n == 1                                    ? "answers without TLS"
                       : n == 0                                  ? "closed the connection at once"
                       : errno == EAGAIN || errno == EWOULDBLOCK ? "does not answer"
                                                                 : strerror(errno);
    dsql_doctor_say(doctor, DSQL_FOUND_TLS_STRANGER, "%s port %u %s", doctor->hostaddr,
                    doctor->port, what);
    return false;
}

static SSL_CTX *make_context(struct dsql_doctor *doctor)
{
    SSL_CTX *context = SSL_CTX_new(TLS_client_method());
    if (!context)
        return NULL;
    (void)SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
    SSL_CTX_set_verify(context, SSL_VERIFY_NONE, NULL); /* the result is looked at afterwards */
    int loaded = doctor->ca_file ? SSL_CTX_load_verify_locations(context, doctor->ca_file, NULL)
                                 : SSL_CTX_set_default_verify_paths(context);
    if (loaded == 1)
        return context;
    dsql_doctor_say(doctor, doctor->ca_file ? DSQL_FOUND_TLS_NO_CA_FILE : DSQL_FOUND_TLS_NO_ROOTS,
                    "can't read the trusted roots%s%s", doctor->ca_file ? " in " : "",
                    doctor->ca_file ? dsql_shown_str(doctor->ca_file).text : "");
    SSL_CTX_free(context);
    return NULL;
}

static void common_name(X509_NAME *name, char *out, int cap)
{
    if (X509_NAME_get_text_by_NID(name, NID_commonName, out, cap) < 0)
        (void)X509_NAME_oneline(name, out, cap);
}

static void judge_certificate(struct dsql_doctor *doctor, SSL *ssl)
{
    X509 *certificate = SSL_get1_peer_certificate(ssl);
    long verdict = SSL_get_verify_result(ssl);
    char issuer[128] = "an unknown issuer";
    int days = 0, seconds = 0;
    if (certificate) {
        common_name(X509_get_issuer_name(certificate), issuer, sizeof(issuer));
        (void)ASN1_TIME_diff(&days, &seconds, NULL, X509_get0_notAfter(certificate));
    }
    const char *shown_issuer = issuer;
    struct dsql_shown clean = dsql_shown_str(shown_issuer);
    if (!certificate || verdict != X509_V_OK) {
        enum dsql_diagnosis finding = DSQL_FOUND_TLS_UNTRUSTED;
        if (verdict == X509_V_ERR_HOSTNAME_MISMATCH)
            finding = DSQL_FOUND_TLS_OTHER_NAME;
        else if (verdict == X509_V_ERR_CERT_HAS_EXPIRED || verdict == X509_V_ERR_CERT_NOT_YET_VALID)
            finding = DSQL_FOUND_TLS_DATES;
        dsql_doctor_say(doctor, finding, "the certificate of %s, issued by %s, is not trusted: %s",
                        doctor->endpoint.host, clean.text, X509_verify_cert_error_string(verdict));
    } else {
        doctor->reachable = true;
        bool soon = days < EXPIRES_SOON_DAYS && !doctor->ca_file;
        dsql_doctor_say(doctor, soon ? DSQL_FOUND_TLS_ENDS_SOON : DSQL_FOUND_TLS_OK,
                        "%s, certificate issued by %s, %d days left", SSL_get_version(ssl),
                        clean.text, days);
    }
    X509_free(certificate);
}

static bool shake_hands(SSL *ssl)
{
    int rc;
    do {
        errno = 0;
        rc = SSL_connect(ssl);
    } while (rc != 1 && is_interrupted() && SSL_want(ssl) != SSL_NOTHING);
    return rc == 1;
}

static void check_tls(struct dsql_doctor *doctor, int fd)
{
    SSL_CTX *context = make_context(doctor);
    if (!context)
        return;
    SSL *ssl = SSL_new(context);
    bool armed = ssl && SSL_set_fd(ssl, fd) == 1 &&
                 SSL_set_tlsext_host_name(ssl, doctor->endpoint.host) == 1 &&
                 SSL_set1_host(ssl, doctor->endpoint.host) == 1;
    ERR_clear_error();
    if (armed && shake_hands(ssl)) {
        judge_certificate(doctor, ssl);
        (void)SSL_shutdown(ssl);
    } else {
        const char *reason = ERR_reason_error_string(ERR_peek_last_error());
        dsql_doctor_say(doctor, DSQL_FOUND_TLS_HANDSHAKE, "no handshake with %s port %u: %s",
                        doctor->hostaddr, doctor->port,
                        reason ? reason : "the connection was closed or too slow");
    }
    SSL_free(ssl);
    SSL_CTX_free(context);
}

void dsql_doctor_network(struct dsql_doctor *doctor)
{
    if (!doctor->has_endpoint) {
        dsql_doctor_say(doctor, DSQL_FOUND_DNS_SKIPPED, "needs an endpoint");
        dsql_doctor_say(doctor, DSQL_FOUND_TLS_SKIPPED, "needs an endpoint");
        return;
    }
    struct addrinfo *addresses = resolve(doctor);
    if (!addresses) {
        dsql_doctor_say(doctor, DSQL_FOUND_TLS_SKIPPED, "needs an address");
        return;
    }
    int fd = dial_any(doctor, addresses);
    if (fd >= 0 && ask_for_tls(doctor, fd))
        check_tls(doctor, fd);
    if (fd >= 0)
        close(fd);
    freeaddrinfo(addresses);
}
