/* SPDX-License-Identifier: MIT */
/*
 * Files by name, and directories: further calls that may wait for a disk or a server. weft.h says how to read this
 * header. weft/io.h has the calls that read, write, open, close, rename and remove.
 *
 * The calls do what their originals do, with -1 and errno. Calls that io_uring cannot make are made by the thread pool
 * of weft_blocking: the fiber parks, and a call that has begun is not cancelled. For calls without `at` that are
 * missing here, use the form with `at` and AT_FDCWD.
 */
#ifndef WEFT_FILE_H
#define WEFT_FILE_H

#include "weft/io.h"

#include <dirent.h>
#include <sys/stat.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---------------------------------------------------------------------------------------------
 * Attributes of files
 * ------------------------------------------------------------------------------------------ */

/*
 * Read the attributes of a file, as stat, lstat, fstat and fstatat do.
 *
 * Errors: those of the original, EFAULT if result is NULL, and ENOMEM.
 * [fiber thread; parks, cancel]
 */
WEFT_MUST_USE int weft_stat(const char *path, struct stat *result);
WEFT_MUST_USE int weft_lstat(const char *path, struct stat *result);
WEFT_MUST_USE int weft_fstat(int fd, struct stat *result);
WEFT_MUST_USE int weft_fstatat(int dir, const char *path, struct stat *result, int flags);

/*
 * Says whether a file may be used, as faccessat does.
 *
 * Errors: those of the original, and EAGAIN if there is no thread for it.
 * [fiber thread; parks, cancel]
 */
WEFT_MUST_USE int weft_faccessat(int dir, const char *path, int mode, int flags);

/*
 * Reads where a symbolic link leads, as readlinkat does.
 *
 * Errors: those of the original, and EAGAIN if there is no thread for it.
 * [fiber thread; parks, cancel]
 */
WEFT_MUST_USE ssize_t weft_readlinkat(int dir, const char *path, char *buffer, size_t size);

/* ---------------------------------------------------------------------------------------------
 * Changing files
 * ------------------------------------------------------------------------------------------ */

/*
 * Make another name for a file, or a symbolic link, as linkat and symlinkat do.
 *
 * Errors: those of the original, and EAGAIN if there is no thread for it.
 * [fiber thread; parks, cancel]
 */
WEFT_MUST_USE int weft_linkat(int from_dir, const char *from, int to_dir, const char *to, int flags);
WEFT_MUST_USE int weft_symlinkat(const char *target, int dir, const char *path);

/*
 * Change size, permissions, owner and times of a file, as ftruncate, fchmodat, fchownat and utimensat do.
 *
 * Errors: those of the original, and EAGAIN if there is no thread for it.
 * [fiber thread; parks, cancel]
 */
WEFT_MUST_USE int weft_ftruncate(int fd, off_t size);
WEFT_MUST_USE int weft_fchmodat(int dir, const char *path, mode_t mode, int flags);
WEFT_MUST_USE int weft_fchownat(int dir, const char *path, uid_t owner, gid_t group, int flags);
WEFT_MUST_USE int weft_utimensat(int dir, const char *path, const struct timespec times[2], int flags);

/*
 * Reserves space for a file, or makes holes in it, as fallocate does.
 *
 * Errors: those of the original, and EAGAIN if there is no thread for it.
 * [fiber thread; parks, cancel]
 */
WEFT_MUST_USE int weft_fallocate(int fd, int mode, off_t offset, off_t size);

/*
 * Copies bytes from file to file within the kernel, as copy_file_range does. It may copy fewer than it was asked for.
 *
 * Errors: those of the original, and EAGAIN if there is no thread for it.
 * [fiber thread; parks, cancel]
 */
WEFT_MUST_USE ssize_t weft_copy_file_range(int in, off_t *in_offset, int out, off_t *out_offset, size_t size,
                                           unsigned flags);

/*
 * Locks a file against other processes, or unlocks it, as flock does. A fiber that waits for a lock tries it at most a
 * hundred times a second, and occupies no thread meanwhile.
 *
 * Errors: those of the original.
 * [fiber thread; parks, cancel]
 */
WEFT_MUST_USE int weft_flock(int fd, int operation);

/* ---------------------------------------------------------------------------------------------
 * Directories
 *
 *     struct weft_dir *dir = weft_opendir("/etc");
 *     if (!dir) return;
 *     while ((entry = weft_readdir(dir))) puts(entry->d_name);
 *     weft_closedir(dir);
 * ------------------------------------------------------------------------------------------ */

/* An open directory. */
struct weft_dir;

/*
 * Opens a directory, as opendir does. Returns NULL and sets errno when it fails.
 *
 * Errors: those of opendir, EFAULT if path is NULL, and ENOMEM.
 * [fiber thread; parks, cancel]
 */
WEFT_MUST_USE struct weft_dir *weft_opendir(const char *path);

/*
 * Returns the next entry, as readdir does. Returns NULL at the end, with errno unchanged, and after an error, with
 * errno set. The entry is valid until the next call. Many entries are read at a time, so most calls do not wait.
 *
 * Errors: those of readdir, and EINVAL if dir is NULL.
 * [fiber thread; parks, cancel]
 */
struct dirent *weft_readdir(struct weft_dir *dir);

/*
 * Closes the directory and frees it.
 *
 * Errors: EINVAL if dir is NULL.
 * [fiber thread]
 */
int weft_closedir(struct weft_dir *dir);

#ifdef __cplusplus
}
#endif
#endif
