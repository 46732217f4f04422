/* weft cached, without the rest of the tool. */
#include "../../serve/alone.h"

int main(int argc, char **argv) { return command_cached(argc, argv); }
