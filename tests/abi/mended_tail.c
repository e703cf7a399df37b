/* wrong_tail with its fault mended. */
#define MENDED 1
#define TAIL_NAME "mended_tail"
#include "wrong_tail.c"
