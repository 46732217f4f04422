/* SPDX-License-Identifier: MIT */
/* Must not compile with -Werror, because it ignores the result of a call that can fail. */
#include <weft.h>
void f(struct weft_sem *sem) { weft_sem_wait(sem); }
