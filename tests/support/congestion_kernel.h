/* In place of libbpf's headers, where a congestion control is built for this machine's own processor: see congestion_kernel.c. */
#define __BPF_CORE_READ_H__
#define __BPF_HELPERS__
#define __BPF_TRACING_H__

#define SEC(name) __attribute__((weak)) /* each file that includes tcp.bpf.h defines its licence */
#define __ksym
#define __always_inline inline __attribute__((always_inline))
#define BPF_PROG(name, arguments...) name(arguments)
#define BPF_CORE_READ_BITFIELD(structure, field) ((structure)->field)

#define ___bpf_apply(prefix, n) ___bpf_joined(prefix, n)
#define ___bpf_joined(prefix, n) prefix##n
#define ___bpf_narg(arguments...) ___bpf_ninth(arguments, 9, 8, 7, 6, 5, 4, 3, 2, 1)
#define ___bpf_ninth(a, b, c, d, e, f, g, h, i, n, ...) n
