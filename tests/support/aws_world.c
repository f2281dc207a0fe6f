#include "support/aws_world.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/time.h"

#define ROLE_PATH "/latest/meta-data/iam/security-credentials/"

static void note(struct aws_world *world, const char *what, struct dsql_span detail)
{
    (void)pthread_mutex_lock(&world->lock);
    size_t len = strlen(world->log);
    struct dsql_strbuf sb;
    dsql_strbuf_init(&sb, world->log + len, sizeof(world->log) - len);
    dsql_strbuf_addf(&sb, "%s(%.*s) ", what, DSQL_SPAN_ARG(detail));
    (void)pthread_mutex_unlock(&world->lock);
}

static void add_time(const struct aws_world *world, struct dsql_strbuf *sb)
{
    dsql_wall_format(sb, (struct dsql_wall){world->expires_s * DSQL_S});
}

static void tell_json(const struct aws_world *world, struct http_told *told, const char *id)
{
    dsql_strbuf_addf(&told->body,
                     "{\"Code\":\"Success\",\"Type\":\"AWS-HMAC\",\"AccessKeyId\":\"%s\","
                     "\"SecretAccessKey\":\"5ec2e7\",\"Token\":\"5e5510n\",\"Expiration\":\"",
                     id);
    add_time(world, &told->body);
    dsql_strbuf_add_str(&told->body, "\"}");
}

/* A parameter of a form, still encoded. */
static struct dsql_span param(struct dsql_span body, const char *wanted)
{
    struct dsql_span pair, name, value;
    while (body.len > 0) {
        (void)dsql_span_cut(body, '&', &pair, &body);
        if (dsql_span_cut(pair, '=', &name, &value) && dsql_span_eq(name, dsql_span_of(wanted)))
            return value;
    }
    return DSQL_SPAN("");
}

/* The access key id of "AWS4-HMAC-SHA256 Credential=AKID/2026...". */
static struct dsql_span signer(const struct http_asked *asked)
{
    struct dsql_span before, rest, id;
    if (!dsql_span_cut(http_asked_header(asked, "authorization"), '=', &before, &rest))
        return DSQL_SPAN("nobody");
    (void)dsql_span_cut(rest, '/', &id, &rest);
    return id;
}

/* arn%3Aaws%3Aiam%3A%3A1%3Arole%2Fapp gives app. */
static struct dsql_span role_name(struct dsql_span arn)
{
    size_t at = arn.len;
    while (at > 0 && arn.ptr[at - 1] != 'F')
        at--;
    return dsql_span_from(arn, at);
}

static void tell_sts(struct aws_world *world, const struct http_asked *asked,
                     struct http_told *told)
{
    struct dsql_span action = param(asked->body, "Action");
    struct dsql_span role = role_name(param(asked->body, "RoleArn"));
    struct dsql_span proof = dsql_span_eq(action, DSQL_SPAN("AssumeRole"))
                                 ? signer(asked)
                                 : param(asked->body, "WebIdentityToken");
    char text[200];
    struct dsql_strbuf sb;
    dsql_strbuf_init(&sb, text, sizeof(text));
    dsql_strbuf_addf(&sb, "%.*s,%.*s,%.*s,%.*s", DSQL_SPAN_ARG(role), DSQL_SPAN_ARG(proof),
                     DSQL_SPAN_ARG(param(asked->body, "ExternalId")),
                     DSQL_SPAN_ARG(param(asked->body, "DurationSeconds")));
    note(world, "sts", dsql_strbuf_span(&sb));
    dsql_strbuf_addf(&told->body,
                     "<%.*sResponse xmlns=\"https://sts.amazonaws.com/doc/2011-06-15/\"><Result>"
                     "<Credentials><AccessKeyId>ASIA%.*s</AccessKeyId>"
                     "<SecretAccessKey>5ec2e7</SecretAccessKey>"
                     "<SessionToken>5e5510n</SessionToken><Expiration>",
                     DSQL_SPAN_ARG(action), DSQL_SPAN_ARG(role));
    add_time(world, &told->body);
    dsql_strbuf_addf(&told->body, "</Expiration></Credentials></Result></%.*sResponse>",
                     DSQL_SPAN_ARG(action));
}

static bool break_it(const struct aws_world *world, struct http_told *told)
{
    static const int statuses[] = {
        [WORLD_403] = 403, [WORLD_404] = 404, [WORLD_500] = 500, [WORLD_REFUSES] = 400};
    switch (world->fault) {
    case WORLD_FINE:
        return false;
    case WORLD_STALLS:
        told->stall = true;
        break;
    case WORLD_HANGS_UP:
        told->status = 0;
        break;
    case WORLD_GARBAGE:
        told->raw = "5ec2e7\n";
        break;
    case WORLD_NO_ANSWER:
        dsql_strbuf_add_str(&told->body, "<html>5ec2e7</html>");
        break;
    case WORLD_HUGE:
        told->padding = 4000000;
        break;
    case WORLD_403:
    case WORLD_404:
    case WORLD_500:
        told->status = statuses[world->fault];
        break;
    case WORLD_REFUSES:
        told->status = statuses[world->fault];
        dsql_strbuf_add_str(&told->body,
                            world->broken_path[1] == '\0'
                                ? "<ErrorResponse><Error><Code>AccessDenied</Code><Message>you may "
                                  "not</Message></Error></ErrorResponse>"
                                : "{\"code\":\"AccessDenied\",\"message\":\"you may not\"}");
        break;
    }
    return true;
}

static void answer(void *arg, const struct http_asked *asked, struct http_told *told)
{
    struct aws_world *world = arg;
    struct dsql_span broken = dsql_span_of(world->broken_path ? world->broken_path : "");
    bool put = dsql_span_eq(asked->method, DSQL_SPAN("PUT"));
    bool with_token = dsql_span_eq(http_asked_header(asked, "x-aws-ec2-metadata-token"),
                                   DSQL_SPAN("metadata-token"));
    if (broken.len > 0 && dsql_span_eq(asked->target, broken) && break_it(world, told)) {
        note(world, "broken", asked->target);
    } else if (dsql_span_eq(asked->target, DSQL_SPAN("/latest/api/token"))) {
        struct dsql_span ttl = http_asked_header(asked, "x-aws-ec2-metadata-token-ttl-seconds");
        note(world, "token", ttl);
        told->status = put && ttl.len > 0 ? 200 : 400;
        dsql_strbuf_add_str(&told->body, "metadata-token");
    } else if (dsql_span_eq(asked->target, DSQL_SPAN(ROLE_PATH))) {
        note(world, "role", DSQL_SPAN(""));
        told->status = with_token ? 200 : 401;
        dsql_strbuf_add_str(&told->body, "web-role\n");
    } else if (dsql_span_eq(asked->target, DSQL_SPAN(ROLE_PATH "web-role"))) {
        note(world, "keys", DSQL_SPAN("web-role"));
        told->status = with_token ? 200 : 401;
        tell_json(world, told, "ASIAINSTANCE");
    } else if (dsql_span_eq(asked->target, DSQL_SPAN("/container"))) {
        note(world, "container", http_asked_header(asked, "authorization"));
        tell_json(world, told, "ASIACONTAINER");
    } else if (dsql_span_eq(asked->method, DSQL_SPAN("POST"))) {
        tell_sts(world, asked, told);
    } else {
        note(world, "unknown", asked->target);
        told->status = 404;
    }
}

static void must(bool ok, const char *what)
{
    if (!ok) {
        perror(what);
        abort();
    }
}

static void expand(const struct aws_world *world, const char *text, struct dsql_strbuf *out)
{
    for (struct dsql_span s = dsql_span_of(text); s.len > 0;) {
        if (dsql_span_starts(s, DSQL_SPAN("{URL}"))) {
            dsql_strbuf_add_str(out, world->server.url);
            s = dsql_span_from(s, 5);
        } else if (dsql_span_starts(s, DSQL_SPAN("{HOME}"))) {
            dsql_strbuf_add_str(out, world->home);
            s = dsql_span_from(s, 6);
        } else {
            dsql_strbuf_add_char(out, s.ptr[0]);
            s = dsql_span_from(s, 1);
        }
    }
    must(!out->cut, "text of the test");
}

static void path_of(const struct aws_world *world, const char *name, char path[200])
{
    struct dsql_strbuf sb;
    dsql_strbuf_init(&sb, path, 200);
    dsql_strbuf_addf(&sb, "%s/.aws%s%s", world->home, name[0] ? "/" : "", name);
}

void aws_world_file(struct aws_world *world, const char *name, const char *text)
{
    char path[200], memory[4096];
    struct dsql_strbuf sb;
    path_of(world, name, path);
    if (!text) {
        (void)unlink(path);
        return;
    }
    dsql_strbuf_init(&sb, memory, sizeof(memory));
    expand(world, text, &sb);
    FILE *file = fopen(path, "we");
    must(file && fputs(memory, file) >= 0 && fclose(file) == 0, path);
}

void aws_world_environment(struct aws_world *world, const char *lines)
{
    struct dsql_span rest = dsql_span_of(lines), line;
    char memory[2048];
    size_t count = 0;
    for (int own = 0; rest.len > 0 || own < 3;) {
        struct dsql_strbuf sb;
        dsql_strbuf_init(&sb, world->env_text[count], sizeof(world->env_text[count]));
        if (own < 3) {
            static const char *const lines_of_ours[] = {"HOME={HOME}",
                                                        "AWS_EC2_METADATA_SERVICE_ENDPOINT={URL}",
                                                        "AWS_ENDPOINT_URL_STS={URL}"};
            expand(world, lines_of_ours[own++], &sb);
        } else {
            (void)dsql_span_cut(rest, ' ', &line, &rest);
            must(line.len < sizeof(memory), "line");
            memcpy(memory, line.ptr, line.len);
            memory[line.len] = '\0';
            expand(world, memory, &sb);
        }
        world->env[count] = world->env_text[count];
        count++;
        must(count < WORLD_ENV_MAX, "too many variables");
    }
    world->env[count] = NULL;
}

void aws_world_asked(struct aws_world *world, char *copy, size_t cap)
{
    (void)pthread_mutex_lock(&world->lock);
    must(strlen(world->log) < cap, "log");
    memcpy(copy, world->log, strlen(world->log) + 1);
    world->log[0] = '\0';
    (void)pthread_mutex_unlock(&world->lock);
}

void aws_world_start(struct aws_world *world)
{
    char path[200];
    memset(world, 0, sizeof(*world));
    (void)pthread_mutex_init(&world->lock, NULL);
    world->expires_s = INT64_C(4102444800);
    memcpy(world->home, "/tmp/dsql-world-XXXXXX", sizeof("/tmp/dsql-world-XXXXXX"));
    must(mkdtemp(world->home) != NULL, "mkdtemp");
    path_of(world, "", path);
    must(mkdir(path, 0700) == 0, path);
    http_server_start(&world->server, answer, world);
    aws_world_environment(world, "");
}

void aws_world_stop(struct aws_world *world)
{
    static const char *const names[] = {"config", "credentials", "token", ""};
    char path[200];
    http_server_stop(&world->server);
    for (size_t i = 0; i < DSQL_COUNT_OF(names); i++) {
        path_of(world, names[i], path);
        (void)remove(path);
    }
    (void)remove(world->home);
    (void)pthread_mutex_destroy(&world->lock);
}
