// SPDX-License-Identifier: Apache-2.0
/// @file
/// Everything that masu offers, except reading and writing files (`<masu/io.h>`, target `masu::io`). In C it is
/// `<masu/c.h>`.
#pragma once

#ifdef __cplusplus
#include <masu/accumulator.h>
#include <masu/bins.h>
#include <masu/buffer.h>
#include <masu/convert.h>
#include <masu/device.h>
#include <masu/dtype.h>
#include <masu/error.h>
#include <masu/float8.h>
#include <masu/float8_histogram.h>
#include <masu/floating_point.h>
#include <masu/gather.h>
#include <masu/group.h>
#include <masu/histogram.h>
#include <masu/interrupt.h>
#include <masu/joint_histogram.h>
#include <masu/program.h>
#include <masu/quantile.h>
#include <masu/reduce.h>
#include <masu/row_histogram.h>
#include <masu/scan.h>
#include <masu/search.h>
#include <masu/sort.h>
#include <masu/stream.h>
#include <masu/sum.h>
#include <masu/topk.h>
#include <masu/transpose.h>
#include <masu/unique.h>
#include <masu/version.h>
#include <masu/weighted_histogram.h>
#else
#include <masu/c.h>
#endif
