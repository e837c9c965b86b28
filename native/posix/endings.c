/* Ways out of a program that run no destructors: _exit and exec. Others must not wait for its turn. And the ways to start
 * another program, which may be one that we cannot see. */
#include <fcntl.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdlib.h>
#include <unistd.h>

#include "flow.h"
#include "shim.h"
#include "unseen.h"

/* ---- _exit ---- */

#define LEAVE(name)                                                                                                    \
    SHIM(void, name, (int code)) {                                                                                     \
        ps_withdraw(true);                                                                                             \
        real_##name()(code);                                                                                           \
        abort(); /* not reached */                                                                                     \
    }

LEAVE(_exit)
LEAVE(_Exit)

/* ---- exec ---- */

#define EXECUTE(name, parameters, path, by_name, arguments)                                                            \
    SHIM(int, name, parameters) {                                                                                      \
        ps_unseen_program(path, by_name);                                                                              \
        ps_withdraw(false); /* it may fail, and the program go on */                                                   \
        return real_##name() arguments;                                                                                \
    }

EXECUTE(execve, (const char *path, char *const words[], char *const environment[]), path, false,
        (path, words, environment))
EXECUTE(execv, (const char *path, char *const words[]), path, false, (path, words))
EXECUTE(execvp, (const char *path, char *const words[]), path, true, (path, words))
EXECUTE(execvpe, (const char *path, char *const words[], char *const environment[]), path, true,
        (path, words, environment))
EXECUTE(fexecve, (int file, char *const words[], char *const environment[]), NULL, false, (file, words, environment))
EXECUTE(execveat, (int folder, const char *path, char *const words[], char *const environment[], int flags),
        folder == AT_FDCWD ? path : NULL, false, (folder, path, words, environment, flags))

#define SPAWN(name, by_name)                                                                                           \
    SHIM(int, name, (pid_t * child, const char *path, const posix_spawn_file_actions_t *actions,                       \
                     const posix_spawnattr_t *attributes, char *const words[], char *const environment[])) {           \
        ps_unseen_program(path, by_name);                                                                              \
        return real_##name()(child, path, actions, attributes, words, environment);                                    \
    }

SPAWN(posix_spawn, false)
SPAWN(posix_spawnp, true)

/* Defines an exec whose words are parameters, up to a NULL. */
#define EXECUTE_LIST(name, by, more, arguments)                                                                        \
    DEFINE(int, name, (const char *path, const char *word, ...)) {                                                     \
        va_list list;                                                                                                  \
        size_t count = 1;                                                                                              \
        va_start(list, word);                                                                                          \
        while (va_arg(list, char *) != NULL)                                                                           \
            count++;                                                                                                   \
        va_end(list);                                                                                                  \
        char *words[count + 1];                                                                                        \
        words[0] = (char *)(size_t)word;                                                                               \
        va_start(list, word);                                                                                          \
        for (size_t i = 1; i <= count; i++)                                                                            \
            words[i] = va_arg(list, char *);                                                                           \
        more;                                                                                                          \
        va_end(list);                                                                                                  \
        return shim_##by arguments;                                                                                    \
    }

EXECUTE_LIST(execl, execv, (void)0, (path, words))
EXECUTE_LIST(execlp, execvp, (void)0, (path, words))
EXECUTE_LIST(execle, execve, char *const *environment = va_arg(list, char *const *), (path, words, environment))
