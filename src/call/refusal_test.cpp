// SPDX-License-Identifier: Apache-2.0
// Every form that takes a stream refuses a workspace, a result or a stream that does not do, before it gives the stream
// anything; the error begins with the function's name.
#include "counting_device.h"
#include "each_device.h"
#include "enqueue_forms.h"

#include <gtest/gtest.h>
#include <masu/error.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

namespace masu {
namespace {

using test::EnqueueForms;

std::string function_of(const std::string& form) {
  if (form.starts_with("prepared histogram")) return "histogram";
  return form.substr(0, form.find(' '));
}

// From memory in which a result must not lie.
bool reads_data(const EnqueueForms::Form& form) {
  return !form.name.starts_with("sort_by_key") && !form.name.starts_with("convert status") && form.name != "reverse";
}

class RefusalTest : public test::EachDevice {
 protected:
  void expect_refused(const EnqueueForms::Form& form, Stream& stream, const std::string& what) {
    SCOPED_TRACE(form.name + ": " + what);
    counting->counts().take();
    try {
      (void)form.run(stream);
      ADD_FAILURE() << "not refused";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::invalid_argument) << error.what();
      EXPECT_TRUE(std::string(error.what()).starts_with(function_of(form.name) + ": ")) << error.what();
    }
    for (const std::string& asked : counting->counts().take()) {
      EXPECT_TRUE(asked != "commands" && asked != "writes" && asked != "reads") << asked;
    }
    ++refusals;
  }

  const std::shared_ptr<test::CountingDevice> counting =
      std::make_shared<test::CountingDevice>(device.implementation());
  const Device counted{counting};
  const Device other = Device::open("cpu");
  std::uint64_t refusals = 0;
};
MASU_ON_EACH_KERNEL_DEVICE(RefusalTest);

// Puts another buffer into the place of one while it lives.
class Replaced {
 public:
  Replaced(Buffer<std::byte>& place, Buffer<std::byte> other)
      : place_(place), own_(std::exchange(place, std::move(other))) {}
  ~Replaced() { place_ = std::move(own_); }
  Replaced(const Replaced&) = delete;
  Replaced& operator=(const Replaced&) = delete;

 private:
  Buffer<std::byte>& place_;
  Buffer<std::byte> own_;
};

TEST_P(RefusalTest, WhatDoesNotDo) {
  EnqueueForms all(counted, 100000);
  Stream stream(counted, Timing::off);
  Stream elsewhere(other, Timing::off);
  const Buffer<std::byte>& room = all.room();
  const Buffer<std::byte> none = room.slice(0, 0);
  const Buffer<std::byte> small = room.slice(0, 1);
  const Buffer<std::byte> odd = room.slice(8, room.size() - 8);
  const Buffer<std::byte> far(other, 4096);
  alignas(64) static constexpr std::array<std::byte, 4096> constants{};
  const bool read_only = device.kind() == DeviceKind::opencl;  // no other device can have such memory
  const Buffer<const std::byte> fixed =
      read_only ? Buffer<const std::byte>::wrap_host(counted, constants) : room.read_only();
  std::uint64_t with_workspace = 0;
  for (const EnqueueForms::Form& form : all.forms()) {
    expect_refused(form, elsewhere, "a stream of another device");
    for (Buffer<std::byte>* result : form.results) {
      const std::uint64_t bytes = result->size();
      {
        const Replaced less(*result, result->slice(0, bytes - std::min<std::uint64_t>(bytes, 8)));
        expect_refused(form, stream, "a result too small");
      }
      if (reads_data(form) && bytes <= all.data().size()) {
        const Replaced same(*result, all.data().slice(0, bytes));
        expect_refused(form, stream, "a result over the data");
      }
      const Replaced there(*result, Buffer<std::byte>(other, bytes));
      expect_refused(form, stream, "a result on another device");
    }
    const bool prepares = form.name == "sort segments" || form.name == "histogram";
    // Whether it needs a workspace at all, for so many elements on this device.
    all.use_workspace(&none);
    bool needs = false;
    try {
      form.run(stream)();
    } catch (const Error&) {
      needs = true;
    }
    // What a graph captures must not have memory that goes.
    counting->counts().capturing = true;
    all.use_workspace(prepares ? &room : needs ? nullptr : &none);
    if (needs || prepares) {
      expect_refused(form, stream, "a capture");
    } else {
      counting->counts().take();
      (void)form.run(stream);
      for (const std::string& asked : counting->counts().take()) EXPECT_EQ(asked, "commands") << form.name;
    }
    counting->counts().capturing = false;
    all.use_workspace(&room);
    if (!needs || prepares) continue;
    ++with_workspace;
    const auto refused = [&](const BufferBase& workspace, const std::string& what) {
      all.use_workspace(&workspace);
      expect_refused(form, stream, what);
      all.use_workspace(&room);
    };
    refused(small, "a workspace too small");
    refused(odd, "a misaligned workspace");
    refused(far, "a workspace on another device");
    if (read_only) refused(fixed, "a read-only workspace");
    {
      const Replaced first(all.data(), room.slice(0, all.data().size()));
      const Replaced second(all.keys(), room.slice(std::uint64_t{1} << 20, all.keys().size()));
      const Replaced third(all.more(), room.slice(std::uint64_t{2} << 20, all.more().size()));
      refused(room, "a workspace over the data");
    }
    for (Buffer<std::byte>* result : form.results) {
      const Replaced within(*result, room.slice(0, result->size()));
      refused(room, "a workspace over a result");
    }
  }
  EXPECT_GT(with_workspace, 40U);
  RecordProperty("refusals", std::to_string(refusals));
}

}  // namespace
}  // namespace masu
