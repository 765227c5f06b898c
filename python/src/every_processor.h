// SPDX-License-Identifier: Apache-2.0
// A function whose loops the compiler makes vectors of, of the width of the processor that runs it.
#pragma once

#if defined(__x86_64__) && defined(__gnu_linux__)
#define MASU_FOR_EVERY_PROCESSOR [[gnu::target_clones("avx512f", "avx2", "default")]]
#else
#define MASU_FOR_EVERY_PROCESSOR
#endif
