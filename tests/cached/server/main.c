/* SPDX-License-Identifier: MIT */
/* weft cached, without the rest of the tool; with the command that moves the clock, which memcached's own tests use. */
#include "../../serve/alone.h"

#include "cache.h"

int main(int argc, char **argv) {
    mc_debug_commands = true;
    return command_cached(argc, argv);
}
