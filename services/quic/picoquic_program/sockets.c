/* The loop around the socket, in place of picoquic's own. */
#define _GNU_SOURCE

#include <poll.h>

#include "picoquic_internal.h"
#include "picoquic_utils.h"
#include "picosocks.h"
#include "program.h"

enum { AT_ONCE = 32, DATAGRAM_LENGTH = 1 << 11, CONTROL_LENGTH = 1 << 8 };
enum { LOSS_CHECK_US = 100000, LONGEST_WAIT_US = 1000000 };

int open_socket(sa_family_t family, int port, const picoquic_quic_t *quic)
{
    const uint8_t ecn = quic->default_congestion_alg->ecn_mark;
    int receives, sends;
    const int udp = socket(family, SOCK_DGRAM, 0);
    if (udp < 0 || picoquic_socket_set_ecn_options_ex(udp, family, &receives, &sends, ecn) != 0 ||
        picoquic_socket_set_pkt_info(udp, family) != 0 || picoquic_bind_to_port(udp, family, port) != 0 ||
        picoquic_socket_set_pmtud_options(udp, family) != 0)
        fail("no UDP socket at port %d", port);
    return udp;
}

/* Gives picoquic what has arrived, several datagrams at once. */
static void receive(picoquic_quic_t *quic, int udp)
{
    static uint8_t bytes[AT_ONCE][DATAGRAM_LENGTH], control[AT_ONCE][CONTROL_LENGTH];
    struct mmsghdr messages[AT_ONCE] = {0};
    struct sockaddr_storage senders[AT_ONCE];
    struct iovec places[AT_ONCE];
    for (int number = 0; number < AT_ONCE; number++) {
        places[number] = (struct iovec){bytes[number], DATAGRAM_LENGTH};
        messages[number].msg_hdr = (struct msghdr){
            .msg_name = &senders[number],
            .msg_namelen = sizeof senders[number],
            .msg_iov = &places[number],
            .msg_iovlen = 1,
            .msg_control = control[number],
            .msg_controllen = CONTROL_LENGTH,
        };
    }
    const int count = recvmmsg(udp, messages, AT_ONCE, MSG_DONTWAIT, NULL);
    const uint64_t now = picoquic_current_time();
    picoquic_cnx_t *first = NULL;
    for (int number = 0; number < count; number++) {
        struct sockaddr_storage receiver = {0};
        int interface = 0;
        unsigned char ecn = 0;
        picoquic_socks_cmsg_parse(&messages[number].msg_hdr, &receiver, &interface, &ecn, NULL);
        picoquic_incoming_packet_ex(quic, bytes[number], messages[number].msg_len, (struct sockaddr *)&senders[number],
                                    (struct sockaddr *)&receiver, interface, ecn, &first, now);
    }
}

/* Sends what picoquic has to send now, with GSO. What the kernel does not take is a lost datagram, as elsewhere:
 * picoquic's own loop says then that the path is gone, and a connection with no other path ends.
 *
 * After each batch picoquic is asked again before long, even if it wants to wait: if a batch ends because the window is
 * full, it has set no timer for losses (1.1.53: picoquic_prepare_packet_ready_fast does not look at what is
 * unacknowledged). If the path is cut then, nothing is sent until the idle timeout. */
void send_all(picoquic_quic_t *quic, int udp)
{
    static uint8_t bytes[UINT16_MAX];
    const uint64_t now = picoquic_current_time();
    for (;;) {
        struct sockaddr_storage peer, source = {0};
        picoquic_connection_id_t id;
        picoquic_cnx_t *connection = NULL;
        size_t length = 0, packet = 0;
        int interface = 0, error = 0;
        if (picoquic_prepare_next_packet_ex(quic, now, bytes, sizeof bytes, &length, &peer, &source, &interface, &id,
                                            &connection, &packet) != 0 ||
            length == 0)
            return;
        picoquic_sendmsg(udp, (struct sockaddr *)&peer, (struct sockaddr *)&source, interface, (const char *)bytes,
                         (int)length, (int)packet, &error);
        if (connection != NULL && connection->next_wake_time > now + LOSS_CHECK_US)
            picoquic_reinsert_by_wake_time(quic, connection, now + LOSS_CHECK_US);
    }
}

/* Sends and receives once, after a wait for a datagram or for picoquic's timer. picoquic's own loop waits in whole ms,
 * and the last half of one by polling without end, on which virtual time stands still. */
void go_on(picoquic_quic_t *quic, int udp)
{
    const int64_t wait_us = picoquic_get_next_wake_delay(quic, picoquic_current_time(), LONGEST_WAIT_US);
    const struct timespec wait = {wait_us / 1000000, wait_us % 1000000 * 1000};
    struct pollfd ready = {.fd = udp, .events = POLLIN};
    if (ppoll(&ready, 1, &wait, NULL) > 0)
        receive(quic, udp);
    send_all(quic, udp);
}
