/* SPDX-License-Identifier: Apache-2.0 */
/** @file
 * The C interface: histograms, sorts, top-k, quantiles and sums for C and for languages that call C. The results are
 * those of the C++ functions, to the bit; their headers have the rules. Library: libmasu, the same.
 *
 * **Memory.** A call reads elements of one dtype, one after the other, in host memory (MASU_HOST) or in memory of its
 * device (MASU_DEVICE). The latter is a CUdeviceptr, a cl_mem, or an address on `cpu`. Results are written to host
 * memory, but those of masu_sort and masu_argsort, which lie where the elements lie. A call returns when it is done;
 * work of the caller's on device memory must be done before it.
 * **Devices.** Null for `device` with host memory lets masu choose, as in C++. A device may be used by several threads.
 * **Errors.** Every function returns a status. Where it is not MASU_OK, masu_last_error() says why, and no result was
 * written; a device that was lost may leave sorted data mixed. Null pointers are errors, but for empty data.
 */
#pragma once

#include <stdint.h>

#ifndef MASU_EXPORT /* as masu/version.h has it, which needs C++20 */
#define MASU_EXPORT __attribute__((visibility("default")))
#endif

#ifdef __cplusplus
extern "C" {
#endif

/** What a call returns. */
typedef int32_t masu_status;
enum {
  MASU_OK = 0,
  MASU_INVALID_ARGUMENT = 1, /**< the caller broke a rule that the function documents */
  MASU_UNSUPPORTED = 2,      /**< valid, but this device, driver or build cannot do it */
  MASU_OUT_OF_MEMORY = 3,
  MASU_DEVICE_LOST = 4,
  MASU_BUILD_FAILED = 5, /**< a kernel did not compile; the message has the compiler's log */
  MASU_IO = 6,
  MASU_INTERRUPTED = 7,
  MASU_OTHER = 8 /**< what should not happen */
};

/** The dtypes; their numbers stay. */
typedef int32_t masu_dtype;
enum {
  MASU_U8 = 0,
  MASU_I8 = 1,
  MASU_U16 = 2,
  MASU_I16 = 3,
  MASU_U32 = 4,
  MASU_I32 = 5,
  MASU_U64 = 6,
  MASU_I64 = 7,
  MASU_F16 = 8,
  MASU_F32 = 9,
  MASU_F64 = 10,
  MASU_BF16 = 11
};

/** Where elements lie. */
typedef int32_t masu_memory;
enum { MASU_HOST = 0, MASU_DEVICE = 1 };

/** The order of a sort, and which elements are on top. */
typedef int32_t masu_order;
enum { MASU_ASCENDING = 0, MASU_DESCENDING = 1 };

typedef struct masu_device masu_device;

/** "0.2.0". Never null. */
MASU_EXPORT const char* masu_version(void);

/** Why the last call of this thread failed, in a line: "sort: …". "" where none has failed. Valid until the next
 * call of this thread that fails. */
MASU_EXPORT const char* masu_last_error(void);

/** Opens "cpu", "cuda:0", "opencl:0" and so on; `masu devices` lists them. `cuda:N` has the context of the CUDA
 * runtime, so takes memory of cudaMalloc. */
MASU_EXPORT masu_status masu_device_open(const char* id, masu_device** device);
/** A device of the caller's: an OpenCL context and device (cl_context, cl_device_id), retained while in use, or a CUDA
 * context (CUcontext), which must outlive it. Memory of that context can be given to calls. */
MASU_EXPORT masu_status masu_device_wrap_opencl(void* context, void* opencl_device, masu_device** device);
MASU_EXPORT masu_status masu_device_wrap_cuda(void* context, masu_device** device);
/** Does nothing with null. */
MASU_EXPORT void masu_device_close(masu_device* device);

/** Counts values in `bins` bins of equal width from `low` to `high`, with numpy.histogram's edges. `counts` gets `bins`
 * numbers; `outside`, unless null, three: how many values are below, above and NaN. */
MASU_EXPORT masu_status masu_histogram(const masu_device* device, masu_memory memory, const void* data,
                                       masu_dtype dtype, uint64_t count, uint64_t bins, double low, double high,
                                       uint64_t* counts, uint64_t* outside);
/** The same with `bins` + 1 edges, which do not decrease. */
MASU_EXPORT masu_status masu_histogram_edges(const masu_device* device, masu_memory memory, const void* data,
                                             masu_dtype dtype, uint64_t count, const double* edges, uint64_t bins,
                                             uint64_t* counts, uint64_t* outside);

/** Sorts in place, stably; NaN counts as the greatest. */
MASU_EXPORT masu_status masu_sort(const masu_device* device, masu_memory memory, void* data, masu_dtype dtype,
                                  uint64_t count, masu_order order);
/** Writes to `indices` (`count` of them, u64, in the same memory as the data) the order in which a sort brings them. */
MASU_EXPORT masu_status masu_argsort(const masu_device* device, masu_memory memory, const void* data, masu_dtype dtype,
                                     uint64_t count, masu_order order, uint64_t* indices);

/** The `k` greatest elements (MASU_DESCENDING) or the `k` least (MASU_ASCENDING), in that order: `values` gets k
 * elements, `indices`, unless null, their places. k is from 1 to `count`. */
MASU_EXPORT masu_status masu_topk(const masu_device* device, masu_memory memory, const void* data, masu_dtype dtype,
                                  uint64_t count, uint64_t k, masu_order order, void* values, uint64_t* indices);

/** The quantiles at `places` probabilities within 0 … 1, by numpy.quantile's default method. */
MASU_EXPORT masu_status masu_quantile(const masu_device* device, masu_memory memory, const void* data, masu_dtype dtype,
                                      uint64_t count, const double* probabilities, uint64_t places, double* quantiles);

/** The exact sum, rounded once. `sum` is 8 bytes: a double for floats, an int64_t for signed integers, a uint64_t for
 * unsigned ones. A sum of integers that does not fit is an error. */
MASU_EXPORT masu_status masu_sum(const masu_device* device, masu_memory memory, const void* data, masu_dtype dtype,
                                 uint64_t count, void* sum);

#ifdef __cplusplus
}
#endif
