#include "recorder/record_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "common/clock.h"

#define ROWS 8192u
#define ECN_SHIFT 14

static struct {
    struct block_header header;
    uint32_t time[ROWS], identity[ROWS], seq[ROWS], ack[ROWS];
    uint16_t point[ROWS], flow[ROWS], payload[ROWS], window[ROWS], id[ROWS];
    uint8_t headers[ROWS], flags[ROWS], ecn[ROWS];
} entries;

static struct {
    struct block_header header;
    uint32_t time[ROWS], identity[ROWS];
    uint16_t point[ROWS];
} arrivals;

static struct {
    struct block_header header;
    struct socket_row rows[ROWS / 8];
} sockets;

static struct {
    struct block_header header;
    struct flow_row rows[ROWS / 8];
} flows;

static struct {
    int fd, error;
    uint64_t limit;
    struct record_totals totals;
} file;

bool record_open(const char *path, uint64_t limit)
{
    file.fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    file.limit = limit;
    entries.header.kind = BLOCK_ENTRIES, arrivals.header.kind = BLOCK_ARRIVALS;
    sockets.header.kind = BLOCK_SOCKETS, flows.header.kind = BLOCK_FLOWS;
    return file.fd >= 0;
}

/* Writes a whole block, or nothing: a file that is full stays readable. */
static void write_block(struct block_header *header, struct iovec *parts, int count)
{
    size_t bytes = 0, sent = 0;
    for (int i = 0; i < count; i++)
        bytes += parts[i].iov_len;
    if (header->rows > 0 && file.totals.bytes + bytes > file.limit)
        file.totals.is_full = true;
    if (header->rows > 0 && !file.totals.is_full && file.error == 0) {
        while (sent < bytes && file.error == 0) {
            ssize_t written = writev(file.fd, parts, count);
            if (written < 0 && errno != EINTR)
                file.error = errno;
            size_t rest = written > 0 ? (size_t)written : 0;
            sent += rest;
            for (; count > 0 && rest >= parts->iov_len; parts++, count--)
                rest -= parts->iov_len;
            if (count > 0)
                parts->iov_base = (uint8_t *)parts->iov_base + rest, parts->iov_len -= rest;
        }
        file.totals.bytes += bytes;
        file.totals.entries += header->kind == BLOCK_ENTRIES ? header->rows : 0;
        file.totals.arrivals += header->kind == BLOCK_ARRIVALS ? header->rows : 0;
    }
    header->rows = 0;
}

#define COLUMN(block, name) {(block).name, (block).header.rows * sizeof *(block).name}

static void flush_entries(void)
{
    struct iovec parts[] = {
        {&entries.header, sizeof entries.header},
        COLUMN(entries, time),
        COLUMN(entries, identity),
        COLUMN(entries, seq),
        COLUMN(entries, ack),
        COLUMN(entries, point),
        COLUMN(entries, flow),
        COLUMN(entries, payload),
        COLUMN(entries, window),
        COLUMN(entries, id),
        COLUMN(entries, headers),
        COLUMN(entries, flags),
        COLUMN(entries, ecn),
    };
    write_block(&entries.header, parts, sizeof parts / sizeof *parts);
}

static void flush_arrivals(void)
{
    struct iovec parts[] = {
        {&arrivals.header, sizeof arrivals.header},
        COLUMN(arrivals, time),
        COLUMN(arrivals, identity),
        COLUMN(arrivals, point),
    };
    write_block(&arrivals.header, parts, sizeof parts / sizeof *parts);
}

static void flush_sockets(void)
{
    struct iovec parts[] = {{&sockets.header, sizeof sockets.header}, COLUMN(sockets, rows)};
    write_block(&sockets.header, parts, 2);
}

static void flush_flows(void)
{
    struct iovec parts[] = {{&flows.header, sizeof flows.header}, COLUMN(flows, rows)};
    write_block(&flows.header, parts, 2);
}

/* The time of a row in its block, which begins a second before its first row: rings of several namespaces are read one
 * after the other. */
static uint32_t time_in(struct block_header *header, uint64_t time_ns, void flush(void))
{
    if (header->rows == ROWS ||
        (header->rows > 0 && (time_ns < header->base_ns || time_ns - header->base_ns > UINT32_MAX)))
        flush();
    if (header->rows == 0)
        header->base_ns = time_ns - NS_PER_S;
    return (uint32_t)(time_ns - header->base_ns);
}

void record_entry(uint64_t time_ns, unsigned point, unsigned flow, const struct packet *packet)
{
    uint32_t time = time_in(&entries.header, time_ns, flush_entries), row = entries.header.rows++;
    entries.time[row] = time;
    entries.identity[row] = packet->identity;
    entries.seq[row] = packet->seq;
    entries.ack[row] = packet->ack;
    entries.point[row] = (uint16_t)point;
    entries.flow[row] = (uint16_t)flow;
    entries.payload[row] = (uint16_t)packet->payload;
    entries.window[row] = packet->window;
    entries.id[row] = packet->id;
    entries.headers[row] = (uint8_t)packet->headers;
    entries.flags[row] = packet->flags;
    entries.ecn[row] = packet->ecn;
}

void record_arrival(uint64_t time_ns, unsigned point, const struct packet *packet)
{
    uint32_t time = time_in(&arrivals.header, time_ns, flush_arrivals), row = arrivals.header.rows++;
    arrivals.time[row] = time;
    arrivals.identity[row] = packet->identity;
    arrivals.point[row] = (uint16_t)(point | (unsigned)packet->ecn << ECN_SHIFT);
}

void record_socket(const struct socket_row *row)
{
    if (sockets.header.rows == ROWS / 8)
        flush_sockets();
    sockets.rows[sockets.header.rows++] = *row;
}

void record_flow(const struct flow_row *row)
{
    if (flows.header.rows == ROWS / 8)
        flush_flows();
    flows.rows[flows.header.rows++] = *row;
}

bool record_close(struct record_totals *totals)
{
    flush_flows();
    flush_sockets();
    flush_entries();
    flush_arrivals();
    if (close(file.fd) != 0 && file.error == 0)
        file.error = errno;
    *totals = file.totals;
    errno = file.error;
    return file.error == 0;
}
