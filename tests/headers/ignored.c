/* SPDX-License-Identifier: MIT */
/* Does not compile with -Werror: the result of a call that can fail is ignored. */
#include <weft.h>
void f(struct weft_sem *sem) { weft_sem_wait(sem); }
