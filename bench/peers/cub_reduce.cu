// SPDX-License-Identifier: Apache-2.0
#include "cub_reduce.h"

#include "cub_device.cuh"

#include <dlfcn.h>
#include <cub/device/device_reduce.cuh>
#include <cub/device/device_scan.cuh>

namespace masu::bench {
namespace {

template <class T>
struct Arrays {
  const T* x;
  const void* y;
  T* out;
  long long* place;
  long long count;
};

// call(arrays, scratch, bytes) is one function of CUB; it tells the bytes of scratch where that is null. The result of
// a reduction is read back in a call, as masu's is.
template <class T, class Call>
CubReduced run(const CubReduceTask& task, std::size_t other_bytes, std::size_t out_count, const Call& call) {
  DeviceMemory x(task.x, task.count * sizeof(T));
  DeviceMemory y(task.y, task.y == nullptr ? 0 : other_bytes);
  DeviceMemory out(out_count * sizeof(T));
  DeviceMemory place(sizeof(long long));
  const Arrays<T> arrays{static_cast<const T*>(x.address), y.address, static_cast<T*>(out.address),
                         static_cast<long long*>(place.address), static_cast<long long>(task.count)};
  std::size_t bytes = 0;
  check(call(arrays, nullptr, bytes));
  DeviceMemory scratch(bytes);
  const auto work = [&] { check(call(arrays, scratch.address, bytes)); };
  warm_up(work);
  CubReduced reduced;
  reduced.scratch = bytes;
  reduced.device_seconds = device_seconds(
      task.repeats, [] {}, work);
  reduced.result.resize(sizeof(T));
  reduced.call_seconds = host_seconds(task.repeats, [&] {
    work();
    if (out_count == 1) out.read(reduced.result.data(), sizeof(T));
  });
  out.read(reduced.result.data(), sizeof(T));
  return reduced;
}

template <class T>
CubReduced sum(const CubReduceTask& task) {
  return run<T>(task, 0, 1, [](const Arrays<T>& a, void* scratch, std::size_t& bytes) {
    return cub::DeviceReduce::Sum(scratch, bytes, a.x, a.out, a.count);
  });
}

template <class T>
CubReduced least(const CubReduceTask& task) {
  return run<T>(task, 0, 1, [](const Arrays<T>& a, void* scratch, std::size_t& bytes) {
    return cub::DeviceReduce::Min(scratch, bytes, a.x, a.out, a.count);
  });
}

template <class T>
CubReduced greatest(const CubReduceTask& task) {
  return run<T>(task, 0, 1, [](const Arrays<T>& a, void* scratch, std::size_t& bytes) {
    return cub::DeviceReduce::Max(scratch, bytes, a.x, a.out, a.count);
  });
}

template <class T>
CubReduced place_of_least(const CubReduceTask& task) {
  return run<T>(task, 0, 1, [](const Arrays<T>& a, void* scratch, std::size_t& bytes) {
    return cub::DeviceReduce::ArgMin(scratch, bytes, a.x, a.out, a.place, a.count);
  });
}

template <class T>
CubReduced scan(const CubReduceTask& task) {
  return run<T>(task, 0, task.count, [](const Arrays<T>& a, void* scratch, std::size_t& bytes) {
    return cub::DeviceScan::InclusiveSum(scratch, bytes, a.x, a.out, a.count);
  });
}

// cuBLAS as the toolkit or PyTorch brings it, opened when it is asked for.
class Blas {
 public:
  Blas() {
    for (const char* name : {"libcublas.so.13", "libcublas.so.12", "libcublas.so"}) {
      if (library_ == nullptr) library_ = dlopen(name, RTLD_NOW);
    }
    if (library_ == nullptr) throw std::runtime_error("cuBLAS is not here");
    using Create = int (*)(void**);
    using SetMode = int (*)(void*, int);
    constexpr int on_device = 1;
    if (function<Create>("cublasCreate_v2")(&handle_) != 0 ||
        function<SetMode>("cublasSetPointerMode_v2")(handle_, on_device) != 0) {
      throw std::runtime_error("cuBLAS does not start");
    }
  }
  ~Blas() {
    using Destroy = int (*)(void*);
    if (handle_ != nullptr) function<Destroy>("cublasDestroy_v2")(handle_);
  }
  Blas(const Blas&) = delete;

  // The function of 64-bit sizes.
  template <class T>
  cudaError_t dot(const Arrays<T>& a) const {
    using Dot = int (*)(void*, long long, const T*, long long, const T*, long long, T*);
    const Dot function_of_t = function<Dot>(sizeof(T) == 4 ? "cublasSdot_v2_64" : "cublasDdot_v2_64");
    const int status = function_of_t(handle_, a.count, a.x, 1, static_cast<const T*>(a.y), 1, a.out);
    return status == 0 ? cudaSuccess : cudaErrorUnknown;
  }

 private:
  template <class F>
  F function(const char* name) const {
    void* const address = dlsym(library_, name);
    if (address == nullptr) throw std::runtime_error(std::string("cuBLAS has no ") + name);
    return reinterpret_cast<F>(address);
  }
  void* library_ = nullptr;
  void* handle_ = nullptr;
};

template <class T>
CubReduced dot(const CubReduceTask& task) {
  const Blas blas;
  return run<T>(task, task.count * sizeof(T), 1, [&](const Arrays<T>& a, void* scratch, std::size_t& bytes) {
    bytes = 1;
    return scratch == nullptr ? cudaSuccess : blas.dot(a);
  });
}

// What CUB does for any type.
template <class T>
CubReduced reduce_any(const CubReduceTask& task) {
  switch (task.what) {
    case CubReduction::sum: return sum<T>(task);
    case CubReduction::min: return least<T>(task);
    case CubReduction::max: return greatest<T>(task);
    case CubReduction::argmin: return place_of_least<T>(task);
    case CubReduction::scan: return scan<T>(task);
    default: throw std::runtime_error("cuBLAS has no dot product of this type");
  }
}

template <class T>
CubReduced reduce_float(const CubReduceTask& task) {
  return task.what == CubReduction::dot ? dot<T>(task) : reduce_any<T>(task);
}

}  // namespace

CubReduced cub_reduce(const CubReduceTask& task) {
  switch (task.type) {
    case CubType::u8: return reduce_any<std::uint8_t>(task);
    case CubType::u32: return reduce_any<std::uint32_t>(task);
    case CubType::i32: return reduce_any<std::int32_t>(task);
    case CubType::u64: return reduce_any<std::uint64_t>(task);
    case CubType::i64: return reduce_any<std::int64_t>(task);
    case CubType::f32: return reduce_float<float>(task);
    case CubType::f64: return reduce_float<double>(task);
    default: throw std::runtime_error("the peer has no case of this type");
  }
}

}  // namespace masu::bench
