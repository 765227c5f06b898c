// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/module.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace masu::cuda {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Kind = KernelParameter::Kind;

TEST(EntrySignature, OfSymbols) {
  const EntrySignature plain = entry_signature("add");  // extern "C"
  EXPECT_EQ(plain.name, "add");
  EXPECT_FALSE(plain.typed);

  const EntrySignature mangled = entry_signature("_Z3addPjjy6float4");
  EXPECT_EQ(mangled.name, "add");
  EXPECT_TRUE(mangled.typed);
  EXPECT_THAT(mangled.types, ElementsAre("unsigned int*", "unsigned int", "unsigned long long", "float4"));

  const EntrySignature instance = entry_signature("_Z5scaleIfLi4EEvPT_S0_");
  EXPECT_EQ(instance.name, "scale<float, 4>");
  EXPECT_THAT(instance.types, ElementsAre("float*", "float"));

  const EntrySignature nested = entry_signature("_ZN12_GLOBAL__N_13addEPKf");
  EXPECT_EQ(nested.name, "(anonymous namespace)::add");
  EXPECT_THAT(nested.types, ElementsAre("float const*"));

  const EntrySignature none = entry_signature("_Z4idlev");
  EXPECT_EQ(none.name, "idle");
  EXPECT_TRUE(none.typed);
  EXPECT_THAT(none.types, IsEmpty());

  for (const char* odd : {"", "_Z", "_Z3ad", "_Znonsense", "f()"}) EXPECT_FALSE(entry_signature(odd).typed) << odd;
}

TEST(EntrySignature, ParametersFromTypesAndSizes) {
  const EntrySignature add = entry_signature("_Z3addPjj6float3");
  const std::vector<std::size_t> sizes{8, 4, 12};
  for (const auto* told : {&sizes, static_cast<const std::vector<std::size_t>*>(nullptr)}) {
    const std::vector<KernelParameter> parameters = parameters_of(add, told);
    ASSERT_EQ(parameters.size(), 3U);
    EXPECT_EQ(parameters[0], (KernelParameter{Kind::buffer, "unsigned int*", "", told != nullptr ? 8U : 0U}));
    EXPECT_EQ(parameters[1], (KernelParameter{Kind::value, "unsigned int", "", 4}));
    EXPECT_EQ(parameters[2], (KernelParameter{Kind::value, "float3", "", 12}));
  }
  EXPECT_THAT(parameters_of(entry_signature("add"), &sizes),
              ElementsAre(KernelParameter{Kind::other, "", "", 8}, KernelParameter{Kind::other, "", "", 4},
                          KernelParameter{Kind::other, "", "", 12}));
  // Types that do not fit the sizes are not believed.
  const std::vector<std::size_t> two{8, 4};
  EXPECT_THAT(parameters_of(add, &two),
              ElementsAre(KernelParameter{Kind::other, "", "", 8}, KernelParameter{Kind::other, "", "", 4}));
  EXPECT_THAT(parameters_of(entry_signature("add"), nullptr), IsEmpty());
}

}  // namespace
}  // namespace masu::cuda
