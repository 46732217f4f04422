/* SPDX-License-Identifier: MIT */
/*
 * The layout of glibc's thread descriptor, read from the tables that glibc keeps for debuggers (_thread_db_*): each
 * gives the size in bits, the number of elements and the offset of a field.
 */
#define _GNU_SOURCE
#include "arch/thread_pointer.h"
#include "base/sanitizer.h"
#include "libc/libc.h"

#include <gnu/libc-version.h>
#include <limits.h>
#include <link.h>
#include <pthread.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

struct field {
    uint32_t bits, count, offset;
};

static struct weft__libc layout;
static const char *refused;

/* Finds a field with elements of this many bits. *pointers: how many pointers fit into it. The table may describe it as
 * an array or as one large field. */
static bool find_field(const char *name, uint32_t bits, size_t *offset, size_t *pointers) {
    const struct field *f = weft__libc_function(name);
    if (!f || (f->bits != bits && bits)) return false;
    *offset = f->offset;
    if (pointers) *pointers = (size_t)f->bits * f->count / (CHAR_BIT * sizeof(void *));
    return true;
}

static bool read_fields(void) {
    const uint32_t *size = weft__libc_function("_thread_db_sizeof_pthread");
    if (!size) return false;
    layout.descriptor_size = *size;
    return find_field("_thread_db_pthread_tid", 32, &layout.tid, NULL) &&
           find_field("_thread_db_pthread_list", 0, &layout.list, NULL) &&
           find_field("_thread_db_pthread_dtvp", 64, &layout.dtv, NULL) &&
           find_field("_thread_db_pthread_specific", 0, &layout.specific, &layout.levels) && layout.levels &&
           PTHREAD_KEYS_MAX % layout.levels == 0;
}

/* Finds the functions that make and free the thread-locals of a block, those that destroy its values, and glibc's keys.
 */
static bool find_functions(void) {
    struct weft__module loader;
    if (!weft__module_containing(&loader, (uintptr_t)getauxval(AT_BASE))) return false;
    *(void **)&layout.allocate = weft__module_find(&loader, "_dl_allocate_tls");
    *(void **)&layout.initialise = weft__module_find(&loader, "_dl_allocate_tls_init");
    *(void **)&layout.deallocate = weft__module_find(&loader, "_dl_deallocate_tls");
    *(void **)&layout.call_destructors = weft__libc_function("__call_tls_dtors");
    layout.keys = weft__libc_function("__pthread_keys");
    return layout.allocate && layout.initialise && layout.deallocate && layout.call_destructors && layout.keys;
}

static int find_storage(struct dl_phdr_info *info, size_t size, void *libc) {
    (void)size;
    if (info->dlpi_addr != ((struct weft__module *)libc)->base || !info->dlpi_tls_data) return 0;
    for (int i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_TLS) layout.storage_size = info->dlpi_phdr[i].p_memsz;
    layout.storage = (char *)info->dlpi_tls_data - (char *)weft__thread_pointer();
    return 1;
}

/* The robust list of the calling thread. qemu has no such system call. Then glibc's own initial value tells: a pointer
 * to itself, followed by the distance from the link in a mutex to its lock word. */
static char *find_robust_list(char *self) {
    const long distance =
        (long)offsetof(pthread_mutex_t, __data.__lock) - (long)offsetof(pthread_mutex_t, __data.__list.__next);
    char *robust;
    size_t length;
    if (!syscall(SYS_get_robust_list, 0, &robust, &length)) return robust;
    for (robust = self; robust + 2 * sizeof(long) <= self + layout.descriptor_size; robust += sizeof(long))
        if (*(char **)(void *)robust == robust && ((long *)(void *)robust)[1] == distance) return robust;
    return NULL;
}

/* Measures, in the calling thread, where the descriptor, the robust list and the C library's thread-locals are. */
static bool measure_layout(void) {
    struct weft__module libc;
    char *self = (char *)pthread_self(), *robust = find_robust_list(self);
    layout.descriptor = self - (char *)weft__thread_pointer();
    if (layout.descriptor && layout.descriptor != -(ptrdiff_t)layout.descriptor_size) return false;
    if (!robust) return false;
    layout.robust = (size_t)(robust - self);
    return weft__module_containing(&libc, (uintptr_t)gnu_get_libc_version) &&
           dl_iterate_phdr(find_storage, &libc) == 1 && layout.robust < layout.descriptor_size;
}

static void read_libc_layout(void) {
    if (WEFT_SANITIZED)
        refused = "a sanitizer keeps its own state in thread-local storage";
    else if (!weft__thread_pointer_is_free())
        refused = "the processor or the kernel does not let programs set the thread pointer (FSGSBASE)";
    else if (!read_fields() || !find_functions() || !measure_layout())
        refused = "the program is static, or its C library is not a glibc that weft knows";
}

const struct weft__libc *weft__libc_read(const char **why) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, read_libc_layout);
    if (why) *why = refused;
    return refused ? NULL : &layout;
}
