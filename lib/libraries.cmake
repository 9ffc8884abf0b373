# SPDX-License-Identifier: BSD-3-Clause
# libraries.cmake: the sources of the folders become librpm, librpm-sim and librpm-s3, shared or static, and
# rpm_testing, which has them all. Under a sanitizer, where nothing is installed, rpm_testing is all of them.
get_property(sources GLOBAL PROPERTY RPM_SOURCES)
get_property(sim_sources GLOBAL PROPERTY RPM_SIM_SOURCES)
get_property(s3_sources GLOBAL PROPERTY RPM_S3_SOURCES)

# rpm_testing: all, all internals visible, slow assertions.
if(LIBRPM_TESTS)
    add_library(rpm_testing STATIC ${sources} ${sim_sources} ${s3_sources})
    rpm_library(rpm_testing)
    rpm_needs(rpm_testing)
    rpm_s3_needs(rpm_testing)
    target_link_options(rpm_testing INTERFACE LINKER:--undefined=rpmi_sim_transport
        $<$<BOOL:${LIBRPM_S3}>:LINKER:--undefined=rpmi_s3_open>)
    target_compile_definitions(rpm_testing PUBLIC RPMI_TESTING RPMI_WITH_RDMA=$<BOOL:${LIBRPM_RDMA}>
        RPMI_WITH_TLS=$<BOOL:${LIBRPM_TLS}> RPMI_WITH_NUMA=$<BOOL:${LIBRPM_NUMA}> RPMI_WITH_LZ4=$<BOOL:${LIBRPM_LZ4}>
        RPMI_WITH_ZSTD=$<BOOL:${LIBRPM_ZSTD}> RPMI_WITH_S3=$<BOOL:${LIBRPM_S3}>)
    target_include_directories(rpm_testing PUBLIC ${CMAKE_CURRENT_SOURCE_DIR})
endif()
if(LIBRPM_TESTS AND LIBRPM_SANITIZE AND NOT LIBRPM_INSTALL)
    foreach(name rpm rpm_sim rpm_s3)
        add_library(${name} INTERFACE)
        target_link_libraries(${name} INTERFACE $<LINK_ONLY:rpm_testing>)
        target_include_directories(${name} INTERFACE ${CMAKE_CURRENT_SOURCE_DIR}/include)
    endforeach()
    add_library(librpm::librpm ALIAS rpm)
    return()
endif()

# rpm: what is installed, only rpm_* visible to programs.
add_library(rpm ${sources})
add_library(librpm::librpm ALIAS rpm)
rpm_library(rpm librpm.map)
rpm_needs(rpm)
set_target_properties(rpm PROPERTIES OUTPUT_NAME ${LIBRPM_OUTPUT_NAME} EXPORT_NAME librpm)

if(LIBRPM_STATIC)
    add_library(rpm_static STATIC ${sources})
    rpm_library(rpm_static)
    rpm_needs(rpm_static)
    set_target_properties(rpm_static PROPERTIES OUTPUT_NAME ${LIBRPM_OUTPUT_NAME} EXPORT_NAME static)
endif()

# rpm_loaded(PART TABLE SOURCES...): librpm-PART, which rpm loads when a program asks for it. A static library is
# not loaded: a program that links with it gets the TABLE that rpm looks for.
function(rpm_loaded part table)
    string(TOUPPER ${part} upper)
    set(soname "lib${LIBRPM_OUTPUT_NAME}-${part}.so.${LIBRPM_SOVERSION}")
    get_target_property(type rpm TYPE)
    add_library(rpm_${part} ${ARGN})
    add_library(librpm::${part} ALIAS rpm_${part})
    rpm_library(rpm_${part} librpm-${part}.map)
    target_link_libraries(rpm_${part} PUBLIC rpm)
    set_target_properties(rpm_${part} PROPERTIES OUTPUT_NAME ${LIBRPM_OUTPUT_NAME}-${part} EXPORT_NAME ${part})
    if(type STREQUAL "SHARED_LIBRARY")
        target_compile_definitions(rpm PRIVATE RPMI_${upper}_SONAME="${soname}")
    else()
        target_link_options(rpm_${part} INTERFACE LINKER:--undefined=${table})
    endif()
    if(LIBRPM_STATIC)
        add_library(rpm_${part}_static STATIC ${ARGN})
        rpm_library(rpm_${part}_static)
        target_link_libraries(rpm_${part}_static PUBLIC rpm_static)
        target_link_options(rpm_${part}_static INTERFACE LINKER:--undefined=${table})
        set_target_properties(rpm_${part}_static PROPERTIES
            OUTPUT_NAME ${LIBRPM_OUTPUT_NAME}-${part} EXPORT_NAME ${part}_static)
    endif()
endfunction()

rpm_loaded(sim rpmi_sim_transport ${sim_sources}) # the simulators and the transport sim:
if(LIBRPM_S3)
    rpm_loaded(s3 rpmi_s3_open ${s3_sources}) # object stores as tiers
    rpm_s3_needs(rpm_s3)
    if(LIBRPM_STATIC)
        rpm_s3_needs(rpm_s3_static)
    endif()
endif()
