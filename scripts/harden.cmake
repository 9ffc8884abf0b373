# SPDX-License-Identifier: BSD-3-Clause
# harden.cmake: rpm_product, how everything that is installed is compiled, beside rpm_build: a buffer overrun or
# an overwritten pointer ends the program instead of running code that a peer sent; outputs contain no path of
# this build; and no other library can replace our functions, because a replaceable function cannot be inlined
# in position independent code.
#
# tests/outside/elf checks each of them in the library and the programs.
option(LIBRPM_HARDEN "stack protector, fortified functions, read-only relocations, CET" ON)
include(CheckCompilerFlag)
include(CheckPIESupported)
check_pie_supported()

add_library(rpm_product INTERFACE)
set_target_properties(rpm_product PROPERTIES INTERFACE_POSITION_INDEPENDENT_CODE ON)
target_compile_options(rpm_product INTERFACE -fno-semantic-interposition)
if(LIBRPM_HARDEN AND NOT LIBRPM_SANITIZE)
    foreach(flag -fstack-protector-strong -fstack-clash-protection -fcf-protection=full)
        string(MAKE_C_IDENTIFIER "LIBRPM_HAVE${flag}" have)
        check_compiler_flag(C ${flag} ${have})
        if(${have})
            target_compile_options(rpm_product INTERFACE ${flag})
        endif()
    endforeach()
    # Needs optimisation. The main files of programs, which are compiled without, unset it.
    target_compile_options(rpm_product INTERFACE
        $<$<NOT:$<CONFIG:Debug>>:-U_FORTIFY_SOURCE$<SEMICOLON>-D_FORTIFY_SOURCE=2>)
    target_link_options(rpm_build INTERFACE -Wl,-z,relro,-z,now -Wl,-z,noexecstack)
endif()
# Two builds in two folders give the same bytes. The folder that is mapped last counts first.
file(RELATIVE_PATH to_source ${PROJECT_BINARY_DIR} ${PROJECT_SOURCE_DIR})
target_compile_options(rpm_product INTERFACE -Wdate-time
    -ffile-prefix-map=${PROJECT_SOURCE_DIR}=. -ffile-prefix-map=${PROJECT_BINARY_DIR}=./build
    -ffile-prefix-map=${to_source}=./)
