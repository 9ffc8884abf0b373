# SPDX-License-Identifier: BSD-3-Clause
# harden.cmake: rpm_product, what everything that is installed is compiled and linked with, beside
# rpm_build: flags that make an overrun or an overwritten pointer end a program instead of running
# what a peer sent, no path of this build in what comes out, and no function of ours that another
# library could put its own in the place of: one that may be replaced cannot be inlined in position
# independent code.
#
# tests/outside/elf looks for each of them in the library and the programs.
option(LIBRPM_HARDEN "stack protector, fortified functions, read-only relocations, CET" ON)
include(CheckCompilerFlag)
include(CheckPIESupported)
check_pie_supported()

add_library(rpm_product INTERFACE)
set_target_properties(rpm_product PROPERTIES INTERFACE_POSITION_INDEPENDENT_CODE ON)
target_compile_options(rpm_product INTERFACE -fno-semantic-interposition)
if(LIBRPM_HARDEN AND NOT LIBRPM_SANITIZE)
    foreach(flag -fstack-protector-strong -fstack-clash-protection -fcf-protection=full)
        string(MAKE_C_IDENTIFIER "HAVE${flag}" have)
        check_compiler_flag(C ${flag} ${have})
        if(${have})
            target_compile_options(rpm_product INTERFACE ${flag})
        endif()
    endforeach()
    # Needs an optimiser. The main files of programs, compiled without, take it back.
    target_compile_options(rpm_product INTERFACE
        $<$<NOT:$<CONFIG:Debug>>:-U_FORTIFY_SOURCE$<SEMICOLON>-D_FORTIFY_SOURCE=2>)
    target_link_options(rpm_product INTERFACE -Wl,-z,relro,-z,now -Wl,-z,noexecstack)
endif()
# Two builds in two folders give the same bytes. The folder that is mapped last counts first.
file(RELATIVE_PATH to_source ${PROJECT_BINARY_DIR} ${PROJECT_SOURCE_DIR})
target_compile_options(rpm_product INTERFACE -Wdate-time
    -ffile-prefix-map=${PROJECT_SOURCE_DIR}=. -ffile-prefix-map=${PROJECT_BINARY_DIR}=./build
    -ffile-prefix-map=${to_source}=./)
