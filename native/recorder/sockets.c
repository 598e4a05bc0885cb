#include "recorder/sockets.h"

#include <arpa/inet.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "recorder/flows.h"
#include "recorder/record_file.h"

#define TCP_STATE_LISTEN 10
#define TCP_STATE_TIME_WAIT 6
#define ANSWER_BYTES 65536

static struct socket_row last[FLOWS_MAX + 1];

int sockets_open(void)
{
    return socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
}

static unsigned flow_of(const struct inet_diag_msg *socket)
{
    struct flow_key key = {
        .family = socket->idiag_family == AF_INET ? 4 : 6,
        .protocol = IPPROTO_TCP,
        .source_port = ntohs(socket->id.idiag_sport),
        .target_port = ntohs(socket->id.idiag_dport),
    };
    const uint8_t *source = (const uint8_t *)socket->id.idiag_src, *target = (const uint8_t *)socket->id.idiag_dst;
    size_t bytes = key.family == 4 ? 4 : 16;
    if (key.family == 6 && IN6_IS_ADDR_V4MAPPED((const struct in6_addr *)source))
        key.family = 4, bytes = 4, source += 12, target += 12; /* a server that listens to both families */
    memcpy(key.source, source, bytes);
    memcpy(key.target, target, bytes);
    return flows_of_key(&key);
}

static void record(const struct inet_diag_msg *socket, const struct tcp_info *info, uint64_t time_ns)
{
    unsigned flow = flow_of(socket);
    struct socket_row row = {
        .time_ns = last[flow].time_ns,
        .pacing_rate = info->tcpi_pacing_rate,
        .cwnd = info->tcpi_snd_cwnd,
        .ssthresh = info->tcpi_snd_ssthresh,
        .rtt_us = info->tcpi_rtt,
        .rttvar_us = info->tcpi_rttvar,
        .unacked = info->tcpi_unacked,
        .sacked = info->tcpi_sacked,
        .lost = info->tcpi_lost,
        .retransmitted = info->tcpi_retrans,
        .total_retransmitted = info->tcpi_total_retrans,
        .mss = info->tcpi_snd_mss,
        .flow = (uint16_t)flow,
        .state = info->tcpi_state,
        .congestion_state = info->tcpi_ca_state,
        .backoff = info->tcpi_backoff,
    };
    if (flow == FLOWS_MAX || memcmp(&last[flow], &row, sizeof row) == 0)
        return;
    row.time_ns = time_ns;
    last[flow] = row;
    record_socket(&row);
}

/* Records the sockets of one answer. Returns whether more answers follow. */
static int read_answer(const uint8_t *answer, size_t bytes, uint64_t time_ns, unsigned *count)
{
    for (const struct nlmsghdr *message = (const void *)answer; NLMSG_OK(message, bytes);
         message = NLMSG_NEXT(message, bytes)) {
        if (message->nlmsg_type == NLMSG_DONE || message->nlmsg_type == NLMSG_ERROR)
            return 0;
        const struct inet_diag_msg *socket = NLMSG_DATA(message);
        const struct rtattr *attribute = (const void *)(socket + 1);
        size_t left = message->nlmsg_len - NLMSG_LENGTH(sizeof *socket);
        for (; RTA_OK(attribute, left); attribute = RTA_NEXT(attribute, left)) {
            if (attribute->rta_type != INET_DIAG_INFO)
                continue;
            struct tcp_info info = {0};
            size_t known = RTA_PAYLOAD(attribute);
            memcpy(&info, RTA_DATA(attribute), known < sizeof info ? known : sizeof info);
            record(socket, &info, time_ns);
            ++*count;
        }
    }
    return 1;
}

unsigned sockets_sample(int fd, uint64_t time_ns)
{
    static _Alignas(8) uint8_t answer[ANSWER_BYTES];
    static const uint8_t families[] = {AF_INET, AF_INET6};
    unsigned count = 0;
    for (size_t i = 0; i < sizeof families; i++) {
        struct {
            struct nlmsghdr header;
            struct inet_diag_req_v2 body;
        } request = {
            .header = {.nlmsg_len = sizeof request, .nlmsg_type = SOCK_DIAG_BY_FAMILY, .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP},
            .body = {.sdiag_family = families[i], .sdiag_protocol = IPPROTO_TCP, .idiag_ext = 1 << (INET_DIAG_INFO - 1)},
        };
        request.body.idiag_states = ~(1u << TCP_STATE_LISTEN | 1u << TCP_STATE_TIME_WAIT);
        if (send(fd, &request, sizeof request, 0) < 0)
            continue;
        ssize_t bytes;
        while ((bytes = recv(fd, answer, sizeof answer, 0)) > 0 && read_answer(answer, (size_t)bytes, time_ns, &count))
            ;
    }
    return count;
}
