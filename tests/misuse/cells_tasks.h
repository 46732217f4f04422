/* SPDX-License-Identifier: MIT */
/* Tasks. See misuse.h. */
CELL(task_fork, null, EITHER, -EINVAL, weft_task_fork(NULL, does_nothing, NULL))
CELL(task_fork, null, EITHER, -EINVAL, weft_task_fork(&task, NULL, NULL))
CELL(task_fork, null, FIBER, 0, (weft_task_fork(&task, does_nothing, NULL), weft_task_join(&task)))
CELL(task_fork, zero, FIBER, 0,
     (task = (struct weft_task){{0}}, weft_task_fork(&task, does_nothing, NULL) + weft_task_join(&task)))
CELL(task_fork, stale, FIBER, 0, (fork_join(), fork_join()))
CELL(task_fork, garbage, FIBER, 0, (memset(&task, 0xff, sizeof task), fork_join()))
NONE(task_fork, range)
CELL(task_fork, state, FIBER, 0, (cancel_self(), fork_join()))
CELL(task_fork, state, FIBER, ABORTS,
     weft_task_fork(&task, does_nothing, NULL)) /* the fiber ends, and has not joined it */
CELL(task_fork, no_runtime, NOTHING, -EPERM, weft_task_fork(&task, does_nothing, NULL))
CELL(task_fork, thread, THREAD, -EPERM, weft_task_fork(&task, does_nothing, NULL))
CELL(task_fork, fiber, FIBER, 0, fork_join())
CELL(task_fork, timer, TIMER, -EPERM, weft_task_fork(&task, does_nothing, NULL))

CELL(task_join, null, EITHER, -EINVAL, weft_task_join(NULL))
CELL(task_join, zero, FIBER, -EINVAL, weft_task_join(&(struct weft_task){{0}}))
CELL(task_join, stale, FIBER, -EINVAL, (fork_join(), weft_task_join(&task)))
CELL(task_join, garbage, FIBER, -EPERM, (memset(&task, 0xff, sizeof task), weft_task_join(&task)))
NONE(task_join, range)
CELL(task_join, state, FIBER, -EINVAL, (fork_join(), weft_task_join(&task)))
CELL(task_join, state, FIBER, 0, (cancel_self(), fork_join()))
CELL(task_join, no_runtime, NOTHING, -EPERM, weft_task_join(&task))
CELL(task_join, thread, THREAD, -EPERM, weft_task_join(&task))
CELL(task_join, fiber, FIBER, 0, fork_join())
CELL(task_join, timer, TIMER, -EPERM, weft_task_join(&task))

NONE(task_prepare, null, zero, stale, garbage, range)
CELL(task_prepare, state, FIBER, 0, (weft_task_prepare(), weft_task_prepare()))
CELL(task_prepare, no_runtime, NOTHING, -EPERM, weft_task_prepare())
CELL(task_prepare, thread, THREAD, -EPERM, weft_task_prepare())
CELL(task_prepare, fiber, FIBER, 0, weft_task_prepare())
CELL(task_prepare, timer, TIMER, -EPERM, weft_task_prepare())
