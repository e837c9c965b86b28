#include "moves.h"

#include <limits.h>
#include <string.h>

#define AHEAD 0.05    /* seconds of short rounds that may be moved in one go, as in Python */
#define SLICE 0.01    /* seconds at the granted rate that are moved at once, as by pacing.h */
#define STEADY 0.5    /* the least part of its value that a speed keeps from one measurement to the next */
#define SHORTEST 1e-6 /* seconds: no rounds are taken to be faster */

enum { STOP = -1 };

__extension__ typedef unsigned __int128 product;

/* What this rank has to move. */
struct part {
    const struct ps_request *request;
    ps_call call;
    bool large;     /* the count is an MPI_Count */
    int64_t count;  /* elements */
    int64_t size;   /* bytes of data in an element */
    int64_t extent; /* bytes from one element to the next */
    int64_t grain;  /* elements that are always moved together */
    int64_t bytes;
};

/* ---- One call of the library ---- */

static int call_words(ps_call call, const ps_word words[6]) {
    ps_layer()->hide(1);
    int code = call(words[0], words[1], words[2], words[3], words[4], words[5]);
    ps_layer()->hide(0);
    return code;
}

/* Move the elements from `first` up to, but not including, `last`. */
static int call_range(const struct part *part, int64_t first, int64_t last, int64_t etype, MPI_Status *status) {
    const struct ps_request *request = part->request;
    ps_word words[6];
    memcpy(words, request->words, sizeof words);
    ps_word *buffer = words + 1 + (request->at ? 1 : 0);
    buffer[3] = (ps_word)status;
    if (last - first < part->count) {
        if (request->at)
            words[1] += (ps_word)(first * part->size / etype);
        buffer[0] += (ps_word)(first * part->extent);
        buffer[1] = (ps_word)(last - first);
    }
    return call_words(part->call, words);
}

static int64_t bytes_of(const MPI_Status *status) {
    MPI_Count count = 0;
    return ps_mpi()->Get_elements_x(status, ps_mpi()->byte, &count) == MPI_SUCCESS && count > 0 ? (int64_t)count : 0;
}

/* ---- Parts ---- */

static int64_t common_divisor(int64_t a, int64_t b) {
    while (b != 0) {
        int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* Elements that make a whole number of etypes; all of them if the part must not be cut. */
static int64_t find_grain(const struct part *part, const struct ps_file *file, bool in_one_piece) {
    int atomic = 0;
    ps_mpi()->File_get_atomicity(file->handle, &atomic);
    if (in_one_piece || atomic || !file->native || file->etype <= 0)
        return part->count;
    return file->etype / common_divisor(part->size, file->etype);
}

/* What is wrong with a call is for the library to say: it then moves nothing. */
static struct part find_part(const struct ps_file *file, const struct ps_request *request, bool in_one_piece) {
    const ps_word *buffer = request->words + 1 + (request->at ? 1 : 0);
    struct part part = {.request = request, .call = request->call, .grain = 1};
    size_t length = strlen(request->name);
    part.large = length > 2 && strcmp(request->name + length - 2, "_c") == 0;
    part.count = part.large ? (int64_t)buffer[1] : (int)buffer[1];
    MPI_Datatype datatype = (MPI_Datatype)buffer[2];
    MPI_Count size = 0, low = 0, extent = 0;
    if (part.count <= 0 || datatype == ps_mpi()->no_datatype ||
        ps_mpi()->Type_size_x(datatype, &size) != MPI_SUCCESS || size <= 0 ||
        ps_mpi()->Type_get_extent_x(datatype, &low, &extent) != MPI_SUCCESS || part.count > INT64_MAX / size) {
        part.count = 0;
        return part;
    }
    part.size = (int64_t)size;
    part.extent = (int64_t)extent;
    part.bytes = part.count * part.size;
    part.grain = find_grain(&part, file, in_one_piece);
    return part;
}

static int64_t whole_grains(const struct part *part, int64_t elements) { return elements / part->grain * part->grain; }

/* Elements that are moved when `moved` of the `volume` bytes of all ranks are. */
static int64_t passed(const struct part *part, int64_t moved, int64_t volume) {
    if (moved >= volume)
        return part->count;
    return whole_grains(part, (int64_t)((product)part->count * (product)moved / (product)volume));
}

/* ---- This rank alone ---- */

/* Take the turn of about so many elements that remain; how many, and what was taken for them. */
static int64_t take_elements(const struct part *part, int64_t left, size_t *taken) {
    *taken = ps_layer()->take((size_t)(left * part->size));
    int64_t elements = whole_grains(part, (int64_t)*taken / part->size);
    if (elements == 0 && left > 0)
        elements = part->grain < left ? part->grain : left;
    if ((int64_t)*taken >= left * part->size)
        elements = left;
    while (*taken < (size_t)(elements * part->size))
        *taken += ps_layer()->take((size_t)(elements * part->size) - *taken);
    return elements;
}

static int move_alone(struct ps_file *file, const struct ps_request *request) {
    struct part part = find_part(file, request, request->scheme == PS_SHARED);
    MPI_Status status, *theirs = (MPI_Status *)request->words[request->at ? 5 : 4];
    int64_t done = 0, total = 0, elements, moved;
    int code;
    if (part.count == 0)
        return call_words(request->call, request->words);
    ps_layer()->enter();
    do {
        size_t taken;
        elements = take_elements(&part, part.count - done, &taken);
        memset(&status, 0, sizeof status);
        code = call_range(&part, done, done + elements, file->etype, &status);
        moved = code == MPI_SUCCESS ? bytes_of(&status) : 0;
        ps_layer()->moved(request->direction, taken, (size_t)moved);
        done += elements;
        total += moved;
    } while (code == MPI_SUCCESS && moved == elements * part.size && done < part.count);
    ps_layer()->leave(request->direction);
    if (theirs != MPI_STATUS_IGNORE) {
        *theirs = status;
        if (elements < part.count)
            ps_mpi()->Status_set_elements_x(theirs, ps_mpi()->byte, total);
    }
    return code;
}

/* ---- All ranks ---- */

/* One rank's way through the rounds of a call. */
struct way {
    struct ps_file *file;
    struct part part;
    int64_t volume; /* of all ranks */
    int64_t moved;  /* by this rank */
    int code;       /* the first error, or MPI_SUCCESS */
    bool at_end;    /* the file has ended, or an error has occurred: only take part */
    MPI_Status status;
};

/* Move this rank's part of the range; returns its bytes. */
static int64_t move_range(struct way *way, int64_t at, int64_t to) {
    const struct part *part = &way->part;
    int64_t first = at > 0 ? passed(part, at, way->volume) : 0;
    int64_t last = way->at_end ? first : passed(part, to, way->volume);
    memset(&way->status, 0, sizeof way->status);
    int code = call_range(part, first, last, way->file->etype, &way->status);
    int64_t moved = code == MPI_SUCCESS ? bytes_of(&way->status) : 0;
    if (way->code == MPI_SUCCESS)
        way->code = code;
    way->at_end = way->at_end || code != MPI_SUCCESS || moved < (last - first) * part->size;
    way->moved += moved;
    ps_layer()->count(part->request->direction, (uint64_t)moved, 0);
    return moved;
}

/* Move a round and tell rank 0 about it; whether any rank has something left (known to rank 0). */
static bool move_round(struct way *way, int64_t at, int64_t to) {
    int64_t own = move_range(way, at, to);
    bool left = !way->at_end && passed(&way->part, to, way->volume) < way->part.count;
    struct ps_sums sums = ps_sum_to_first(way->file, own, left);
    if (way->file->rank == 0)
        ps_layer()->round_moved((uint64_t)(to - at), (uint64_t)sums.bytes, (uint64_t)own);
    return sums.other > 0 && to < way->volume;
}

/* How many rounds, if all ranks together have so many pieces, counting those of ranks with more than one. */
static uint64_t count_rounds(const struct ps_file *file, uint64_t volume, uint64_t pieces) {
    static _Atomic bool said;
    uint64_t wanted = file->rounds > 0 ? file->rounds : (volume + file->round_bytes - 1) / file->round_bytes;
    if (pieces == 0 && wanted > 1 && !said) {
        ps_layer()->say("a call of all ranks cannot be cut, as with one element of a derived datatype: it is one round");
        said = true;
    }
    if (pieces == 0 || wanted == 0)
        return 1;
    return wanted < pieces ? wanted : pieces;
}

/* Note how fast a range was moved. One that was interrupted says little about the next one. */
static void note_speed(struct ps_file *file, int64_t bytes, double seconds) {
    double speed = (double)bytes / (seconds > SHORTEST ? seconds : SHORTEST), least = STEADY * file->speed;
    file->speed = speed > least ? speed : least;
}

/* How many rounds of so many bytes to move in one go: as many as take AHEAD at the speed of the last ones, and a slice. */
static uint64_t rounds_at_once(const struct ps_file *file, uint64_t bytes, uint64_t left, double rate) {
    double reached = AHEAD * file->speed, slice = SLICE * rate;
    double most = bytes > 0 ? (reached < slice ? reached : slice) / (double)bytes : 1.0;
    return most < 1.0 ? 1 : most < (double)left ? (uint64_t)most : left;
}

/* Rank 0: start rounds when their turn has come. */
static void lead(struct way *way, uint64_t rounds) {
    bool more = true;
    int64_t at = 0;
    ps_layer()->begin_rounds();
    for (uint64_t round = 0; more;) {
        const struct ps_rounds left = {(uint64_t)(way->volume - at), rounds - round};
        double rate = ps_layer()->turn(&left), begun = ps_seconds();
        round += rounds_at_once(way->file, (uint64_t)way->volume / rounds, rounds - round, rate);
        int64_t to = (int64_t)((product)way->volume * round / rounds);
        ps_layer()->take_round((uint64_t)(to - at), &left);
        ps_tell(way->file, (int64_t[PS_TOLD]){at, to, way->volume});
        more = move_round(way, at, to);
        if (!more && to < way->volume)
            ps_tell(way->file, (int64_t[PS_TOLD]){STOP, 0, 0});
        note_speed(way->file, to - at, ps_seconds() - begun);
        at = to;
    }
    ps_layer()->end_rounds();
}

static void follow(struct way *way) {
    int64_t range[PS_TOLD];
    for (;;) {
        ps_tell(way->file, range);
        if (range[0] == STOP)
            return;
        way->volume = range[2];
        move_round(way, range[0], range[1]);
        if (range[1] == way->volume)
            return;
    }
}

/* Move all, in rounds if rank 0 speaks to a coordinator; the status is in `way`. */
static void move_together(struct way *way, bool led) {
    const struct ps_file *file = way->file;
    const struct part *part = &way->part;
    if (!led) {
        move_range(way, 0, 0);
        return;
    }
    int64_t pieces = part->count > 0 ? (part->count + part->grain - 1) / part->grain : 0;
    struct ps_sums sums = ps_sum_to_first(file, part->bytes, pieces > 1 ? pieces : 0);
    if (file->rank == 0) {
        way->volume = sums.bytes;
        lead(way, count_rounds(file, (uint64_t)sums.bytes, (uint64_t)sums.other));
    } else {
        follow(way);
    }
}

/* Begin a call of all ranks: whether rank 0 speaks to a coordinator. */
static bool begin_together(struct ps_file *file) {
    ps_started_settle(file, false);
    ps_layer()->enter_together(file->rank == 0);
    return ps_from_first(file, file->rank == 0 && ps_layer()->speaks()) != 0;
}

static struct way way_of(struct ps_file *file, const struct ps_request *request, bool in_one_piece) {
    struct way way = {.file = file, .code = MPI_SUCCESS, .part = find_part(file, request, in_one_piece)};
    return way;
}

static void tell_status(const struct way *way, MPI_Status *theirs) {
    if (theirs == MPI_STATUS_IGNORE)
        return;
    *theirs = way->status;
    if (way->code == MPI_SUCCESS && way->part.count > 0)
        ps_mpi()->Status_set_elements_x(theirs, ps_mpi()->byte, way->moved);
}

static int move_all(struct ps_file *file, const struct ps_request *request) {
    struct way way = way_of(file, request, request->scheme == PS_ORDERED);
    move_together(&way, begin_together(file));
    ps_layer()->leave_together(request->direction);
    tell_status(&way, (MPI_Status *)request->words[request->at ? 5 : 4]);
    return way.code;
}

/* ---- Split calls: a coordinated one has moved its data when it has begun, as MPI allows ---- */

static int begin(struct ps_file *file, const struct ps_request *request) {
    struct way way = way_of(file, request, request->scheme == PS_BEGUN_ORDERED);
    bool led = begin_together(file) && request->whole != NULL;
    if (led) {
        way.part.call = request->whole;
        move_together(&way, true);
        tell_status(&way, &file->moved);
        file->begun = way.code == MPI_SUCCESS;
    } else {
        way.code = call_words(request->call, request->words);
        ps_layer()->count(request->direction, way.code == MPI_SUCCESS ? (uint64_t)way.part.bytes : 0, 0);
    }
    ps_layer()->leave_together(request->direction);
    return way.code;
}

static int end(struct ps_file *file, const struct ps_request *request) {
    MPI_Status *theirs = (MPI_Status *)request->words[2];
    if (!file->begun)
        return call_words(request->call, request->words);
    file->begun = false;
    if (theirs != MPI_STATUS_IGNORE)
        *theirs = file->moved;
    return MPI_SUCCESS;
}

/* ---- Non-blocking calls: bytes count when they start ---- */

static int start(struct ps_file *file, const struct ps_request *request) {
    struct part part = find_part(file, request, true);
    size_t taken = 0, size = (size_t)part.bytes;
    ps_layer()->enter();
    while (taken < size)
        taken += ps_layer()->take(size - taken);
    int code = call_words(request->call, request->words);
    ps_layer()->moved(request->direction, taken, code == MPI_SUCCESS ? taken : 0);
    ps_layer()->leave(request->direction);
    return code;
}

/* No rank may wait for another one here. So rank 0 waits for as many bytes as if all ranks had its own, and corrects that
 * when it knows better. */
static int start_together(struct ps_file *file, const struct ps_request *request) {
    struct part part = find_part(file, request, true);
    uint64_t taken = 0;
    ps_started_settle(file, false);
    ps_layer()->enter_together(file->rank == 0);
    if (file->rank == 0 && part.bytes > 0) {
        uint64_t guess = (uint64_t)part.bytes * (uint64_t)file->size;
        const struct ps_rounds rounds = {guess, 1};
        ps_layer()->begin_rounds();
        if (ps_layer()->take_round(guess, &rounds))
            taken = guess;
        ps_layer()->end_rounds(); /* the call itself may wait for other ranks */
    }
    int code = call_words(request->call, request->words);
    int64_t own = code == MPI_SUCCESS ? part.bytes : 0;
    ps_layer()->count(request->direction, (uint64_t)own, 0);
    ps_layer()->leave_together(request->direction);
    ps_started(file, own, taken);
    return code;
}

int ps_carry_out(struct ps_file *file, const struct ps_request *request) {
    switch (request->scheme) {
    case PS_ALONE:
    case PS_SHARED:
        return move_alone(file, request);
    case PS_TOGETHER:
    case PS_ORDERED:
        return move_all(file, request);
    case PS_BEGUN:
    case PS_BEGUN_ORDERED:
        return begin(file, request);
    case PS_ENDED:
        return end(file, request);
    case PS_STARTED:
        return start(file, request);
    case PS_STARTED_TOGETHER:
        return start_together(file, request);
    }
    return MPI_ERR_OTHER;
}
