# SPDX-License-Identifier: Apache-2.0
# Debian packages of what install.cmake and its kind lay down: `cpack -G DEB`, called by tools/release. The libraries' package
# has the SOVERSION in its name, so that those of two versions can be installed side by side.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_CONTACT "the maintainers of masu")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "histograms, sorts and exact sums, the same bits on every processor")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL library development command)
if(TARGET masu_mpi_cli_openmpi OR TARGET masu_mpi_cli_mpich)
  list(APPEND CPACK_COMPONENTS_ALL mpi)
endif()
if(MASU_PACKAGE_KERNELS)
  list(APPEND CPACK_COMPONENTS_ALL kernels)
endif()
set(CPACK_COMPONENTS_GROUPING IGNORE)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${PROJECT_BINARY_DIR})  # libmasu, which lies in another package
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
file(WRITE ${PROJECT_BINARY_DIR}/triggers "activate-noawait ldconfig\n")
set(CPACK_DEBIAN_LIBRARY_PACKAGE_CONTROL_EXTRA ${PROJECT_BINARY_DIR}/triggers)
set(CPACK_PRE_BUILD_SCRIPTS ${PROJECT_SOURCE_DIR}/cmake/package_files.cmake)

# masu_deb(COMPONENT PACKAGE SECTION TEXT)
function(masu_deb component package section text)
  string(TOUPPER ${component} key)
  set(CPACK_DEBIAN_${key}_PACKAGE_NAME ${package} PARENT_SCOPE)
  set(CPACK_DEBIAN_${key}_PACKAGE_SECTION ${section} PARENT_SCOPE)
  set(CPACK_DEBIAN_${key}_DESCRIPTION "${text}" PARENT_SCOPE)
endfunction()
masu_deb(library libmasu${masu_soversion} libs "The shared libraries of masu. Drivers of GPUs are opened at run time where
they are installed.")
masu_deb(development libmasu-dev libdevel "Headers for C++20, static libraries, and the files of CMake and pkg-config.")
masu_deb(command masu science "The command masu: histograms, sorts, exact sums and more of files and of
generated data, on the CPU, through OpenCL and through CUDA.")
masu_deb(mpi masu-mpi science "The command masu-mpi: histograms, sums and sorts of files over the processes of
an MPI program.")
masu_deb(kernels masu-kernels science "Kernels for CUDA, compiled ahead: first calls of the libraries and commands of
this version need no compiler.")

# Libraries that are opened at run time, by their files' names: dpkg-shlibdeps does not see them.
set(CPACK_DEBIAN_LIBRARY_PACKAGE_RECOMMENDS "libbz2-1.0, libcairo2, libjpeg62-turbo, liblzma5, libpng16-16, libtiff6, libwebp7, libzstd1, zlib1g")
set(CPACK_DEBIAN_COMMAND_PACKAGE_RECOMMENDS "${CPACK_DEBIAN_LIBRARY_PACKAGE_RECOMMENDS}")
set(mpirun openmpi-bin)
if(MASU_MPI STREQUAL mpich OR NOT TARGET masu_mpi_cli_openmpi)
  set(mpirun mpich)
endif()
set(CPACK_DEBIAN_MPI_PACKAGE_RECOMMENDS "${mpirun}, ${CPACK_DEBIAN_LIBRARY_PACKAGE_RECOMMENDS}")
foreach(component LIBRARY COMMAND MPI)
  set(CPACK_DEBIAN_${component}_PACKAGE_SUGGESTS "libcfitsio10, libhdf5-103-1, ocl-icd-libopencl1 | libopencl1, pocl-opencl-icd | opencl-icd")
endforeach()
foreach(component DEVELOPMENT COMMAND MPI)
  set(CPACK_DEBIAN_${component}_PACKAGE_DEPENDS "libmasu${masu_soversion} (= ${PROJECT_VERSION})")
endforeach()
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SUGGESTS "libtbb-dev, libhwy-dev, libopenmpi-dev | libmpich-dev, pkg-config, cmake")

include(CPack)
