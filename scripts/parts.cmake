# SPDX-License-Identifier: BSD-3-Clause
# parts.cmake: the libraries that librpm is made with, and the parts of it that can be left out with
# the libraries that they need. In the place of a part that is left out no_*.c is compiled, which
# refuses with RPM_E_NOCAP and says how to build it.
option(LIBRPM_RDMA "verbs: addresses; needs rdma-core" ON)
option(LIBRPM_TLS "TLS over tcp:; needs libssl beside libcrypto" ON)
option(LIBRPM_NUMA "pools that are bound to a NUMA node; needs libnuma" ON)
set(LIBRPM_LEFT_OUT)
foreach(part RDMA TLS NUMA)
    if(NOT LIBRPM_${part})
        list(APPEND LIBRPM_LEFT_OUT ${part})
    endif()
endforeach()
find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)
pkg_check_modules(PMEM2 REQUIRED IMPORTED_TARGET libpmem2)
set(LIBRPM_OPENSSL libcrypto) # the module of pkg-config
if(LIBRPM_TLS)
    set(LIBRPM_OPENSSL openssl)
endif()
pkg_check_modules(OPENSSL REQUIRED IMPORTED_TARGET ${LIBRPM_OPENSSL})
find_path(XXHASH_INCLUDE xxhash.h REQUIRED)
if(LIBRPM_NUMA)
    find_library(NUMA_LIBRARY numa REQUIRED)
endif()

# rpm_rdma(NAME): rdma-core, and what its headers know. What a device can do is asked at run time;
# native FLUSH and ATOMIC WRITE must be in the headers as well.
#
# LIBRPM_RDMA_PREFIX: where a newer rdma-core lies than the system's, for its headers alone: programs
# are linked with the system's libraries, and find the newer ones where they run.
if(NOT LIBRPM_RDMA)
    function(rpm_rdma name)
    endfunction()
    return()
endif()
set(LIBRPM_RDMA_PREFIX "" CACHE PATH "headers of another rdma-core: PREFIX/include/infiniband")
pkg_check_modules(RDMA REQUIRED IMPORTED_TARGET librdmacm libibverbs)

include(CheckSourceCompiles)
set(CMAKE_REQUIRED_LIBRARIES PkgConfig::RDMA)
if(LIBRPM_RDMA_PREFIX)
    set(CMAKE_REQUIRED_FLAGS "-I${LIBRPM_RDMA_PREFIX}/include")
endif()
check_source_compiles(C "#include <infiniband/verbs.h>
int main(void) { ibv_wr_flush(0, 0, 0, 0, IBV_FLUSH_PERSISTENT, IBV_FLUSH_RANGE); }" RDMA_FLUSH)
check_source_compiles(C "#include <infiniband/verbs.h>
int main(void) { ibv_wr_atomic_write(0, 0, 0, 0); }" RDMA_ATOMIC_WRITE)
unset(CMAKE_REQUIRED_LIBRARIES)
unset(CMAKE_REQUIRED_FLAGS)

# What a library that includes <infiniband/...> and <rdma/...> is compiled and linked with.
function(rpm_rdma name)
    if(LIBRPM_RDMA_PREFIX)
        target_include_directories(${name} BEFORE PRIVATE ${LIBRPM_RDMA_PREFIX}/include)
    endif()
    target_compile_definitions(${name} PRIVATE $<$<BOOL:${RDMA_FLUSH}>:RPMI_HAVE_WR_FLUSH>
        $<$<BOOL:${RDMA_ATOMIC_WRITE}>:RPMI_HAVE_WR_ATOMIC_WRITE>)
    target_link_libraries(${name} PRIVATE PkgConfig::RDMA)
endfunction()
