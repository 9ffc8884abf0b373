# SPDX-License-Identifier: BSD-3-Clause
# mirror.sh: fetch packages of other suites and architectures and unpack them, without installing them. Sourced by
# bash, by commands with a function skip REASON..., which ends them.
#
#   mirror_setup DIR ARCHITECTURE SUITE...   an apt in DIR: the mirror of this machine's apt, a separate state
#   mirror DIR COMMAND...                    an apt command with that state
#   mirror_source DIR PACKAGE                the files of a source package, below DIR
#   mirror_unpack ROOT DEB...                unpack into ROOT, without /etc, /var and documents, /usr merged

mirror() {
    APT_CONFIG=$1/apt.conf "${@:2}"
}

mirror_setup() {
    local state=$1 suite uri keys=/usr/share/keyrings/debian-archive-keyring.gpg signed=
    # shellcheck disable=SC2016 # the words are apt's
    uri=$(apt-get indextargets --format '$(CREATED_BY) $(COMPONENT) $(CODENAME) $(REPO_URI)' |
        awk '$1 == "Packages" && $2 == "main" && $3 == "bookworm" { print $4; exit }')
    [ -n "$uri" ] || skip "apt knows no mirror of Debian 12 here: apt-get update helps where its lists are missing"
    [ ! -f "$keys" ] || signed="[signed-by=$keys]"
    mkdir -p "$state"/{lists,archives}/partial "$state"/none
    : >"$state/status"
    for suite in "${@:3}"; do
        say "deb $signed $uri $suite main"
    done >"$state/sources.list"
    cat >"$state/apt.conf" <<END
APT::Architecture "$2";
APT::Architectures { "$2"; };
APT::Install-Recommends "false";
Dir::Etc::sourcelist "$state/sources.list";
Dir::Etc::sourceparts "$state/none";
Dir::Etc::preferencesparts "$state/none";
Dir::Etc::preferences "$state/none/preferences";
Dir::State "$state";
Dir::State::status "$state/status";
Dir::Cache "$state";
Acquire::Retries "3";
END
    mirror "$state" apt-get -qq update >"$state/log" 2>&1 ||
        skip "the mirror's lists of ${*:3} cannot be fetched: $(tail -n 3 "$state/log")"
}

mirror_source() {
    local state=$1
    sed -i 's/^deb /deb-src /' "$state/sources.list"
    mirror "$state" apt-get -qq update >"$state/log" 2>&1 &&
        (cd "$state" && mirror "$state" apt-get -qq source --download-only "$2" >>"$state/log" 2>&1) ||
        skip "the source of $2 cannot be fetched: $(tail -n 3 "$state/log")"
}

mirror_unpack() {
    local root=$1 deb folder
    mkdir -p "$root"
    for deb in "${@:2}"; do
        dpkg-deb -x "$deb" "$root"
    done
    # With a merged /usr these are links, which a folder of the same name would hide.
    for folder in lib lib64 bin sbin; do
        if [ ! -d "$root/$folder" ] || [ -L "$root/$folder" ]; then
            continue
        fi
        mkdir -p "$root/usr/$folder"
        cp -a "$root/$folder/." "$root/usr/$folder/"
        rm -r "${root:?}/$folder"
    done
    rm -rf "${root:?}"/{etc,var} "$root"/usr/share/{doc,man,bash-completion,locale}
}
