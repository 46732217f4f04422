/* SPDX-License-Identifier: MIT */
/* Operations under way. See misuse.h. */
OPERATION(io_read, 4, readable(), buffer, sizeof buffer)
CELL(io_read, state, FIBER, -ECANCELED, (cancel_self(), finish(weft_io_read(&io, silent(), buffer, sizeof buffer))))
NONE(io_read, zero)

OPERATION(io_write, 4, sink(), "text", 4)
CELL(io_write, state, FIBER, -ECANCELED, (cancel_self(), finish(weft_io_write(&io, full(), "text", 4))))
NONE(io_write, zero)

OPERATION(io_pread, 4, a_file(), buffer, 4, 0)
NONE(io_pread, zero, state)

OPERATION(io_pwrite, 4, sink(), "text", 4, 0)
NONE(io_pwrite, zero, state)

OPERATION(io_readv, 4, readable(), &part, 1)
CELL(io_readv, state, FIBER, -ECANCELED, (cancel_self(), finish(weft_io_readv(&io, silent(), &part, 1))))
NONE(io_readv, zero)

OPERATION(io_writev, 8, sink(), &part, 1)
CELL(io_writev, state, FIBER, -ECANCELED, (cancel_self(), finish(weft_io_writev(&io, full(), &part, 1))))
NONE(io_writev, zero)

OPERATION(io_preadv, 8, a_file(), &part, 1, 0)
NONE(io_preadv, zero, state)

OPERATION(io_pwritev, 8, sink(), &part, 1, 0)
NONE(io_pwritev, zero, state)

CELL(io_openat, null, EITHER, -EINVAL, weft_io_openat(NULL, AT_FDCWD, "/proc/self/nothing", O_RDONLY, 0))
NONE(io_openat, zero)
CELL(io_openat, stale, FIBER, -EBADF, finish(weft_io_openat(&io, closed(), "x", O_RDONLY, 0)))
CELL(io_openat, garbage, FIBER, -EBADF, finish(weft_io_openat(&io, 123456789, "x", O_RDONLY, 0)))
CELL(io_openat, range, FIBER, -EBADF, finish(weft_io_openat(&io, -1, "x", O_RDONLY, 0)))
NONE(io_openat, state)
CELL(io_openat, no_runtime, NOTHING, -EPERM, weft_io_openat(&io, AT_FDCWD, "/proc/self/nothing", O_RDONLY, 0))
CELL(io_openat, thread, THREAD, -EPERM, weft_io_openat(&io, AT_FDCWD, "/proc/self/nothing", O_RDONLY, 0))
CELL(io_openat, fiber, FIBER, -ENOENT, finish(weft_io_openat(&io, AT_FDCWD, "/proc/self/nothing", O_RDONLY, 0)))
CELL(io_openat, timer, TIMER, -EPERM, weft_io_openat(&io, AT_FDCWD, "/proc/self/nothing", O_RDONLY, 0))

CELL(io_close, null, EITHER, -EINVAL, weft_io_close(NULL, readable()))
NONE(io_close, zero)
CELL(io_close, stale, FIBER, -EBADF, finish(weft_io_close(&io, closed())))
CELL(io_close, garbage, FIBER, -EBADF, finish(weft_io_close(&io, 123456789)))
CELL(io_close, range, FIBER, -EBADF, finish(weft_io_close(&io, -1)))
NONE(io_close, state)
CELL(io_close, no_runtime, NOTHING, -EPERM, weft_io_close(&io, readable()))
CELL(io_close, thread, THREAD, -EPERM, weft_io_close(&io, readable()))
CELL(io_close, fiber, FIBER, 0, finish(weft_io_close(&io, readable())))
CELL(io_close, timer, TIMER, -EPERM, weft_io_close(&io, readable()))

CELL(io_fsync, null, EITHER, -EINVAL, weft_io_fsync(NULL, a_file()))
NONE(io_fsync, zero)
CELL(io_fsync, stale, FIBER, -EBADF, finish(weft_io_fsync(&io, closed())))
CELL(io_fsync, garbage, FIBER, -EBADF, finish(weft_io_fsync(&io, 123456789)))
CELL(io_fsync, range, FIBER, -EBADF, finish(weft_io_fsync(&io, -1)))
NONE(io_fsync, state)
CELL(io_fsync, no_runtime, NOTHING, -EPERM, weft_io_fsync(&io, a_file()))
CELL(io_fsync, thread, THREAD, -EPERM, weft_io_fsync(&io, a_file()))
CELL(io_fsync, fiber, FIBER, 0, finish(weft_io_fsync(&io, a_file())))
CELL(io_fsync, timer, TIMER, -EPERM, weft_io_fsync(&io, a_file()))

CELL(io_fdatasync, null, EITHER, -EINVAL, weft_io_fdatasync(NULL, a_file()))
NONE(io_fdatasync, zero)
CELL(io_fdatasync, stale, FIBER, -EBADF, finish(weft_io_fdatasync(&io, closed())))
CELL(io_fdatasync, garbage, FIBER, -EBADF, finish(weft_io_fdatasync(&io, 123456789)))
CELL(io_fdatasync, range, FIBER, -EBADF, finish(weft_io_fdatasync(&io, -1)))
NONE(io_fdatasync, state)
CELL(io_fdatasync, no_runtime, NOTHING, -EPERM, weft_io_fdatasync(&io, a_file()))
CELL(io_fdatasync, thread, THREAD, -EPERM, weft_io_fdatasync(&io, a_file()))
CELL(io_fdatasync, fiber, FIBER, 0, finish(weft_io_fdatasync(&io, a_file())))
CELL(io_fdatasync, timer, TIMER, -EPERM, weft_io_fdatasync(&io, a_file()))

CELL(io_statx, null, EITHER, -EINVAL, weft_io_statx(NULL, AT_FDCWD, "/", 0, STATX_SIZE, &status))
NONE(io_statx, zero)
CELL(io_statx, stale, FIBER, -EBADF, finish(weft_io_statx(&io, closed(), "x", 0, STATX_SIZE, &status)))
CELL(io_statx, garbage, FIBER, -EBADF, finish(weft_io_statx(&io, 123456789, "x", 0, STATX_SIZE, &status)))
CELL(io_statx, range, FIBER, -EBADF, finish(weft_io_statx(&io, -1, "x", 0, STATX_SIZE, &status)))
NONE(io_statx, state)
CELL(io_statx, no_runtime, NOTHING, -EPERM, weft_io_statx(&io, AT_FDCWD, "/", 0, STATX_SIZE, &status))
CELL(io_statx, thread, THREAD, -EPERM, weft_io_statx(&io, AT_FDCWD, "/", 0, STATX_SIZE, &status))
CELL(io_statx, fiber, FIBER, 0, finish(weft_io_statx(&io, AT_FDCWD, "/", 0, STATX_SIZE, &status)))
CELL(io_statx, timer, TIMER, -EPERM, weft_io_statx(&io, AT_FDCWD, "/", 0, STATX_SIZE, &status))

CELL(io_unlinkat, null, EITHER, -EINVAL, weft_io_unlinkat(NULL, AT_FDCWD, "/proc/self/nothing", 0))
NONE(io_unlinkat, zero)
CELL(io_unlinkat, stale, FIBER, -EBADF, finish(weft_io_unlinkat(&io, closed(), "x", 0)))
CELL(io_unlinkat, garbage, FIBER, -EBADF, finish(weft_io_unlinkat(&io, 123456789, "x", 0)))
CELL(io_unlinkat, range, FIBER, -EBADF, finish(weft_io_unlinkat(&io, -1, "x", 0)))
NONE(io_unlinkat, state)
CELL(io_unlinkat, no_runtime, NOTHING, -EPERM, weft_io_unlinkat(&io, AT_FDCWD, "/proc/self/nothing", 0))
CELL(io_unlinkat, thread, THREAD, -EPERM, weft_io_unlinkat(&io, AT_FDCWD, "/proc/self/nothing", 0))
CELL(io_unlinkat, fiber, FIBER, -ENOENT, finish(weft_io_unlinkat(&io, AT_FDCWD, "/proc/self/nothing", 0)))
CELL(io_unlinkat, timer, TIMER, -EPERM, weft_io_unlinkat(&io, AT_FDCWD, "/proc/self/nothing", 0))

CELL(io_renameat, null, EITHER, -EINVAL,
     weft_io_renameat(NULL, AT_FDCWD, "/proc/self/nothing", AT_FDCWD, "/proc/self/something"))
NONE(io_renameat, zero)
CELL(io_renameat, stale, FIBER, -EBADF, finish(weft_io_renameat(&io, closed(), "x", AT_FDCWD, "y")))
CELL(io_renameat, garbage, FIBER, -EBADF, finish(weft_io_renameat(&io, 123456789, "x", AT_FDCWD, "y")))
CELL(io_renameat, range, FIBER, -EBADF, finish(weft_io_renameat(&io, -1, "x", AT_FDCWD, "y")))
NONE(io_renameat, state)
CELL(io_renameat, no_runtime, NOTHING, -EPERM,
     weft_io_renameat(&io, AT_FDCWD, "/proc/self/nothing", AT_FDCWD, "/proc/self/something"))
CELL(io_renameat, thread, THREAD, -EPERM,
     weft_io_renameat(&io, AT_FDCWD, "/proc/self/nothing", AT_FDCWD, "/proc/self/something"))
CELL(io_renameat, fiber, FIBER, -ENOENT,
     finish(weft_io_renameat(&io, AT_FDCWD, "/proc/self/nothing", AT_FDCWD, "/proc/self/something")))
CELL(io_renameat, timer, TIMER, -EPERM,
     weft_io_renameat(&io, AT_FDCWD, "/proc/self/nothing", AT_FDCWD, "/proc/self/something"))

CELL(io_mkdirat, null, EITHER, -EINVAL, weft_io_mkdirat(NULL, AT_FDCWD, "/", 0700))
NONE(io_mkdirat, zero)
CELL(io_mkdirat, stale, FIBER, -EBADF, finish(weft_io_mkdirat(&io, closed(), "x", 0700)))
CELL(io_mkdirat, garbage, FIBER, -EBADF, finish(weft_io_mkdirat(&io, 123456789, "x", 0700)))
CELL(io_mkdirat, range, FIBER, -EBADF, finish(weft_io_mkdirat(&io, -1, "x", 0700)))
NONE(io_mkdirat, state)
CELL(io_mkdirat, no_runtime, NOTHING, -EPERM, weft_io_mkdirat(&io, AT_FDCWD, "/", 0700))
CELL(io_mkdirat, thread, THREAD, -EPERM, weft_io_mkdirat(&io, AT_FDCWD, "/", 0700))
CELL(io_mkdirat, fiber, FIBER, -EEXIST, finish(weft_io_mkdirat(&io, AT_FDCWD, "/", 0700)))
CELL(io_mkdirat, timer, TIMER, -EPERM, weft_io_mkdirat(&io, AT_FDCWD, "/", 0700))

CELL(io_accept, null, EITHER, -EINVAL, weft_io_accept(NULL, listener(1), NULL, NULL, 1))
NONE(io_accept, zero)
CELL(io_accept, stale, FIBER, -EBADF, finish(weft_io_accept(&io, closed(), NULL, NULL, 0)))
CELL(io_accept, garbage, FIBER, -EBADF, finish(weft_io_accept(&io, 123456789, NULL, NULL, 0)))
CELL(io_accept, range, FIBER, -EBADF, finish(weft_io_accept(&io, -1, NULL, NULL, 0)))
NONE(io_accept, state)
CELL(io_accept, no_runtime, NOTHING, -EPERM, weft_io_accept(&io, listener(1), NULL, NULL, 1))
CELL(io_accept, thread, THREAD, -EPERM, weft_io_accept(&io, listener(1), NULL, NULL, 1))
CELL(io_accept, fiber, FIBER, -EINVAL, finish(weft_io_accept(&io, listener(1), NULL, NULL, 1)))
CELL(io_accept, timer, TIMER, -EPERM, weft_io_accept(&io, listener(1), NULL, NULL, 1))

OPERATION(io_connect, -EINVAL, stream(), (struct sockaddr *)&address, 0)
NONE(io_connect, zero, state)

OPERATION(io_send, 4, talk(""), "text", 4, 0)
CELL(io_send, state, FIBER, -ECANCELED, (cancel_self(), finish(weft_io_send(&io, clogged(), "text", 4, 0))))
NONE(io_send, zero)

OPERATION(io_recv, 4, talk("text"), buffer, 8, 0)
CELL(io_recv, state, FIBER, -ECANCELED, (cancel_self(), finish(weft_io_recv(&io, talk(""), buffer, 8, 0))))
NONE(io_recv, zero)

OPERATION(io_sendto, 4, talk(""), "text", 4, 0, NULL, 0)
CELL(io_sendto, zero, FIBER, -ENOTSOCK, finish(weft_io_sendto(&io, readable(), "text", 4, 0, NULL, 0)))
CELL(io_sendto, state, FIBER, -ECANCELED,
     (cancel_self(), finish(weft_io_sendto(&io, clogged(), "text", 4, 0, NULL, 0))))

OPERATION(io_recvfrom, 4, talk("text"), buffer, sizeof buffer, 0, NULL, NULL)
CELL(io_recvfrom, zero, FIBER, -ENOTSOCK,
     finish(weft_io_recvfrom(&io, readable(), buffer, sizeof buffer, 0, NULL, NULL)))
CELL(io_recvfrom, state, FIBER, -ECANCELED,
     (cancel_self(), finish(weft_io_recvfrom(&io, talk(""), buffer, sizeof buffer, 0, NULL, NULL))))

OPERATION(io_sendmsg, 8, talk(""), &message, 0)
CELL(io_sendmsg, state, FIBER, -ECANCELED, (cancel_self(), finish(weft_io_sendmsg(&io, clogged(), &message, 0))))
NONE(io_sendmsg, zero)

OPERATION(io_recvmsg, 4, talk("text"), &message, 0)
CELL(io_recvmsg, state, FIBER, -ECANCELED, (cancel_self(), finish(weft_io_recvmsg(&io, talk(""), &message, 0))))
NONE(io_recvmsg, zero)

OPERATION(io_shutdown, 0, talk(""), SHUT_RDWR)
NONE(io_shutdown, zero, state)

OPERATION(io_poll, POLLIN, readable(), POLLIN)
CELL(io_poll, state, FIBER, -ECANCELED, (cancel_self(), finish(weft_io_poll(&io, silent(), POLLIN))))
NONE(io_poll, zero)

OPERATION(io_splice, 4, readable(), NULL, pipe_end(), NULL, 100, 0)
CELL(io_splice, state, FIBER, -ECANCELED,
     (cancel_self(), finish(weft_io_splice(&io, silent(), NULL, pipe_end(), NULL, 100, 0))))
NONE(io_splice, zero)

OPERATION(io_sendfile, 4, talk(""), a_file(), NULL, 4)
CELL(io_sendfile, state, FIBER, -ECANCELED,
     (cancel_self(), finish(weft_io_sendfile(&io, clogged(), a_file(), NULL, 4))))
NONE(io_sendfile, zero)

CELL(io_waitpid, null, EITHER, -EINVAL, weft_io_waitpid(NULL, 1, NULL, 0x4000))
NONE(io_waitpid, zero, stale)
CELL(io_waitpid, garbage, FIBER, -ECHILD, finish(weft_io_waitpid(&io, INT_MAX, NULL, 0)))
NONE(io_waitpid, range, state)
CELL(io_waitpid, no_runtime, NOTHING, -EPERM, weft_io_waitpid(&io, 1, NULL, 0x4000))
CELL(io_waitpid, thread, THREAD, -EPERM, weft_io_waitpid(&io, 1, NULL, 0x4000))
CELL(io_waitpid, fiber, FIBER, -EINVAL, finish(weft_io_waitpid(&io, 1, NULL, 0x4000)))
CELL(io_waitpid, timer, TIMER, -EPERM, weft_io_waitpid(&io, 1, NULL, 0x4000))

OBJECT(io_sleep_for, 1)
CELL(io_sleep_for, zero, FIBER, 0, finish(weft_io_sleep_for(&io, 0)))
CELL(io_sleep_for, range, FIBER, -ECANCELED, (cancel_self(), finish(weft_io_sleep_for(&io, UINT64_MAX))))
CELL(io_sleep_for, state, FIBER, -ECANCELED, (cancel_self(), finish(weft_io_sleep_for(&io, WEFT_SECOND))))
CELL(io_sleep_for, no_runtime, NOTHING, -EPERM, weft_io_sleep_for(&io, 1))
CELL(io_sleep_for, thread, THREAD, -EPERM, weft_io_sleep_for(&io, 1))
CELL(io_sleep_for, fiber, FIBER, 0, finish(weft_io_sleep_for(&io, 1)))
CELL(io_sleep_for, timer, TIMER, -EPERM, weft_io_sleep_for(&io, 1))

CELL(io_wait, null, EITHER, -EINVAL, weft_io_wait(NULL))
CELL(io_wait, zero, EITHER, -EINVAL, weft_io_wait(&(struct weft_io)WEFT_IO_INIT))
CELL(io_wait, stale, FIBER, 4, (finish(weft_io_read(&io, readable(), buffer, 8)), weft_io_wait(&io)))
NONE(io_wait, garbage, range)
CELL(io_wait, state, FIBER, -ECANCELED, (cancel_self(), finish(weft_io_read(&io, silent(), buffer, 8))))
CELL(io_wait, no_runtime, NOTHING, -EPERM, weft_io_read(&io, readable(), buffer, 8))
CELL(io_wait, thread, THREAD, -EPERM, finish(weft_io_read(&io, readable(), buffer, 8)))
CELL(io_wait, fiber, FIBER, 4, finish(weft_io_read(&io, readable(), buffer, 8)))
CELL(io_wait, timer, TIMER, -EPERM, finish(weft_io_read(&io, readable(), buffer, 8)))

CELL(io_cancel, null, EITHER, -EINVAL, weft_io_cancel(NULL))
CELL(io_cancel, zero, EITHER, -EINVAL, weft_io_cancel(&(struct weft_io)WEFT_IO_INIT))
CELL(io_cancel, stale, FIBER, -EALREADY, (finish(weft_io_read(&io, readable(), buffer, 8)), weft_io_cancel(&io)))
NONE(io_cancel, garbage, range)
CELL(io_cancel, state, FIBER, -ECANCELED,
     (weft_io_read(&io, silent(), buffer, 8), weft_io_cancel(&io), weft_io_wait(&io)))
CELL(io_cancel, no_runtime, NOTHING, -EALREADY, weft_io_cancel(done()))
CELL(io_cancel, thread, THREAD, -EALREADY, weft_io_cancel(done()))
CELL(io_cancel, fiber, FIBER, 0, (weft_io_read(&io, silent(), buffer, 8), weft_io_cancel(&io)))
CELL(io_cancel, timer, TIMER, -EALREADY, weft_io_cancel(done()))

CELL(io_wait_until, null, EITHER, -EINVAL, weft_io_wait_until(NULL, LATER))
CELL(io_wait_until, zero, EITHER, -EINVAL, weft_io_wait_until(&(struct weft_io)WEFT_IO_INIT, LATER))
CELL(io_wait_until, stale, FIBER, 4, (finish(weft_io_read(&io, readable(), buffer, 8)), weft_io_wait_until(&io, LATER)))
NONE(io_wait_until, garbage)
CELL(io_wait_until, range, FIBER, -ETIMEDOUT, (weft_io_read(&io, silent(), buffer, 8), weft_io_wait_until(&io, 0)))
CELL(io_wait_until, state, FIBER, -ECANCELED,
     (cancel_self(), weft_io_read(&io, silent(), buffer, 8), weft_io_wait_until(&io, LATER)))
CELL(io_wait_until, no_runtime, NOTHING, -EINVAL, weft_io_wait_until(&(struct weft_io)WEFT_IO_INIT, LATER))
CELL(io_wait_until, thread, THREAD, -EINVAL, weft_io_wait_until(&(struct weft_io)WEFT_IO_INIT, LATER))
CELL(io_wait_until, fiber, FIBER, 4, (weft_io_read(&io, readable(), buffer, 8), weft_io_wait_until(&io, LATER)))
CELL(io_wait_until, timer, TIMER, -EINVAL, weft_io_wait_until(&(struct weft_io)WEFT_IO_INIT, LATER))
