/* Runs a fuzz target where there is no libFuzzer, on the inputs that come on standard input: each has its length before
 * it, in two bytes. */
#include "fuzz.h"

int main(void)
{
    uint8_t length[2];
    while (fread(length, 1, sizeof length, stdin) == sizeof length) {
        size_t size = (size_t)length[0] << 8 | length[1];
        uint8_t *input = malloc(size + (size == 0)); /* of just its size, so that a sanitizer sees a step beyond */
        CLAIM(fread(input, 1, size, stdin) == size);
        LLVMFuzzerTestOneInput(input, size);
        free(input);
    }
    return 0;
}
