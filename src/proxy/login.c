/*
 * Who a client is, once its startup packet is there: a user of this machine by the kernel's word,
 * or a user of the users file by its password (SCRAM-SHA-256). Whether a user exists, which role it
 * has and what it asks for is looked at after the password.
 */
#include <stdlib.h>

#include "pgwire/cursor.h"
#include "pgwire/put_backend.h"
#include "proxy/proxy.h"
#include "proxy/users.h"

#define MECHANISM "SCRAM-SHA-256"

/* What is held of a client while it logs in. */
struct dsql_login {
    struct dsql_strbuf packet; /* the body of its startup packet */
    struct dsql_scram scram;
    bool began; /* its first message was answered */
};

void dsql_proxy_login_free(struct dsql_client *client)
{
    if (!client->login_state)
        return;
    dsql_strbuf_fini(&client->login_state->packet);
    dsql_scram_fini(&client->login_state->scram);
    free(client->login_state);
    client->login_state = NULL;
}

static void put_sasl(struct dsql_client *client, enum dsql_pg_auth_kind kind, struct dsql_span data)
{
    struct dsql_pg_msg msg = dsql_pg_msg_begin(&client->out.bytes, DSQL_PG_BE_AUTHENTICATION);
    dsql_pg_msg_u32(&msg, (uint32_t)kind);
    dsql_pg_msg_bytes(&msg, data);
    dsql_pg_msg_end(&msg);
}

void dsql_proxy_login_begin(struct dsql_client *client, struct dsql_span packet,
                            const struct dsql_pg_startup *startup)
{
    struct dsql_span user = DSQL_SPAN("");
    struct dsql_scram_verifier verifier;
    struct dsql_login *login = calloc(1, sizeof(*login));
    (void)dsql_pg_params_get(startup->params, DSQL_SPAN("user"), &user);
    if (!login || !dsql_users_verifier(&client->proxy->users, user, &verifier)) {
        free(login);
        dsql_client_fatal(client, "53200", "out of memory", "");
        return;
    }
    dsql_scram_init(&login->scram, &verifier);
    dsql_strbuf_init_heap(&login->packet, DSQL_PG_STARTUP_MOST);
    dsql_strbuf_add(&login->packet, packet);
    client->login_state = login;
    client->state = DSQL_CLIENT_LOGIN;
    dsql_pg_framer_expect(&client->in, &client->proxy->login_limits);
    put_sasl(client, DSQL_PG_AUTH_SASL, (struct dsql_span){MECHANISM "\0", sizeof(MECHANISM) + 1});
}

static void deny(struct dsql_client *client)
{
    dsql_entry_refuse(client, "28P01", "password authentication failed", "");
}

/* The password was right: on with the startup packet. */
static void succeed(struct dsql_client *client)
{
    struct dsql_strbuf packet = client->login_state->packet;
    struct dsql_pg_startup startup;
    struct dsql_err err;
    dsql_strbuf_init_heap(&client->login_state->packet, DSQL_PG_STARTUP_MOST);
    dsql_proxy_login_free(client);
    if (dsql_pg_startup_parse(dsql_strbuf_span(&packet), &startup, &err))
        deny(client); /* memory was short when the packet was kept */
    else
        dsql_entry_admit(client, &startup);
    dsql_strbuf_fini(&packet);
}

static void go_on(struct dsql_client *client, struct dsql_span message)
{
    struct dsql_login *login = client->login_state;
    struct dsql_strbuf reply;
    char memory[DSQL_SCRAM_MESSAGE_MAX];
    dsql_strbuf_init(&reply, memory, sizeof(memory));
    bool last = login->began;
    bool ok = last ? dsql_scram_final(&login->scram, message, &reply)
                   : dsql_scram_first(&login->scram, message, &reply);
    login->began = true;
    if (!ok || reply.cut) {
        deny(client);
        return;
    }
    put_sasl(client, last ? DSQL_PG_AUTH_SASL_FINAL : DSQL_PG_AUTH_SASL_CONTINUE,
             dsql_strbuf_span(&reply));
    if (last)
        succeed(client);
}

void dsql_proxy_login_message(struct dsql_client *client, const struct dsql_pg_piece *piece)
{
    struct dsql_span message = piece->body;
    if (!client->login_state->began) { /* SASLInitialResponse: mechanism, length, data */
        struct dsql_pg_cursor cursor = dsql_pg_cursor_over(piece->body);
        struct dsql_span mechanism = dsql_pg_take_text(&cursor);
        uint32_t len = dsql_pg_take_u32(&cursor);
        message = dsql_pg_take_rest(&cursor);
        if (cursor.fault || message.len != len || !dsql_span_eq(mechanism, DSQL_SPAN(MECHANISM))) {
            deny(client);
            return;
        }
    }
    go_on(client, message);
}
