/* Start and end of a program: exit codes, stop signals, and the end of its parent. */
#pragma once

#include <stdatomic.h>

enum { EXIT_BROKEN = 1, EXIT_USAGE = 2, EXIT_MISSING = 3 };

/* Blocks SIGTERM, SIGINT and SIGHUP for this thread and all that it starts. Returns a descriptor that becomes readable
 * when one of them arrives. Writing to a closed pipe or socket becomes an error instead of a signal. */
int lifecycle_stop_fd(void);

/* Makes the kernel send SIGTERM to this process when the thread that started it ends; exits if that has happened
 * already. */
void lifecycle_end_with_parent(void);

/* Ends this process as SIGTERM would, from one of its threads: sets `*ended` first, to tell the main thread why. */
_Noreturn void lifecycle_end(atomic_bool *ended);

/* Gives the calling thread a high priority, if this user may. */
void lifecycle_raise_priority(void);
