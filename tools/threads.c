/* SPDX-License-Identifier: MIT */
/*
 * weft threads: runs an unmodified program with its threads as fibers. It preloads libweft-threads.so. If that cannot
 * work, it prints a line with the reason, and runs the program natively.
 */
#include "command.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static const char help[] =
    "weft threads [OPTIONS] PROGRAM [ARGUMENTS]\n"
    "\n"
    "Runs a program with its threads as fibers. The program need not be changed or recompiled.\n"
    "\n"
    "  --workers N      how many kernel threads run the program's threads (default: one for each processor)\n"
    "  --stack-size N   the stack size in bytes of threads that ask for none (1048576)\n"
    "  --io ENGINE      epoll: does not use io_uring\n"
    "  --stats          prints statistics of the runtime at the end\n"
    "  --               ends the options\n"
    "\n"
    "A program that makes no threads runs as before. Static and setuid programs and programs with a sanitizer run\n"
    "with kernel threads; weft then prints one line that says so. See docs/THREADS.md.\n";

/* --- the library ------------------------------------------------------------------------------------------- */

static bool exists(const char *path) { return !access(path, R_OK); }

/* Finds the library: in the build directory, below the prefix of this tool, and where the environment says. */
static const char *find_library(char *path, size_t size) {
    char tool[PATH_MAX];
    const char *given = getenv("WEFT_THREADS_LIBRARY");
    if (given) return exists(given) ? given : NULL;
    ssize_t n = readlink("/proc/self/exe", tool, sizeof tool - 1);
    if (n <= 0) return NULL;
    tool[n] = '\0';
    char *slash = strrchr(tool, '/');
    if (slash) *slash = '\0';
    snprintf(path, size, "%s/../libweft-threads.so", tool);
    if (exists(path)) return path;
    snprintf(path, size, "%s/../%s/libweft-threads.so.0", tool, WEFT_LIBDIR);
    return exists(path) ? path : NULL;
}

/* --- the program ------------------------------------------------------------------------------------------- */

/* Finds a program like execvp. */
static const char *find_program(const char *name, char *path, size_t size) {
    const char *list = getenv("PATH");
    if (strchr(name, '/')) return name;
    for (const char *at = list ? list : "/usr/bin:/bin"; at;) {
        const char *end = strchr(at, ':');
        int length = end ? (int)(end - at) : (int)strlen(at);
        snprintf(path, size, "%.*s/%s", length, length ? at : ".", name);
        if (!access(path, X_OK)) return path;
        at = end ? end + 1 : NULL;
    }
    return NULL;
}

static bool has_interpreter(const char *file, size_t size) {
    const Elf64_Ehdr *head = (const Elf64_Ehdr *)(const void *)file;
    const Elf64_Phdr *p = (const Elf64_Phdr *)(const void *)(file + head->e_phoff);
    if (head->e_phoff > size || head->e_phnum > (size - head->e_phoff) / sizeof *p) return false;
    for (int i = 0; i < head->e_phnum; i++)
        if (p[i].p_type == PT_INTERP) return true;
    return false;
}

static bool contains(const char *file, size_t size, const char *text) { return memmem(file, size, text, strlen(text)); }

/* Returns why the program's threads cannot be fibers, or NULL if they can. For a script, its interpreter is checked
 * when it starts. */
static const char *judge(const char *file, size_t size) {
    if (size < sizeof(Elf64_Ehdr) || memcmp(file, ELFMAG, SELFMAG)) return NULL;
    if (file[EI_CLASS] != ELFCLASS64) return "it is a program of 32 bits";
    if (!has_interpreter(file, size)) return "it is linked statically";
    if (contains(file, size, "__asan_init") || contains(file, size, "__tsan_init") ||
        contains(file, size, "__msan_init"))
        return "it was built with a sanitizer";
    return NULL;
}

static const char *why_not(const char *path) {
    struct stat s;
    const char *why = NULL;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return NULL; /* a file that may be run but not read: the kernel decides */
    if (fstat(fd, &s)) {
        close(fd);
        return NULL;
    }
    if (s.st_mode & (S_ISUID | S_ISGID)) why = "it is setuid or setgid";
    char *file = !why && s.st_size > 0 ? mmap(NULL, (size_t)s.st_size, PROT_READ, MAP_PRIVATE, fd, 0) : MAP_FAILED;
    if (file != MAP_FAILED) {
        why = judge(file, (size_t)s.st_size);
        munmap(file, (size_t)s.st_size);
    }
    close(fd);
    return why;
}

/* --- the command ------------------------------------------------------------------------------------------- */

static void preload(const char *library) {
    const char *others = getenv("LD_PRELOAD");
    char list[2 * PATH_MAX];
    snprintf(list, sizeof list, "%s%s%s", library, others && *others ? ":" : "", others ? others : "");
    setenv("LD_PRELOAD", list, 1);
}

static const struct {
    const char *option, *variable;
} settings[] = {{"--workers", "WEFT_WORKERS"}, {"--stack-size", "WEFT_STACK_SIZE"}, {"--io", "WEFT_IO"}};

/* Returns how many arguments it took; 0: not a setting; negative: the exit code. */
static int take_setting(int argc, char **argv) {
    char *value = option_value(argv[0]);
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
        if (strcmp(argv[0], settings[i].option) != 0) continue;
        int taken = value ? 1 : 2;
        if (!value && argc > 1) value = argv[1];
        if (!value || !*value) return -usage("%s needs a value; try: weft threads --help", argv[0]);
        setenv(settings[i].variable, value, 1);
        return taken;
    }
    return 0;
}

static int run(char **argv) {
    char program[PATH_MAX], library[PATH_MAX + sizeof WEFT_LIBDIR + 32];
    const char *path = find_program(argv[0], program, sizeof program);
    if (!path) return usage("no such program: %s", argv[0]);
    const char *why = why_not(path), *found = find_library(library, sizeof library);
    if (!why && !found) why = "libweft-threads.so is not where this tool looks; WEFT_THREADS_LIBRARY may name it";
    if (why)
        fprintf(stderr, "weft: %s runs with kernel threads: %s\n", argv[0], why);
    else
        preload(found);
    execv(path, argv);
    return usage("%s: %s", path, strerror(errno));
}

int command_threads(int argc, char **argv) {
    int i = 1;
    while (i < argc && argv[i][0] == '-') {
        if (!strcmp(argv[i], "--help")) {
            fputs(help, stdout);
            return 0;
        }
        if (!strcmp(argv[i], "--")) {
            i++;
            break;
        }
        if (!strcmp(argv[i], "--stats")) {
            setenv("WEFT_STATS", "1", 1);
            i++;
            continue;
        }
        int taken = take_setting(argc - i, argv + i);
        if (taken < 0) return -taken;
        if (!taken) return usage("no such option: %s; try: weft threads --help", argv[i]);
        i += taken;
    }
    if (i >= argc) return usage("which program? Try: weft threads --help");
    return run(argv + i);
}
