#include "bpf/struct_ops.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* The headers may be older than the kernel. */
#define STRUCT_OPS_LINK_FLAG (1u << 13)
#define STRUCT_OPS_LINK_TYPE 44

#define OPS "tcp_congestion_ops"
#define KERNEL_VALUE "bpf_struct_ops_" OPS
#define SECTION ".struct_ops"
#define LIBBPF_WITH_LINKS 1002 /* 1.2: bpf_map__attach_struct_ops makes the link itself */

struct file {
    const unsigned char *bytes;
    size_t length;
};

static bool map_file(const char *path, struct file *file)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat status;
    bool ok = fd >= 0 && fstat(fd, &status) == 0 && (size_t)status.st_size >= sizeof(Elf64_Ehdr);
    if (ok) {
        file->length = (size_t)status.st_size;
        file->bytes = mmap(NULL, file->length, PROT_READ, MAP_PRIVATE, fd, 0);
        ok = file->bytes != MAP_FAILED;
    }
    if (fd >= 0)
        close(fd);
    return ok;
}

static bool holds(const struct file *file, uint64_t offset, uint64_t length)
{
    return offset <= file->length && length <= file->length - offset;
}

/* The bytes of a section; NULL if there is none, or the file is no whole ELF object. */
static const unsigned char *section(const struct file *file, const char *name, size_t *length)
{
    const Elf64_Ehdr *header = (const void *)file->bytes;
    if (memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 || header->e_ident[EI_CLASS] != ELFCLASS64 ||
        header->e_shentsize != sizeof(Elf64_Shdr) || header->e_shstrndx >= header->e_shnum ||
        !holds(file, header->e_shoff, (uint64_t)header->e_shnum * sizeof(Elf64_Shdr)))
        return NULL;
    const Elf64_Shdr *sections = (const void *)(file->bytes + header->e_shoff);
    const Elf64_Shdr *names = &sections[header->e_shstrndx];
    for (unsigned i = 0; i < header->e_shnum; i++) {
        uint64_t at = names->sh_offset + sections[i].sh_name;
        if (!holds(file, at, strlen(name) + 1) || strcmp((const char *)file->bytes + at, name) != 0)
            continue;
        if (!holds(file, sections[i].sh_offset, sections[i].sh_size))
            return NULL;
        *length = sections[i].sh_size;
        return file->bytes + sections[i].sh_offset;
    }
    return NULL;
}

/* Where a member of a structure is, in bytes; -1: it has none of that name. */
static int member_offset(const struct btf *btf, const char *type_name, const char *member_name)
{
    int id = btf__find_by_name_kind(btf, type_name, BTF_KIND_STRUCT);
    if (id < 0)
        return -1;
    const struct btf_type *type = btf__type_by_id(btf, (uint32_t)id);
    for (uint32_t i = 0; i < btf_vlen(type); i++)
        if (strcmp(btf__name_by_offset(btf, btf_members(type)[i].name_off), member_name) == 0)
            return (int)btf_member_bit_offset(type, i) / 8;
    return -1;
}

bool object_names(const char *path, char name[ALGORITHM_NAME_BYTES])
{
    struct file file = {0};
    size_t length = 0;
    const unsigned char *data = map_file(path, &file) ? section(&file, SECTION, &length) : NULL;
    struct btf *btf = data ? btf__parse_elf(path, NULL) : NULL;
    int at = btf ? member_offset(btf, OPS, "name") : -1;
    bool found = at >= 0 && (size_t)at + ALGORITHM_NAME_BYTES <= length && data[at] != '\0';
    if (found) {
        memcpy(name, data + at, ALGORITHM_NAME_BYTES);
        name[ALGORITHM_NAME_BYTES - 1] = '\0';
    } else {
        fprintf(stderr, "no struct " OPS " with a .name in SEC(\"" SECTION "\")\n");
    }
    btf__free(btf);
    if (file.bytes && file.bytes != MAP_FAILED)
        munmap((void *)file.bytes, file.length);
    return found;
}

static int say(enum libbpf_print_level level, const char *format, va_list arguments)
{
    return level == LIBBPF_WARN ? vfprintf(stderr, format, arguments) : 0;
}

static struct bpf_map *only_struct_ops(struct bpf_object *object)
{
    struct bpf_map *found = NULL, *map;
    bpf_object__for_each_map(map, object)
    {
        if (bpf_map__type(map) != BPF_MAP_TYPE_STRUCT_OPS)
            continue;
        if (found) {
            fprintf(stderr, "more than one structure in SEC(\"" SECTION "\"): a file is one algorithm\n");
            return NULL;
        }
        found = map;
    }
    return found;
}

/* Linux 6.4. */
static bool kernel_has_links(void)
{
    struct btf *kernel = btf__load_vmlinux_btf();
    bool has = kernel && btf__find_by_name_kind(kernel, "bpf_struct_ops_link", BTF_KIND_STRUCT) >= 0;
    btf__free(kernel);
    return has;
}

/* Returns 0 or an errno. */
static int load(const char *path, uint32_t map_flags, struct bpf_map **map)
{
    struct bpf_object *object = bpf_object__open_file(path, NULL);
    if (!object)
        return errno;
    *map = only_struct_ops(object);
    int status = *map ? 0 : EINVAL;
    if (!status && map_flags)
        bpf_map__set_map_flags(*map, map_flags);
    if (!status)
        status = -bpf_object__load(object);
    if (status)
        bpf_object__close(object);
    return status;
}

static bool attach(struct bpf_map *map, struct algorithm *algorithm, bool linked)
{
    struct bpf_link *link = bpf_map__attach_struct_ops(map);
    if (!link)
        return false;
    if (!linked)
        return true;
    bool made = libbpf_major_version() * 1000 + libbpf_minor_version() >= LIBBPF_WITH_LINKS;
    algorithm->link_fd = made ? bpf_link__fd(link) : bpf_link_create(algorithm->map_fd, 0, STRUCT_OPS_LINK_TYPE, NULL);
    return algorithm->link_fd >= 0;
}

/* Between loading and registering there is a map; the object itself is needed no longer than the process lives. */
static struct bpf_map *loaded;
static bool is_linked;

int object_load(const char *path, struct algorithm *algorithm)
{
    if (!object_names(path, algorithm->name))
        return EINVAL;
    libbpf_set_print(say);
    is_linked = kernel_has_links();
    int status = load(path, is_linked ? STRUCT_OPS_LINK_FLAG : 0, &loaded);
    if (status)
        return status;
    struct bpf_map_info info = {0};
    uint32_t length = sizeof info;
    algorithm->map_fd = bpf_map__fd(loaded);
    algorithm->link_fd = -1;
    if (bpf_obj_get_info_by_fd(algorithm->map_fd, &info, &length) != 0)
        return errno;
    algorithm->map_id = info.id;
    return 0;
}

int algorithm_register(struct algorithm *algorithm)
{
    libbpf_set_print(NULL);
    return attach(loaded, algorithm, is_linked) ? 0 : errno;
}

int algorithm_unregister(struct algorithm *algorithm)
{
    uint32_t key = 0;
    if (algorithm->link_fd >= 0)
        return close(algorithm->link_fd) == 0 ? 0 : errno;
    return bpf_map_delete_elem(algorithm->map_fd, &key) == 0 ? 0 : errno;
}

/* Where the name is in the value of a map of congestion controls: the kernel's structure, which stands `data` into it. */
static int kernel_name_offset(const struct btf *kernel)
{
    int data = member_offset(kernel, KERNEL_VALUE, "data"), name = member_offset(kernel, OPS, "name");
    return data < 0 || name < 0 ? -1 : data + name;
}

/* The algorithm in a map; false: it is none, or not registered. */
static bool name_in_map(int fd, const struct btf *kernel, char name[ALGORITHM_NAME_BYTES])
{
    struct bpf_map_info info = {0};
    uint32_t length = sizeof info, key = 0;
    if (bpf_obj_get_info_by_fd(fd, &info, &length) != 0 || info.type != BPF_MAP_TYPE_STRUCT_OPS)
        return false;
    const struct btf_type *type = btf__type_by_id(kernel, info.btf_vmlinux_value_type_id);
    int at = kernel_name_offset(kernel);
    if (!type || at < 0 || strcmp(btf__name_by_offset(kernel, type->name_off), KERNEL_VALUE) != 0)
        return false;
    unsigned char *value = calloc(1, info.value_size);
    bool found = value && bpf_map_lookup_elem(fd, &key, value) == 0 && value[at] != '\0';
    if (found)
        memcpy(name, value + at, ALGORITHM_NAME_BYTES);
    free(value);
    return found;
}

int algorithms_each(void (*each)(uint32_t map_id, const char *name))
{
    uint32_t id = 0;
    struct btf *kernel = btf__load_vmlinux_btf();
    if (!kernel)
        return errno;
    while (bpf_map_get_next_id(id, &id) == 0) {
        char name[ALGORITHM_NAME_BYTES];
        int fd = bpf_map_get_fd_by_id(id);
        if (fd >= 0 && name_in_map(fd, kernel, name))
            each(id, name);
        if (fd >= 0)
            close(fd);
    }
    int status = errno == ENOENT ? 0 : errno;
    btf__free(kernel);
    return status;
}

int map_unregister(uint32_t map_id, const char *name)
{
    char found[ALGORITHM_NAME_BYTES];
    uint32_t key = 0;
    struct btf *kernel = btf__load_vmlinux_btf();
    int fd = kernel ? bpf_map_get_fd_by_id(map_id) : -1, status = ENOENT;
    if (fd >= 0 && name_in_map(fd, kernel, found) && strcmp(found, name) == 0)
        status = bpf_map_delete_elem(fd, &key) == 0 ? 0 : errno;
    if (fd >= 0)
        close(fd);
    btf__free(kernel);
    return status;
}
