/* Errors, memory, numbers and addresses. */
#include <arpa/inet.h>
#include <netdb.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "program.h"

_Noreturn void fail(const char *format, ...)
{
    va_list words;
    va_start(words, format);
    vfprintf(stderr, format, words);
    va_end(words);
    fputc('\n', stderr);
    exit(1);
}

void *allocated(size_t count, size_t size)
{
    void *memory = calloc(count, size);
    if (memory == NULL)
        fail("no memory");
    return memory;
}

uint64_t number_of(const char *text)
{
    char *end;
    const uint64_t number = strtoull(text, &end, 10);
    if (*text == '\0' || *end != '\0')
        fail("%s is no number", text);
    return number;
}

struct sockaddr_storage address_of(const char *endpoint)
{
    const char *colon = strrchr(endpoint, ':');
    if (colon == NULL)
        fail("%s has no port", endpoint);
    const int is_bracketed = *endpoint == '[';
    char host[INET6_ADDRSTRLEN] = "";
    const size_t length = (size_t)(colon - endpoint) - (is_bracketed ? 2 : 0);
    if (length >= sizeof host)
        fail("%s is no address", endpoint);
    memcpy(host, endpoint + is_bracketed, length);
    const struct addrinfo hints = {.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV, .ai_socktype = SOCK_DGRAM};
    struct addrinfo *found;
    if (getaddrinfo(host, colon + 1, &hints, &found) != 0)
        fail("%s is no address", endpoint);
    struct sockaddr_storage address = {0};
    memcpy(&address, found->ai_addr, found->ai_addrlen);
    freeaddrinfo(found);
    return address;
}

static socklen_t length_of(const struct sockaddr_storage *address)
{
    return address->ss_family == AF_INET ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6);
}

/* The address from which the kernel would send to a server, with our port. */
struct sockaddr_storage source_towards(const struct sockaddr_storage *server, in_port_t port)
{
    struct sockaddr_storage source = {0};
    socklen_t length = sizeof source;
    const int probe = socket(server->ss_family, SOCK_DGRAM, 0);
    if (probe < 0 || connect(probe, (const struct sockaddr *)server, length_of(server)) != 0 ||
        getsockname(probe, (struct sockaddr *)&source, &length) != 0)
        fail("no way to an address of the server");
    close(probe);
    if (source.ss_family == AF_INET)
        ((struct sockaddr_in *)&source)->sin_port = port;
    else
        ((struct sockaddr_in6 *)&source)->sin6_port = port;
    return source;
}
