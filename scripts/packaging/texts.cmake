# SPDX-License-Identifier: BSD-3-Clause
# texts.cmake: files generated from templates, when configuring or installing.
# The libraries of a program that is linked with the static library.
list(JOIN LIBRPM_PMEM2_STATIC_LDFLAGS " " pmem2)
list(JOIN LIBRPM_CRYPTO_STATIC_LDFLAGS " " openssl)
list(JOIN LIBRPM_VERBS_STATIC_LDFLAGS " " rdma)
set(numa)
set(lz4)
set(zstd)
set(dl)
if(CMAKE_DL_LIBS)
    set(dl -l${CMAKE_DL_LIBS})
endif()
if(LIBRPM_NUMA)
    set(numa -lnuma)
endif()
if(LIBRPM_LZ4)
    list(JOIN LIBRPM_LZ4_LIBRARY_STATIC_LDFLAGS " " lz4)
endif()
if(LIBRPM_ZSTD)
    list(JOIN LIBRPM_ZSTD_LIBRARY_STATIC_LDFLAGS " " zstd)
endif()
file(RELATIVE_PATH LIBRPM_PC_TO_PREFIX ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig
    ${CMAKE_INSTALL_PREFIX})
set(LIBRPM_PC_PRIVATE "${pmem2} ${openssl} ${rdma} ${numa} ${lz4} ${zstd} ${dl} -pthread")
set(LIBRPM_PC_LIBS)
set(LIBRPM_SIM_PC_LIBS)
list(JOIN LIBRPM_S3_LIBRARIES_STATIC_LDFLAGS " " LIBRPM_S3_PC_PRIVATE)
set(LIBRPM_S3_PC_LIBS)
set(LIBRPM_ANY_STATIC ${LIBRPM_STATIC})
get_target_property(type rpm TYPE)
if(type STREQUAL "STATIC_LIBRARY")
    set(LIBRPM_PC_LIBS "${LIBRPM_PC_PRIVATE}") # there is no shared library that brings them
    set(LIBRPM_SIM_PC_LIBS -Wl,--undefined=rpmi_sim_transport) # librpm looks for it, and names it weakly
    set(LIBRPM_S3_PC_LIBS "-Wl,--undefined=rpmi_s3_open")
    set(LIBRPM_S3_PC_STATIC "${LIBRPM_S3_PC_PRIVATE}") # there is no shared library that brings them
    set(LIBRPM_ANY_STATIC ON)
endif()
configure_file(librpm.pc.in librpm.pc @ONLY)
configure_file(librpm-sim.pc.in librpm-sim.pc @ONLY)

# With the prefix of the installation, which need not be that of the configuration.
install(CODE "set(prefix_of_unit \"\${CMAKE_INSTALL_PREFIX}\")
    cmake_path(ABSOLUTE_PATH prefix_of_unit)
    cmake_path(APPEND prefix_of_unit ${CMAKE_INSTALL_BINDIR} OUTPUT_VARIABLE RPM_BINDIR)
    foreach(unit rpm-server rpm-agent@ rpm-fs@)
        configure_file(${CMAKE_CURRENT_SOURCE_DIR}/\${unit}.service.in ${made}/\${unit}.service @ONLY)
    endforeach()")
include(s3.cmake)
