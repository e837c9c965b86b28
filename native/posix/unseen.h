/* I/O that no call shows: it is counted and said once. */
#ifndef PS_UNSEEN_H
#define PS_UNSEEN_H

/* A descriptor was opened or is closed: if this process moves bytes by other ways, its watched files count as touched. */
void ps_unseen_use(int file);

#endif
