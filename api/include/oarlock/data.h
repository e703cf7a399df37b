// Data: datasets, samplers, the loader, transforms, and readers of IDX, npy and npz files.
#pragma once
#include <oarlock/data/dataset.h>
#include <oarlock/data/idx.h>
#include <oarlock/data/loader.h>
#include <oarlock/data/mnist.h>
#include <oarlock/data/npy.h>
#include <oarlock/data/random.h>
#include <oarlock/data/sampler.h>
#include <oarlock/data/transform.h>
