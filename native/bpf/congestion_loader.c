/* congestion_loader: TCP congestion controls from BPF objects. This file is its command line; see struct_ops.h, registration.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "bpf/registration.h"
#include "bpf/struct_ops.h"

enum { EXIT_BROKEN = 1, EXIT_REFUSED = 2, EXIT_MISSING = 3, EXIT_TAKEN = 5 };

#define FREE_WITHIN_MS 2000
#define FREE_POLL_MS 20

static const char help[] =
    "congestion_loader - TCP congestion controls from BPF objects\n"
    "\n"
    "  congestion_loader name OBJECT           prints what the algorithm in an object is called\n"
    "  congestion_loader check OBJECT          asks the kernel's verifier, and registers nothing\n"
    "  congestion_loader hold OBJECT FOLDER    registers it, in a process that goes to the background\n"
    "  congestion_loader list                  what is registered from BPF on this machine: MAP_ID NAME\n"
    "  congestion_loader unregister MAP_ID NAME\n"
    "                                          takes back what a killed holder left (only kernels before 6.4 leave it)\n"
    "\n"
    "The holder serves FOLDER/NAME.sock (SOCK_SEQPACKET). Who connects is a user until the connection closes, however its\n"
    "process ends; standard input is the first. With the last user the registration goes. On connecting it says the name;\n"
    "it answers `who` with the users' process numbers, `keep` (stay without users) and `release` (the opposite) with `ok`.\n"
    "FOLDER/NAME.json tells who holds what.\n"
    "Exit codes: 0 done; 2 the object is refused (the kernel's log is on stderr); 3 the machine or the user's rights lack\n"
    "something; 5 the name is taken.\n";

static int usage(void)
{
    fputs(help, stderr);
    return EXIT_REFUSED;
}

static int failed(int reason)
{
    if (reason == EPERM && geteuid() != 0)
        fprintf(stderr, "only root may load BPF programs\n");
    else
        fprintf(stderr, "%s\n", strerror(reason));
    return reason == EPERM || reason == ENOSYS ? EXIT_MISSING : EXIT_REFUSED;
}

static int print_name(const char *object)
{
    char name[ALGORITHM_NAME_BYTES];
    if (!object_names(object, name))
        return EXIT_REFUSED;
    puts(name);
    return 0;
}

static int check(const char *object)
{
    struct algorithm algorithm;
    int reason = object_load(object, &algorithm);
    if (reason)
        return failed(reason);
    puts(algorithm.name);
    return 0;
}

/* The kernel frees a name a moment after its last holder has gone. */
static int register_when_free(struct algorithm *algorithm)
{
    const struct timespec pause = {.tv_nsec = FREE_POLL_MS * 1000000};
    int reason = algorithm_register(algorithm);
    for (int waited_ms = 0; reason == EEXIST && waited_ms < FREE_WITHIN_MS; waited_ms += FREE_POLL_MS) {
        nanosleep(&pause, NULL);
        reason = algorithm_register(algorithm);
    }
    return reason;
}

/* What is left of the terminal and of the caller's pipes would keep the caller waiting. */
static void leave_terminal(void)
{
    int null = open("/dev/null", O_RDWR);
    setsid();
    for (int fd = 0; fd <= 2; fd++)
        dup2(null, fd);
    if (null > 2)
        close(null);
    if (chdir("/") != 0)
        abort();
}

/* Absolute: the holder leaves the caller's working directory. NULL with errno. */
static char *in_folder(const char *folder, const char *name, const char *suffix)
{
    char *path = NULL, *absolute = realpath(folder, NULL);
    int length = absolute ? asprintf(&path, "%s/%s%s", absolute, name, suffix) : -1;
    free(absolute);
    return length < 0 ? NULL : path;
}

/* Tells the caller only after everything stands: a user that is told sees all of it. */
static int hold(const char *object, const char *folder)
{
    struct holder holder = {0};
    int reason = object_load(object, &holder.algorithm);
    if (reason)
        return failed(reason);
    holder.socket_path = in_folder(folder, holder.algorithm.name, ".sock");
    holder.record_path = in_folder(folder, holder.algorithm.name, ".json");
    holder.lock_path = in_folder(folder, "lock", "");
    if (!holder.socket_path || !holder.record_path || !holder.lock_path)
        return failed(errno);
    reason = register_when_free(&holder.algorithm);
    if (reason == EEXIST) {
        fprintf(stderr, "the name %s is taken\n", holder.algorithm.name);
        return EXIT_TAKEN;
    }
    if (reason)
        return failed(reason);
    int ready[2];
    if (!holder_listen(&holder) || pipe(ready) != 0) {
        reason = errno;
        algorithm_unregister(&holder.algorithm);
        return failed(reason);
    }
    pid_t child = fork();
    if (child == 0) {
        int first_user = dup(0);
        bool is_recorded = holder_record(&holder, object);
        close(ready[0]);
        if (write(ready[1], is_recorded ? "y" : "n", 1) != 1 || !is_recorded)
            _exit(EXIT_BROKEN);
        close(ready[1]);
        leave_terminal();
        holder_serve(&holder, first_user);
        _exit(0);
    }
    close(ready[1]);
    char said = 'n';
    if (child < 0 || read(ready[0], &said, 1) != 1 || said != 'y') {
        fprintf(stderr, "cannot write %s\n", holder.record_path);
        unlink(holder.socket_path);
        algorithm_unregister(&holder.algorithm);
        return EXIT_BROKEN;
    }
    puts(holder.algorithm.name);
    return 0;
}

static void print_registered(uint32_t map_id, const char *name)
{
    printf("%u %s\n", map_id, name);
}

static int unregister(const char *map_id, const char *name)
{
    int reason = map_unregister((uint32_t)strtoul(map_id, NULL, 10), name);
    return reason ? failed(reason) : 0;
}

int main(int argc, char **argv)
{
    const char *command = argc > 1 ? argv[1] : "";
    /* Before Linux 5.11 BPF objects counted as locked memory. */
    setrlimit(RLIMIT_MEMLOCK, &(struct rlimit){RLIM_INFINITY, RLIM_INFINITY});
    if (argc == 2 && strcmp(command, "--help") == 0)
        return fputs(help, stdout) < 0;
    if (argc == 3 && strcmp(command, "name") == 0)
        return print_name(argv[2]);
    if (argc == 3 && strcmp(command, "check") == 0)
        return check(argv[2]);
    if (argc == 4 && strcmp(command, "hold") == 0)
        return hold(argv[2], argv[3]);
    if (argc == 4 && strcmp(command, "unregister") == 0)
        return unregister(argv[2], argv[3]);
    if (argc == 2 && strcmp(command, "list") == 0) {
        int reason = algorithms_each(print_registered);
        return reason ? failed(reason) : 0;
    }
    return usage();
}
