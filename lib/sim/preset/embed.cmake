# SPDX-License-Identifier: BSD-3-Clause
# embed.cmake: makes preset files a part of the library: CMake writes them as a C file. It runs
# again when one of them has changed.

# rpm_presets(NAME...): embed NAME.preset of this folder; the library finds it by NAME.
function(rpm_presets)
    set(texts "")
    set(rows "")
    foreach(name IN LISTS ARGN)
        set(file ${CMAKE_CURRENT_SOURCE_DIR}/${name}.preset)
        set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
        file(READ ${file} bytes HEX)
        string(REGEX REPLACE "(................................)" "\\1\n" bytes "${bytes}")
        string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1, " bytes "${bytes}")
        string(MAKE_C_IDENTIFIER ${name} id)
        string(APPEND texts "static const char ${id}_text[] = {\n${bytes}\n};\n")
        string(APPEND rows "    { \"${name}\", ${id}_text, sizeof(${id}_text) },\n")
    endforeach()
    set(made ${CMAKE_CURRENT_BINARY_DIR}/presets.c)
    list(LENGTH ARGN count)
    file(CONFIGURE OUTPUT ${made} @ONLY CONTENT "/* Generated from lib/sim/preset/NAME.preset, see embed.cmake. */
#include \"sim/preset/preset_file.h\"

${texts}
const struct rpmi_preset_file rpmi_preset_embedded[] = {
${rows}};
const uint32_t rpmi_preset_embedded_count = ${count};
")
    set_property(GLOBAL APPEND PROPERTY RPM_SIM_SOURCES ${made})
endfunction()
