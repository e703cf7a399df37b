/* wrong_tail with a device of its own, "toy". */
#define WITH_DEVICE 1
#define MENDED 0
#define TAIL_NAME "wrong_tail_device"
#include "wrong_tail.c"
