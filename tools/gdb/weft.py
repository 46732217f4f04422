# SPDX-License-Identifier: MIT
"""Fibers in gdb: who there is, what each does, and where it stands. For a process or its core.

    (gdb) source weft.py
    (gdb) weft fibers          a line for each fiber
    (gdb) weft bt 0x4000007  the backtrace of one; "weft bt" those of all that do not run
    (gdb) weft fiber 0x4000007
                               up, down, info locals, bt and so on show this fiber
    (gdb) weft fiber           and now the thread again

A fiber that runs is seen in the thread that runs it. No register is written: an unwinder tells gdb that the
innermost frame of the selected thread was called by the fiber. weft is to be built with debugging information.
"""
from os.path import dirname

import gdb
from gdb.unwinder import Unwinder, register_unwinder

# mem/slab.h, sched/core/fiber.h, sched/core/worker.h, arch/context.h, sched/wait/wait.h
CHUNK = 4096
LIFE_ONE = 1 << 26
KIND_FIBER = 0
STOOD_ON, FRESH = 1, 2
JOIN_TAG, JOIN_ENDED = 7, (2, 3, 5)
WAITING, OUTSIDE, CANCEL = 0x04, 0x40, 0x02

REGISTERS = {"i386:x86-64": ("rip", "rsp", "rbp"), "aarch64": ("pc", "sp", "x29")}


def registers():
    return REGISTERS[gdb.selected_inferior().architecture().name()]


class Fiber:
    """What is kept of a record: nothing that would be read again."""

    def __init__(self, record):
        context = record["context"]
        self.id = int(record["slot"]["life"])
        self.exists = self.id & LIFE_ONE != 0 and int(context["kind"]) == KIND_FIBER
        if not self.exists:
            return
        self.name = record["name"].string()
        self.where = record["where"].string() if int(record["where"]) else "an unknown place"
        self.begins = tuple(int(context[field]) for field in ("pc", "sp", "fp"))
        self.on_stack = int(context["on_stack"])
        self.state = state(self.on_stack, int(record["join"]), int(record["wait"]))
        self.has_frames = self.on_stack not in (STOOD_ON, FRESH) and self.state != "ended"

    def __str__(self):
        name = f' "{self.name}"' if self.name else ""
        return f"fiber 0x{self.id:x}{name} {self.state}, spawned at {self.where}"


def state(on_stack, join, wait):
    if join & JOIN_TAG in JOIN_ENDED:
        return "ended"
    if on_stack == STOOD_ON:
        return "running"
    if not wait & WAITING:
        return "ready, not begun" if on_stack == FRESH else "ready"
    cancelled = ", cancelled" if wait & CANCEL else ""
    return ("waiting for something outside" if wait & OUTSIDE else "waiting") + cancelled


def slab():
    found = gdb.lookup_global_symbol("weft__fibers")
    if not found:
        raise gdb.GdbError("no weft here, or it was built without debugging information (-Ddebug=true)")
    return found


def record_at(index):
    pointer = gdb.lookup_type("struct weft__fiber").pointer()
    chunk, place = divmod(index, CHUNK)
    record = int(slab().value()["chunk"][chunk]) + place * pointer.target().sizeof
    return gdb.Value(record).cast(pointer).dereference()


def records():
    return int(slab().value()["records"])


def fibers():
    return (fiber for fiber in (Fiber(record_at(i)) for i in range(records())) if fiber.exists)


def fiber_of(text):
    wanted = int(gdb.parse_and_eval(text))
    index = wanted % LIFE_ONE
    if index < records():
        fiber = Fiber(record_at(index))
        if fiber.exists and fiber.id == wanted:
            return fiber
    raise gdb.GdbError(f"no fiber 0x{wanted:x}: weft fibers lists them")


class Inner:
    """Of a frame that the fiber takes the place of: gdb wants a name for it."""

    def __init__(self, sp, pc):
        self.sp, self.pc = sp, pc


class FiberUnwinder(Unwinder):
    """While a fiber is shown: it has called the innermost frame of the thread."""

    def __init__(self):
        super().__init__("weft fiber")
        self.shown = None

    def show(self, fiber):
        self.shown = None
        gdb.invalidate_cached_frames()
        if fiber:
            pc, sp, _ = registers()
            frame = gdb.newest_frame()
            self.at = int(frame.read_register(pc)), int(frame.read_register(sp))
            self.thread = gdb.selected_thread().ptid
            self.shown = fiber
            gdb.invalidate_cached_frames()

    def __call__(self, frame):
        thread = gdb.selected_thread()
        if not self.shown or not thread or thread.ptid != self.thread:
            return None
        pc, sp, _ = names = registers()
        here = frame.read_register(pc), frame.read_register(sp)
        if (int(here[0]), int(here[1])) != self.at:
            return None
        caller = frame.create_unwind_info(Inner(here[1], here[0]))
        for name, value in zip(names, self.shown.begins):
            caller.add_saved_register(name, gdb.Value(value).cast(frame.read_register(name).type))
        return caller


unwinder = FiberUnwinder()
register_unwinder(None, unwinder, replace=True)
gdb.events.cont.connect(lambda _: unwinder.show(None))


def first_frame(fiber):
    frame = gdb.newest_frame()
    while frame and frame.pc() != fiber.begins[0]:
        frame = frame.older()
    return frame


def backtrace(fiber):
    """Lines as those of bt, from the fiber's innermost frame on."""
    unwinder.show(fiber)
    try:
        frame = first_frame(fiber)
        if not frame:
            return ["    (its stack cannot be read)"]
        frame.select()
        skipped = frame.level()
        lines = gdb.execute("backtrace", to_string=True).splitlines()
        return ["    " + line for line in lines[skipped:]]
    finally:
        unwinder.show(None)


def place(fiber):
    """The call of weft that it is in, and where in the program that was made."""
    unwinder.show(fiber)
    try:
        library = dirname(dirname(dirname(slab().symtab.fullname()))) + "/"  # of sched/core/records.c
        call, frame = "", first_frame(fiber)
        while frame:
            line = frame.find_sal()
            if not line.symtab or not line.symtab.fullname().startswith(library):
                at = f" at {line.symtab.filename}:{line.line}" if line.symtab else ""
                return f", in {call}, called by {frame.name() or hex(frame.pc())}{at}"
            call, frame = frame.name(), frame.older()
        return ""
    finally:
        unwinder.show(None)


def no_frames(fiber):
    why = "thread apply all bt shows it" if fiber.on_stack == STOOD_ON else "it has no stack"
    return f"{fiber}: {why}"


class Weft(gdb.Command):
    """Fibers of weft: weft fibers, weft bt [ID], weft fiber [ID]."""

    def __init__(self):
        super().__init__("weft", gdb.COMMAND_STACK, prefix=True)


class Fibers(gdb.Command):
    """A line for each fiber: its number, name and state, where it was spawned and where in the program it is."""

    def __init__(self):
        super().__init__("weft fibers", gdb.COMMAND_STACK)

    def invoke(self, argument, from_tty):
        count = 0
        for fiber in fibers():
            print(f"{fiber}{place(fiber) if fiber.has_frames else ''}")
            count += 1
        print(f"{count} fibers")


class Backtrace(gdb.Command):
    """The backtrace of one fiber, or of all that do not run: weft bt [ID]."""

    def __init__(self):
        super().__init__("weft bt", gdb.COMMAND_STACK)

    def invoke(self, argument, from_tty):
        for fiber in [fiber_of(argument)] if argument else fibers():
            if fiber.has_frames:
                print(fiber)
                print("\n".join(backtrace(fiber)))
            elif argument:
                print(no_frames(fiber))


class Show(gdb.Command):
    """Shows a fiber in place of what the selected thread does: weft fiber ID. Without: the thread again."""

    def __init__(self):
        super().__init__("weft fiber", gdb.COMMAND_STACK)

    def invoke(self, argument, from_tty):
        if not argument:
            unwinder.show(None)
            gdb.execute("frame")
            return
        fiber = fiber_of(argument)
        if not fiber.has_frames:
            raise gdb.GdbError(no_frames(fiber))
        unwinder.show(fiber)
        frame = first_frame(fiber)
        if frame:
            frame.select()
            gdb.execute("frame")


Weft()
Fibers()
Backtrace()
Show()
