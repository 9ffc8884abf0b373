# SPDX-License-Identifier: BSD-3-Clause
# parts.cmake: the libraries that librpm is made with, and the parts of it that can be left out with
# the libraries that they need. A part that is left out is replaced by no_*.c, whose functions return
# RPM_E_NOCAP with an error text that says how to build the part.
option(LIBRPM_RDMA "verbs: addresses; needs rdma-core" ON)
option(LIBRPM_TLS "TLS over tcp:; needs libssl beside libcrypto" ON)
option(LIBRPM_NUMA "pools that are bound to a NUMA node; needs libnuma" ON)
option(LIBRPM_LZ4 "segments of logs compressed by LZ4; needs liblz4" ON)
option(LIBRPM_ZSTD "segments of logs compressed by zstd; needs libzstd" ON)
option(LIBRPM_S3 "segments in object stores, by librpm-s3; needs libcurl and libexpat" ON)
set(LIBRPM_LEFT_OUT)
foreach(part RDMA TLS NUMA LZ4 ZSTD S3)
    if(NOT LIBRPM_${part})
        list(APPEND LIBRPM_LEFT_OUT ${part})
    endif()
endforeach()
# All names begin with LIBRPM_: a project around this one may look for the same libraries. LIBRPM_RDMA_PREFIX is
# a setting, so the modules of rdma-core are LIBRPM_VERBS.
find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)
pkg_check_modules(LIBRPM_PMEM2 REQUIRED IMPORTED_TARGET libpmem2)
set(LIBRPM_OPENSSL libcrypto) # the module of pkg-config
if(LIBRPM_TLS)
    set(LIBRPM_OPENSSL openssl)
endif()
pkg_check_modules(LIBRPM_CRYPTO REQUIRED IMPORTED_TARGET ${LIBRPM_OPENSSL})
find_path(LIBRPM_XXHASH_INCLUDE xxhash.h REQUIRED)
if(LIBRPM_NUMA)
    find_library(LIBRPM_NUMA_LIBRARY numa REQUIRED)
endif()
if(LIBRPM_LZ4)
    pkg_check_modules(LIBRPM_LZ4_LIBRARY REQUIRED IMPORTED_TARGET liblz4)
endif()
if(LIBRPM_ZSTD) # 1.4: the first whose ZSTD_findFrameCompressedSize() is stable
    pkg_check_modules(LIBRPM_ZSTD_LIBRARY REQUIRED IMPORTED_TARGET libzstd>=1.4)
endif()
if(LIBRPM_S3) # 7.87: the first that signs a given checksum of the body
    pkg_check_modules(LIBRPM_S3_LIBRARIES REQUIRED IMPORTED_TARGET libcurl>=7.87 expat)
endif()

# rpm_rdma(NAME): rdma-core, and the features in its headers. The capabilities of a device are queried at run
# time; native FLUSH and ATOMIC WRITE must be in the headers as well.
#
# LIBRPM_RDMA_PREFIX: the folder of an rdma-core newer than the system's, for its headers alone: programs are
# linked with the system's libraries, and load the newer ones at run time.
if(NOT LIBRPM_RDMA)
    function(rpm_rdma name)
    endfunction()
    return()
endif()
set(LIBRPM_RDMA_PREFIX "" CACHE PATH "headers of another rdma-core: PREFIX/include/infiniband")
pkg_check_modules(LIBRPM_VERBS REQUIRED IMPORTED_TARGET librdmacm libibverbs)

include(CheckSourceCompiles)
set(CMAKE_REQUIRED_LIBRARIES PkgConfig::LIBRPM_VERBS)
if(LIBRPM_RDMA_PREFIX)
    set(CMAKE_REQUIRED_FLAGS "-I${LIBRPM_RDMA_PREFIX}/include")
endif()
check_source_compiles(C "#include <infiniband/verbs.h>
int main(void) { ibv_wr_flush(0, 0, 0, 0, IBV_FLUSH_PERSISTENT, IBV_FLUSH_RANGE); }" LIBRPM_HAVE_FLUSH)
check_source_compiles(C "#include <infiniband/verbs.h>
int main(void) { ibv_wr_atomic_write(0, 0, 0, 0); }" LIBRPM_HAVE_ATOMIC_WRITE)
unset(CMAKE_REQUIRED_LIBRARIES)
unset(CMAKE_REQUIRED_FLAGS)

# Flags and libraries of a library that includes <infiniband/...> and <rdma/...>.
function(rpm_rdma name)
    if(LIBRPM_RDMA_PREFIX)
        target_include_directories(${name} SYSTEM BEFORE PRIVATE ${LIBRPM_RDMA_PREFIX}/include)
    endif()
    target_compile_definitions(${name} PRIVATE $<$<BOOL:${LIBRPM_HAVE_FLUSH}>:RPMI_HAVE_WR_FLUSH>
        $<$<BOOL:${LIBRPM_HAVE_ATOMIC_WRITE}>:RPMI_HAVE_WR_ATOMIC_WRITE>)
    target_link_libraries(${name} PRIVATE PkgConfig::LIBRPM_VERBS)
endfunction()
