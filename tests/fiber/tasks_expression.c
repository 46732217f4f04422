/* SPDX-License-Identifier: MIT */
/* See tasks_expression.h. */
#include "tasks_expression.h"

TEST(one_expression) { each_size(check_expressions); }
