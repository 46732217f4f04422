/* SPDX-License-Identifier: MIT */
/*
 * Python functions as fibers: weft/ffi.h. The functions of CPython are looked up in the process, so the library needs
 * no Python to be built or loaded.
 *
 * CPython's calls for foreign threads (PyGILState_Ensure, which every callback of cffi and ctypes uses) find the state
 * of the interpreter by the kernel thread. A fiber that parks in a callback leaves its frames in that state, and the
 * next fiber on the thread puts its own on top; when the first fiber continues, the frames are popped in the wrong
 * order, and the interpreter aborts. So a fiber gets a state of its own here. cffi and ctypes release the interpreter's
 * lock around each call (PyEval_SaveThread, PyEval_RestoreThread), and these carry the state along, on any thread.
 */
#define _GNU_SOURCE
#define WEFT_MUST_USE
#include "ffi/ffi.h"

#include <weft.h>
#include <weft/ffi.h>

#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>

#define WEFT_PYTHON_STACK ((size_t)1 << 20)

static struct {
    void *(*main_interpreter)(void);
    void *(*state_new)(void *interpreter);
    void (*acquire)(void *state);
    void (*state_clear)(void *state);
    void (*state_delete_current)(void);
    void *(*call)(void *callable);
    void (*unreference)(void *object);
    void (*print_exception)(void *object);
} python;

static void *find_python_symbol(const char *name) { return dlsym(RTLD_DEFAULT, name); }

/* Several threads may do this at the same time. They all store the same pointers. */
static bool find_python(void) {
    if (__atomic_load_n(&python.print_exception, __ATOMIC_ACQUIRE)) return true;
    python.main_interpreter = (void *(*)(void))find_python_symbol("PyInterpreterState_Main");
    python.state_new = (void *(*)(void *))find_python_symbol("PyThreadState_New");
    python.acquire = (void (*)(void *))find_python_symbol("PyEval_AcquireThread");
    python.state_clear = (void (*)(void *))find_python_symbol("PyThreadState_Clear");
    python.state_delete_current = (void (*)(void))find_python_symbol("PyThreadState_DeleteCurrent");
    python.call = (void *(*)(void *))find_python_symbol("PyObject_CallNoArgs");
    python.unreference = (void (*)(void *))find_python_symbol("Py_DecRef");
    void (*print)(void *) = (void (*)(void *))find_python_symbol("PyErr_WriteUnraisable");
    if (!python.main_interpreter || !python.state_new || !python.acquire || !python.state_clear ||
        !python.state_delete_current || !python.call || !python.unreference || !print)
        return false;
    __atomic_store_n(&python.print_exception, print, __ATOMIC_RELEASE);
    return true;
}

int weft_ffi_refuse(const char *call) {
    static bool said;
    if (!find_python_symbol("PyGILState_Ensure")) return 0;
    if (!__atomic_exchange_n(&said, true, __ATOMIC_RELAXED))
        fprintf(stderr,
                "weft: %s: a Python callback cannot be a fiber: use weft_ffi_python_run and weft_ffi_python_spawn "
                "(docs/FFI.md)\n",
                call);
    return -ENOTSUP;
}

/* Runs on the fiber's stack. The fiber has a state of its own from here to its end. */
static int run_python(void *callable) {
    void *state = python.state_new(python.main_interpreter());
    if (!state) return -ENOMEM;
    python.acquire(state);
    void *result = python.call(callable);
    if (!result)
        python.print_exception(callable);
    else
        python.unreference(result);
    python.state_clear(state);
    python.state_delete_current();
    return result ? 0 : -EIO;
}

static void *enter_python(void *callable) { return (void *)(intptr_t)run_python(callable); }

WEFT_FFI int weft_ffi_python_spawn(struct weft_fiber *fiber, const struct weft_attr *attr, void *callable) {
    struct weft_attr mine = WEFT_ATTR_INIT;
    if (!callable) return -EINVAL;
    if (!find_python()) return -ENOSYS;
    if (attr) mine = *attr;
    if (!mine.stack_size) mine.stack_size = WEFT_PYTHON_STACK;
    return weft_spawn_at(fiber, &mine, enter_python, callable, "Python");
}

WEFT_FFI int weft_ffi_python_run(void *callable, const struct weft_config *config) {
    struct weft_config mine = WEFT_CONFIG_INIT;
    if (!callable) return -EINVAL;
    if (!find_python()) return -ENOSYS;
    if (config) mine = *config;
    if (!mine.stack_size) mine.stack_size = WEFT_PYTHON_STACK;
    return weft_run(run_python, callable, &mine);
}
