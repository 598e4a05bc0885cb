/* Fuzz target: the clients of the loader's daemon: what they send, whether they read the answers, and when they leave.
 * Claims that the daemon goes on answering others whatever they do, and ends when the last of them has gone. */
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "bpf/registration.h"
#include "fuzz.h"

#define CLIENTS 8
#define DESCRIPTORS 256
#define ANSWERS_WITHIN_S 5
#define NAME "reno_x"

enum action { CONNECT, SEND, READ, LEAVE, ASK_AND_ASK, ACTIONS };

struct clients {
    struct input input;
    struct sockaddr_un address;
    int sockets[CLIENTS], well_behaved;
};

static char folder[] = "/tmp/flightpath-fuzz-XXXXXX", socket_path[64], lock_path[64];
static int unregistered;

/* In place of the kernel's. */
int algorithm_unregister(struct algorithm *algorithm)
{
    (void)algorithm;
    unregistered++;
    return 0;
}

static int connected(const struct clients *clients)
{
    const struct timeval limit = {.tv_sec = ANSWERS_WITHIN_S};
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    CLAIM(fd >= 0 && connect(fd, (const struct sockaddr *)&clients->address, sizeof clients->address) == 0);
    CLAIM(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit) == 0);
    return fd;
}

static void leave(int *client)
{
    if (*client >= 0)
        close(*client);
    *client = -1;
}

static void act(struct clients *clients, enum action action, int *client)
{
    char answer[64];
    size_t length;
    if (action == CONNECT) {
        leave(client);
        *client = connected(clients);
        recv(*client, answer, sizeof answer, 0); /* from now on, the daemon lists it */
    } else if (action == SEND) {
        const uint8_t *bytes = input_bytes(&clients->input, input_number(&clients->input, 1) % 32, &length);
        send(*client, bytes, length, MSG_DONTWAIT | MSG_NOSIGNAL);
    } else if (action == READ) {
        recv(*client, answer, sizeof answer, MSG_DONTWAIT);
    } else if (action == LEAVE) {
        leave(client);
    } else {
        for (uint64_t left = input_number(&clients->input, 1); left > 0; left--)
            send(*client, "who", 3, MSG_DONTWAIT | MSG_NOSIGNAL);
    }
}

/* Returns how long the answer is. */
static size_t ask(int client, const char *request, char *answer, size_t size)
{
    CLAIM(send(client, request, strlen(request), 0) == (ssize_t)strlen(request));
    ssize_t length = recv(client, answer, size, 0);
    CLAIM(length > 0);
    return (size_t)length;
}

static bool is_alone(int client)
{
    char others[16384];
    return ask(client, "who", others, sizeof others) == 1 || strncmp(others, "kept", 4) == 0;
}

/* One client behaves, and is answered whatever the others do. When they have gone, it lets the daemon end. */
static void *play(void *context)
{
    struct clients *clients = context;
    char text[64];
    CLAIM(recv(clients->well_behaved, text, sizeof text, 0) == sizeof NAME - 1);
    while (clients->input.size > 0) {
        uint64_t choice = input_number(&clients->input, 1);
        act(clients, choice % ACTIONS, &clients->sockets[choice / ACTIONS % CLIENTS]);
    }
    is_alone(clients->well_behaved);
    for (int i = 0; i < CLIENTS; i++)
        leave(&clients->sockets[i]);
    while (!is_alone(clients->well_behaved))
        sched_yield();
    CLAIM(ask(clients->well_behaved, "release", text, sizeof text) == 2);
    leave(&clients->well_behaved);
    return NULL;
}

static void remove_folder(void)
{
    unlink(lock_path);
    rmdir(folder);
}

static void make_folder(void)
{
    CLAIM(mkdtemp(folder) != NULL && atexit(remove_folder) == 0);
    snprintf(socket_path, sizeof socket_path, "%s/s", folder);
    snprintf(lock_path, sizeof lock_path, "%s/l", folder);
}

static void note_open(bool *open)
{
    for (int fd = 0; fd < DESCRIPTORS; fd++)
        open[fd] = fcntl(fd, F_GETFD) >= 0;
}

/* A daemon leaves these to the end of its process. */
static void close_all_but(const bool *open)
{
    for (int fd = 0; fd < DESCRIPTORS; fd++)
        if (!open[fd])
            close(fd);
}

/* The first client is an end of a socket pair, as the loader's standard input is; its answers have little room. */
static int first_client(int *end)
{
    int ends[2], room = 1;
    CLAIM(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == 0);
    CLAIM(setsockopt(ends[0], SOL_SOCKET, SO_SNDBUF, &room, sizeof room) == 0);
    *end = ends[1];
    return ends[0];
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct registration registration = {
        .algorithm = {.name = NAME}, .socket_path = socket_path, .record_path = lock_path, .lock_path = lock_path};
    struct clients clients = {.input = {data, size}, .address = {.sun_family = AF_UNIX}};
    bool open[DESCRIPTORS];
    pthread_t thread;

    if (*socket_path == '\0')
        make_folder();
    note_open(open);
    strcpy(clients.address.sun_path, socket_path);
    memset(clients.sockets, -1, sizeof clients.sockets);
    CLAIM(registration_listen(&registration));
    clients.well_behaved = connected(&clients);
    int first = first_client(&clients.sockets[0]), before = unregistered;
    CLAIM(pthread_create(&thread, NULL, play, &clients) == 0);
    registration_serve(&registration, first);
    pthread_join(thread, NULL);
    CLAIM(unregistered == before + 1);
    close_all_but(open);
    return 0;
}
