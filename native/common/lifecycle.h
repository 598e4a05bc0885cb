/* How a program starts and ends: exit codes, stop signals, and the end of its parent. */
#pragma once

enum { EXIT_BROKEN = 1, EXIT_USAGE = 2, EXIT_MISSING = 3 };

/* Blocks SIGTERM, SIGINT and SIGHUP for this thread and all that it starts. Returns a descriptor that becomes readable
 * when one of them arrives. Writing to a closed pipe or socket becomes an error instead of a signal. */
int lifecycle_stop_fd(void);

/* Makes the kernel send SIGTERM to this process when the thread that started it ends; exits if that has happened
 * already. */
void lifecycle_end_with_parent(void);
