// SPDX-License-Identifier: Apache-2.0
// The C interface: each function checks its arguments, calls the C++ function, and makes a status of what it throws.
#include <fmt/format.h>
#include <masu/buffer.h>
#include <masu/c.h>
#include <masu/device.h>
#include <masu/dtype.h>
#include <masu/error.h>
#include <masu/histogram.h>
#include <masu/quantile.h>
#include <masu/sort.h>
#include <masu/sum.h>
#include <masu/topk.h>
#include <masu/version.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <exception>
#include <limits>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

struct masu_device {
  masu::Device device;
};

namespace masu {
namespace {

#define MASU_DTYPE(name, type, kind, exponent, fraction, ...) +1
static_assert(static_cast<int>(Dtype::bf16) == MASU_BF16 && static_cast<int>(Dtype::f32) == MASU_F32);
constexpr masu_dtype dtypes = 0
#include <masu/dtypes.def>
    ;
static_assert(dtypes == MASU_BF16 + 1, "a dtype without a name in masu/c.h");
static_assert(static_cast<int>(ErrorCode::interrupted) + 1 == MASU_INTERRUPTED);

// A text that is there without memory too.
struct LastError {
  std::string text;
  const char* shown = "";
};
LastError& last_error() {
  static thread_local LastError error;
  return error;
}

masu_status failed(masu_status status, std::string_view what) noexcept {
  LastError& error = last_error();
  try {
    error.text = what;
    error.shown = error.text.c_str();
  } catch (const std::exception&) {
    error.shown = "no memory for the message";
  }
  return status;
}

template <class Body>
masu_status call(const Body& body) noexcept {
  try {
    body();
    return MASU_OK;
  } catch (const Error& error) {
    return failed(static_cast<masu_status>(error.code()) + 1, error.what());
  } catch (const std::bad_alloc&) {
    return failed(MASU_OUT_OF_MEMORY, "out of host memory");
  } catch (const std::exception& error) {
    return failed(MASU_OTHER, error.what());
  }
}

[[noreturn]] void refuse(std::string_view function, const std::string& why) {
  throw Error(ErrorCode::invalid_argument, fmt::format("{}: {}", function, why));
}

void need(std::string_view function, std::string_view name, const void* pointer) {
  if (pointer == nullptr) refuse(function, fmt::format("{} must not be null, got null", name));
}

template <class Make>
masu_status make_device(std::string_view function, std::string_view name, const void* argument, masu_device** device,
                        const Make& make) noexcept {
  return call([&] {
    need(function, "device", device);
    *device = nullptr;
    need(function, name, argument);
    *device = new masu_device{make()};
  });
}

// The elements of a call, checked.
class Elements {
 public:
  Elements(std::string_view function, const masu_device* device, masu_memory memory, const void* data, masu_dtype dtype,
           std::uint64_t count)
      : device_(device), data_(const_cast<void*>(data)), count_(count) {
    if (dtype < 0 || dtype >= dtypes) refuse(function, fmt::format("dtype must be 0 to {}, got {}", dtypes - 1, dtype));
    if (memory != MASU_HOST && memory != MASU_DEVICE) {
      refuse(function, fmt::format("memory must be MASU_HOST or MASU_DEVICE, got {}", memory));
    }
    dtype_ = static_cast<Dtype>(dtype);
    on_device_ = memory == MASU_DEVICE;
    if (on_device_) need(function, "the device of device memory", device);
    if (count > 0) need(function, "data", data);
    const std::uint64_t most = std::numeric_limits<std::int64_t>::max() / std::max<std::uint64_t>(8, size_of(dtype_));
    if (count > most) refuse(function, fmt::format("count must be <= {}, got {}", most, count));
  }

  // Calls one of them: with the device and the view of host memory, or with the buffer.
  template <class Host, class There>
  void with(Work work, const Host& host, const There& there) const {
    if (on_device_) {
      Buffer<std::byte> buffer = wrap(data_, count_ * size_of(dtype_));
      return there(buffer);
    }
    const MutableArrayView view(dtype_, data_, count_);
    host(device_ != nullptr ? device_->device : device_for(work, count_ * size_of(dtype_)), view);
  }
  [[nodiscard]] Buffer<std::byte> wrap(void* memory, std::uint64_t bytes) const {
    if (bytes == 0) return {device_->device, 0};
    return Buffer<std::byte>::wrap_native(device_->device, memory, bytes);
  }
  [[nodiscard]] Dtype dtype() const noexcept { return dtype_; }
  [[nodiscard]] std::uint64_t count() const noexcept { return count_; }

 private:
  const masu_device* device_;
  void* data_;
  std::uint64_t count_;
  Dtype dtype_ = Dtype::u8;
  bool on_device_ = false;
};

Order order_of(std::string_view function, masu_order order) {
  if (order != MASU_ASCENDING && order != MASU_DESCENDING) {
    refuse(function, fmt::format("order must be MASU_ASCENDING or MASU_DESCENDING, got {}", order));
  }
  return order == MASU_DESCENDING ? Order::descending : Order::ascending;
}

void count_bins(const Elements& elements, const Bins& bins, std::uint64_t* counts, std::uint64_t* outside) {
  need("histogram", "counts", counts);
  Histogram found;
  elements.with(
      Work::reading, [&](const Device& device, const ArrayView& data) { found = histogram(device, data, bins); },
      [&](const BufferBase& data) { found = histogram(data, elements.dtype(), bins); });
  std::ranges::copy(found.counts(), counts);
  if (outside == nullptr) return;
  outside[0] = found.below();
  outside[1] = found.above();
  outside[2] = found.nan();
}

}  // namespace
}  // namespace masu

using masu::call;
using masu::Elements;

const char* masu_version(void) {
  return masu::version().data();
}

const char* masu_last_error(void) {
  return masu::last_error().shown;
}

masu_status masu_device_open(const char* id, masu_device** device) {
  return masu::make_device("device_open", "id", id, device, [&] { return masu::Device::open(id); });
}

masu_status masu_device_wrap_opencl(void* context, void* opencl_device, masu_device** device) {
  return masu::make_device("device_wrap_opencl", "context", context, device, [&] {
    masu::need("device_wrap_opencl", "opencl_device", opencl_device);
    return masu::Device::wrap_opencl(context, opencl_device);
  });
}

masu_status masu_device_wrap_cuda(void* context, masu_device** device) {
  return masu::make_device("device_wrap_cuda", "context", context, device,
                           [&] { return masu::Device::wrap_cuda(context); });
}

void masu_device_close(masu_device* device) {
  delete device;
}

masu_status masu_histogram(const masu_device* device, masu_memory memory, const void* data, masu_dtype dtype,
                           uint64_t count, uint64_t bins, double low, double high, uint64_t* counts,
                           uint64_t* outside) {
  return call([&] {
    const Elements elements("histogram", device, memory, data, dtype, count);
    masu::count_bins(elements, masu::Bins::even(bins, low, high), counts, outside);
  });
}

masu_status masu_histogram_edges(const masu_device* device, masu_memory memory, const void* data, masu_dtype dtype,
                                 uint64_t count, const double* edges, uint64_t bins, uint64_t* counts,
                                 uint64_t* outside) {
  return call([&] {
    const Elements elements("histogram", device, memory, data, dtype, count);
    masu::need("histogram", "edges", edges);
    if (bins == 0 || bins > std::uint64_t{1} << 31) {
      masu::refuse("histogram", fmt::format("bins must be 1 to 2^31, got {}", bins));
    }
    masu::count_bins(elements, masu::Bins::edges({edges, edges + bins + 1}), counts, outside);
  });
}

masu_status masu_sort(const masu_device* device, masu_memory memory, void* data, masu_dtype dtype, uint64_t count,
                      masu_order order) {
  return call([&] {
    const Elements elements("sort", device, memory, data, dtype, count);
    const masu::SortOptions options{.order = masu::order_of("sort", order)};
    elements.with(
        masu::Work::sorting,
        [&](const masu::Device& there, masu::MutableArrayView view) { masu::sort(there, view, options); },
        [&](masu::BufferBase& buffer) { masu::sort(buffer, elements.dtype(), options); });
  });
}

masu_status masu_argsort(const masu_device* device, masu_memory memory, const void* data, masu_dtype dtype,
                         uint64_t count, masu_order order, uint64_t* indices) {
  return call([&] {
    const Elements elements("argsort", device, memory, data, dtype, count);
    const masu::SortOptions options{.order = masu::order_of("argsort", order)};
    if (count > 0) masu::need("argsort", "indices", indices);
    elements.with(
        masu::Work::sorting,
        [&](const masu::Device& there, const masu::ArrayView& view) {
          masu::argsort(there, view, {masu::Dtype::u64, indices, count}, options);
        },
        [&](const masu::BufferBase& buffer) {
          auto found = elements.wrap(indices, count * sizeof *indices);
          masu::argsort(buffer, elements.dtype(), found, masu::Dtype::u64, options);
        });
  });
}

masu_status masu_topk(const masu_device* device, masu_memory memory, const void* data, masu_dtype dtype, uint64_t count,
                      uint64_t k, masu_order order, void* values, uint64_t* indices) {
  return call([&] {
    const Elements elements("topk", device, memory, data, dtype, count);
    masu::need("topk", "values", values);
    const masu::TopkOptions options{.largest = masu::order_of("topk", order) == masu::Order::descending};
    masu::TopkResult found;
    elements.with(
        masu::Work::reading,
        [&](const masu::Device& there, const masu::ArrayView& view) { found = masu::topk(there, view, k, options); },
        [&](const masu::BufferBase& buffer) { found = masu::topk(buffer, elements.dtype(), k, options); });
    std::memcpy(values, found.view().data, found.size() * size_of(elements.dtype()));
    if (indices != nullptr) std::ranges::copy(found.indices(), indices);
  });
}

masu_status masu_quantile(const masu_device* device, masu_memory memory, const void* data, masu_dtype dtype,
                          uint64_t count, const double* probabilities, uint64_t places, double* quantiles) {
  return call([&] {
    const Elements elements("quantile", device, memory, data, dtype, count);
    if (places == 0) return;
    masu::need("quantile", "probabilities", probabilities);
    masu::need("quantile", "quantiles", quantiles);
    const std::span<const double> q(probabilities, places);
    std::vector<double> found;
    elements.with(
        masu::Work::reading,
        [&](const masu::Device& there, const masu::ArrayView& view) { found = masu::quantiles(there, view, q); },
        [&](const masu::BufferBase& buffer) { found = masu::quantiles(buffer, elements.dtype(), q); });
    std::ranges::copy(found, quantiles);
  });
}

masu_status masu_sum(const masu_device* device, masu_memory memory, const void* data, masu_dtype dtype, uint64_t count,
                     void* sum) {
  return call([&] {
    const Elements elements("sum", device, memory, data, dtype, count);
    masu::need("sum", "sum", sum);
    masu::SumResult found;
    elements.with(
        masu::Work::reading,
        [&](const masu::Device& there, const masu::ArrayView& view) { found = masu::sum(there, view); },
        [&](const masu::BufferBase& buffer) { found = masu::sum(buffer, elements.dtype()); });
    const auto give = [&](auto value) { std::memcpy(sum, &value, sizeof value); };
    if (found.dtype() == masu::Dtype::i64) give(found.signed_integer());
    else if (found.dtype() == masu::Dtype::u64) give(found.unsigned_integer());
    else give(found.value());
  });
}
