// Everything a C++ program needs of Oarlock: tensors, ops, gradients, devices, plugins, settings, profiles.
#pragma once
#include <oarlock/base/autograd.h>
#include <oarlock/base/device.h>
#include <oarlock/base/op.h>
#include <oarlock/base/operators.h>
#include <oarlock/base/ops.h>
#include <oarlock/base/plugin.h>
#include <oarlock/base/profile.h>
#include <oarlock/base/settings.h>
#include <oarlock/base/stream.h>
#include <oarlock/base/tensor.h>
