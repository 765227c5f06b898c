// SPDX-License-Identifier: Apache-2.0
// The memory of calls on tensors: results that a library makes, and page-locked memory.
#include "enqueue.h"

#include <algorithm>
#include <array>
#include <bit>
#include <map>
#include <memory>
#include <utility>
#include <vector>

namespace masu_python {

Made::~Made() {
  if (managed_ != nullptr && managed_->deleter != nullptr) managed_->deleter(managed_);
}

bool Made::make(const Library& library, std::int32_t ordinal, masu::Dtype dtype, bool boolean,
                std::span<const std::int64_t> shape) {
  library_ = &library;
  std::array<std::int64_t, most_dimensions> lengths;
  std::array<std::int64_t, most_dimensions> strides;
  std::int64_t stride = 1;
  for (std::size_t axis = shape.size(); axis-- > 0; stride *= shape[axis]) {
    lengths[axis] = shape[axis];
    strides[axis] = stride;
  }
  dlpack::Array prototype{nullptr,
                          {dlpack::cuda, ordinal},
                          static_cast<std::int32_t>(shape.size()),
                          dlpack::type_of(dtype, boolean),
                          lengths.data(),
                          strides.data(),
                          0};
  if (library.exchange.allocate(&prototype, &managed_, library.module, set_error) == 0 && managed_ != nullptr)
    return true;
  if (PyErr_Occurred() == nullptr) PyErr_SetString(PyExc_MemoryError, "masu: the library gave no memory");
  return false;
}

PyObject* Made::give(std::int64_t length) {
  dlpack::Managed* const managed = std::exchange(managed_, nullptr);
  if (length != whole) managed->array.shape[0] = length;
  void* object = nullptr;
  return library_->exchange.object_of(managed, &object) == 0 ? static_cast<PyObject*>(object) : nullptr;
}

struct Locked::Pool {
  struct Busy {
    masu::Event work;
    Memory memory;
    std::shared_ptr<void> also;
  };
  std::vector<Memory> spare;
  std::vector<Busy> busy;

  void collect() {
    const auto ended = std::partition(busy.begin(), busy.end(), [](const Busy& one) { return !one.work.ready(); });
    for (auto one = ended; one != busy.end(); ++one) spare.push_back(std::move(one->memory));
    busy.erase(ended, busy.end());
  }
};

Locked::Pool& Locked::pool_of(std::int32_t ordinal) {
  // Never destroyed: the driver may be gone then.
  static auto& all = *new std::map<std::int32_t, Pool>;
  return all[ordinal];
}

Locked::Locked(const masu::Device& device, std::int32_t ordinal, std::uint64_t bytes) : pool_(pool_of(ordinal)) {
  pool_.collect();
  constexpr std::uint64_t least = 4096;  // a page
  const auto fits = std::ranges::find_if(pool_.spare, [&](const Memory& one) { return one.size() >= bytes; });
  if (fits == pool_.spare.end()) {
    memory_.emplace(device, std::bit_ceil(std::max(bytes, least)));
  } else {
    memory_.emplace(std::move(*fits));
    pool_.spare.erase(fits);
  }
}

Locked::~Locked() {
  static auto& left = *new std::vector<Memory>;
  if (memory_) (lent_ ? left : pool_.spare).push_back(std::move(*memory_));
}

void Locked::keep() {
  pool_.spare.push_back(std::move(*memory_));
  memory_.reset();
}

void Locked::keep_after(masu::Event work, std::shared_ptr<void> also) {
  pool_.busy.push_back({std::move(work), std::move(*memory_), std::move(also)});
  memory_.reset();
}

}  // namespace masu_python
