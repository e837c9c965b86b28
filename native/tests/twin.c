/* The session in virtual time: reads what happens, one event a line with its date, and prints what the session does, so
 * that a test can compare it with the session of the Python client.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gate.h"
#include "levels.h"
#include "session.h"

static struct ps_session session;
static struct ps_gate gate;
static struct ps_levels levels;

static void print_state(double now) {
    const struct ps_operation *operation = &session.operation;
    printf("rate %.17g due %.17g outage %.17g hang_up %g flags %d%d%d%d", ps_session_rate(&session, now),
           ps_session_due(&session, now), ps_session_outage_from(&session),
           session.hang_up ? session.hang_up_wait : -1.0, session.connected, session.registered, session.leaving,
           session.left);
    if (session.operating)
        printf(" moved %llu between %d in_round %d boundary %.17g", (unsigned long long)operation->moved,
               operation->between_rounds, operation->in_round,
               operation->boundary == PS_NO_BOUNDARY ? -1.0 : (double)operation->boundary);
    printf("\n");
    for (size_t i = 0; i < session.notices.count; i++)
        printf("notice %s\n", session.notices.list[i].text);
    session.notices.count = 0;
}

static void print_sent(double now) {
    struct ps_request request;
    char line[PS_MESSAGE_BYTES];
    while (ps_session_next(&session, now, &request)) {
        size_t length = ps_encode(&request, line, sizeof line);
        fwrite("sent ", 1, 5, stdout);
        fwrite(line, 1, length, stdout);
    }
}

static void fresh(double patience, double now) {
    struct ps_identity identity = {.nodes = 4, .bandwidth = 1e9, .elapsed = 100.0, .lead = 10.0, .whole = 500.0};
    strcpy(identity.job, "job");
    strcpy(identity.user, "ada");
    strcpy(identity.token, "secret");
    ps_session_init(&session, &identity, patience, "here", now);
    ps_gate_init(&gate, &session);
    levels.depth = 0;
}

/* One slice: wait in virtual time, then move as much as the gate opens for, in the time that it is told. */
static void slice(double now, unsigned long long left, double seconds) {
    ps_gate_settle(&gate, now);
    double delay = ps_gate_delay(&gate, now);
    if (delay > 0.0) {
        printf("delay %.17g\n", delay);
        return;
    }
    uint64_t size = ps_gate_open(&gate, left, false);
    ps_gate_moved(&gate, size, now, now + seconds);
    printf("slice %llu\n", (unsigned long long)size);
    ps_gate_settle(&gate, now + seconds);
}

/* Levels: "push VOLUME ROUNDS FILES", and what they announce with more of the same. */
static void describe(const char *event, const char *rest) {
    penstock_info told = PENSTOCK_INFO_INIT;
    struct ps_announcement announced = {0, 0, 0};
    sscanf(rest, "%lld %lld %lld", (long long *)&told.volume, (long long *)&told.rounds, (long long *)&told.files);
    int code = strcmp(event, "push") == 0       ? ps_levels_push(&levels, &told)
               : strcmp(event, "announce") == 0 ? ps_levels_announce(&levels, &told, &announced)
                                                : ps_levels_announce_inside(&levels, &told, &announced);
    printf("code %d\n", code);
    printf("announced %llu %llu %llu\n", (unsigned long long)announced.volume, (unsigned long long)announced.rounds,
           (unsigned long long)announced.follows);
}

static void apply(const char *event, double now, const char *rest) {
    struct ps_reply reply;
    unsigned long long first = strtoull(rest, NULL, 10), second = 0;
    sscanf(rest, "%*s %llu", &second);
    if (strcmp(event, "new") == 0)
        fresh(strtod(rest, NULL), now);
    else if (strcmp(event, "begin") == 0)
        ps_session_begin(&session, first, second, 0, now);
    else if (strcmp(event, "push") == 0 || strcmp(event, "announce") == 0 || strcmp(event, "inside") == 0)
        describe(event, rest);
    else if (strcmp(event, "pop") == 0)
        ps_levels_pop(&levels);
    else if (strcmp(event, "count") == 0)
        ps_levels_count(&levels, first);
    else if (strcmp(event, "end") == 0)
        ps_session_end(&session);
    else if (strcmp(event, "leave") == 0)
        ps_session_leave(&session);
    else if (strcmp(event, "connect") == 0)
        ps_session_connect(&session, now);
    else if (strcmp(event, "lost") == 0)
        ps_session_lost(&session, rest, now);
    else if (strcmp(event, "absent") == 0)
        ps_session_absent(&session, rest, now);
    else if (strcmp(event, "moves") == 0)
        session.operation.in_round = true;
    else if (strcmp(event, "moved") == 0)
        ps_operation_advance(&session.operation, first);
    else if (strcmp(event, "round_ended") == 0)
        printf("paused %d\n", ps_session_round_ended(&session, now));
    else if (strcmp(event, "step") == 0)
        ps_operation_begin_step(&session.operation);
    else if (strcmp(event, "stepped") == 0)
        ps_operation_end_step(&session.operation);
    else if (strcmp(event, "slice") == 0)
        slice(now, first, strtod(strchr(rest, ' '), NULL));
    else if (strcmp(event, "patience") == 0)
        ps_session_check_patience(&session, now);
    else if (strcmp(event, "send") == 0)
        print_sent(now);
    else if (strcmp(event, "receive") == 0 && ps_decode(rest, strlen(rest), &reply))
        ps_session_receive(&session, &reply, now);
    else
        printf("unknown\n");
}

int main(void) {
    static char line[2 * PS_MESSAGE_BYTES];
    while (fgets(line, sizeof line, stdin) != NULL) {
        char event[32] = "";
        double now = 0.0;
        int used = 0;
        sscanf(line, "%31s %lf %n", event, &now, &used);
        line[strcspn(line, "\n")] = '\0';
        apply(event, now, line + used);
        print_state(now);
        printf(".\n");
        fflush(stdout);
    }
    return 0;
}
