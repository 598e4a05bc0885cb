/* congestion_loader: TCP congestion controls from BPF objects. This is its command line; see also registration.h. */
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
#include "common/lifecycle.h"

enum { EXIT_REFUSED = EXIT_USAGE, EXIT_TAKEN = 5 };

#define FREE_WITHIN_MS 2000
#define FREE_POLL_MS 20

static const char help[] =
    "congestion_loader - TCP congestion controls from BPF objects\n"
    "\n"
    "  congestion_loader name OBJECT             prints the name of the algorithm in an object\n"
    "  congestion_loader check OBJECT            lets the kernel's verifier check it, and registers nothing\n"
    "  congestion_loader register OBJECT FOLDER  registers it, and starts a daemon that keeps it registered\n"
    "  congestion_loader list                    prints MAP_ID NAME of what is registered from BPF on this machine\n"
    "  congestion_loader unregister MAP_ID NAME  removes what a killed daemon left (kernels before 6.4 only)\n"
    "\n"
    "The daemon listens at FOLDER/NAME.sock (SOCK_SEQPACKET). Each connection is a client until the kernel closes it\n"
    "with its process; standard input is the first. The registration ends with the last client. The daemon first\n"
    "sends its algorithm's name; it answers `who` with the clients' PIDs, and `keep` (stay without clients) and\n"
    "`release` (the opposite) with `ok`. FOLDER/NAME.json is its record.\n"
    "Exit codes: 0 done; 1 a file cannot be written; 2 the object is refused (the kernel's log is on stderr); 3 the\n"
    "machine lacks something, or the user the right; 5 the name is taken.\n";

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
    if (!object_name(object, name))
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

/* The kernel frees a name a moment after its last registration has ended. */
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

/* Leaves the caller's terminal, pipes and folder, so that nobody waits for the daemon. */
static void detach(void)
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

/* An absolute path, because the daemon leaves the working directory; NULL with errno. */
static char *in_folder(const char *folder, const char *name, const char *suffix)
{
    char *path = NULL, *absolute = realpath(folder, NULL);
    int length = absolute ? asprintf(&path, "%s/%s%s", absolute, name, suffix) : -1;
    free(absolute);
    return length < 0 ? NULL : path;
}

/* The daemon, in a process of its own. It writes to `ready` when its record is complete. */
_Noreturn static void run_daemon(struct registration *registration, const char *object, int ready)
{
    int first_client = dup(STDIN_FILENO);
    if (!registration_record(registration, object) || write(ready, "y", 1) != 1)
        _exit(EXIT_BROKEN);
    close(ready);
    detach();
    registration_serve(registration, first_client);
    _exit(EXIT_SUCCESS);
}

/* Returns false if the daemon has not become ready. */
static bool start_daemon(struct registration *registration, const char *object)
{
    int ready[2];
    char answer;
    if (pipe(ready) != 0)
        return false;
    pid_t child = fork();
    if (child == 0) {
        close(ready[0]);
        run_daemon(registration, object, ready[1]);
    }
    close(ready[1]);
    bool is_ready = child > 0 && read(ready[0], &answer, 1) == 1;
    close(ready[0]);
    return is_ready;
}

static bool set_paths(struct registration *registration, const char *folder)
{
    const char *name = registration->algorithm.name;
    registration->socket_path = in_folder(folder, name, ".sock");
    registration->record_path = in_folder(folder, name, ".json");
    registration->lock_path = in_folder(folder, "lock", "");
    return registration->socket_path && registration->record_path && registration->lock_path;
}

/* Returns when the daemon is ready: from then on its caller finds socket and record. */
static int register_algorithm(const char *object, const char *folder)
{
    struct registration registration = {0};
    struct algorithm *algorithm = &registration.algorithm;
    int reason = object_load(object, algorithm);
    if (!reason && !set_paths(&registration, folder))
        reason = errno;
    if (!reason)
        reason = register_when_free(algorithm);
    if (reason == EEXIST) {
        fprintf(stderr, "the name %s is taken\n", algorithm->name);
        return EXIT_TAKEN;
    }
    if (reason)
        return failed(reason);
    if (!registration_listen(&registration)) {
        reason = errno;
        algorithm_unregister(algorithm);
        return failed(reason);
    }
    if (!start_daemon(&registration, object)) {
        fprintf(stderr, "cannot start the daemon, or write %s\n", registration.record_path);
        unlink(registration.socket_path);
        algorithm_unregister(algorithm);
        return EXIT_BROKEN;
    }
    puts(algorithm->name);
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
    if (argc == 4 && strcmp(command, "register") == 0)
        return register_algorithm(argv[2], argv[3]);
    if (argc == 4 && strcmp(command, "unregister") == 0)
        return unregister(argv[2], argv[3]);
    if (argc == 2 && strcmp(command, "list") == 0) {
        int reason = algorithms_each(print_registered);
        return reason ? failed(reason) : 0;
    }
    return usage();
}
