/* Runs a fuzz target where there is no libFuzzer: the files of a folder of seeds, then so many random variations of them. Always
 * the same ones, so that a failure can be repeated: `TARGET SEEDS COUNT`. */
#include <dirent.h>

#include "common/random.h"
#include "fuzz.h"

#define SEEDS_MAX 64
#define BYTES_MAX 8192

struct seed {
    uint8_t bytes[BYTES_MAX];
    size_t size;
};

static struct seed seeds[SEEDS_MAX];

static uint64_t below(struct random *random, uint64_t limit)
{
    return random_next(random) % limit;
}

static void read_seed(const char *path, struct seed *seed)
{
    FILE *file = fopen(path, "r");
    CLAIM(file != NULL);
    seed->size = fread(seed->bytes, 1, BYTES_MAX, file);
    fclose(file);
}

/* Returns how many there are. */
static int read_seeds(const char *folder)
{
    struct dirent **entries;
    int found = scandir(folder, &entries, NULL, alphasort), count = 0;
    for (int i = 0; i < found; i++) {
        char path[4096];
        snprintf(path, sizeof path, "%s/%s", folder, entries[i]->d_name);
        if (entries[i]->d_name[0] != '.' && count < SEEDS_MAX)
            read_seed(path, &seeds[count++]);
        free(entries[i]);
    }
    free(entries);
    return count;
}

static void vary(struct seed *input, struct random *random)
{
    static const uint8_t telling[] = {0, 1, 0x7f, 0x80, 0xff, '0', '9', ',', '=', ' ', '\n'};
    if (input->size == 0)
        return;
    size_t at = below(random, input->size);
    switch (below(random, 5)) {
    case 0:
        input->bytes[at] ^= (uint8_t)(1u << below(random, 8));
        break;
    case 1:
        input->bytes[at] = telling[below(random, sizeof telling)];
        break;
    case 2:
        input->size = at;
        break;
    case 3: { /* a part moves */
        size_t from = below(random, input->size), longest = input->size - (from > at ? from : at);
        memmove(input->bytes + at, input->bytes + from, below(random, longest) + 1);
        break;
    }
    default: { /* another seed's part */
        const struct seed *other = &seeds[below(random, SEEDS_MAX)];
        size_t bytes = other->size < BYTES_MAX - at ? other->size : BYTES_MAX - at;
        memcpy(input->bytes + at, other->bytes, bytes);
        input->size = at + bytes > input->size ? at + bytes : input->size;
    }
    }
}

/* From memory of just its size, so that a sanitizer sees a step beyond. */
static void run(const struct seed *input)
{
    uint8_t *copy = malloc(input->size + (input->size == 0));
    memcpy(copy, input->bytes, input->size);
    LLVMFuzzerTestOneInput(copy, input->size);
    free(copy);
}

int main(int count, char **arguments)
{
    static struct seed input;
    struct random random;

    CLAIM(count == 3);
    int read = read_seeds(arguments[1]);
    CLAIM(read > 0);
    for (int i = 0; i < read; i++)
        run(&seeds[i]);
    random_seed(&random, 1, 0);
    for (long i = strtol(arguments[2], NULL, 10); i > 0; i--) {
        input = seeds[below(&random, (uint64_t)read)];
        for (uint64_t changes = below(&random, 8) + 1; changes > 0; changes--)
            vary(&input, &random);
        run(&input);
    }
    return 0;
}
