/* Feeds the reader of messages and the session with mutated messages and events at random, from a seed.
 *
 *   fuzz COUNT [SEED]
 *
 * A sanitizer finds what goes wrong in memory. What is asserted: every line that is sent is JSON, no message is longer than
 * it may be, notices are one line, and the rate is never negative.
 */
#undef NDEBUG
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gate.h"
#include "json.h"
#include "session.h"

static const char *const SEEDS[] = {
    "{\"type\":\"registered\",\"seq\":1,\"application\":17,\"key\":\"5e1f\",\"lease\":10.0,\"policy\":\"fair-share\"}",
    "{\"type\":\"registered\",\"seq\":1,\"application\":17,\"key\":\"5e1f\",\"lease\":0.3,\"policy\":\"fcfs\","
    "\"longest_round\":2.5,\"addresses\":[\"10.0.0.1:7000\"],\"observing\":true,\"later\":{\"a\":[1,{\"b\":null}]}}",
    "{\"type\":\"grant\",\"operation\":1,\"number\":1,\"rate\":1e9}",
    "{\"type\":\"grant\",\"operation\":2,\"number\":2,\"rate\":0}",
    "{\"type\":\"grant\",\"operation\":3,\"number\":9007199254740992,\"rate\":-1.5E-300}",
    "{\"type\":\"left\",\"seq\":8}",
    "{\"type\":\"forgotten\",\"reason\":\"no sign of life \\u00e9\\ud83d\\ude00\"}",
    "{\"type\":\"error\",\"code\":\"unknown\",\"text\":\"who?\",\"seq\":1}",
    "{\"type\":\"error\",\"code\":\"denied\",\"text\":\"\xcf\x86 no\\nway\",\"seq\":2}",
    "{\"type\":\"error\",\"code\":\"invalid\",\"text\":\"x\",\"seq\":2}",
    "{\"type\":\"warned\",\"text\":\"slow\"}",
    "{\"type\":\"outlook\",\"seq\":6,\"bandwidth\":1e11,\"moving\":2,\"waiting\":3,\"wait\":4.5,\"seconds\":null}",
    "{\"type\":\"beat\",\"seq\":7}",
    "[[[[[[[[{\"a\":[]}]]]]]]]]"};
enum { COUNT = sizeof SEEDS / sizeof SEEDS[0], LONGEST = PS_MESSAGE_BYTES };

static uint64_t state;

static uint64_t draw(uint64_t below) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (state >> 11) % below;
}

static void mutate(char *line, size_t *length) {
    static const char bytes[] = "{}[]\":,\\u0e-+.19nft \x01\x80\xff";
    size_t at = (size_t)draw(*length + 1), size = (size_t)draw(8) + 1;
    switch (draw(5)) {
    case 0: /* another byte */
        if (at < *length)
            line[at] = draw(2) ? bytes[draw(sizeof bytes - 1)] : (char)draw(256);
        break;
    case 1: /* some bytes less */
        size = size < *length - at ? size : *length - at;
        memmove(line + at, line + at + size, *length - at - size);
        *length -= size;
        break;
    case 2: /* some bytes twice */
        size = size < *length - at ? size : *length - at;
        if (*length + size <= LONGEST) {
            memmove(line + at + size, line + at, *length - at);
            *length += size;
        }
        break;
    case 3: /* one byte many times */
        size = (size_t)draw(draw(50) ? 10 : 4000);
        if (*length + size <= LONGEST) {
            memmove(line + at + size, line + at, *length - at);
            memset(line + at, bytes[draw(sizeof bytes - 1)], size);
            *length += size;
        }
        break;
    default: /* cut off */
        *length = at;
    }
}

static void check_sent(struct ps_session *session, double now) {
    static char line[PS_MESSAGE_BYTES];
    struct ps_request request;
    struct ps_json_object object;
    while (ps_session_next(session, now, &request)) {
        size_t length = ps_encode(&request, line, sizeof line);
        assert(length > 0 && length <= PS_MESSAGE_BYTES && line[length - 1] == '\n');
        assert(ps_json_object(line, length - 1, &object));
    }
}

static void check_state(struct ps_session *session, double now) {
    assert(ps_session_rate(session, now) >= 0.0);
    assert(!isnan(ps_session_due(session, now)));
    for (size_t i = 0; i < session->notices.count; i++)
        assert(strpbrk(session->notices.list[i].text, "\n\r") == NULL);
    session->notices.count = 0;
}

/* What an application or its connection may do at this moment. */
static void act(struct ps_session *session, struct ps_gate *gate, double now) {
    uint64_t left = draw(1000000) + 1;
    switch (draw(8)) {
    case 0:
        if (!session->operating)
            ps_session_begin(session, draw(4) ? draw(1000000) : 0, draw(100) + 1, draw(2) ? 0 : draw(1000), now);
        break;
    case 1:
        if (!draw(4))
            ps_session_end(session);
        break;
    case 2:
        if (!session->connected)
            ps_session_connect(session, now);
        break;
    case 3:
        if (!draw(4) || session->hang_up)
            ps_session_lost(session, "gone", now);
        break;
    case 4:
    case 5:
        ps_gate_settle(gate, now);
        if (ps_gate_delay(gate, now) <= 0.0) {
            uint64_t size = ps_gate_open(gate, left, draw(2));
            assert(size > 0 && size <= left);
            ps_gate_moved(gate, draw(size + 1), now - (double)draw(3) * 1e-3, now);
        }
        break;
    default:
        if (!session->hang_up)
            check_sent(session, now);
    }
}

int main(int count, char **arguments) {
    static struct ps_session session;
    static struct ps_gate gate;
    static char line[LONGEST + 1];
    const struct ps_identity identity = {.job = "fuzz", .nodes = 1, .bandwidth = NAN, .whole = NAN};
    unsigned long long inputs = count > 1 ? strtoull(arguments[1], NULL, 10) : 10000, messages = 0;
    state = (count > 2 ? strtoull(arguments[2], NULL, 10) : 1) * 0x9E3779B97F4A7C15U;
    double now = 0.0;
    for (unsigned long long i = 0; i < inputs; i++) {
        if (i % 1000 == 0) {
            ps_session_init(&session, &identity, (double)draw(4), "here", now);
            ps_gate_init(&gate, &session);
        }
        const char *seed = SEEDS[draw(COUNT)];
        size_t length = strlen(seed);
        memcpy(line, seed, length);
        for (uint64_t times = draw(4); times > 0; times--)
            mutate(line, &length);
        /* exactly as long as the message, so that a sanitizer sees the first byte beyond it */
        char *exact = malloc(length + (length == 0));
        memcpy(exact, line, length);
        struct ps_reply reply;
        if (ps_decode(exact, length, &reply)) {
            messages++;
            if (session.connected)
                ps_session_receive(&session, &reply, now);
        }
        free(exact);
        act(&session, &gate, now);
        check_state(&session, now);
        now += (double)draw(1000) / 1000.0 * (draw(20) ? 0.05 : 3.0);
        ps_session_check_patience(&session, now);
    }
    printf("%llu inputs, %llu of them messages\n", inputs, messages);
    return 0;
}
