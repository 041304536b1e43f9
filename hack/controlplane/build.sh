#!/bin/sh
# Builds the real control plane from its Go modules into bin/controlplane, once:
#
#   sh hack/controlplane/build.sh                            etcd and kube-apiserver
#   sh hack/controlplane/build.sh kube-controller-manager    that one as well
#
# A stamp beside each binary names what it was made of: go.mod, go.sum, this
# script and the Go toolchain. While they are the same, there is nothing to do.
# The stamp is written last, so an interrupted build leaves none.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
out=$(cd "$here/../.." && pwd)/bin/controlplane
go=${GO:-go}

package_of() {
	case $1 in
	etcd) echo go.etcd.io/etcd/server/v3 ;;
	kube-apiserver | kube-controller-manager) echo "k8s.io/kubernetes/cmd/$1" ;;
	*)
		echo "control plane: cannot build \"$1\": only kube-controller-manager can be asked for" >&2
		exit 2
		;;
	esac
}

made_of=$(cd "$here" && {
	cat go.mod go.sum build.sh | cksum
	"$go" env GOVERSION GOOS GOARCH
})

missing=
for name in etcd kube-apiserver "$@"; do
	package_of "$name" >/dev/null
	if [ ! -x "$out/$name" ] || [ "$(cat "$out/.$name.stamp" 2>/dev/null)" != "$made_of" ]; then
		missing="$missing $name"
	fi
done
if [ -z "$missing" ]; then
	echo "control plane: up to date in bin/controlplane"
	exit 0
fi

version=$("$go" -C "$here" list -m -f '{{.Version}}' k8s.io/kubernetes)
minor=${version#v*.}
minor=${minor%%.*}
major=${version#v}
major=${major%%.*}
flag="-X k8s.io/component-base/version"
ldflags="-s -w $flag.gitVersion=$version $flag.gitMajor=$major $flag.gitMinor=$minor"

echo "control plane: building$missing (Kubernetes $version) into bin/controlplane, once: 9 to 11 minutes of CPU"
start=$(date +%s)
mkdir -p "$out"
trap 'rm -f "$out"/.*.$$' EXIT
trap 'exit 130' INT TERM HUP
for name in $missing; do
	"$go" -C "$here" build -trimpath -ldflags "$ldflags" -o "$out/.$name.$$" "$(package_of "$name")"
	mv -f "$out/.$name.$$" "$out/$name"
	echo "$made_of" >"$out/.$name.stamp.$$"
	mv -f "$out/.$name.stamp.$$" "$out/.$name.stamp"
done
echo "control plane: built after $(($(date +%s) - start)) s"
