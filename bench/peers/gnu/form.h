/* SPDX-License-Identifier: MIT */
/* Forks of OpenMP, on which the parallel mode of the C++ library runs. */
#include "../openmp/form.h"
