# SPDX-License-Identifier: Apache-2.0
# What `cmake --install` lays down: the libraries, the headers, the command, and what find_package(masu) and pkg-config
# read. All of it may be moved together afterwards.
include(CMakePackageConfigHelpers)

# The shared libraries need nothing of a program that uses them; the static ones need TBB and Highway. So they are
# exported apart, and the package offers the static ones where it finds those.
set(masu_install_dirs
    RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT library
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT library NAMELINK_COMPONENT development
    ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development)
set(masu_libraries masu)
foreach(name io plot)
  if(TARGET masu_${name}_shared)
    set_target_properties(masu_${name}_shared PROPERTIES INSTALL_RPATH "$ORIGIN")
    list(APPEND masu_libraries masu_${name})
  endif()
endforeach()
foreach(kind shared static)
  list(TRANSFORM masu_libraries APPEND _${kind} OUTPUT_VARIABLE masu_targets)
  install(TARGETS ${masu_targets} EXPORT masu-${kind} ${masu_install_dirs})
endforeach()
if(TARGET masu_cli)
  install(TARGETS masu_cli RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT command)
  install(TARGETS masu_bench_program RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT bench)
endif()
install(DIRECTORY include/masu DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT development FILES_MATCHING PATTERN "*.h" PATTERN "*.def")
install(DIRECTORY distributed/mpi/include/masu DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT development
        FILES_MATCHING PATTERN "*.h")
install(FILES LICENSE THIRD_PARTY.md DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT command)

set(masu_package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/masu)
foreach(kind shared static)
  install(EXPORT masu-${kind} NAMESPACE masu:: DESTINATION ${masu_package_dir} COMPONENT development)
endforeach()
configure_package_config_file(cmake/masu-config.cmake.in masu-config.cmake INSTALL_DESTINATION ${masu_package_dir}
                              NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(masu-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/masu-config.cmake ${CMAKE_CURRENT_BINARY_DIR}/masu-config-version.cmake
        DESTINATION ${masu_package_dir} COMPONENT development)

# pkg-config finds the prefix from where its file lies, unless the library folder was given as an absolute path.
cmake_path(IS_ABSOLUTE CMAKE_INSTALL_LIBDIR masu_libdir_is_absolute)
if(masu_libdir_is_absolute)
  set(masu_pc_prefix ${CMAKE_INSTALL_PREFIX})
else()
  file(RELATIVE_PATH masu_pc_prefix /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
  string(REGEX REPLACE "/$" "" masu_pc_prefix "\${pcfiledir}/${masu_pc_prefix}")
endif()
foreach(name IN LISTS masu_libraries)
  configure_file(cmake/${name}.pc.in ${name}.pc @ONLY)
  install(FILES ${CMAKE_CURRENT_BINARY_DIR}/${name}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig
          COMPONENT development)
endforeach()
