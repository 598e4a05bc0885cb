/* namespaces: makes network namespaces for hosts. One process makes all of them, because starting a shell for each
 * would take longer than all else that a network needs. */
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/lifecycle.h"

static const char help[] =
    "namespaces - makes network namespaces, each kept by a process that does nothing else\n"
    "\n"
    "  namespaces NAME...\n"
    "\n"
    "Starts a process for each name, which has that name in ps, prints their PIDs, one a line, and then `ready`. They "
    "end\n"
    "before this program does, which ends with SIGTERM, SIGINT, SIGHUP or the thread that started it. If this program "
    "is\n"
    "killed they end with it. Their PIDs are not used again before that, even if one of them is killed.\n"
    "\n"
    "  namespaces h1 h2 &                    4711, 4712, ready\n"
    "  nsenter --net=/proc/4711/ns/net ip link\n"
    "\n"
    "Exit codes: 0 stopped; 1 the system refuses; 2 usage; 3 this user may not make namespaces.\n";

_Noreturn static void keep_namespace(const char *name, pid_t parent)
{
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != parent)
        _exit(EXIT_SUCCESS);
    prctl(PR_SET_NAME, name);
    for (int fd = 0; fd <= 2; fd++)
        close(fd); /* so that readers of our output see its end when the parent ends */
    for (;;)
        pause();
}

/* Like fork(2), but the child is in a new network namespace, which exists when this returns. */
static pid_t fork_into_namespace(void)
{
    return (pid_t)syscall(SYS_clone, CLONE_NEWNET | SIGCHLD, NULL, NULL, NULL, 0);
}

/* Returns when all have ended. They were not waited for before, so their PIDs are still theirs. */
static void end(const pid_t *keepers, int count)
{
    for (int i = 0; i < count; i++)
        kill(keepers[i], SIGKILL);
    for (int i = 0; i < count; i++)
        waitpid(keepers[i], NULL, 0);
}

int main(int count, char **arguments)
{
    if (count < 2 || arguments[1][0] == '-') {
        fputs(help, count == 2 && strcmp(arguments[1], "--help") == 0 ? stdout : stderr);
        return count == 2 && strcmp(arguments[1], "--help") == 0 ? EXIT_SUCCESS : EXIT_USAGE;
    }
    int stop_fd = lifecycle_stop_fd();
    lifecycle_end_with_parent();
    pid_t parent = getpid();
    pid_t keepers[count];
    for (int i = 1; i < count; i++) {
        pid_t pid = fork_into_namespace();
        if (pid == 0)
            keep_namespace(arguments[i], parent);
        if (pid < 0) {
            fprintf(stderr, "namespaces: no network namespace for %s: %s\n", arguments[i], strerror(errno));
            return errno == EPERM ? EXIT_MISSING : EXIT_BROKEN;
        }
        keepers[i] = pid;
        printf("%d\n", (int)pid);
    }
    if (puts("ready") == EOF || fflush(stdout) != 0)
        return EXIT_BROKEN;
    struct signalfd_siginfo signal;
    while (read(stop_fd, &signal, sizeof signal) < 0 && errno == EINTR)
        ;
    end(keepers + 1, count - 1);
    return EXIT_SUCCESS;
}
