#include "layer.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "connection.h"
#include "record.h"
#include "settings.h"
#include "shim.h"
#include "text.h"

/* realpath of the folder, and the name. */
static bool resolve_new(const char *path, char resolved[PATH_MAX]) {
    char folder[PATH_MAX];
    const char *slash = strrchr(path, '/');
    struct ps_text text = ps_text(folder, sizeof folder);
    ps_put_bytes(&text, slash == NULL ? "." : path, slash == NULL ? 1 : (size_t)(slash - path) + 1);
    return !text.full && realpath(folder, resolved) != NULL;
}

static bool watches(const char *path) {
    char resolved[PATH_MAX];
    int before = errno;
    bool found = path != NULL && (realpath(path, resolved) != NULL || resolve_new(path, resolved)) && ps_mounted(resolved);
    errno = before;
    return found;
}

static void hide(int on) { ps_hidden += on != 0 ? 1 : -1; }

static void is_rank(int64_t nodes, bool first) {
    static _Atomic bool told;
    if (atomic_exchange(&told, true))
        return;
    ps_appear();
    atomic_fetch_or(&ps_record->flags, PS_RANK);
    if (ps_job() != NULL)
        return; /* it has registered already */
    if (first && ps_settings.nodes == 0 && getenv("SLURM_JOB_ID") == NULL)
        ps_settings.nodes = nodes;
    if (!first) {
        ps_settings.nodes = 1;
        ps_settings.bandwidth /= nodes > 0 && ps_settings.bandwidth > 0.0 ? (double)nodes : 1.0;
    }
}

static bool speaks(void) { return ps_job() != NULL && !ps_stands_aside(); }

static uint64_t round_bytes(void) {
    return ps_settings.rounds > 0 ? (ps_settings.volume + ps_settings.rounds - 1) / ps_settings.rounds : 0;
}

__attribute__((visibility("default"))) void penstock_posix_stand_aside(int on) { ps_stand_aside(on); }

__attribute__((visibility("default"))) const struct ps_layer *penstock_posix_layer(unsigned version) {
    static const struct ps_layer layer = {
        .watches = watches,
        .hide = hide,
        .is_rank = is_rank,
        .speaks = speaks,
        .enter = ps_enter,
        .take = ps_take,
        .moved = ps_moved,
        .leave = ps_leave,
        .enter_together = ps_enter_together,
        .begin_rounds = ps_begin_rounds,
        .turn = ps_turn,
        .take_round = ps_take_round,
        .round_moved = ps_round_moved,
        .end_rounds = ps_end_rounds,
        .leave_together = ps_leave_together,
        .count = ps_count,
        .round_bytes = round_bytes,
        .say = ps_say,
    };
    return version == PS_LAYER_VERSION && ps_settings.active ? &layer : NULL;
}
