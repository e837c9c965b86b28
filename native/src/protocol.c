#include "protocol.h"

#include <math.h>
#include <string.h>

#include "json.h"
#include "text.h"

static void put_count(struct ps_text *line, const char *name, uint64_t count) {
    ps_put(line, ",\"");
    ps_put(line, name);
    ps_put(line, "\":");
    ps_put_count(line, count);
}

/* Left out if it is not known. */
static void put_number(struct ps_text *line, const char *name, double number) {
    if (isnan(number))
        return;
    ps_put(line, ",\"");
    ps_put(line, name);
    ps_put(line, "\":");
    ps_put_number(line, number);
}

/* Left out if it is empty. */
static void put_string(struct ps_text *line, const char *name, const char *text) {
    if (*text == '\0')
        return;
    ps_put(line, ",\"");
    ps_put(line, name);
    ps_put(line, "\":");
    ps_put_json(line, text);
}

static void put_register(struct ps_text *line, const struct ps_request *request) {
    const struct ps_identity *identity = request->identity;
    put_count(line, "version", PS_PROTOCOL_VERSION);
    put_string(line, "job", identity->job);
    put_count(line, "nodes", identity->nodes);
    put_string(line, "user", identity->user);
    put_number(line, "bandwidth", identity->bandwidth);
    put_number(line, "elapsed", identity->elapsed + request->passed);
    put_number(line, "lead", identity->lead > request->passed ? identity->lead - request->passed : 0.0);
    put_number(line, "whole", identity->whole);
    put_string(line, "token", identity->token);
}

static void put_join(struct ps_text *line, const struct ps_request *request) {
    put_count(line, "version", PS_PROTOCOL_VERSION);
    put_count(line, "application", request->application);
    ps_put(line, ",\"key\":");
    ps_put_json(line, request->key);
    put_count(line, "operation", request->operation);
    put_string(line, "token", request->identity->token);
}

static void put_inform(struct ps_text *line, const struct ps_request *request) {
    put_count(line, "operation", request->operation);
    put_count(line, "volume", request->volume);
    put_count(line, "rounds", request->rounds);
    put_count(line, "moved", request->moved);
    if (request->follows > 0)
        put_count(line, "follows", request->follows);
}

static void put_members(struct ps_text *line, const struct ps_request *request) {
    switch (request->kind) {
    case PS_REGISTER:
        put_register(line, request);
        break;
    case PS_JOIN:
        put_join(line, request);
        break;
    case PS_INFORM:
        put_inform(line, request);
        break;
    case PS_REPORT:
    case PS_RELEASE:
        put_count(line, "operation", request->operation);
        put_count(line, "moved", request->moved);
        break;
    case PS_YIELDED:
        put_count(line, "grant", request->grant);
        break;
    case PS_LEAVE:
    case PS_BEAT:
        break;
    }
}

size_t ps_encode(const struct ps_request *request, char *line, size_t size) {
    static const char *const names[] = {"register", "join", "inform", "report", "yielded", "release", "leave", "beat"};
    struct ps_text text = ps_text(line, size);
    ps_put(&text, "{\"type\":\"");
    ps_put(&text, names[request->kind]);
    ps_put(&text, "\"");
    put_count(&text, "seq", request->seq);
    put_members(&text, request);
    ps_put(&text, "}\n");
    return text.full ? 0 : text.length;
}

static bool get_count(const struct ps_json_object *line, const char *name, uint64_t least, uint64_t *count) {
    return ps_json_count(ps_json_member(line, name), least, count);
}

static bool get_number(const struct ps_json_object *line, const char *name, double *number) {
    return ps_json_number(ps_json_member(line, name), number);
}

static bool get_string(const struct ps_json_object *line, const char *name, char *text, size_t size) {
    return ps_json_string(ps_json_member(line, name), text, size);
}

static bool get_registered(const struct ps_json_object *line, struct ps_reply *reply) {
    reply->longest_round = NAN;
    if (ps_json_member(line, "longest_round") != NULL &&
        !(get_number(line, "longest_round", &reply->longest_round) && reply->longest_round >= 0.0))
        return false;
    return get_count(line, "seq", 0, &reply->seq) && get_count(line, "application", 0, &reply->application) &&
           get_string(line, "key", reply->key, sizeof reply->key) && get_number(line, "lease", &reply->lease) &&
           get_string(line, "policy", reply->policy, sizeof reply->policy);
}

static bool get_grant(const struct ps_json_object *line, struct ps_reply *reply) {
    return get_count(line, "operation", 1, &reply->operation) && get_count(line, "number", 1, &reply->number) &&
           get_number(line, "rate", &reply->rate);
}

static enum ps_code code_of(const char *name) {
    static const struct {
        const char *name;
        enum ps_code code;
    } codes[] = {{"version", PS_CODE_VERSION},
                 {"denied", PS_CODE_DENIED},
                 {"too-many", PS_CODE_TOO_MANY},
                 {"invalid", PS_CODE_INVALID},
                 {"unknown", PS_CODE_UNKNOWN}};
    for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++)
        if (strcmp(name, codes[i].name) == 0)
            return codes[i].code;
    return PS_CODE_OTHER;
}

static bool get_error(const struct ps_json_object *line, struct ps_reply *reply) {
    char code[32], text[PS_TEXT_BYTES];
    if (!get_string(line, "code", code, sizeof code) || !get_string(line, "text", text, sizeof text))
        return false;
    reply->seq = 0;
    if (ps_json_member(line, "seq") != NULL && !get_count(line, "seq", 0, &reply->seq))
        return false;
    reply->code = code_of(code);
    struct ps_text both = ps_text(reply->text, sizeof reply->text);
    ps_put(&both, code);
    ps_put(&both, ": ");
    ps_put(&both, text);
    return true;
}

bool ps_decode(const char *line, size_t length, struct ps_reply *reply) {
    static const char *const names[] = {"registered", "grant", "left", "forgotten", "warned", "error", "beat"};
    struct ps_json_object object;
    char type[16];
    if (!ps_json_object(line, length, &object) || !get_string(&object, "type", type, sizeof type))
        return false;
    memset(reply, 0, sizeof *reply);
    int kind = 0;
    while (kind < PS_OTHER && strcmp(type, names[kind]) != 0)
        kind++;
    reply->kind = (enum ps_reply_kind)kind;
    switch (reply->kind) {
    case PS_REGISTERED:
        return get_registered(&object, reply);
    case PS_GRANT:
        return get_grant(&object, reply);
    case PS_FORGOTTEN:
        return get_string(&object, "reason", reply->text, sizeof reply->text);
    case PS_WARNED:
        return get_string(&object, "text", reply->text, sizeof reply->text);
    case PS_ERROR:
        return get_error(&object, reply);
    case PS_LEFT:
    case PS_BEATEN:
        return get_count(&object, "seq", 0, &reply->seq);
    case PS_OTHER:
        return true;
    }
    return false;
}
