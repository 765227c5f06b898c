// SPDX-License-Identifier: Apache-2.0
// Runs one small kernel, right or deliberately wrong, on the device opencl:0, to show what check.sh finds.
//
//   oclgrind_kernels good|race|bounds|uninitialized|fill
#include "expect.h"

#include <masu/program.h>

#include <cstdio>
#include <string>
#include <vector>

namespace {

constexpr const char* text = R"(
kernel void good(global uint* data, local uint* shared) {
  const uint i = get_local_id(0);
  shared[i] = data[get_global_id(0)];
  barrier(CLK_LOCAL_MEM_FENCE);
  data[get_global_id(0)] = shared[get_local_size(0) - 1 - i];
}
kernel void race(global uint* data, local uint* shared) {
  const uint i = get_local_id(0);
  shared[i] = data[get_global_id(0)];
  data[get_global_id(0)] = shared[get_local_size(0) - 1 - i];
}
kernel void bounds(global uint* data, local uint* shared) {
  shared[get_local_id(0)] = data[get_global_id(0) + 1];
}
kernel void uninitialized(global uint* data, local uint* shared) {
  const uint i = get_local_id(0);
  if (shared[i] == 7) data[get_global_id(0)] = 1;
}
)";

constexpr std::size_t items = 64;

void run_case(const masu::Device& device, const std::string& name) {
  masu::Buffer<unsigned> data = device.allocate<unsigned>(items);
  if (name == "fill") data.fill(3);
  else data.write(std::vector<unsigned>(items, 3));
  masu::Stream stream(device);
  masu::Kernel kernel = masu::Program::from_source(device, text).kernel(name == "fill" ? "good" : name);
  kernel(stream, {items, 16}, data, masu::LocalMemory{16 * sizeof(unsigned)}).wait();
  std::printf("first: %u\n", data.read().front());
}

}  // namespace

int main(int count, char** arguments) {
  return masu::oclgrind::run(count, arguments, run_case);
}
