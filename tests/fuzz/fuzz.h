/* What the fuzz targets share: reading the fuzzer's bytes, and claims that end the program when they do not hold. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What the fuzzer calls, or fuzz_main.c where there is none. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define CLAIM(condition)                                                                                                       \
    do {                                                                                                                       \
        if (!(condition)) {                                                                                                    \
            fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__, #condition);                                     \
            abort();                                                                                                           \
        }                                                                                                                      \
    } while (0)

/* As far as its quotes and braces show. */
static inline void claim_whole_object(const char *text)
{
    int depth = 0, quoted = 0;
    CLAIM(*text == '{');
    for (; *text != '\0'; text++) {
        CLAIM(*text >= ' ' && *text <= '~' && *text != '\\');
        quoted ^= *text == '"';
        depth += quoted ? 0 : (*text == '{') - (*text == '}');
        CLAIM(depth > 0 || text[1] == '\0');
    }
    CLAIM(depth == 0 && quoted == 0);
}

struct input {
    const uint8_t *data;
    size_t size;
};

/* The next so many bytes as a number; zeros after the end. */
static inline uint64_t input_number(struct input *input, size_t bytes)
{
    uint64_t number = 0;
    for (size_t i = 0; i < bytes; i++) {
        number = number << 8 | (input->size > 0 ? *input->data : 0);
        if (input->size > 0) {
            input->data++;
            input->size--;
        }
    }
    return number;
}

/* The next line without its newline, as a string of at most `size` - 1 bytes; returns the line's length. */
static inline size_t input_line(struct input *input, char *line, size_t size)
{
    const uint8_t *newline = memchr(input->data, '\n', input->size);
    size_t length = newline == NULL ? input->size : (size_t)(newline - input->data);
    size_t kept = length < size - 1 ? length : size - 1, taken = length + (newline != NULL);
    memcpy(line, input->data, kept);
    line[kept] = '\0';
    input->data += taken;
    input->size -= taken;
    return length;
}

/* Up to so many bytes that follow; `*taken` is how many there were. */
static inline const uint8_t *input_bytes(struct input *input, size_t wanted, size_t *taken)
{
    const uint8_t *start = input->data;
    *taken = wanted < input->size ? wanted : input->size;
    input->data += *taken;
    input->size -= *taken;
    return start;
}
