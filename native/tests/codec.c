/* Reads lines of the protocol and says what the library makes of them, for the test vectors.
 *
 * "coordinator LINE" is decoded, and its members printed as JSON; "application LINE" is read into a request, which is
 * then encoded by the library. "malformed" if the line is no message.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "json.h"
#include "protocol.h"
#include "text.h"

static void print_number(const char *name, double number) {
    if (isnan(number))
        printf(",\"%s\":null", name);
    else
        printf(",\"%s\":%.17g", name, number);
}

static void print_string(const char *name, const char *text) {
    char quoted[3 * PS_SECRET_BYTES];
    struct ps_text line = ps_text(quoted, sizeof quoted);
    ps_put_json(&line, text);
    printf(",\"%s\":%s", name, quoted);
}

static void print_reply(const struct ps_reply *reply) {
    static const char *const names[] = {"registered", "grant", "left", "forgotten", "warned", "error", "beat", "other"};
    printf("{\"type\":\"%s\"", names[reply->kind]);
    if (reply->kind == PS_REGISTERED || reply->kind == PS_LEFT || reply->kind == PS_ERROR || reply->kind == PS_BEATEN)
        print_number("seq", (double)reply->seq);
    if (reply->kind == PS_REGISTERED) {
        print_number("application", (double)reply->application);
        print_string("key", reply->key);
        print_number("lease", reply->lease);
        print_string("policy", reply->policy);
        print_number("longest_round", reply->longest_round);
    }
    if (reply->kind == PS_GRANT) {
        print_number("operation", (double)reply->operation);
        print_number("number", (double)reply->number);
        print_number("rate", reply->rate);
    }
    if (reply->kind == PS_FORGOTTEN)
        print_string("reason", reply->text);
    if (reply->kind == PS_WARNED || reply->kind == PS_ERROR)
        print_string("text", reply->text);
    printf("}\n");
}

static uint64_t count(const struct ps_json_object *line, const char *name, uint64_t standard) {
    uint64_t found;
    return ps_json_count(ps_json_member(line, name), 0, &found) ? found : standard;
}

static double number(const struct ps_json_object *line, const char *name, double standard) {
    double found;
    return ps_json_number(ps_json_member(line, name), &found) ? found : standard;
}

static bool print_request(const struct ps_json_object *line) {
    static const char *const names[] = {"register", "join", "inform", "report", "yielded", "release", "leave", "beat"};
    char type[16] = "", key[PS_SECRET_BYTES] = "", encoded[PS_MESSAGE_BYTES];
    struct ps_identity identity = {.nodes = count(line, "nodes", 1)};
    struct ps_request request = {.identity = &identity, .key = key, .seq = count(line, "seq", 0)};
    ps_json_string(ps_json_member(line, "type"), type, sizeof type);
    int kind = 0;
    while (kind < 8 && strcmp(type, names[kind]) != 0)
        kind++;
    if (kind == 8)
        return false;
    request.kind = (enum ps_request_kind)kind;
    ps_json_string(ps_json_member(line, "job"), identity.job, sizeof identity.job);
    ps_json_string(ps_json_member(line, "user"), identity.user, sizeof identity.user);
    ps_json_string(ps_json_member(line, "token"), identity.token, sizeof identity.token);
    ps_json_string(ps_json_member(line, "key"), key, sizeof key);
    identity.bandwidth = number(line, "bandwidth", NAN);
    identity.elapsed = number(line, "elapsed", 0.0);
    identity.lead = number(line, "lead", 0.0);
    identity.whole = number(line, "whole", NAN);
    request.application = count(line, "application", 0);
    request.operation = count(line, "operation", 0);
    request.rounds = count(line, "rounds", 1);
    request.grant = count(line, "grant", 0);
    request.volume = (uint64_t)number(line, "volume", 0.0);
    request.moved = (uint64_t)number(line, "moved", 0.0);
    request.follows = (uint64_t)number(line, "follows", 0.0);
    size_t length = ps_encode(&request, encoded, sizeof encoded);
    fwrite(encoded, 1, length, stdout);
    return length > 0;
}

int main(void) {
    static char line[2 * PS_MESSAGE_BYTES];
    while (fgets(line, sizeof line, stdin) != NULL) {
        struct ps_json_object object;
        struct ps_reply reply;
        char *text = strchr(line, ' ');
        size_t length = text != NULL ? strcspn(++text, "\n") : 0;
        bool known = false;
        if (strncmp(line, "coordinator ", 12) == 0) {
            known = ps_decode(text, length, &reply);
            if (known)
                print_reply(&reply);
        } else if (length > 0 && ps_json_object(text, length, &object)) {
            known = print_request(&object);
        }
        if (!known)
            printf("malformed\n");
        fflush(stdout);
    }
    return 0;
}
