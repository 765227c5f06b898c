# SPDX-License-Identifier: Apache-2.0
# Which of Highway's instruction sets are compiled: AVX-512, AVX2, and SSE2 for any other x86-64 processor; NEON for aarch64, as
# GCC 12 does not compile SVE. Each is a copy of all vector code, so that `native` saves half of its compile time; what it builds
# runs only on processors that have the set, says so on others, and is not installed.
set(MASU_INSTRUCTION_SETS all CACHE STRING "all: chosen at run time; native: the best one of this machine alone")
set_property(CACHE MASU_INSTRUCTION_SETS PROPERTY STRINGS all native)
if(NOT MASU_INSTRUCTION_SETS MATCHES "^(all|native)$")
  message(FATAL_ERROR "masu: MASU_INSTRUCTION_SETS must be all or native, got ${MASU_INSTRUCTION_SETS}")
endif()
set_property(TARGET PkgConfig::HWY APPEND PROPERTY INTERFACE_COMPILE_DEFINITIONS
             "HWY_DISABLED_TARGETS=(HWY_SSSE3|HWY_SSE4|HWY_SVE|HWY_SVE2|HWY_SVE_256|HWY_SVE2_128)")

if(MASU_INSTRUCTION_SETS STREQUAL "native")
  if(NOT DEFINED MASU_BEST_SET)
    try_run(runs compiles
            SOURCE_FROM_CONTENT best_set.cpp [[
              #include <hwy/highway.h>
              #include <cstdio>
              int main() {
                const long long sets = hwy::SupportedTargets() & HWY_TARGETS;
                std::printf("%lldLL", sets & -sets);  // the lowest bit is the best set
              }]]
            LINK_LIBRARIES PkgConfig::HWY RUN_OUTPUT_STDOUT_VARIABLE best)
    if(NOT compiles OR NOT runs EQUAL 0 OR NOT best MATCHES "^[1-9][0-9]*LL$")
      message(FATAL_ERROR "masu: which instruction sets this machine has cannot be found; use MASU_INSTRUCTION_SETS=all")
    endif()
    set(MASU_BEST_SET ${best} CACHE INTERNAL "Highway's number of the best instruction set of this machine")
  endif()
  set_property(TARGET PkgConfig::HWY APPEND PROPERTY INTERFACE_COMPILE_DEFINITIONS HWY_BASELINE_TARGETS=${MASU_BEST_SET})
  install(CODE "message(FATAL_ERROR \"masu: this build is for this machine's processor alone. For one that can be installed: \
cmake -DMASU_INSTRUCTION_SETS=all ${CMAKE_BINARY_DIR} && cmake --build ${CMAKE_BINARY_DIR}\")" ALL_COMPONENTS)
endif()
