/* SPDX-License-Identifier: MIT */
/* weft serve, without the rest of the tool. */
#include "alone.h"

int main(int argc, char **argv) { return command_serve(argc, argv); }
