# SPDX-License-Identifier: BSD-3-Clause
# libraries.cmake: the sources of the folders become librpm and librpm-sim, shared or static, and
# rpm_testing, which has both. Under a sanitizer, where nothing is installed, rpm_testing is all of them.
get_property(sources GLOBAL PROPERTY RPM_SOURCES)
get_property(sim_sources GLOBAL PROPERTY RPM_SIM_SOURCES)
get_property(s3_sources GLOBAL PROPERTY RPM_S3_SOURCES)
set(sim_name ${LIBRPM_OUTPUT_NAME}-sim)

# rpm_testing: both, all internals visible, slow assertions.
if(LIBRPM_TESTS)
    add_library(rpm_testing STATIC ${sources} ${sim_sources} ${s3_sources})
    rpm_library(rpm_testing)
    rpm_needs(rpm_testing)
    rpm_s3_needs(rpm_testing)
    target_link_options(rpm_testing INTERFACE LINKER:--undefined=rpmi_sim_transport)
    target_compile_definitions(rpm_testing PUBLIC RPMI_TESTING RPMI_WITH_RDMA=$<BOOL:${LIBRPM_RDMA}>
        RPMI_WITH_TLS=$<BOOL:${LIBRPM_TLS}> RPMI_WITH_NUMA=$<BOOL:${LIBRPM_NUMA}> RPMI_WITH_LZ4=$<BOOL:${LIBRPM_LZ4}>
        RPMI_WITH_S3=$<BOOL:${LIBRPM_S3}>)
    target_include_directories(rpm_testing PUBLIC ${CMAKE_CURRENT_SOURCE_DIR})
endif()
if(LIBRPM_TESTS AND LIBRPM_SANITIZE AND NOT LIBRPM_INSTALL)
    foreach(name rpm rpm_sim)
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

# rpm_sim: the simulators and the transport sim:, which rpm loads when a program asks for it. A static
# library is not loaded: who links with it gets the table that rpm looks for.
add_library(rpm_sim ${sim_sources})
add_library(librpm::sim ALIAS rpm_sim)
rpm_library(rpm_sim librpm-sim.map)
target_link_libraries(rpm_sim PUBLIC rpm)
set_target_properties(rpm_sim PROPERTIES OUTPUT_NAME ${sim_name} EXPORT_NAME sim)
get_target_property(type rpm TYPE)
if(type STREQUAL "SHARED_LIBRARY")
    target_compile_definitions(rpm PRIVATE RPMI_SIM_SONAME="lib${sim_name}.so.${LIBRPM_SOVERSION}")
else()
    target_link_options(rpm_sim INTERFACE LINKER:--undefined=rpmi_sim_transport)
endif()
if(LIBRPM_STATIC)
    add_library(rpm_static STATIC ${sources})
    rpm_library(rpm_static)
    rpm_needs(rpm_static)
    set_target_properties(rpm_static PROPERTIES OUTPUT_NAME ${LIBRPM_OUTPUT_NAME} EXPORT_NAME static)
    add_library(rpm_sim_static STATIC ${sim_sources})
    rpm_library(rpm_sim_static)
    target_link_libraries(rpm_sim_static PUBLIC rpm_static)
    target_link_options(rpm_sim_static INTERFACE LINKER:--undefined=rpmi_sim_transport)
    set_target_properties(rpm_sim_static PROPERTIES OUTPUT_NAME ${sim_name} EXPORT_NAME sim_static)
endif()
