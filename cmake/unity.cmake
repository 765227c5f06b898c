# SPDX-License-Identifier: Apache-2.0
# masu_unity(TARGET [TEST])   compiles the files of one folder together, up to 16 at once, if MASU_UNITY says so: headers
# are read once for all of them. No two files of a folder may then give the same name to different things, which
# `./test tidy` finds. A build without this shows which includes are missing.
set(MASU_UNITY "" CACHE STRING "What is compiled several files at a time: nothing, tests or all")

# A local name may be that of something in another file, and a class of a source looks like one of a header that has members
# of an anonymous namespace. Linked last, since the last option counts.
add_library(masu_together INTERFACE)
target_compile_options(masu_together INTERFACE -Wno-shadow $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)

function(masu_unity target)
  if(NOT (MASU_UNITY STREQUAL "all" OR (MASU_UNITY STREQUAL "tests" AND "${ARGV1}" STREQUAL "TEST")))
    return()
  endif()
  get_target_property(sources ${target} SOURCES)
  get_target_property(folder ${target} SOURCE_DIR)
  foreach(source IN LISTS sources)
    cmake_path(ABSOLUTE_PATH source BASE_DIRECTORY ${folder} NORMALIZE)
    cmake_path(GET source PARENT_PATH room)
    set(text "")
    if(EXISTS ${source})
      file(STRINGS ${source} text REGEX "foreach_target")  # Highway has such a file include itself
    endif()
    if(NOT EXISTS ${source} OR text)
      set_source_files_properties(${source} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
      continue()
    endif()
    string(MAKE_C_IDENTIFIER "${room}" room)
    list(APPEND files_${room} ${source})
    list(LENGTH files_${room} count)
    math(EXPR part "${count} / 16")
    set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${room}_${part})
  endforeach()
  cmake_language(EVAL CODE "cmake_language(DEFER CALL target_link_libraries ${target} PRIVATE masu_together)")
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP UNITY_BUILD_BATCH_SIZE 0)
endfunction()
