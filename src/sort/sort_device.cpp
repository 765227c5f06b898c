// SPDX-License-Identifier: Apache-2.0
#include "sort/sort_device.h"

#include "sort/sort_cpu.h"

namespace masu {

namespace {

std::vector<std::byte> read(Stream& stream, const BufferBase& buffer) {
  std::vector<std::byte> bytes(buffer.size_bytes());
  stream.read_bytes(buffer, 0, bytes.data(), bytes.size());
  stream.finish();
  return bytes;
}

}  // namespace

DeviceWork sort_on_device(Stream& stream, const BufferBase& keys, Dtype dtype, BufferBase* result,
                          const Companions& companions, const SortJob& job, const BufferBase*, bool) {
  std::vector<std::byte> host = read(stream, keys);
  if (companions.kind == Companions::Kind::none) {
    sort_cpu({dtype, host.data(), job.pieces.count}, host.data(), job);
  } else {
    std::vector<std::byte> moved = read(stream, *companions.buffer);
    if (companions.kind == Companions::Kind::records) {
      sort_by_key_cpu({dtype, host.data(), job.pieces.count}, {moved.data(), companions.bytes, job.pieces.count}, job);
    } else {
      argsort_cpu({dtype, host.data(), job.pieces.count},
                  {companions.bytes == 8 ? Dtype::u64 : Dtype::u32, moved.data(), job.pieces.count}, job);
    }
    stream.write_bytes(*companions.buffer, 0, moved.data(), moved.size());
    stream.finish();  // before `moved` goes
  }
  if (result != nullptr) stream.write_bytes(*result, 0, host.data(), host.size());
  stream.finish();
  return {};
}

bool is_sorted_on_device(const BufferBase& keys, Dtype dtype, const SortJob& job) {
  Stream stream(keys.device());
  const std::vector<std::byte> host = read(stream, keys);
  return is_sorted_cpu({dtype, host.data(), job.pieces.count}, job);
}

std::uint64_t sort_workspace_on_device(const DeviceInfo&, Dtype, const Companions&, const SortJob&) {
  return 0;
}

}  // namespace masu
