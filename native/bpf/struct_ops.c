#include "bpf/struct_ops.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The headers may be older than the kernel. */
#define STRUCT_OPS_LINK_FLAG (1u << 13)
#define STRUCT_OPS_LINK_TYPE 44

#define OPS "tcp_congestion_ops"
#define KERNEL_VALUE "bpf_struct_ops_" OPS
#define SECTION ".struct_ops"
#define TYPES ".BTF"
#define LIBBPF_WITH_LINKS 1002 /* from 1.2 on, bpf_map__attach_struct_ops makes the link itself */

static const Elf_Data *with_contents(const Elf_Data *data)
{
    return data && data->d_buf ? data : NULL;
}

/* The contents of a section; NULL if there is no such section, or it has none. */
static const Elf_Data *section_data(Elf *elf, const char *name)
{
    size_t names;
    GElf_Shdr header;
    if (elf_getshdrstrndx(elf, &names) != 0)
        return NULL;
    for (Elf_Scn *section = NULL; (section = elf_nextscn(elf, section)) != NULL;) {
        const char *found = gelf_getshdr(section, &header) ? elf_strptr(elf, names, header.sh_name) : NULL;
        if (found && strcmp(found, name) == 0)
            return with_contents(elf_getdata(section, NULL));
    }
    return NULL;
}

/* The offset of a structure's member in bytes; -1 if it has no such member. */
static int member_offset(const struct btf *btf, const char *type_name, const char *member_name)
{
    int id = btf__find_by_name_kind(btf, type_name, BTF_KIND_STRUCT);
    if (id < 0)
        return -1;
    const struct btf_type *type = btf__type_by_id(btf, (uint32_t)id);
    for (uint32_t i = 0; i < btf_vlen(type); i++) {
        const char *name = btf__name_by_offset(btf, btf_members(type)[i].name_off); /* NULL in a damaged object */
        if (name && strcmp(name, member_name) == 0)
            return (int)(btf_member_bit_offset(type, i) / 8);
    }
    return -1;
}

/* The description of an object's types. Not btf__parse_elf(), which crashes if its section has no contents. */
static struct btf *types_of(Elf *elf)
{
    const Elf_Data *data = section_data(elf, TYPES);
    return data && data->d_size <= UINT32_MAX ? btf__new(data->d_buf, (uint32_t)data->d_size) : NULL;
}

static bool copy_name(const Elf_Data *data, const struct btf *btf, char name[ALGORITHM_NAME_BYTES])
{
    int at = data && btf ? member_offset(btf, OPS, "name") : -1;
    const char *bytes = at < 0 ? NULL : data->d_buf;
    if (!bytes || (size_t)at + ALGORITHM_NAME_BYTES > data->d_size || bytes[at] == '\0')
        return false;
    memcpy(name, bytes + at, ALGORITHM_NAME_BYTES);
    name[ALGORITHM_NAME_BYTES - 1] = '\0';
    return true;
}

bool object_name(const char *path, char name[ALGORITHM_NAME_BYTES])
{
    elf_version(EV_CURRENT);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    Elf *elf = elf_begin(fd, ELF_C_READ, NULL);
    struct btf *btf = elf ? types_of(elf) : NULL;
    bool is_named = elf && copy_name(section_data(elf, SECTION), btf, name);
    if (!is_named)
        fprintf(stderr, "no struct " OPS " with a .name in SEC(\"" SECTION "\")\n");
    btf__free(btf);
    elf_end(elf);
    if (fd >= 0)
        close(fd);
    return is_named;
}

static int print_warnings(enum libbpf_print_level level, const char *format, va_list arguments)
{
    return level == LIBBPF_WARN ? vfprintf(stderr, format, arguments) : 0;
}

static struct bpf_map *only_struct_ops(struct bpf_object *object)
{
    struct bpf_map *only = NULL, *map;
    bpf_object__for_each_map(map, object)
    {
        if (bpf_map__type(map) != BPF_MAP_TYPE_STRUCT_OPS)
            continue;
        if (only) {
            fprintf(stderr, "more than one structure in SEC(\"" SECTION "\"): a file is one algorithm\n");
            return NULL;
        }
        only = map;
    }
    return only;
}

/* Linux 6.4. */
static bool kernel_has_links(void)
{
    struct btf *kernel = btf__load_vmlinux_btf();
    bool has_links = kernel && btf__find_by_name_kind(kernel, "bpf_struct_ops_link", BTF_KIND_STRUCT) >= 0;
    btf__free(kernel);
    return has_links;
}

static int load(const char *path, struct algorithm *algorithm)
{
    struct bpf_object *object = bpf_object__open_file(path, NULL);
    if (!object)
        return errno;
    algorithm->map = only_struct_ops(object);
    int status = algorithm->map ? 0 : EINVAL;
    if (!status && algorithm->is_linked)
        bpf_map__set_map_flags(algorithm->map, STRUCT_OPS_LINK_FLAG);
    if (!status)
        status = -bpf_object__load(object);
    if (status)
        bpf_object__close(object); /* else it lives as long as the process */
    return status;
}

int object_load(const char *path, struct algorithm *algorithm)
{
    if (!object_name(path, algorithm->name))
        return EINVAL;
    libbpf_set_print(print_warnings);
    algorithm->is_linked = kernel_has_links();
    int status = load(path, algorithm);
    if (status)
        return status;
    struct bpf_map_info info = {0};
    uint32_t length = sizeof info;
    algorithm->map_fd = bpf_map__fd(algorithm->map);
    algorithm->link_fd = -1;
    if (bpf_obj_get_info_by_fd(algorithm->map_fd, &info, &length) != 0)
        return errno;
    algorithm->map_id = info.id;
    return 0;
}

int algorithm_register(struct algorithm *algorithm)
{
    libbpf_set_print(NULL);
    struct bpf_link *link = bpf_map__attach_struct_ops(algorithm->map);
    if (!link)
        return errno;
    if (!algorithm->is_linked)
        return 0;
    bool has_link = libbpf_major_version() * 1000 + libbpf_minor_version() >= LIBBPF_WITH_LINKS;
    algorithm->link_fd =
        has_link ? bpf_link__fd(link) : bpf_link_create(algorithm->map_fd, 0, STRUCT_OPS_LINK_TYPE, NULL);
    return algorithm->link_fd >= 0 ? 0 : errno;
}

static int delete(int map_fd)
{
    uint32_t key = 0;
    return bpf_map_delete_elem(map_fd, &key) == 0 ? 0 : errno;
}

int algorithm_unregister(struct algorithm *algorithm)
{
    if (algorithm->link_fd >= 0)
        return close(algorithm->link_fd) == 0 ? 0 : errno;
    return delete(algorithm->map_fd);
}

/* Reads the name of the algorithm in a map. Returns false if the map holds none, or an unregistered one. */
static bool name_in_map(int fd, const struct btf *kernel, char name[ALGORITHM_NAME_BYTES])
{
    struct bpf_map_info info = {0};
    uint32_t length = sizeof info, key = 0;
    if (bpf_obj_get_info_by_fd(fd, &info, &length) != 0 || info.type != BPF_MAP_TYPE_STRUCT_OPS)
        return false;
    const struct btf_type *type = btf__type_by_id(kernel, info.btf_vmlinux_value_type_id);
    /* In the value of a congestion control's map the kernel's structure follows `data`. */
    int data = member_offset(kernel, KERNEL_VALUE, "data"), at = data + member_offset(kernel, OPS, "name");
    if (!type || data < 0 || at < data || strcmp(btf__name_by_offset(kernel, type->name_off), KERNEL_VALUE) != 0)
        return false;
    unsigned char *value = calloc(1, info.value_size);
    bool is_registered = value && bpf_map_lookup_elem(fd, &key, value) == 0 && value[at] != '\0';
    if (is_registered)
        memcpy(name, value + at, ALGORITHM_NAME_BYTES);
    free(value);
    return is_registered;
}

int algorithms_each(void (*visit)(uint32_t map_id, const char *name))
{
    uint32_t id = 0;
    struct btf *kernel = btf__load_vmlinux_btf();
    if (!kernel)
        return errno;
    while (bpf_map_get_next_id(id, &id) == 0) {
        char name[ALGORITHM_NAME_BYTES];
        int fd = bpf_map_get_fd_by_id(id);
        if (fd >= 0 && name_in_map(fd, kernel, name))
            visit(id, name);
        if (fd >= 0)
            close(fd);
    }
    int status = errno == ENOENT ? 0 : errno;
    btf__free(kernel);
    return status;
}

int map_unregister(uint32_t map_id, const char *name)
{
    char registered[ALGORITHM_NAME_BYTES];
    struct btf *kernel = btf__load_vmlinux_btf();
    int fd = kernel ? bpf_map_get_fd_by_id(map_id) : -1;
    bool is_same = fd >= 0 && name_in_map(fd, kernel, registered) && strcmp(registered, name) == 0;
    int status = is_same ? delete(fd) : ENOENT;
    if (fd >= 0)
        close(fd);
    btf__free(kernel);
    return status;
}
