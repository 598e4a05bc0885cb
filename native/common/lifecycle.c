#include "common/lifecycle.h"

#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <unistd.h>

int lifecycle_stop_fd(void)
{
    sigset_t stop;
    sigemptyset(&stop);
    sigaddset(&stop, SIGTERM);
    sigaddset(&stop, SIGINT);
    sigaddset(&stop, SIGHUP);
    signal(SIGPIPE, SIG_IGN);
    sigprocmask(SIG_BLOCK, &stop, NULL);
    return signalfd(-1, &stop, SFD_CLOEXEC);
}

void lifecycle_end_with_parent(void)
{
    pid_t parent = getppid();
    /* A parent that ends before prctl() sends no signal, but changes the parent's PID. */
    if (prctl(PR_SET_PDEATHSIG, SIGTERM) != 0 || getppid() != parent)
        exit(EXIT_SUCCESS);
}

void lifecycle_end(atomic_bool *ended)
{
    *ended = true;
    kill(getpid(), SIGTERM);
    for (;;)
        pause();
}

void lifecycle_raise_priority(void)
{
    setpriority(PRIO_PROCESS, (id_t)gettid(), -20);
}
