/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * beside_rpm.c: one program that includes, links and calls both this library and RPM's own, whose
 * file is called librpm.so as well. Prints one line for each.
 */
#include <librpm.h>
#include <rpm/rpmlib.h>
#include <rpm/rpmver.h>
#include <stdio.h>

int main(void)
{
    uint32_t hints = 0;

    if (rpmvercmp("1.10", "1.9") != 1)
        return 1;
    printf("theirs %s\n", RPMVERSION);
    if (rpm_hints_parse("H6,H9", &hints) != 0 || hints != (RPM_HINT(6) | RPM_HINT(9)))
        return 1;
    printf("ours %s\n", rpm_version());
    return 0;
}
