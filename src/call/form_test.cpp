// SPDX-License-Identifier: Apache-2.0
// The forms of a primitive that copies bytes, and finds the first one above a limit.
#include "call/form.h"

#include "each_device.h"
#include "expect_error.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

namespace masu {
namespace {

using call::Operand;

struct Asked {
  std::uint8_t limit = 255;
  std::uint64_t kept = ~std::uint64_t{0};  // bytes that come back
  bool always = false;                     // they come back with an error, too
  const BufferBase* workspace = nullptr;
  const BufferBase* status = nullptr;
  Times* times = nullptr;
};

class Copying final : public call::Primitive {
 public:
  Copying(const Operand& in, const Operand& out, const Asked& asked)
      : Primitive("copying", asked.times, asked.workspace, asked.status),
        out_(writes("the output", out)),
        in_(reads("the input", in)),
        asked_(asked) {
    allow_in_place(in_);
  }
  [[nodiscard]] std::uint64_t result() const noexcept { return finished_; }

 private:
  void check() override {
    if (in_.count() != out_.count()) refuse("sizes differ");
  }
  [[nodiscard]] bool is_empty() const override { return in_.count() == 0; }
  [[nodiscard]] std::uint64_t workspace_bytes(const Device& /*device*/) override { return 2 * sizeof(call::Fault); }
  void run_on_cpu() override {
    const std::span bytes(static_cast<const std::uint8_t*>(in_.data()), in_.count());
    const auto found = std::ranges::find_if(bytes, [this](std::uint8_t byte) { return byte > asked_.limit; });
    if (found != bytes.end()) fault_ = {static_cast<std::uint64_t>(found - bytes.begin()), *found};
    std::memmove(out_.data(), in_.data(), in_.count());
  }
  // Notes what the test knows of the data.
  void enqueue(Stream& stream) override {
    const std::uint64_t limit = asked_.limit;
    notes_ = {call::Fault{}, limit < 255 ? call::Fault{limit, limit + 1} : call::Fault{}};
    Buffer<std::byte> memory = workspace().slice(0, workspace().size());
    stream.write_bytes(memory, 0, notes_.data(), sizeof notes_);
    if (status() != nullptr) {
      Buffer<std::byte> target(stream.device(), status()->memory(), status()->byte_offset(), status()->size_bytes());
      stream.write_bytes(target, 0, &notes_[1], sizeof notes_[1]);
    }
    if (!in_.is_same(out_)) time(call::copy(stream, in_.buffer(), out_.buffer()));
  }
  void finish() override {
    ++finished_;
    if (asked_.always) bring_back();
    if (has_workspace()) fault_ = call::first_fault(workspace());
    if (fault_.found()) refuse("byte " + std::to_string(fault_.element) + " at " + std::to_string(fault_.position));
    bring_back(asked_.kept);
  }

  const Operand& out_;
  const Operand& in_;
  Asked asked_;
  std::array<call::Fault, 2> notes_;
  std::uint64_t finished_ = 0;
};

class FormTest : public test::EachDevice {
 protected:
  // 0, 1, 2, …: the element above a limit is at the place of the limit + 1.
  static std::vector<std::uint8_t> numbers(std::size_t count, std::uint8_t first = 0) {
    std::vector<std::uint8_t> bytes(count);
    for (std::uint8_t& byte : bytes) byte = first++;
    return bytes;
  }
};
MASU_ON_EACH_DEVICE(FormTest);

TEST_P(FormTest, HostData) {
  const std::vector<std::uint8_t> in = numbers(100);
  std::vector<std::uint8_t> out(100, 7);
  Times times{-1, -1};
  EXPECT_EQ(call::run_on<Copying>(device, ArrayView(in), MutableArrayView(out), Asked{.times = &times}), 1U);
  EXPECT_EQ(out, in);
  EXPECT_GE(times.transfer, 0);
  EXPECT_GE(times.compute, 0);
  EXPECT_EQ(call::run_on<Copying>(device, ArrayView(out), MutableArrayView(out), Asked{}), 1U);
  EXPECT_EQ(out, in);
  const ArrayView none(Dtype::u8, nullptr, 0);
  EXPECT_EQ(call::run_on<Copying>(device, none, MutableArrayView(Dtype::u8, nullptr, 0), Asked{}), 0U);
  MASU_EXPECT_ERROR(call::run_on<Copying>(device, none, MutableArrayView(out), Asked{}), invalid_argument,
                    "copying: sizes differ");
  MASU_EXPECT_ERROR(call::run_on<Copying>(device, ArrayView(Dtype::u8, out.data(), 50),
                                          MutableArrayView(Dtype::u8, out.data() + 49, 50), Asked{}),
                    invalid_argument, "copying: the output and the input must not overlap");
}

// On a device; the CPU works in the caller's memory.
TEST_P(FormTest, WhatComesBack) {
  if (device.kind() == DeviceKind::cpu) return;
  const std::vector<std::uint8_t> in = numbers(100, 1);
  std::vector<std::uint8_t> out(100);
  const Asked bad{.limit = 9};
  MASU_EXPECT_ERROR(call::run_on<Copying>(device, ArrayView(in), MutableArrayView(out), bad), invalid_argument,
                    "copying: byte 10 at 9");
  EXPECT_EQ(out, std::vector<std::uint8_t>(100));
  call::run_on<Copying>(device, ArrayView(in), MutableArrayView(out), Asked{.kept = 2});
  std::vector<std::uint8_t> two(100);
  std::copy_n(in.begin(), 2, two.begin());
  EXPECT_EQ(out, two);
  const Asked shown{.limit = 9, .always = true};
  MASU_EXPECT_ERROR(call::run_on<Copying>(device, ArrayView(in), MutableArrayView(out), shown), invalid_argument,
                    "copying: byte 10 at 9");
  EXPECT_EQ(out, in);
}

TEST_P(FormTest, BuffersAndStreams) {
  const std::vector<std::uint8_t> bytes = numbers(100, 1);
  const Buffer<std::uint8_t> in = device.upload(bytes);
  Buffer<std::uint8_t> out(device, 100);
  const Operand from(in, Dtype::u8);
  const Operand to(out, 1);
  EXPECT_EQ(call::run<Copying>(from, to, Asked{}), 1U);
  EXPECT_EQ(out.read(), bytes);
  out.fill(0);
  Stream stream(device, Timing::off);
  EXPECT_EQ(call::start<Copying>(stream, from, to, Asked{}).get(), 1U);
  EXPECT_EQ(out.read(), bytes);
  const Buffer<std::uint8_t> none = in.slice(0, 0);
  EXPECT_EQ(call::start<Copying>(stream, Operand(none, 1), Operand(none, 1), Asked{}).get(), 0U);
  // get() throws, unless the caller wants a status.
  auto bad = call::start<Copying>(stream, from, to, Asked{.limit = 9});
  MASU_EXPECT_ERROR((void)bad.get(), invalid_argument, "copying: byte 10 at 9");
  const Buffer<std::uint64_t> status(device, 2);
  EXPECT_EQ(call::start<Copying>(stream, from, to, Asked{.limit = 9, .status = &status}).get(), 0U);
  EXPECT_EQ(status.read(), (std::vector<std::uint64_t>{9, 10}));
  (void)call::start<Copying>(stream, Operand(none, 1), Operand(none, 1), Asked{.status = &status}).get();
  EXPECT_EQ(status.read(), std::vector<std::uint64_t>(2, call::Fault::none));
  // A call that waits throws although there is one.
  MASU_EXPECT_ERROR(call::run<Copying>(from, to, Asked{.limit = 9, .status = &status}), invalid_argument, "byte 10");
}

TEST_P(FormTest, Refusals) {
  const Buffer<std::uint8_t> all = device.upload(numbers(100));
  const Operand in(all, Dtype::u8);
  Buffer<std::uint8_t> out(device, 100);
  const Buffer<std::uint8_t> part = all.slice(1, 99);
  const Buffer<std::uint8_t> other = all.slice(0, 99);
  MASU_EXPECT_ERROR(call::run<Copying>(Operand(part, 1), Operand(other, 1), Asked{}), invalid_argument,
                    "the output and the input must not overlap");
  MASU_EXPECT_ERROR(call::run<Copying>(Operand(all, 0), Operand(out, 1), Asked{}), invalid_argument,
                    "elements have 1 to 64 bytes, got 0");
  MASU_EXPECT_ERROR(call::run<Copying>(Operand(part, Dtype::u16), Operand(out, 1), Asked{}), invalid_argument,
                    "size must be a multiple of 2 bytes (u16), got 99");
  const Buffer<std::uint64_t> inside(device, all.memory(), 0, 16);
  MASU_EXPECT_ERROR(call::run<Copying>(in, Operand(out, 1), Asked{.status = &inside}), invalid_argument,
                    "the status and data must not overlap");
  if (device.kind() == DeviceKind::cpu) return;
  MASU_EXPECT_ERROR(call::run<Copying>(in, Operand(out, 1), Asked{.workspace = &inside}), invalid_argument,
                    "workspace must be at least 32 bytes, got 16");
  const Buffer<std::byte> large(device, all.memory(), 0, 64);
  MASU_EXPECT_ERROR(call::run<Copying>(in, Operand(out, 1), Asked{.workspace = &large}), invalid_argument,
                    "workspace and data must not overlap");
  Stream elsewhere(Device::open("cpu"));
  MASU_EXPECT_ERROR((void)call::start<Copying>(elsewhere, in, Operand(out, 1), Asked{}), invalid_argument,
                    "stream and buffers must be of one device");
  Buffer<std::uint8_t> far(Device::open("cpu"), 100);
  MASU_EXPECT_ERROR(call::run<Copying>(in, Operand(far, 1), Asked{}), invalid_argument, "on one device");
}

}  // namespace
}  // namespace masu
