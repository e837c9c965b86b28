/* Ways out of a program that run no destructors: _exit and exec. Others must not wait for its turn. */
#include <stdarg.h>
#include <stdlib.h>
#include <unistd.h>

#include "flow.h"
#include "shim.h"

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

#define EXECUTE(name, parameters, arguments)                                                                           \
    SHIM(int, name, parameters) {                                                                                      \
        ps_withdraw(false); /* it may fail, and the program go on */                                                   \
        return real_##name() arguments;                                                                                \
    }

EXECUTE(execve, (const char *path, char *const words[], char *const environment[]), (path, words, environment))
EXECUTE(execv, (const char *path, char *const words[]), (path, words))
EXECUTE(execvp, (const char *path, char *const words[]), (path, words))
EXECUTE(execvpe, (const char *path, char *const words[], char *const environment[]), (path, words, environment))
EXECUTE(fexecve, (int file, char *const words[], char *const environment[]), (file, words, environment))
EXECUTE(execveat, (int folder, const char *path, char *const words[], char *const environment[], int flags),
        (folder, path, words, environment, flags))

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
