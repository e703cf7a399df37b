// Everything for building networks: layers, initialisers, losses, summary.
#pragma once
#include <oarlock/nn/activation.h>
#include <oarlock/nn/containers.h>
#include <oarlock/nn/conv.h>
#include <oarlock/nn/initializer.h>
#include <oarlock/nn/layer.h>
#include <oarlock/nn/linear.h>
#include <oarlock/nn/loss.h>
#include <oarlock/nn/norm.h>
#include <oarlock/nn/padding.h>
#include <oarlock/nn/pooling.h>
#include <oarlock/nn/summary.h>
#include <oarlock/nn/transformer.h>
#include <oarlock/nn/upsample.h>
