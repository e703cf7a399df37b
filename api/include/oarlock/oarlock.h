// Everything a C++ program needs of Oarlock. What is under base/ is tensors, ops, gradients, devices, plugins, settings
// and profiles; the rest is training and can be included by itself.
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
#include <oarlock/control_flow.h>
#include <oarlock/data.h>
#include <oarlock/exported.h>
#include <oarlock/inference.h>
#include <oarlock/jit.h>
#include <oarlock/metric.h>
#include <oarlock/model.h>
#include <oarlock/nn.h>
#include <oarlock/optim.h>
#include <oarlock/random.h>
#include <oarlock/save.h>
