#include "levels.h"

#include "pacing.h"
#include "protocol.h"

__extension__ typedef unsigned __int128 product;

#define UNKNOWN UINT64_MAX
#define MOST_PARTS ((product)1 << 60) /* more than there can be bytes */

static bool is_count(int64_t value, int64_t least) { return value < 0 || (value >= least && (uint64_t)value <= PS_MOST_COUNT); }

static int check(const penstock_info *told) {
    return is_count(told->volume, 0) && is_count(told->rounds, 1) && is_count(told->files, 1) ? 0 : PENSTOCK_E_RANGE;
}

int ps_levels_push(struct ps_levels *levels, const penstock_info *told) {
    int code = levels->depth < PS_LEVELS ? check(told) : PENSTOCK_E_DEPTH;
    if (code == 0)
        levels->list[levels->depth++] = (struct ps_level){*told, 0};
    return code;
}

void ps_levels_pop(struct ps_levels *levels) { levels->depth--; }

void ps_levels_count(struct ps_levels *levels, uint64_t moved) {
    for (int level = 0; level < levels->depth; level++)
        levels->list[level].moved += moved;
}

static uint64_t ceiling(product dividend, product divisor) { return (uint64_t)((dividend + divisor - 1) / divisor); }

static product parts_of(const struct ps_level *level) {
    product parts = (product)(level->told.files > 0 ? level->told.files : 1) *
                    (product)(level->told.rounds > 0 ? level->told.rounds : 1);
    return parts < MOST_PARTS ? parts : MOST_PARTS;
}

/* Bytes of each level: its own, else its share of the level around it, else those of its parts; or UNKNOWN. */
static void find_sizes(const struct ps_level *list, int depth, uint64_t sizes[]) {
    uint64_t share = UNKNOWN;
    for (int k = 0; k < depth; k++) {
        sizes[k] = list[k].told.volume >= 0 ? (uint64_t)list[k].told.volume : share;
        if (sizes[k] == UNKNOWN)
            continue;
        uint64_t part = ceiling(sizes[k], parts_of(list + k)), moved = list[k].moved;
        share = sizes[k] > moved && sizes[k] - moved < part ? sizes[k] - moved : part;
    }
    for (int k = depth - 2; k >= 0; k--)
        if (sizes[k] == UNKNOWN && sizes[k + 1] != UNKNOWN) {
            product size = parts_of(list + k) * sizes[k + 1];
            sizes[k] = size < PS_MOST_COUNT ? (uint64_t)size : PS_MOST_COUNT;
        }
}

/* What the outer levels have to move beyond so many bytes; the largest counts, as it contains the others. */
static uint64_t left_after(const struct ps_level *list, int outer, const uint64_t sizes[], uint64_t volume) {
    uint64_t most = 0;
    for (int k = 0; k < outer; k++)
        if (sizes[k] != UNKNOWN && sizes[k] > list[k].moved && sizes[k] - list[k].moved > most)
            most = sizes[k] - list[k].moved;
    return most > volume ? most - volume : 0;
}

static int describe(const struct ps_level *list, int depth, struct ps_announcement *announced) {
    uint64_t sizes[PS_LEVELS + 1];
    const struct ps_level *inner = list + depth - 1;
    find_sizes(list, depth, sizes);
    uint64_t size = sizes[depth - 1], volume = size > inner->moved ? size - inner->moved : size;
    if (size == UNKNOWN)
        return PENSTOCK_E_NO_VOLUME;
    announced->volume = volume;
    announced->rounds = ps_default_rounds(volume);
    if (size > 0 && (inner->told.rounds > 0 || inner->told.files > 0)) {
        uint64_t rounds = ceiling(parts_of(inner) * volume, size);
        announced->rounds = rounds < 1 ? 1 : rounds < PS_MOST_ROUNDS ? rounds : PS_MOST_ROUNDS;
    }
    announced->follows = left_after(list, depth - 1, sizes, volume);
    return 0;
}

static int announce(struct ps_levels levels, const penstock_info *told, struct ps_announcement *announced) {
    penstock_info *inner = &levels.list[levels.depth - 1].told;
    inner->volume = told->volume >= 0 ? told->volume : inner->volume;
    inner->rounds = told->rounds >= 0 ? told->rounds : inner->rounds;
    inner->files = told->files >= 0 ? told->files : inner->files;
    int code = check(told);
    return code != 0 ? code : describe(levels.list, levels.depth, announced);
}

static int announce_inside(struct ps_levels levels, const penstock_info *told, struct ps_announcement *announced) {
    static const struct ps_level empty = {PENSTOCK_INFO_INIT, 0};
    levels.list[levels.depth++] = empty;
    return announce(levels, told, announced);
}

int ps_levels_announce_inside(const struct ps_levels *levels, const penstock_info *told,
                              struct ps_announcement *announced) {
    int code = announce_inside(*levels, told, announced);
    if (code == 0 && levels->depth == 0 && told->rounds > 0) /* as told, even of 0 bytes */
        announced->rounds = (uint64_t)told->rounds < PS_MOST_ROUNDS ? (uint64_t)told->rounds : PS_MOST_ROUNDS;
    return code;
}

int ps_levels_announce(const struct ps_levels *levels, const penstock_info *told, struct ps_announcement *announced) {
    return levels->depth > 0 ? announce(*levels, told, announced) : announce_inside(*levels, told, announced);
}
