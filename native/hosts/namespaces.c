/* namespaces: hosts as the kernel sees them. One process makes as many network namespaces as there are hosts, because a shell
 * for each of them takes longer than all else that a network needs. */
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
    "namespaces - network namespaces, each kept by a process that does nothing else\n"
    "\n"
    "  namespaces NAME...\n"
    "\n"
    "Prints for each name the PID of such a process (which has that name in ps), then `ready`. All of them end before this\n"
    "program, and that ends with SIGTERM, SIGINT or the thread that started it; if it is killed they end with it. A PID\n"
    "stays taken until then, also if its process was killed.\n"
    "\n"
    "  namespaces h1 h2 &                    4711, 4712, ready\n"
    "  nsenter --net=/proc/4711/ns/net ip link\n"
    "\n"
    "Exit codes: 0 stopped; 1 the system refuses; 2 usage; 3 this user may not make namespaces.\n";

static void keep(const char *name, pid_t maker)
{
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != maker) /* for a maker that is killed itself */
        _exit(EXIT_SUCCESS);
    prctl(PR_SET_NAME, name);
    for (int fd = 0; fd <= 2; fd++)
        close(fd); /* who reads our output must see its end when the maker ends */
    for (;;)
        pause();
}

/* As fork(2), but into a new network namespace: when it returns, that is there. */
static pid_t fork_apart(void)
{
    return (pid_t)syscall(SYS_clone, CLONE_NEWNET | SIGCHLD, NULL, NULL, NULL, 0);
}

/* Returns when they have ended: who waits for this program may count on it. None was waited for before, so that each PID is
 * still its keeper's. */
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
    int stop = lifecycle_stop_fd();
    lifecycle_end_with_parent();
    pid_t maker = getpid();
    pid_t keepers[count];
    for (int i = 1; i < count; i++) {
        pid_t pid = fork_apart();
        if (pid == 0)
            keep(arguments[i], maker);
        if (pid < 0) {
            fprintf(stderr, "namespaces: no network namespace for %s: %s\n", arguments[i], strerror(errno));
            return errno == EPERM ? EXIT_MISSING : EXIT_BROKEN;
        }
        keepers[i] = pid;
        printf("%d\n", (int)pid);
    }
    if (puts("ready") == EOF || fflush(stdout) != 0)
        return EXIT_BROKEN;
    struct signalfd_siginfo asked;
    while (read(stop, &asked, sizeof asked) < 0 && errno == EINTR)
        ;
    end(keepers + 1, count - 1);
    return EXIT_SUCCESS;
}
