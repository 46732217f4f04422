/* SPDX-License-Identifier: MIT */
/* From now on a system call fails with this error, in all threads of this process. */
#ifndef WEFT_TESTS_FORBID_H
#define WEFT_TESTS_FORBID_H

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static inline int forbid_by(struct sock_filter *code, size_t n) {
    struct sock_fprog filter = {(unsigned short)n, code};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)) return -errno;
    return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &filter) ? -errno : 0;
}

/* 0, or an error: there are no filters here. */
static inline int forbid(long call, int err) {
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)call, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned)err),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    return forbid_by(code, sizeof code / sizeof *code);
}

/* The same, but only if an argument, counted from 0, has this value. */
static inline int forbid_if(long call, unsigned argument, unsigned number, int err) {
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)call, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (unsigned)(offsetof(struct seccomp_data, args) + 8 * argument)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned)err),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    return forbid_by(code, sizeof code / sizeof *code);
}

/* --- memory ------------------------------------------------------------------------------------------------ */

#ifndef SYS_process_madvise
#define SYS_process_madvise 440
#endif

static inline int forbid_advice(unsigned advice, int err) {
    int failed = forbid_if(SYS_madvise, 2, advice, err);
    return failed ? failed : forbid_if(SYS_process_madvise, 3, advice, err);
}
/* Guards cost mappings, as before Linux 6.13 (EINVAL), or markers are forbidden: MADV_GUARD_INSTALL. */
static inline int forbid_markers(int err) { return forbid_advice(102, err); }
/* No mapping can be made inaccessible (PROT_NONE). */
static inline int forbid_protection(int err) { return forbid_if(SYS_mprotect, 2, 0, err); }

#endif
