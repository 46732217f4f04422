/* SPDX-License-Identifier: MIT */
/* Listens, prints that, serves, and ends at SIGINT, SIGTERM or SIGUSR1. Returns the exit code. */
#ifndef CACHED_SERVER_H
#define CACHED_SERVER_H

#include "cache.h"

int mc_serve(const struct mc_settings *settings, void (*listens)(const struct mc_settings *settings));

#endif
