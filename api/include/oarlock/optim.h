// Everything for changing parameters: optimisers, gradient clipping, learning-rate schedules.
#pragma once
#include <oarlock/optim/clip.h>
#include <oarlock/optim/lr.h>
#include <oarlock/optim/optimizer.h>
