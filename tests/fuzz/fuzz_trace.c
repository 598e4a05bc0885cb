/* Fuzz target: any text as a trace, then packets sent by it. Claims that times never decrease. */
#include "fuzz.h"
#include "relay/spec/trace.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char error[200] = "";
    FILE *file = fmemopen((void *)data, size, "r");
    CLAIM(file != NULL);
    struct trace *trace = trace_read(file, size, error, sizeof error);
    fclose(file);
    if (trace == NULL) {
        CLAIM(error[0] != '\0');
        return 0;
    }
    struct trace_cursor cursor;
    uint64_t now = size * 1000003, left = 0;
    trace_start(&cursor, now);
    for (uint32_t i = 0; i < 50; i++) {
        uint64_t sent = trace_send(trace, &cursor, now, i * 97 % 3000);
        CLAIM(sent >= now && sent >= left);
        CLAIM(sent - now <= trace->period_ns * 3);
        left = sent;
        now = i % 3 == 0 ? sent + i * trace->period_ns / 7 : sent;
    }
    trace_release(trace);
    return 0;
}
