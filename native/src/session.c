#include "session.h"

#include <math.h>
#include <string.h>

#include "text.h"

#define LEASE_IN_BEATS 3.0  /* a client gives a sign of life so often in a lease */
#define SHORTEST_BEAT 0.05  /* seconds between two signs of life, at least */
#define REPORT_SECONDS 0.1  /* seconds between two reports, at least */
#define RETRY_REFUSED 5.0   /* seconds after which a client that was refused tries again */
#define WARNING_SECONDS 60. /* seconds between two warnings of the coordinator that are passed on, at least */

/* ---- The outbox ---- */

static void hang_up(struct ps_session *session, double seconds) {
    session->hang_up = true;
    session->hang_up_wait = seconds;
}

static void clear(struct ps_outbox *outbox) {
    outbox->first = outbox->count = 0;
    outbox->seq = 0;
    memset(outbox->questions, 0, sizeof outbox->questions);
}

/* Queue a request. A queue that is full means that nobody reads: a new connection starts with a join. */
static void post(struct ps_session *session, struct ps_request request) {
    struct ps_outbox *outbox = &session->outbox;
    if (outbox->count == PS_OUTBOX) {
        hang_up(session, 0.0);
        return;
    }
    outbox->waiting[(outbox->first + outbox->count++) % PS_OUTBOX] = request;
}

static bool may_be_refused(enum ps_request_kind kind) {
    return kind == PS_REGISTER || kind == PS_JOIN || kind == PS_INFORM;
}

static bool take(struct ps_outbox *outbox, struct ps_request *request) {
    if (outbox->count == 0)
        return false;
    *request = outbox->waiting[outbox->first];
    outbox->first = (outbox->first + 1) % PS_OUTBOX;
    outbox->count--;
    request->seq = ++outbox->seq;
    if (may_be_refused(request->kind)) {
        struct ps_question question = {request->seq, request->kind, request->operation};
        outbox->questions[outbox->next_question++ % PS_QUESTIONS] = question;
    }
    return true;
}

static struct ps_question take_question(struct ps_outbox *outbox, uint64_t seq) {
    struct ps_question none = {0, PS_BEAT, 0};
    for (size_t i = 0; i < PS_QUESTIONS && seq > 0; i++)
        if (outbox->questions[i].seq == seq) {
            struct ps_question found = outbox->questions[i];
            outbox->questions[i] = none;
            return found;
        }
    return none;
}

/* ---- What the application may do ---- */

void ps_session_init(struct ps_session *session, const struct ps_identity *identity, double patience,
                     const char *where, double now) {
    memset(session, 0, sizeof *session);
    session->identity = *identity;
    session->born = session->last_heard = now;
    session->last_warned = -INFINITY;
    session->beats = session->last_beat = session->longest_round = INFINITY;
    ps_outage_init(&session->outage, &session->notices, patience, where, now);
}

static bool in_step(const struct ps_session *session) {
    const struct ps_operation *operation = &session->operation;
    return session->registered && (!session->operating || operation->granted || operation->refused);
}

double ps_session_outage_from(const struct ps_session *session) {
    return ps_outage_from(&session->outage, in_step(session));
}

bool ps_session_uncoordinated(const struct ps_session *session, double now) {
    return session->disabled || now >= ps_session_outage_from(session);
}

double ps_session_rate(const struct ps_session *session, double now) {
    if (!session->operating || session->operation.refused || ps_session_uncoordinated(session, now))
        return INFINITY;
    return session->operation.rate;
}

/* ---- Messages ---- */

static struct ps_request about(const struct ps_session *session, enum ps_request_kind kind) {
    struct ps_request request = {.kind = kind, .operation = session->operation.number};
    request.moved = session->operation.moved;
    return request;
}

static void inform(struct ps_session *session, double now) {
    struct ps_operation *operation = &session->operation;
    if (operation->volume == 0)
        return;
    ps_outage_start(&session->outage, now);
    if (!session->registered)
        return;
    operation->informed = operation->known = true;
    operation->reported = operation->moved;
    struct ps_request request = about(session, PS_INFORM);
    request.volume = operation->volume;
    request.rounds = operation->rounds;
    request.follows = operation->follows;
    post(session, request);
}

static void report(struct ps_session *session, double now) {
    struct ps_operation *operation = &session->operation;
    if (!operation->informed || operation->moved == operation->reported)
        return;
    operation->reported = operation->moved;
    operation->reports_from = now + REPORT_SECONDS;
    post(session, about(session, PS_REPORT));
}

static void acknowledge(struct ps_session *session, uint64_t grant) {
    struct ps_request request = {.kind = PS_YIELDED, .grant = grant};
    if (grant > 0)
        post(session, request);
}

static void post_leave(struct ps_session *session) {
    struct ps_request request = {.kind = PS_LEAVE};
    post(session, request);
}

/* ---- The application's side ---- */

void ps_session_begin(struct ps_session *session, uint64_t volume, uint64_t rounds, uint64_t follows, double now) {
    session->operating = true;
    session->changes++;
    ps_operation_begin(&session->operation, ++session->operations, volume, rounds);
    session->operation.follows = follows;
    inform(session, now);
}

bool ps_session_round_ended(struct ps_session *session, double now) {
    session->changes++;
    if (!session->operating || !ps_operation_round_ended(&session->operation))
        return false;
    report(session, now);
    acknowledge(session, ps_operation_take_acknowledgement(&session->operation));
    return true;
}

void ps_session_end(struct ps_session *session) {
    session->changes++;
    if (!session->operating)
        return;
    session->operating = false;
    acknowledge(session, ps_operation_take_acknowledgement(&session->operation));
    struct ps_request release = about(session, PS_RELEASE);
    if (session->operation.informed) {
        post(session, release);
    } else if (session->operation.known && session->operation.number == session->joined_with) {
        session->must_release = true;
        session->release = release;
    }
}

void ps_session_leave(struct ps_session *session) {
    ps_session_end(session);
    if (session->registered && !session->leaving)
        post_leave(session);
    session->leaving = true;
}

void ps_session_disable(struct ps_session *session, double now) {
    session->disabled = true;
    ps_session_lost(session, "disabled", now);
}

/* ---- The connection's side ---- */

void ps_session_connect(struct ps_session *session, double now) {
    session->connected = session->ever_connected = true;
    session->hang_up = session->must_release = false;
    session->last_heard = now;
    session->grant = session->joined_with = 0;
    ps_outage_connected(&session->outage);
    clear(&session->outbox);
    struct ps_request request = {.kind = PS_REGISTER, .identity = &session->identity, .key = session->key};
    request.passed = now - session->born;
    if (session->known) {
        request.kind = PS_JOIN;
        request.application = session->application;
        request.operation = session->joined_with = session->operating ? session->operation.number : 0;
    }
    post(session, request);
}

void ps_session_lost(struct ps_session *session, const char *why, double now) {
    if (!session->hang_up)
        ps_outage_failed(&session->outage, why, now);
    session->connected = session->registered = session->hang_up = false;
    session->changes++;
    session->last_beat = INFINITY;
    clear(&session->outbox);
    if (session->operating)
        ps_operation_cut_off(&session->operation);
    ps_outage_start(&session->outage, now);
    ps_session_check_patience(session, now);
}

void ps_session_absent(struct ps_session *session, const char *why, double now) {
    if (!session->ever_connected)
        session->outage.gave_up = true;
    ps_session_lost(session, why, now);
}

static double sooner(double a, double b) { return a < b ? a : b; }

static double later(double a, double b) { return a > b ? a : b; }

/* When the next sign of life is due: sooner while an operation depends on a live coordinator. */
static double next_beat(const struct ps_session *session) {
    double beats = session->last_beat + session->beats;
    if (!session->operating || !session->operation.granted)
        return beats;
    double last = later(session->last_beat, session->last_heard);
    return sooner(beats, last + later(SHORTEST_BEAT, ps_outage_ask_after(&session->outage)));
}

bool ps_session_next(struct ps_session *session, double now, struct ps_request *request) {
    struct ps_request beat = {.kind = PS_BEAT};
    if (session->operating && session->operation.informed && now >= session->operation.reports_from)
        report(session, now);
    if (now >= next_beat(session)) {
        ps_outage_start_silent(&session->outage, now, session->last_heard);
        post(session, beat);
        session->last_beat = now;
    }
    if (!take(&session->outbox, request))
        return false;
    if (may_be_refused(request->kind) || request->kind == PS_BEAT) {
        ps_outage_start(&session->outage, now);
        session->changes++;
    }
    return true;
}

double ps_session_due(const struct ps_session *session, double now) {
    const struct ps_operation *operation = &session->operation;
    double date = sooner(next_beat(session), ps_outage_announce_from(&session->outage, in_step(session)));
    if (session->connected)
        date = sooner(date, ps_outage_close_from(&session->outage, session->last_heard));
    if (session->operating && operation->informed && ps_session_rate(session, now) > 0.0)
        date = sooner(date, later(operation->reports_from, now + REPORT_SECONDS));
    return date;
}

bool ps_session_check_patience(struct ps_session *session, double now) {
    if (session->disabled)
        return false;
    bool begins = now >= ps_outage_announce_from(&session->outage, in_step(session));
    if (begins)
        ps_outage_announce(&session->outage);
    if (session->connected && now >= ps_outage_close_from(&session->outage, session->last_heard))
        hang_up(session, 0.0);
    return begins;
}

/* ---- Messages of the coordinator ---- */

static void registered(struct ps_session *session, const struct ps_reply *reply, double now) {
    session->registered = session->known = true;
    session->application = reply->application;
    memcpy(session->key, reply->key, sizeof session->key);
    memcpy(session->policy, reply->policy, sizeof session->policy);
    session->beats = reply->lease / LEASE_IN_BEATS;
    session->beats = session->beats > SHORTEST_BEAT ? session->beats : SHORTEST_BEAT;
    session->last_beat = now;
    session->longest_round = isnan(reply->longest_round) ? INFINITY : reply->longest_round;
    if (session->must_release)
        post(session, session->release);
    session->must_release = false;
    if (session->leaving)
        post_leave(session);
    else if (session->operating)
        inform(session, now);
}

static void granted(struct ps_session *session, const struct ps_reply *reply, double used) {
    struct ps_operation *operation = &session->operation;
    if (!session->operating || reply->operation != operation->number || reply->number <= session->grant)
        return;
    session->grant = reply->number;
    memset(session->outbox.questions, 0, sizeof session->outbox.questions);
    ps_outage_operation_granted(&session->outage);
    operation->refused = false;
    double rate = reply->rate > 0.0 ? reply->rate : 0.0;
    acknowledge(session, ps_operation_grant(operation, reply->number, rate, used));
}

static void register_anew(struct ps_session *session, const char *why, double now) {
    session->known = session->registered = false;
    session->key[0] = '\0';
    hang_up(session, 0.0);
    ps_outage_failed(&session->outage, why, now);
}

static void refused_at_the_door(struct ps_session *session, const struct ps_reply *reply, double now) {
    hang_up(session, 0.0);
    ps_outage_failed(&session->outage, reply->text, now);
    if (reply->code == PS_CODE_OTHER || reply->code == PS_CODE_UNKNOWN)
        return; /* trying again may help */
    hang_up(session, RETRY_REFUSED);
    session->outage.gave_up = true;
    ps_session_check_patience(session, now);
}

static void failed(struct ps_session *session, const struct ps_reply *reply, double now) {
    struct ps_question question = take_question(&session->outbox, reply->seq);
    if (question.seq == 0)
        return;
    if (question.kind == PS_JOIN && (reply->code == PS_CODE_UNKNOWN || reply->code == PS_CODE_DENIED)) {
        register_anew(session, reply->text, now);
    } else if (question.kind != PS_INFORM) {
        refused_at_the_door(session, reply, now);
    } else if (session->operating && question.operation == session->operation.number) {
        ps_outage_operation_refused(&session->outage, reply->text);
        session->operation.refused = true;
    }
}

static void warned(struct ps_session *session, const struct ps_reply *reply, double now) {
    if (now < session->last_warned + WARNING_SECONDS)
        return;
    session->last_warned = now;
    ps_outage_warned(&session->outage, reply->text);
}

static void apply(struct ps_session *session, const struct ps_reply *reply, double used, double now) {
    char why[PS_TEXT_BYTES + 16];
    struct ps_text text = ps_text(why, sizeof why);
    switch (reply->kind) {
    case PS_REGISTERED:
        registered(session, reply, now);
        break;
    case PS_GRANT:
        granted(session, reply, used);
        break;
    case PS_ERROR:
        failed(session, reply, now);
        break;
    case PS_FORGOTTEN:
        ps_put(&text, "forgotten: ");
        ps_put(&text, reply->text);
        register_anew(session, why, now);
        break;
    case PS_WARNED:
        warned(session, reply, now);
        break;
    case PS_LEFT:
        session->left = true;
        break;
    case PS_BEATEN:
    case PS_OTHER:
        break;
    }
}

/* Seconds that a pause may wait for the end of the round: what a round takes at its rate, and half a lease. */
static double pause_seconds(const struct ps_session *session) {
    const struct ps_operation *operation = &session->operation;
    double a_round = isinf(operation->rate) ? INFINITY
                                            : (double)operation->volume / (double)operation->rounds / operation->rate;
    return (a_round < session->longest_round ? a_round : session->longest_round) + LEASE_IN_BEATS / 2.0 * session->beats;
}

void ps_session_receive(struct ps_session *session, const struct ps_reply *reply, double now) {
    struct ps_operation *operation = &session->operation;
    double used = ps_session_rate(session, now);
    bool waits = operation->pausing;
    session->changes++;
    session->last_heard = now;
    apply(session, reply, used, now);
    if (in_step(session)) {
        ps_outage_in_step(&session->outage);
        if (session->operating && operation->in_round && ps_session_rate(session, now) <= 0.0 && used > 0.0)
            ps_operation_pause(operation, used); /* it went on without the coordinator and may end its round */
    }
    if (session->operating && operation->pausing && !waits)
        operation->pause_by = now + pause_seconds(session);
}
