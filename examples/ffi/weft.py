#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""weft from Python, with cffi (Debian: python3-cffi): two hundred fibers of Python that sleep, wait for each other and use
a channel. LIBRARY is libweft-ffi.so.0, or what the environment names in WEFT_FFI."""
import os
import sys

from cffi import FFI

ffi = FFI()
ffi.cdef("""
    struct weft_fiber { uint64_t id; };
    struct weft_chan;
    const char *weft_version(void);
    int weft_ffi_python_run(void *callable, const void *config);
    int weft_ffi_python_spawn(struct weft_fiber *fiber, const void *attr, void *callable);
    int weft_join(struct weft_fiber fiber, void **result);
    int weft_sleep_for(uint64_t nanoseconds);
    void weft_yield(void);
    int weft_worker(void);
    struct weft_chan *weft_chan_make(size_t size, size_t capacity);
    int weft_chan_free(struct weft_chan *chan);
    int weft_chan_send(struct weft_chan *chan, const void *item);
    int weft_chan_recv(struct weft_chan *chan, void *item);
    int weft_chan_close(struct weft_chan *chan);
    int weft_spawn(struct weft_fiber *fiber, const void *attr, void *(*fn)(void *), void *arg);
""")
lib = ffi.dlopen(os.environ.get("WEFT_FFI", "libweft-ffi.so.0"))


def check(result):
    if result < 0:
        raise OSError(-result, os.strerror(-result))
    return result


def run(function):
    """Runs a function as the first fiber of a runtime."""
    check(lib.weft_ffi_python_run(ffi.cast("void *", id(function)), ffi.NULL))


class Fiber:
    """A function in a fiber, with its result or exception."""

    def __init__(self, function, *args):
        self.result = self.exception = None

        def call():
            try:
                self.result = function(*args)
            except BaseException as e:  # for join
                self.exception = e

        self.call = call  # a reference, until the fiber has ended
        self.handle = ffi.new("struct weft_fiber *")
        check(lib.weft_ffi_python_spawn(self.handle, ffi.NULL, ffi.cast("void *", id(call))))

    def join(self):
        check(lib.weft_join(self.handle[0], ffi.NULL))
        if self.exception:
            raise self.exception
        return self.result


def example(fibers=200, rounds=20):
    channel = lib.weft_chan_make(8, 4)
    workers = set()

    def work(me):
        """Parks in each round, with frames of Python on its stack."""
        def deep(n):
            if n:
                return deep(n - 1)
            lib.weft_sleep_for(1000 * (me % 7))
            workers.add(lib.weft_worker())
            return me
        for _ in range(rounds):
            check(lib.weft_chan_send(channel, ffi.new("uint64_t *", deep(me % 10))))
            lib.weft_yield()
        if me == 13:
            raise ValueError("thirteen")
        return me * me

    def main():
        started = [Fiber(work, i) for i in range(fibers)]
        item, total = ffi.new("uint64_t *"), 0
        for _ in range(fibers * rounds):
            check(lib.weft_chan_recv(channel, item))
            total += item[0]
        failed, squares = 0, 0
        for fiber in started:
            try:
                squares += fiber.join()
            except ValueError:
                failed += 1
        good = (total == rounds * sum(range(fibers)) and failed == (fibers > 13)
                and squares == sum(i * i for i in range(fibers) if i != 13))
        print(f"{fibers} fibers, {fibers * rounds} items:", "good" if good else "wrong")
        if not good:
            raise SystemExit("wrong")

    run(main)
    lib.weft_chan_free(channel)


if __name__ == "__main__":
    print("weft", ffi.string(lib.weft_version()).decode())
    example(*(int(a) for a in sys.argv[1:]))
