/* How a program of ours ends: on SIGTERM or SIGINT, and with the thread that started it. */
#ifndef FLIGHTPATH_LIFECYCLE_H
#define FLIGHTPATH_LIFECYCLE_H

/* This process must not outlive who made it. If the parent dies before prctl, it does so without a signal: then this ends. */
void life_end_with_parent(void);

/* For all threads that start later: they inherit the mask. Returns a descriptor that is readable when it is time to end. */
int life_stop_signals(void);

#endif
