#!/bin/sh
# Installs a release of kalypso: finds out what system this is, downloads the
# archive for it, checks its digest, and puts the program on the PATH.
#
#   curl -fsSL https://github.com/kalypso-dev/kalypso/releases/latest/download/install.sh | sh
#   ... | sh -s -- --version v0.1.0 --prefix /usr/local
#
#   --version VERSION   that release, as v0.1.0 (default the latest one)
#   --prefix FOLDER     the program goes to FOLDER/bin (default ~/.local)
#   --cli               kalypso-cli: without the sandbox, and a sixth of the size
#   --help              this text
#
# It needs curl or wget, tar, and sha256sum or shasum; no rights of root.
# KALYPSO_RELEASES is where releases are served, if not on GitHub.
set -eu

main() {
  releases=${KALYPSO_RELEASES:-https://github.com/kalypso-dev/kalypso/releases}
  releases=${releases%/}
  version='' prefix='' name=kalypso
  while [ $# -gt 0 ]; do
    case $1 in
      --version)
        version=$(value "$@")
        shift
        ;;
      --version=*) version=${1#*=} ;;
      --prefix)
        prefix=$(value "$@")
        shift
        ;;
      --prefix=*) prefix=${1#*=} ;;
      --cli) name=kalypso-cli ;;
      -h | --help)
        usage
        exit 0
        ;;
      *) die 2 "there is no option $1; --help has those that there are" ;;
    esac
    shift
  done
  if [ -z "$prefix" ]; then
    [ -n "${HOME:-}" ] || die 1 "HOME is not set: say where the program goes with --prefix FOLDER"
    prefix=$HOME/.local
  fi
  case $version in
    '' | v[0-9]*) ;;
    [0-9]*) version=v$version ;;
    *) die 2 "--version $version: give a version such as v0.1.0" ;;
  esac

  platform=$(platform)
  fetcher=$(first curl wget) || die 1 "curl or wget is needed"
  summer=$(first sha256sum shasum) || die 1 "sha256sum or shasum is needed, to check what is downloaded"
  for tool in tar gzip; do
    command -v $tool >/dev/null 2>&1 || die 1 "$tool is needed"
  done

  scratch=$(mktemp -d)
  trap 'rm -rf "$scratch"' EXIT
  trap 'exit 130' INT
  trap 'exit 143' TERM HUP

  if [ -z "$version" ]; then
    fetch "$releases/latest/download/VERSION" "$scratch/VERSION" || die 1 "cannot find out what the latest release is: $(reason)"
    version=$(head -n 1 "$scratch/VERSION")
    case $version in
      v[0-9]*) ;;
      *) die 1 "$releases/latest/download/VERSION has no version" ;;
    esac
  fi
  archive=${name}_${version#v}_$platform.tar.gz
  from=$releases/download/$version
  fetch "$from/SHA256SUMS" "$scratch/SHA256SUMS" || die 1 "there is no release $version, or it cannot be reached: $(reason)"
  want=$(sed -n "s/^\([0-9a-f]\{64\}\)  $archive\$/\1/p" "$scratch/SHA256SUMS")
  [ -n "$want" ] || die 1 "release $version has no $archive: $name is not built for this system"
  say "downloading $name $version for $platform"
  fetch "$from/$archive" "$scratch/$archive" || die 1 "cannot download $archive: $(reason)"
  got=$(digest "$scratch/$archive")
  [ "$got" = "$want" ] || die 1 "$archive is not what the release has: its SHA-256 is $got, not $want. Nothing has been installed; try again, and if it stays so, do not use it"

  tar -xzf "$scratch/$archive" -C "$scratch" kalypso || die 1 "cannot unpack $archive"
  mkdir -p "$prefix/bin" 2>/dev/null || die 1 "cannot make $prefix/bin: choose another folder with --prefix, or run this with the rights for it"
  # beside its name first: a program that runs cannot be written to
  new=$prefix/bin/.kalypso.$$
  if ! cp "$scratch/kalypso" "$new" 2>"$scratch/error" || ! chmod 755 "$new" || ! mv -f "$new" "$prefix/bin/kalypso"; then
    rm -f "$new"
    die 1 "cannot write $prefix/bin/kalypso: $(reason)"
  fi
  say "installed $prefix/bin/kalypso"

  case :${PATH:-}: in
    *":$prefix/bin:"*) ;;
    *) say "$prefix/bin is not on the PATH; add it:  export PATH=\"$prefix/bin:\$PATH\"" ;;
  esac
  command -v git >/dev/null 2>&1 || say "git is missing, and kalypso needs it"
  if [ $name = kalypso ]; then
    say "begin with:  kalypso up"
  else
    say "begin with:  kalypso validate --help"
  fi
}

say() { printf 'install: %s\n' "$*" >&2; }

die() {
  code=$1
  shift
  say "$@"
  exit "$code"
}

# There is no file to read the text from when this comes through a pipe.
usage() {
  cat <<'END'
Installs a release of kalypso.

  --version VERSION   that release, as v0.1.0 (default the latest one)
  --prefix FOLDER     the program goes to FOLDER/bin (default ~/.local)
  --cli               kalypso-cli: without the sandbox, and a sixth of the size
END
}

value() {
  [ $# -gt 1 ] || die 2 "$1 needs a value"
  printf '%s\n' "$2"
}

first() {
  for tool in "$@"; do
    if command -v "$tool" >/dev/null 2>&1; then
      printf '%s\n' "$tool"
      return
    fi
  done
  return 1
}

# platform prints what releases call this system.
platform() {
  system=$(uname -s) machine=$(uname -m)
  case $system in
    Linux) os=linux ;;
    Darwin) os=darwin ;;
    *) die 1 "there is no release for $system; kalypso-cli for Windows is a .zip: ${releases}" ;;
  esac
  case $machine in
    x86_64 | amd64) arch=amd64 ;;
    aarch64 | arm64) arch=arm64 ;;
    *) die 1 "there is no release for $machine: amd64 and arm64 are what it is built for" ;;
  esac
  # a shell under Rosetta says x86_64
  if [ $os = darwin ] && [ $arch = amd64 ] && [ "$(sysctl -n sysctl.proc_translated 2>/dev/null || true)" = 1 ]; then
    arch=arm64
  fi
  printf '%s\n' "${os}_$arch"
}

# fetch writes a URL to a file; what went wrong is in the file error.
fetch() {
  case $fetcher in
    curl) curl -fsSL --connect-timeout 20 --retry 2 -o "$2" "$1" 2>"$scratch/error" ;;
    wget) wget -T 20 -O "$2" "$1" 2>"$scratch/error" ;;
  esac
}

reason() { grep . "$scratch/error" | tail -n 1; }

digest() {
  case $summer in
    sha256sum) sha256sum "$1" ;;
    shasum) shasum -a 256 "$1" ;;
  esac | cut -d ' ' -f 1
}

# all of it has been read before any of it runs, if it comes through a pipe
main "$@"
