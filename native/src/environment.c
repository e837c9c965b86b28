#include "environment.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "json.h"
#include "penstock.h"
#include "text.h"

#define DEFAULT_PATIENCE 5.0
#define MACHINE_SOCKET "/run/penstock/penstock.sock"

static const char *variable(const char *name) {
    const char *value = getenv(name);
    return value != NULL && *value != '\0' ? value : NULL;
}

bool ps_disabled(void) {
    const char *value = variable("PENSTOCK_DISABLE");
    return value != NULL && strcmp(value, "0") != 0;
}

/* ---- Patience ---- */

/* A number as people write it. strtod goes by the locale; the reader of JSON does not. */
static bool parse_number(const char *text, double *number) {
    struct ps_json_object object;
    char line[96];
    struct ps_text wrapped = ps_text(line, sizeof line);
    ps_put(&wrapped, "{\"x\":");
    ps_put(&wrapped, *text == '.' ? "0" : "");
    ps_put(&wrapped, text);
    ps_put(&wrapped, "}");
    return !wrapped.full && ps_json_object(line, wrapped.length, &object) &&
           ps_json_number(ps_json_member(&object, "x"), number);
}

int ps_find_patience(double told, double *patience, struct ps_notices *notices) {
    const char *text = variable("PENSTOCK_PATIENCE");
    *patience = DEFAULT_PATIENCE;
    if (isnan(told) || isinf(told))
        return PENSTOCK_E_RANGE;
    if (told >= 0.0) {
        *patience = told;
    } else if (text != NULL && !(parse_number(text, patience) && *patience >= 0.0)) {
        char line[PS_NOTICE_BYTES], shown[PS_TEXT_BYTES];
        struct ps_text notice = ps_text(line, sizeof line);
        ps_one_line(shown, sizeof shown, text);
        ps_put(&notice, "penstock: PENSTOCK_PATIENCE '");
        ps_put(&notice, shown);
        ps_put(&notice, "' is no number of seconds, 0 or more; waiting for 5 s");
        ps_notify(notices, PENSTOCK_WARNING, line);
        *patience = DEFAULT_PATIENCE;
    }
    return 0;
}

/* ---- Address ---- */

/* The folder of the socket of a user without a runtime folder. */
static void put_own_folder(struct ps_text *path) {
    ps_put(path, "/tmp/penstock-");
    ps_put_count(path, (uint64_t)getuid());
}

/* The user's own socket, or the machine's if only that exists. */
static void default_socket(struct ps_text *path) {
    const char *runtime = variable("XDG_RUNTIME_DIR");
    if (runtime != NULL)
        ps_put(path, runtime);
    else
        put_own_folder(path);
    ps_put(path, "/penstock.sock");
    if (!path->full && access(path->start, F_OK) != 0 && access(MACHINE_SOCKET, F_OK) == 0) {
        *path = ps_text(path->start, path->size);
        ps_put(path, MACHINE_SOCKET);
    }
}

static int parse_path(const char *text, struct ps_address *address) {
    struct ps_text path = ps_text(address->path, sizeof address->path);
    if (*text != '/') {
        char folder[PS_PATH_BYTES];
        if (getcwd(folder, sizeof folder) == NULL)
            return PENSTOCK_E_ADDRESS;
        ps_put(&path, folder);
        ps_put(&path, "/");
    }
    ps_put(&path, text);
    return path.full ? PENSTOCK_E_ADDRESS : 0;
}

static bool is_port(const char *text) {
    size_t digits = strspn(text, "0123456789");
    unsigned long port = digits >= 1 && digits <= 5 && text[digits] == '\0' ? strtoul(text, NULL, 10) : 0;
    return port >= 1 && port <= 65535;
}

static int parse_host(const char *text, struct ps_address *address) {
    const char *colon = strrchr(text, ':');
    size_t length = (size_t)(colon - text);
    if (!is_port(colon + 1))
        return PENSTOCK_E_ADDRESS;
    bool bracketed = length >= 2 && text[0] == '[' && text[length - 1] == ']';
    if (bracketed) {
        text++;
        length -= 2;
    }
    if (length == 0 || (!bracketed && memchr(text, ':', length) != NULL))
        return PENSTOCK_E_ADDRESS;
    struct ps_text host = ps_text(address->host, sizeof address->host), port = ps_text(address->port, sizeof address->port);
    ps_put_bytes(&host, text, length);
    ps_put(&port, colon + 1);
    return host.full ? PENSTOCK_E_ADDRESS : 0;
}

int ps_find_address(const char *told, struct ps_address *address, char shown[PS_WHERE_BYTES]) {
    char standard[PS_PATH_BYTES];
    struct ps_text path = ps_text(standard, sizeof standard);
    memset(address, 0, sizeof *address);
    if (told == NULL)
        told = variable("PENSTOCK_SOCKET");
    if (told == NULL) {
        default_socket(&path);
        told = path.full ? "" : standard;
    }
    int code = PENSTOCK_E_ADDRESS;
    if (*told != '\0')
        code = strchr(told, '/') != NULL || strchr(told, ':') == NULL ? parse_path(told, address)
                                                                      : parse_host(told, address);
    ps_one_line(shown, PS_WHERE_BYTES, address->path[0] != '\0' && code == 0 ? address->path : told);
    return code;
}

static int read_token(const char *path, char token[PS_SECRET_BYTES]) {
    struct stat status;
    char text[PS_SECRET_BYTES];
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (file < 0)
        return PENSTOCK_E_TOKEN;
    ssize_t length = fstat(file, &status) == 0 && (status.st_mode & 077) == 0 ? read(file, text, sizeof text - 1) : -1;
    close(file);
    if (length <= 0)
        return PENSTOCK_E_TOKEN;
    text[length] = '\0';
    char *start = text + strspn(text, " \t\r\n"), *end = start + strlen(start);
    while (end > start && strchr(" \t\r\n", end[-1]) != NULL)
        end--;
    *end = '\0';
    for (const char *at = start; at < end;) {
        size_t bytes = ps_utf8(at, end);
        if (bytes == 0)
            return PENSTOCK_E_TOKEN;
        at += bytes;
    }
    size_t characters = ps_characters(start);
    if (characters < 1 || characters > 512)
        return PENSTOCK_E_TOKEN;
    memcpy(token, start, (size_t)(end - start) + 1);
    return 0;
}

int ps_find_token(const char *told, const struct ps_address *address, char token[PS_SECRET_BYTES]) {
    token[0] = '\0';
    if (address->path[0] != '\0')
        return 0;
    const char *path = told != NULL ? told : variable("PENSTOCK_TOKEN_FILE");
    return path != NULL ? read_token(path, token) : 0;
}

/* ---- Identity ---- */

/* Printable, and the last 200 characters if it is longer. */
static void put_name(char name[PS_NAME_BYTES], const char *text) {
    char plain[2 * PS_NAME_BYTES];
    ps_printable(plain, sizeof plain, text, sizeof plain);
    const char *from = plain;
    for (size_t extra = ps_characters(plain); extra > PS_NAME_CHARACTERS; extra--)
        from += ps_utf8(from, plain + sizeof plain);
    struct ps_text copy = ps_text(name, PS_NAME_BYTES);
    ps_put(&copy, from);
}

/* Name and number of the Slurm job, else of the program. */
static void find_name(char name[PS_NAME_BYTES]) {
    char text[2 * PS_NAME_BYTES];
    struct ps_text line = ps_text(text, sizeof text);
    const char *number = variable("SLURM_JOB_ID"), *job = variable("SLURM_JOB_NAME");
    if (number != NULL) {
        job = job != NULL ? job : "job";
        ps_put_bytes(&line, job, strnlen(job, PS_NAME_BYTES));
        ps_put(&line, "-");
        ps_put_bytes(&line, number, strnlen(number, PS_NAME_CHARACTERS));
    } else {
        ps_put(&line, *program_invocation_short_name != '\0' ? program_invocation_short_name : "program");
        ps_put(&line, "-");
        ps_put_count(&line, (uint64_t)getpid());
    }
    put_name(name, text);
}

/* Shown to people; the kernel tells the coordinator who the user is. Not by getpwuid, which loads modules. */
static void find_user(char user[PS_NAME_BYTES]) {
    const char *const names[] = {"SLURM_JOB_USER", "USER", "LOGNAME"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (variable(names[i]) != NULL) {
            ps_printable(user, PS_NAME_BYTES, variable(names[i]), PS_NAME_CHARACTERS);
            return;
        }
    struct ps_text text = ps_text(user, PS_NAME_BYTES);
    ps_put_count(&text, (uint64_t)getuid());
}

static uint64_t find_nodes(void) {
    const char *text = variable("SLURM_JOB_NUM_NODES");
    if (text == NULL)
        text = variable("SLURM_NNODES");
    size_t digits = text != NULL ? strspn(text, "0123456789") : 0;
    if (digits == 0 || digits > 9 || text[digits] != '\0')
        return 1;
    unsigned long nodes = strtoul(text, NULL, 10);
    return nodes > 0 ? nodes : 1;
}

static double find_elapsed(void) {
    const char *text = variable("SLURM_JOB_START_TIME");
    double start, now = (double)time(NULL);
    return text != NULL && parse_number(text, &start) && start >= 0.0 && start < now ? now - start : 0.0;
}

static bool within(double number, double most) { return number < 0.0 || number <= most; }

int ps_identify(struct ps_identity *identity, const char *name, int64_t nodes, double bandwidth, double lead,
                double whole) {
    memset(identity, 0, sizeof *identity);
    if (nodes < 0 || nodes > 1000000000 || !within(bandwidth, 1e18) || !within(lead, 1e10) || !within(whole, 1e10))
        return PENSTOCK_E_RANGE;
    if (name != NULL) {
        char plain[PS_NAME_BYTES + 4];
        ps_printable(plain, sizeof plain, name, PS_NAME_CHARACTERS + 1);
        size_t characters = ps_characters(plain);
        if (characters < 1 || characters > PS_NAME_CHARACTERS)
            return PENSTOCK_E_RANGE;
        struct ps_text copy = ps_text(identity->job, sizeof identity->job);
        ps_put(&copy, plain);
    } else {
        find_name(identity->job);
    }
    find_user(identity->user);
    identity->nodes = nodes > 0 ? (uint64_t)nodes : find_nodes();
    identity->bandwidth = bandwidth < 0.0 ? NAN : bandwidth;
    identity->lead = lead < 0.0 ? 0.0 : lead;
    identity->whole = whole < 0.0 ? NAN : whole;
    identity->elapsed = find_elapsed();
    return 0;
}
