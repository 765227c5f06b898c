// SPDX-License-Identifier: Apache-2.0
// How loops over the keys of a work-item are compiled. A processor's compiler takes long over those that are unrolled between
// barriers, and gains nothing.
//
// Define, given by the plans:
// - MASU_UNROLL  1: they are unrolled, so that keys lie in registers

#if MASU_UNROLL
#define MASU_UNROLLED MASU_PRAGMA_UNROLL
#else
#define MASU_UNROLLED _Pragma("nounroll")
#endif
#define MASU_ROLLED _Pragma("unroll 1")
