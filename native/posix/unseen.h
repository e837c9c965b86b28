/* I/O that no call shows: it is counted and said once. */
#ifndef PS_UNSEEN_H
#define PS_UNSEEN_H

#include <stdbool.h>

/* A descriptor was opened or is closed: if this process moves bytes by other ways, its watched files count as touched. */
void ps_unseen_use(int file);

/* A program will be executed, which is looked for on PATH if `by_name`. If it looks like one into which nothing can be
 * preloaded, its path goes into the file `unseen` beside the records; `penstock run` judges it. */
void ps_unseen_program(const char *path, bool by_name);

#endif
