/* Fuzz target: any bytes as a BPF object (ELF), of which the loader reads the name of its algorithm. Claims that a name
 * is a text of the kernel's length, or that there is none. */
#include <bpf/libbpf.h>
#include <sys/mman.h>
#include <unistd.h>

#include "bpf/struct_ops.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static FILE *nowhere, *errors;
    char path[64], name[ALGORITHM_NAME_BYTES];
    int file = memfd_create("object", MFD_CLOEXEC);
    CLAIM(file >= 0 && write(file, data, size) == (ssize_t)size);
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    if (nowhere == NULL) {
        nowhere = fopen("/dev/null", "w");
        errors = stderr;
        libbpf_set_print(NULL);
    }
    memset(name, 'x', sizeof name);
    stderr = nowhere; /* it tells that almost every input has no name */
    bool is_named = object_name(path, name);
    stderr = errors;
    if (is_named)
        CLAIM(name[0] != '\0' && memchr(name, '\0', sizeof name) != NULL);
    close(file);
    return 0;
}
